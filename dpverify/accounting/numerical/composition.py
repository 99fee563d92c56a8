"""The numerical accountant: parts in, certified brackets out."""

import math
from dataclasses import dataclass
from functools import lru_cache

from dpverify.accounting import deadline
from dpverify.accounting.numerical.convolution import TRANSFORM_ROUNDINGS
from dpverify.accounting.numerical.preparation import PairParts, max_loss, prepare, singular_mass
from dpverify.accounting.numerical.refinement import Progress, Refined, guessed_log_delta, refine
from dpverify.accounting.numerical.targets import LEAST_LOG, DeltaAt, EpsilonAt
from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, as_between, as_count, as_positive, settle
from dpverify.guarantees import Bracket
from dpverify.pairs.base import Pair
from dpverify.theorems import NUMERICAL_COMPOSITION

ASSUMES = (
    (
        f"an FFT of n numbers is off by at most {TRANSFORM_ROUNDINGS:g}·log2(n) units of 2^-53, "
        "relative, in the ℓ2 norm [proofs/fourier_rounding.py]"
    ),
    (
        "numpy's exp, log, expm1, log1p, arctan2, sin and cos are off by at most 4 units in the "
        "last place"
    ),
)
LEAST_DELTA = 1e-300
_TINY = -600.0  # logarithm of a δ from which on one below `LEAST_DELTA` is thinkable
INSTANCE = (
    "steps without one worst pair of their own: the upper end is of a pair that dominates every "
    "step, the lower end of an instance of the mechanism, or of a pair that every step dominates"
)


@dataclass(frozen=True)
class NumericalComposition:
    """A product of pairs, each some number of times, in their given direction.

    `epsilon` and `delta` return brackets whose two ends are both certified; what they rest on
    beyond the theorem is in `Bracket.assumes`, and so is the limit that kept a bracket wider than
    asked, if one did.

    >>> from dpverify.pairs import LaplacePair
    >>> laplace = LaplacePair(scale=20.0, sensitivity=1.0)
    >>> found = NumericalComposition(((laplace, 500),)).epsilon(1e-6)
    >>> round(found.upper, 2), found.width < 1e-3
    (5.47, True)
    """

    parts: tuple[tuple[Pair, int], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidParameter("parts=() must not be empty")
        counted = []
        for index, (pair, times) in enumerate(self.parts):
            if not isinstance(pair, Pair):
                raise InvalidParameter(f"parts[{index}]={pair!r} must be a pair")
            pair.check()
            counted.append((pair, as_count(f"parts[{index}].times", times)))
        settle(self, parts=tuple(counted))

    def epsilon(
        self,
        delta: float,
        *,
        tolerance: float = 1e-3,
        enough: float = -math.inf,
        progress: Progress | None = None,
    ) -> Bracket:
        """Bracket around the smallest ε ≥ 0 at δ, no wider than `tolerance` unless a limit is met.

        Once the upper end is known to be at most `enough`, the bracket is returned as it is: of
        two directions only the worse one need be known well.
        """
        delta = as_between("delta", delta, 0.0, 1.0)
        tolerance = as_positive("tolerance", tolerance)
        if self._instances:
            tolerance /= 2.0  # each end is of a composition of its own
        found = _epsilon(self.parts, delta, _Ask(tolerance, enough, progress))
        for parts in self._instances:
            ask = _Ask(tolerance, max(enough, found.lower), progress)
            found = _raised(found, _epsilon(parts, delta, ask), self._gaps)
        return found

    def delta(
        self,
        epsilon: float,
        *,
        tolerance: float = 1e-3,
        enough: float = -math.inf,
        progress: Progress | None = None,
    ) -> Bracket:
        """A bracket around the profile at ε, with width at most `tolerance` times its upper end."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        tolerance = as_positive("tolerance", tolerance)
        if self._instances:
            tolerance /= 2.0
        found = _delta(self.parts, epsilon, _Ask(tolerance, enough, progress))
        for parts in self._instances:
            ask = _Ask(tolerance, max(enough, found.lower), progress)
            found = _raised(found, _delta(parts, epsilon, ask), self._gaps)
        return found

    @property
    def _gaps(self) -> tuple[str, ...]:
        """What lies between the two ends, in words."""
        return tuple(dict.fromkeys(pair.gap for pair, _ in self.parts if pair.gap))

    @property
    def _instances(self) -> tuple[PairParts, ...]:
        """Actual compositions, if some part dominates a mechanism without being attained.

        Instances of a part are listed in one order, so that the first ones go together and the
        second ones do; and half of the runs one way and half the other.
        """
        most = max(len(pair.attained or ()) for pair, _ in self.parts)
        found = [self._instance(index) for index in range(most)]
        return (*found, self._halved) if most > 1 else tuple(found)

    def _instance(self, index: int) -> PairParts:
        """The same instance of every part; its last one where there are fewer."""
        return tuple(
            (pair.instances[min(index, len(pair.instances) - 1)], times)
            for pair, times in self.parts
        )

    @property
    def _halved(self) -> PairParts:
        halves: list[tuple[Pair, int]] = []
        for pair, times in self.parts:
            ways = pair.instances
            halves.append((ways[0], (times + 1) // 2))
            if times > 1:
                halves.append((ways[min(1, len(ways) - 1)], times // 2))
        return tuple(halves)


@dataclass(frozen=True, slots=True)
class _Ask:
    """How well an answer should be known, and whom to tell how it goes."""

    tolerance: float
    enough: float
    progress: Progress | None


def _raised(bound: Bracket, instance: Bracket, gaps: tuple[str, ...]) -> Bracket:
    """The upper end of a bound and the better lower end of instances."""
    known = bound.lower if INSTANCE in bound.assumes else 0.0
    assumes = tuple(dict.fromkeys((*bound.assumes, INSTANCE, *gaps)))
    lower = min(max(known, instance.lower), bound.upper)
    return Bracket(lower, bound.upper, bound.theorem, assumes)


def _epsilon(parts: PairParts, delta: float, ask: _Ask) -> Bracket:
    if delta == 1:
        return Bracket(0.0, 0.0, NUMERICAL_COMPOSITION)
    most = enclose(lambda: max_loss(parts))
    low, high = enclose(lambda: ball(delta) - singular_mass(parts))
    if high < 0.0:
        return Bracket(math.inf, math.inf, NUMERICAL_COMPOSITION)
    if most[1] == 0.0 and low >= 0.0:
        return Bracket(0.0, 0.0, NUMERICAL_COMPOSITION)
    if low == high == 0.0:
        # Nothing but the mass at infinity is allowed, so every other outcome counts.
        return Bracket(max(most[0], 0.0), most[1], NUMERICAL_COMPOSITION)
    if deadline.is_over():
        return Bracket(0.0, most[1], NUMERICAL_COMPOSITION, (deadline.OUT_OF_TIME,))
    target = EpsilonAt(_log_below(low), _log_above(high), most[1], ask.tolerance)
    found = refine(prepare(parts), target, ask.tolerance, enough=ask.enough, progress=ask.progress)
    upper = min(found.upper, most[1]) if low >= 0.0 else math.inf
    return _bracket(Refined(max(found.lower, 0.0), upper, found.limit))


def _delta(parts: PairParts, epsilon: float, ask: _Ask) -> Bracket:
    singular = enclose(lambda: singular_mass(parts))
    if singular[0] >= 1.0:
        return Bracket(1.0, 1.0, NUMERICAL_COMPOSITION)
    if epsilon >= enclose(lambda: max_loss(parts))[1]:
        return Bracket(max(singular[0], 0.0), min(singular[1], 1.0), NUMERICAL_COMPOSITION)
    if deadline.is_over():
        return Bracket(max(singular[0], 0.0), 1.0, NUMERICAL_COMPOSITION, (deadline.OUT_OF_TIME,))
    prepared, target = prepare(parts), DeltaAt(epsilon)
    # A cheap guess first: where the profile is not that small, its edge need not be found.
    if (
        singular[1] == 0.0
        and guessed_log_delta(prepared, target) < _TINY
        and epsilon >= _edge(parts)
    ):
        return Bracket(0.0, LEAST_DELTA, NUMERICAL_COMPOSITION, ASSUMES)
    enough = _log_below(ask.enough - singular[1])
    found = refine(prepared, target, ask.tolerance, enough=enough, progress=ask.progress)
    # Two units in the last place cover exp and the sum.
    lower = (singular[0] + math.exp(found.lower)) * (1.0 - 2.0**-50)
    upper = (singular[1] + max(math.exp(found.upper), 5e-324)) * (1.0 + 2.0**-50)
    return _bracket(Refined(max(lower, 0.0), min(upper, 1.0), found.limit))


def _edge(parts: PairParts) -> float:
    """An ε beyond which the profile is below what is asked of floats."""
    return _found_edge.__wrapped__(parts) if deadline.is_limited() else _found_edge(parts)


@lru_cache(maxsize=64)
def _found_edge(parts: PairParts) -> float:
    return _epsilon(parts, LEAST_DELTA, _Ask(1.0, 0.0, None)).upper


def _log_below(value: float) -> float:
    """A number not above the logarithm."""
    logarithm = math.log(value) if value > 0.0 else LEAST_LOG
    return logarithm - 2.0**-50 * abs(logarithm)


def _log_above(value: float) -> float:
    """A number not below the logarithm."""
    logarithm = math.log(value) if value > 0.0 else LEAST_LOG
    return logarithm + 2.0**-50 * abs(logarithm)


def _bracket(found: Refined) -> Bracket:
    assumes = (*ASSUMES, found.limit) if found.limit else ASSUMES
    return Bracket(found.lower, found.upper, NUMERICAL_COMPOSITION, assumes)
