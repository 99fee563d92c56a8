"""Integer vectors with exactly the distribution of rounded noise of density ∝ exp(−‖z‖₂/scale).

Such noise is z = scale·√V·x with x standard normal and V an independent χ² of d + 1 degrees. Both
directions are uniform, and for all s the moments of the squared lengths are the same, as
E (χ²ₐ)^s = 2^s·Γ(a/2 + s)/Γ(a/2) and by Legendre's duplication formula:

    E V^s·‖x‖^2s = 4^s·Γ((d+1)/2 + s)·Γ(d/2 + s)/(Γ((d+1)/2)·Γ(d/2)) = Γ(d + 2s)/Γ(d) = E R^2s

for R = ‖z‖/scale of density ∝ r^(d−1)·e^(−r). V is twice a sum of exponentials and, if d is even,
the square of one more normal. All of them come from uniforms with infinitely many digits, as in
`inversion`. No coordinate waits for another: floats settle those that are further than their error
from where rounding changes, and balls settle the rest, a few of many thousands.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats, Ints
from dpverify.mechanisms.sampling.inversion import LARGEST_STEP, TRUSTED, UNIFORM_BITS
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL, HALF_NORMAL
from dpverify.mechanisms.sampling.uniform import LazyUniform, leading, random_words, refine

_BLOCK = 1 << 16  # uniforms per pass
_FIRST_PRECISION = 96  # settles nearly all draws, which have 127 digits by then
_MARGIN = max(EXPONENTIAL.margin, HALF_NORMAL.margin)
_LEAST = 2.0**-10  # of d + 1: a V below that is left to balls


@dataclass(slots=True)
class _Shared:
    """The uniforms behind one V, and a ball for scale·√V from the digits drawn so far."""

    uniforms: list[LazyUniform]
    rounds: int = 0
    root: arb | None = None


@dataclass(frozen=True, slots=True)
class EuclideanNoise:
    """Noise of density ∝ exp(−‖z‖₂/scale) in `dimension` ≥ 2 coordinates, rounded to integers.

    `caution` multiplies the error that is allowed for; the law does not depend on it.
    """

    dimension: int
    scale: float
    caution: float = 1.0

    @property
    def exponentials(self) -> int:
        """How many exponentials V is twice the sum of."""
        return (self.dimension + 1) // 2

    @property
    def shared(self) -> int:
        """How many uniforms V takes: one more for a normal if d is even."""
        return self.exponentials + (self.dimension % 2 == 0)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` integer vectors, one a row."""
        result = np.empty((count, self.dimension), np.int64)
        rows = max(1, _BLOCK // (self.shared + self.dimension))
        for start in range(0, count, rows):
            block = result[start : start + rows]
            block[:] = self._block(len(block), rng)
        return result

    def _block(self, count: int, rng: np.random.Generator) -> Ints:
        width = self.shared + self.dimension
        words = random_words(count * width, rng).reshape(count, width)
        numerators = words >> np.uint64(1)
        tails = leading(numerators, UNIFORM_BITS)
        known, own = np.split(numerators, [self.shared], axis=1)

        @cache
        def shared(row: int) -> _Shared:
            return _Shared([LazyUniform(n, UNIFORM_BITS) for n in known[row].tolist()])

        root, blur = self._roots(tails[:, : self.shared])
        for row in np.flatnonzero((known < TRUSTED).any(axis=1) | ~np.isfinite(blur[:, 0])):
            exact = self._root(shared(int(row)), 1, rng)
            is_narrow = exact.rel_accuracy_bits() > 56
            root[row], blur[row] = float(exact.mid()), 2.0**-50 if is_narrow else np.inf
        position, slack = self._positions(root, blur, tails[:, self.shared :])
        below = np.floor(position)
        fraction = position - below
        certain = (np.minimum(fraction, 1.0 - fraction) > slack) & (own >= TRUSTED)
        steps = np.where(certain, below, 0.0).astype(np.int64)
        for row, column in np.argwhere(~certain):
            uniform = LazyUniform(int(own[row, column]), UNIFORM_BITS)
            steps[row, column] = self.resolve(shared(int(row)), uniform, rng)
        signs = 1 - 2 * (words[:, self.shared :] & np.uint64(1)).astype(np.int64)
        return steps * signs

    def _roots(self, tails: Floats) -> tuple[Floats, Floats]:
        """scale·√V for each row, and a bound on its relative error; ∞ if there is none.

        With errors of m(1 + E) and m(1 + N), V = 2·ΣE + N² is off by 2m·(n + ΣE + N + N²) to first
        order, and √V by a half of that over V of itself. While V is not tiny, twice this covers
        what is of second order; rounding adds a few units in the last place for each term.
        """
        n = self.exponentials
        exponentials = EXPONENTIAL.quantile(tails[:, :n]).sum(axis=1, keepdims=True)
        normal = HALF_NORMAL.quantile(tails[:, n:]).sum(axis=1, keepdims=True)  # none if d is odd
        squared = 2.0 * exponentials + normal**2
        usual = squared > _LEAST * (self.dimension + 1)
        squared = np.where(usual, squared, 1.0)
        first_order = _MARGIN * (n + exponentials + normal + normal**2) / squared
        blur = np.where(usual, 2.0 * first_order + (n + 16) * 2.0**-51, np.inf)
        return self.scale * np.sqrt(squared), blur

    def _positions(self, root: Floats, blur: Floats, tails: Floats) -> tuple[Floats, Floats]:
        """scale·|z| + 1/2 for each coordinate, and a bound on its error."""
        x = HALF_NORMAL.quantile(tails)
        error = 2.0 * _MARGIN * (1.0 + x) + x * (blur + 2.0**-48)
        return root * x + 0.5, self.caution * root * error + 2.0**-52

    def resolve(self, shared: _Shared, uniform: LazyUniform, rng: np.random.Generator) -> int:
        """The magnitude of one coordinate, exactly, with as many further digits as that takes."""
        rounds = 0
        while True:
            rounds += 1
            refine([uniform], rng)
            root = self._root(shared, rounds, rng)
            if uniform.significant < UNIFORM_BITS:
                continue
            with ctx.workprec(_precision(rounds)):
                x = HALF_NORMAL.quantile_ball(uniform.rounded_ball())
                step = (x * root + 0.5).floor().unique_fmpz()
            if step is not None:
                return min(int(step), LARGEST_STEP)

    def _root(self, shared: _Shared, rounds: int, rng: np.random.Generator) -> arb:
        """A ball for scale·√V, from so many rounds of further digits at least."""
        while shared.root is None or shared.rounds < rounds:
            refine(shared.uniforms, rng)
            shared.rounds += 1
            if all(uniform.significant >= UNIFORM_BITS for uniform in shared.uniforms):
                with ctx.workprec(_precision(shared.rounds)):
                    shared.root = self._root_ball([each.rounded_ball() for each in shared.uniforms])
        return shared.root

    def _root_ball(self, tails: list[arb]) -> arb:
        squared = 2 * EXPONENTIAL.sum_ball(tails[: self.exponentials])
        for tail in tails[self.exponentials :]:
            squared += HALF_NORMAL.quantile_ball(tail) ** 2
        return squared.sqrt() * self.scale


def _precision(rounds: int) -> int:
    return _FIRST_PRECISION + 64 * (rounds - 1)
