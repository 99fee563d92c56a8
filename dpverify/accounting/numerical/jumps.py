"""A composition expanded by the number of its rare large losses.

No tilt suits a law whose large losses are rare: tilted enough to see the ε that is asked for, they
take over, and what is left of the rest drowns in rounding. So each part is split at one loss into a
bulk b and jumps j, and the product is expanded,

    (b + j)^k = Σ over m of C(k, m)·b^(k−m)·j^m.

Profiles add up, and each term is composed at a tilt of its own. More than M jumps have probability
at most (Σ kᵢ·jᵢ)^(M+1)/(M+1)!, which the upper end takes to lie at ∞ and the lower end leaves out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.discretize import LossGrid, discretize
from dpverify.accounting.numerical.engine import CutParts, Window, compose, window_for
from dpverify.accounting.numerical.evaluation import Composed, Summed
from dpverify.accounting.numerical.sketch import Saddle, Sketch
from dpverify.pairs.loss_law import CutLaw
from dpverify.pairs.ramps import UNIT

_MOST_JUMPS = 8
_MOST_TERMS = 24
_CANDIDATES = 32  # losses at which a split is tried, each √2 below the one before
_MASS_CELLS = 256  # of the grid on which the jumps' probability is bounded
_LEAST_CARE = math.log(1e-3)  # with which a term is windowed that hardly counts
_HEADROOM = 1e-6  # relative, beyond the rounding of a bound


@dataclass(frozen=True)
class Term:
    """One product of the expansion: its parts, and the logarithm of how often it occurs."""

    parts: CutParts
    log_weight: float

    @cached_property
    def sketch(self) -> Sketch:
        return Sketch(self.parts)

    def saddle(self, epsilon: float) -> Saddle:
        return self.sketch.saddle_at_epsilon(epsilon)

    def log_height(self, epsilon: float) -> float:
        """The logarithm of Chernoff's bound on this term at ε: rounding is relative to it."""
        saddle = self.saddle(epsilon)
        return self.log_weight + self.sketch.log_moment(saddle.tilt) - saddle.tilt * epsilon

    def window(self, epsilon: float, log_wanted: float) -> Window:
        """The losses to compose on near ε; at most about e^log_wanted is left out."""
        log_mass = min(log_wanted - self.log_height(epsilon), _LEAST_CARE)
        return window_for(self.sketch, self.saddle(epsilon), log_mass)

    def compose(self, epsilon: float, log_wanted: float, step: float) -> tuple[Composed, Composed]:
        """Both ends near ε."""
        saddle, window = self.saddle(epsilon), self.window(epsilon, log_wanted)
        upper, lower = compose(self.parts, self.sketch, saddle, window, step)
        return self._weighted(upper), self._weighted(lower)

    def _weighted(self, end: Composed) -> Composed:
        return replace(
            end,
            log_scale=end.log_scale + self.log_weight,
            scale_error=end.scale_error + 8.0 * UNIT * abs(self.log_weight),
        )


@dataclass(frozen=True)
class Expansion:
    """The terms of up to a number of jumps, and the logarithm of what the others may amount to."""

    terms: tuple[Term, ...]
    log_rest: float

    def log_height(self, epsilon: float) -> float:
        """The largest term's bound at ε."""
        return max(term.log_height(epsilon) for term in self.terms)

    def compose(self, epsilon: float, log_wanted: float, step: float) -> tuple[Summed, Summed]:
        """The dominating and the dominated composition, in this order."""
        ends = [term.compose(epsilon, log_wanted, step) for term in self.terms]
        upper, lower = zip(*ends, strict=True)
        return Summed(upper, self.log_rest), Summed(lower, -math.inf)


def expand(parts: CutParts, epsilon: float, log_rest: float) -> Expansion | None:
    """The expansion that is best to be read at ε, leaving out at most e^log_rest; None if none is.

    It is worth its terms only if it lowers what rounding is relative to.
    """
    laws = [(law, times) for law, times in parts if isinstance(law, CutLaw)]
    if len(laws) < len(parts):
        return None
    most = max(law.loss_range()[1] for law, _ in parts)
    best, height = None, Term(parts, 0.0).log_height(epsilon) - 3.0
    for loss in most * 2.0 ** (-0.5 * np.arange(1, _CANDIDATES + 1)):
        found = _expanded(laws, float(loss), log_rest)
        if found is not None and (reached := found.log_height(epsilon)) < height:
            best, height = found, reached
    return best


def _expanded(parts: list[tuple[CutLaw, int]], loss: float, log_rest: float) -> Expansion | None:
    """The expansion with everything above `loss` a jump; None if it takes too many terms."""
    jumping = 0
    pieces: list[tuple[CutLaw, CutLaw | None, int]] = []
    for law, times in parts:
        bulk, jumps = _split(law, loss)
        pieces.append((bulk, jumps, times))
        jumping += jumps is not None
        if jumping >= _MOST_TERMS:
            return None  # one jump is a term for each of them already
    expected = math.fsum(times * _mass(jumps) for _, jumps, times in pieces if jumps is not None)
    if not 0.0 < expected < 1.0:
        return None
    for most in range(1, _MOST_JUMPS + 1):
        log_left = (most + 1) * math.log(expected) - math.lgamma(most + 2) + _HEADROOM
        if log_left <= log_rest:
            terms = tuple(islice(_terms(pieces, most), _MOST_TERMS + 1))
            cut = np.logaddexp.reduce([law.log_above + math.log(times) for law, times in parts])
            rest = float(np.logaddexp(log_left, cut)) + _HEADROOM
            return Expansion(terms, rest) if len(terms) <= _MOST_TERMS else None
    return None


def _terms(pieces: list[tuple[CutLaw, CutLaw | None, int]], most: int) -> Iterator[Term]:
    """One term for each way of having up to `most` jumps."""
    for counts in _counts([times if jumps else 0 for _, jumps, times in pieces], most):
        parts, ways = [], 1
        for (bulk, jumps, times), count in zip(pieces, counts, strict=True):
            ways *= math.comb(times, count)
            if times > count:
                parts.append((bulk, times - count))
            if jumps is not None and count:
                parts.append((jumps, count))
        yield Term(parts, math.log(ways))


def _counts(limits: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Whole numbers from 0 up to each limit that add up to at most `most`."""
    counts = [0] * len(limits)
    while True:
        yield tuple(counts)
        for index, limit in enumerate(limits):
            if counts[index] < limit and sum(counts) < most:
                counts[index] += 1
                break
            counts[index] = 0
        else:
            return


def _split(law: CutLaw, loss: float) -> tuple[CutLaw, CutLaw | None]:
    """The law up to a loss and above it, as two measures; all of it and None if one is empty.

    What was cut off above is in neither.
    """
    ends = [float(ramp.outcome(np.array([loss]))[0]) for ramp in law.ramps]
    cut = list(zip(law.ramps, ends, strict=True))
    low = [ramp.cut(-math.inf, end) for ramp, end in cut if ramp.low < end]
    high = [ramp.cut(end, math.inf) for ramp, end in cut if end < ramp.high]
    above = law.losses > loss
    whole = replace(law, log_above=-math.inf)
    bulk = replace(
        whole, ramps=tuple(low), losses=law.losses[~above], log_masses=law.log_masses[~above]
    )
    jumps = replace(
        whole,
        ramps=tuple(high),
        losses=law.losses[above],
        log_masses=law.log_masses[above],
        below=(),
    )
    if any(not piece.ramps and not len(piece.losses) for piece in (bulk, jumps)):
        return whole, None
    return bulk, jumps


def _mass(law: CutLaw) -> float:
    """A number not below P of the whole law: that of a law that dominates it."""
    low, high = law.loss_range()
    step = max((high - low) / _MASS_CELLS, 1e-9 * max(abs(low), abs(high)))
    upper = discretize(law, LossGrid(step, low), Tilt(rate=0.0, log_scale=0.0)).upper
    return float(upper.sum()) * (1.0 + _HEADROOM)
