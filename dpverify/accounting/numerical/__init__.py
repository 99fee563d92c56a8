"""Certified numerical accounting: a bracket around the exact ε or δ of any product of pairs.

The route of a composition through the files:

- `preparation`: equal parts are counted, discrete ones multiplied out (`products`);
- `parts`: each pair becomes a law of its privacy loss (`laws`): `ramps` and atoms;
- `sketch`: where the profile is wanted decides how to tilt, and the window;
- `cells`, `atoms`, `discretize`: each law on the grid, from above and from below (`hull`);
- `fourier`, `engine`: the tilted laws convolved, with all errors bounded;
- `evaluation`, `roots`, `targets`: the profile read off, and inverted;
- `refinement`: finer grids until the ends are close enough; `composition`: the front.
"""

from dpverify.accounting.numerical.composition import NumericalComposition

__all__ = ["NumericalComposition"]
