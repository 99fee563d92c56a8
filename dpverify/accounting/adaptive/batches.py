"""What steps on batches of a fixed size cost together: the best choice of a triangle at every step.

One pair dominates every step (`WithoutReplacementPair`), but no run shows it twice: it takes what a
removed record shows above loss 0, and what an added one shows below. So the product of such pairs is
too much. Here the steps are a game over the running loss: from above among few pairs whose mixtures
dominate all triangles, from below among three that occur.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from flint import arb

from dpverify.accounting import deadline
from dpverify.accounting.adaptive.cover import Triangles
from dpverify.accounting.adaptive.lattice import Board, Lattice
from dpverify.accounting.numerical.composition import ASSUMES
from dpverify.accounting.parts import Part, Parts
from dpverify.accounting.rules import NUMERICAL, Question
from dpverify.arrays import Floats
from dpverify.balls import ball, float_above, float_below
from dpverify.guarantees import Bracket, End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.subsampling.ratios import envelope
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import ADAPTIVE_BATCHES

CHOSEN = (
    "batches of a fixed size: the upper end is of the worst choice at every step, which may depend on "
    "all outputs before it, the lower end of such a choice among three"
)
_WORTH_IT = 0.01  # a bracket that is narrower than this share of its upper end is left alone
_LEAST_SIZE, _LARGEST_SIZE = 0.05, 6.0  # of the shift, in units of the noise
_LEAST_RATE, _LARGEST_RATE = 1e-6, 0.5
_CELLS = 4.0  # steps of the lattice in a typical loss
_MOST_WORK = 6e7  # steps of the game times places on the board
_BEYOND = 1e-4  # δ at the end of the board, over the one that is asked for
_LEAKED = 1e-3  # of δ, in all steps together, so that rare large losses need not be told apart
_LOG_MOMENT = 20.0  # up to which all steps together may be tilted
_DOWN = 1.0 - 1e-12  # covers the rounding of rate and size

_is_off: ContextVar[bool] = ContextVar("is_off", default=False)


@contextmanager
def no_games() -> Iterator[None]:
    """Within, answers are what composition gives at once: for searches that ask many times."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def sharpened(parts: Parts, question: Question, found: Bracket) -> Bracket:
    """The bracket, narrowed where one part is made of batches of a fixed size and it is wide."""
    index = None if _is_off.get() else _playable(parts)
    if index is None or deadline.is_over() or not _is_wide(question, found):
        return found
    part = parts[index]
    try:
        target = _target(parts, question, found)
        played = None if target is None else _played(part.seen, part.times, target)
    except deadline.DeadlinePassed:
        return replace(found, assumes=(*found.assumes, deadline.OUT_OF_TIME))
    if played is None:
        return found
    joined = Part(played, 1, part.label)
    rest = parts[:index] + parts[index + 1 :]
    sharp = question.of(played) if not rest else NUMERICAL.answer((joined, *rest), question)
    if not isinstance(sharp, Bracket) or sharp.upper >= found.upper:
        return found
    assumes = tuple(dict.fromkeys((*ASSUMES, *sharp.assumes, CHOSEN)))
    lower = min(max(sharp.lower, found.lower), sharp.upper)
    return Bracket(lower, sharp.upper, ADAPTIVE_BATCHES, assumes)


def _playable(parts: Parts) -> int | None:
    """Where the one part is that a game is known for."""
    places = [i for i, part in enumerate(parts) if isinstance(part.seen, WithoutReplacementPair)]
    if len(places) != 1 or any(part.pair is None for part in parts):
        return None
    (index,) = places
    pair = parts[index].seen
    if parts[index].times < 2 or not isinstance(pair, WithoutReplacementPair):
        return None
    if not isinstance(pair.base, GaussianPair):
        return None
    size = float(pair.shift.size)
    within = _LEAST_SIZE <= size <= _LARGEST_SIZE and _LEAST_RATE <= pair.rate <= _LARGEST_RATE
    return index if within else None


def _is_wide(question: Question, found: Bracket) -> bool:
    if not 0.0 < found.upper < math.inf or question.at in {0.0, 1.0, math.inf}:
        return False
    asked = question.tolerance * (1.0 if question.unknown == "epsilon" else found.upper)
    return found.width > max(asked, _WORTH_IT * found.upper)


@dataclass(frozen=True, slots=True)
class Target:
    """About where the profile is asked for, and an ε at which it is far below."""

    epsilon: float
    delta: float
    end: float


def _target(parts: Parts, question: Question, found: Bracket) -> Target | None:
    if question.unknown == "epsilon":
        epsilon, delta = found.upper, question.at
    else:
        epsilon, delta = question.at, found.lower or found.upper
    beyond = NUMERICAL.epsilon(parts, delta * _BEYOND, max(0.05, 0.05 * epsilon))
    end = beyond.upper if isinstance(beyond, Bracket) else math.inf
    if not (1e-200 < delta < 0.5 and 0.0 < epsilon < end < math.inf):
        return None
    # Few digits, so that questions that are alike share their games.
    return Target(float(f"{epsilon:.1e}"), 10.0 ** math.floor(math.log10(delta)), math.ceil(8.0 * end) / 8.0)


@lru_cache(maxsize=16)
def _played(pair: WithoutReplacementPair, times: int, target: Target) -> BetweenPair | None:
    """Bounds on the profile of the steps together; None if that would take too long."""
    size, rate = float_above(pair.shift.size), math.nextafter(float_above(ball(pair.rate)), 1.0)
    leak = _LEAKED * target.delta / times
    wide = Triangles(Lattice.reaching(1.0, 1.0), size, rate)
    step = float(wide.half(1.0, 0.0)[0]) / _CELLS
    lattice = _lattice(size, rate, step, leak)
    triangles = Triangles(lattice, size, rate, leak)
    worst = triangles.worst()
    tilt = _tilt(worst.left, step * lattice.both, times, math.log(0.5 / target.delta) / target.epsilon)
    board = Board(
        step, -math.ceil(12.0 / (tilt * step)), math.ceil(target.end / step), tilt
    )
    if times * (board.last - board.first + 2 * lattice.last) > _MOST_WORK:
        return None
    below = Triangles(lattice, size * _DOWN, rate * _DOWN)
    upper = board.play(triangles.cover(), times, End.UPPER)
    lower = board.play(below.attained(), times, End.LOWER)
    return BetweenPair(
        Played.of(step, upper, End.UPPER), Played.of(step, lower, End.LOWER), theorem=ADAPTIVE_BATCHES
    )


def _lattice(size: float, rate: float, step: float, leak: float) -> Lattice:
    """Losses up to where the worst pair has a profile of `leak`."""
    most = math.log1p(rate * math.exp(min(size * (size / 2.0 + 12.0), 600.0)))
    whole = Lattice.reaching(step, most)
    profile = Triangles(whole, size, rate).half(1.0, 0.0)
    beyond = int(np.searchsorted(-profile, -leak)) + 1
    return Lattice(step, whole.offsets[: max(beyond, 2)])


def _tilt(masses: Floats, losses: Floats, times: int, wanted: float) -> float:
    """At most what is wanted, and so little that moments of all steps together stay moderate."""
    low, high = 0.0, wanted
    for _ in range(60):
        middle = (low + high) / 2.0 if low > 0.0 or high < wanted else high
        with np.errstate(over="ignore"):
            moment = float((masses * np.exp(middle * losses)).sum())
        if times * math.log(max(moment, 1.0)) <= _LOG_MOMENT:
            low = middle
            if low == wanted:
                break
        else:
            high = middle
    return max(low, 1e-3 * wanted)


@dataclass(frozen=True, eq=False)
class Played(Pair):
    """A profile that is known at multiples of `step`: by its chords, constant beyond the last.

    It equals its own exchange, as the steps do.
    """

    step: float
    values: Floats
    is_upper: bool

    @classmethod
    def of(cls, step: float, values: Floats, end: End) -> "Played":
        """The pair that joins values from ε = 0 on, bounded towards `end`.

        Profiles are convex in x = e^ε, so that the envelope of an upper bound is one. With its mirror
        image it is convex at x = 1 too if its slope there is at least (δ(0) − 1)/2.

        A lower bound holds at the nodes alone. Since profiles fall, its value at the next node holds
        all the way from one node to the next. Then the slope is steeper by e^step; some of a pair that
        tells nothing makes up for that.
        """
        x = np.exp(step * np.arange(len(values)))
        if end is End.UPPER:
            joined = np.interp(x, *envelope(x, values))
            least = joined[0] + (x - 1.0) * (joined[0] - 1.0) / 2.0
            return cls(step, np.maximum(joined, least) * (1.0 + 1e-12), is_upper=True)
        shifted = np.append(values[1:], 0.0) * (1.0 - 2.0 * min(step, 0.5))
        return cls(step, np.interp(x, *envelope(x, shifted)) * (1.0 - 1e-12), is_upper=False)

    @property
    def reversed(self) -> "Played":
        return self

    @property
    def singular_mass(self) -> float:
        return float(self.values[-1]) if self.is_upper else 0.0

    @property
    def max_loss(self) -> float:
        return self.step * (len(self.values) - 1)

    def profile_ball(self, epsilon: arb) -> arb:
        return self._at(float_below(epsilon), epsilon).union(self._at(float_above(epsilon), epsilon))

    def _at(self, near: float, epsilon: arb) -> arb:
        """On the chord of the cell that holds `near`, at ε as far as it lies in that cell."""
        last = len(self.values) - 1
        cell = min(max(math.floor(near / self.step), 0), last)
        if cell == last:
            return arb(self.values[last])
        start, stop = (ball(self.step) * (cell + i) for i in (0, 1))
        share = (epsilon.max(start).min(stop) - start).expm1() / (stop - start).expm1()
        return arb(self.values[cell]) * (1 - share) + arb(self.values[cell + 1]) * share
