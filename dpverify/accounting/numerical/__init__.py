"""Certified numerical accounting: a bracket around the exact ε or δ of any product of pairs.

The route of a composition through the files:

- `preparation`: equal parts are counted, discrete ones multiplied out, each pair asked for the
  distribution of its privacy loss (`pairs.loss_law`, or `pairs.profile_law` for a profile alone);
- `sketch`: where the profile is wanted decides how to tilt, and the window;
- `cells` (with `quadrature`), `atoms`, `discretize`: each law on the grid, from above and from
  below (`hull`);
- `convolution`, `engine`: the tilted laws convolved, with all errors bounded; `spectrum`: by their
  low frequencies, where windows are too long to hold; `jumps`: by the number of large losses, where
  these are rare;
- `evaluation`, `targets`: the profile read off, and inverted;
- `refinement`: finer grids until the ends are close enough; `composition`: the front.
"""

from dpverify.accounting.numerical.composition import NumericalComposition

__all__ = ["NumericalComposition"]
