"""The cost of steps on fixed-size batches: the worst choice of a triangle at every step.

One pair dominates every step (`WithoutReplacementPair`), but no run shows it: it takes what a
removed record shows above loss 0, and what an added one shows below. For one step that does not
matter, for many it is too much. Here the steps are a game over the running loss: from above among
few pairs whose mixtures dominate all triangles, from below among three that occur.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpverify.accounting import deadline
from dpverify.accounting.adaptive.cover import Triangles
from dpverify.accounting.adaptive.lattice import Board, Lattice
from dpverify.accounting.numerical.composition import ASSUMES
from dpverify.accounting.parts import Part, Parts
from dpverify.accounting.rules import NUMERICAL, Question
from dpverify.arrays import Floats
from dpverify.balls import ball, float_above
from dpverify.guarantees import Bracket, End
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.bounded import RatioPair
from dpverify.pairs.bounds.ratios import envelope, mirrored
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import ADAPTIVE_BATCHES

CHOSEN = (
    "batches of a fixed size: the upper end is of the worst choice at every step, which may depend "
    "on all outputs before it, the lower end of such a choice among three"
)
_WORTH_IT = 0.01  # a bracket that is narrower than this share of its upper end is left alone
_LEAST_SIZE, _LARGEST_SIZE = 0.05, 6.0  # of the shift, in units of the noise
_LEAST_RATE, _LARGEST_RATE = 1e-6, 0.99
_CELLS = 4.0  # steps of the lattice in a typical loss, at least
_STEPS = 1500.0  # and, where there is time, in the ε that is asked for
_MOST_WORK = 6e7  # steps of the game times places on the board
_LITTLE_WORK = 1e7  # for which the lattice may be finer than that
_BEYOND = 1e-4  # δ at the end of the board, over the one that is asked for
_LEAKED = 1e-3  # of δ, in all steps together, so that rare large losses need not be told apart
_BELOW = 12.0  # how far the board goes below 0, in units of what a tilt weighs down by e
_LOG_MOMENT = 20.0  # up to which all steps together may be tilted
_DOWN = 1.0 - 1e-12  # covers the rounding of rate and size

_is_off: ContextVar[bool] = ContextVar("is_off", default=False)


@contextmanager
def no_games() -> Iterator[None]:
    """A context without games, for searches that ask very often."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def sharpened(parts: Parts, question: Question, found: Bracket) -> Bracket:
    """The bracket, narrowed by a game if one part has fixed-size batches and it is wide."""
    game = None if _is_off.get() else Game.among(parts)
    if game is None or deadline.is_over() or not _is_wide(question, found):
        return found
    try:
        aim = _aim(parts, question, found)
        pair = None if aim is None else played(game.pair, game.times, aim)
    except deadline.DeadlinePassed:
        return replace(found, assumes=(*found.assumes, deadline.OUT_OF_TIME))
    if pair is None:
        return found
    together = (Part(pair, 1, "batches of a fixed size"), *game.others)
    sharp = NUMERICAL.answer(together, question) if game.others else question.of(pair)
    if not isinstance(sharp, Bracket) or sharp.upper >= found.upper:
        return found
    assumes = tuple(dict.fromkeys((*ASSUMES, *sharp.assumes, CHOSEN)))
    # Who sees the other parts first is as well off as in any other order, since the largest of
    # several means is no more than the mean of the largest; from below no order may be assumed.
    lower = found.lower if game.others else min(max(sharp.lower, found.lower), sharp.upper)
    return Bracket(lower, sharp.upper, ADAPTIVE_BATCHES, assumes)


@dataclass(frozen=True, slots=True)
class Game:
    """Steps that may each show any triangle, and the other parts of a composition."""

    pair: WithoutReplacementPair
    times: int
    others: Parts

    @classmethod
    def among(cls, parts: Parts) -> "Game | None":
        """The game in a composition, if it has one of manageable size."""
        games = [
            cls(part.seen, part.times, parts[:place] + parts[place + 1 :])
            for place, part in enumerate(parts)
            if isinstance(part.seen, WithoutReplacementPair)
        ]
        if len(games) != 1 or any(part.pair is None for part in parts):
            return None
        (game,) = games
        if game.times < 2 or not isinstance(game.pair.base, GaussianPair):
            return None
        within = _LEAST_SIZE <= float(game.pair.shift.size) <= _LARGEST_SIZE
        return game if within and _LEAST_RATE <= game.pair.rate <= _LARGEST_RATE else None


def _is_wide(question: Question, found: Bracket) -> bool:
    if not 0.0 < found.upper < math.inf or question.at in {0.0, 1.0, math.inf}:
        return False
    return found.width > _WORTH_IT * found.upper and not question.is_met(found)


@dataclass(frozen=True, slots=True)
class Aim:
    """Roughly where the profile is asked for, and an ε where it is far smaller."""

    epsilon: float
    delta: float
    end: float


def _aim(parts: Parts, question: Question, found: Bracket) -> Aim | None:
    if question.unknown == "epsilon":
        epsilon, delta = found.upper, question.at
    else:
        epsilon, delta = question.at, found.lower or found.upper
    beyond = NUMERICAL.epsilon(parts, delta * _BEYOND, max(0.05, 0.05 * epsilon))
    end = beyond.upper if isinstance(beyond, Bracket) else math.inf
    if not (1e-200 < delta < 0.5 and 0.0 < epsilon < end < math.inf):
        return None
    # Few digits, so that questions that are alike share their games.
    return Aim(
        float(f"{epsilon:.1e}"), 10.0 ** math.floor(math.log10(delta)), float(f"{1.05 * end:.1e}")
    )


@lru_cache(maxsize=16)
def played(pair: WithoutReplacementPair, times: int, aim: Aim) -> BetweenPair | None:
    """Bounds on the profile of all steps together; None if that would take too long."""
    size, rate = float_above(pair.shift.size), math.nextafter(float_above(ball(pair.rate)), 1.0)
    typical = float(Triangles(Lattice.reaching(1.0, 1.0), size, rate).half(1.0, 0.0)[0])
    coarse = typical / _CELLS
    usual = min(coarse, max(aim.epsilon, aim.end / 8.0) / _STEPS)
    for step, most in ((usual / 4.0, _LITTLE_WORK), (usual, _MOST_WORK), (coarse, _MOST_WORK)):
        triangles = _triangles(size, rate, step, _LEAKED * aim.delta / times)
        board = _board(triangles, times, aim)
        places = board.last - board.first + 2 * triangles.lattice.last
        if times * places <= most:
            break
    else:
        return None
    choices = triangles.cover()
    instances = Triangles(triangles.lattice, size * _DOWN, rate * _DOWN).attained()
    if min(float(pair.left.min()) for pair in choices) < 0.0:
        return None  # so coarse a lattice leaves nothing at loss 0
    upper = board.play(choices, times, End.UPPER)
    lower = board.play(instances, times, End.LOWER)
    if upper[0] >= 1.0 or lower[1] <= 0.0:
        return None  # all drowned in the error of transforms
    return BetweenPair(
        _pair(step, upper, End.UPPER), _pair(step, lower, End.LOWER), theorem=ADAPTIVE_BATCHES
    )


def _triangles(size: float, rate: float, step: float, leak: float) -> Triangles:
    """All triangles, on losses up to where the worst pair has a profile of `leak`."""
    most = math.log1p(rate * math.exp(min(size * (size / 2.0 + 12.0), 600.0)))
    whole = Lattice.reaching(step, most)
    profile = Triangles(whole, size, rate).half(1.0, 0.0)
    count = int(np.searchsorted(-profile, -leak)) + 1
    return Triangles(Lattice(step, whole.offsets[: max(count, 2)]), size, rate, leak)


def _board(triangles: Triangles, times: int, aim: Aim) -> Board:
    """Losses around those that matter, tilted so that V is about level between 0 and ε.

    The tilt is so small that the moments of all steps together stay moderate.
    """
    lattice = triangles.lattice
    masses, losses = triangles.worst().left, lattice.step * lattice.both
    tilt = min(
        math.log(0.5 / aim.delta) / aim.epsilon,
        math.log(0.5 / (_LEAKED * aim.delta)) / aim.end,  # V does not fall below what is leaked
    )
    with np.errstate(over="ignore"):
        while times * math.log(float(masses @ np.exp(tilt * losses))) > _LOG_MOMENT:
            tilt *= 0.9
    first = -math.ceil(_BELOW / (tilt * lattice.step))
    return Board(lattice.step, first, math.ceil(aim.end / lattice.step), tilt)


def _pair(step: float, values: Floats, end: End) -> RatioPair:
    """The pair that is its own exchange, from its profile at multiples of `step` from 0 on.

    With its mirror image a profile f is convex at x = 1 if 2f′(1) ≥ f(1) − 1. An upper bound that
    is not is raised to a line there; a lower one is mixed with a pair that tells nothing.

    A lower bound holds at the nodes alone. Since profiles fall, the value at the next node holds
    all the way from one node to the next.
    """
    x = np.exp(step * np.arange(len(values)))
    if end is End.UPPER:
        values = np.maximum(values, values[0] + (x - 1.0) * (values[0] - 1.0) / 2.0)
        asked = np.interp(x, *envelope(x, values))
    else:
        asked = np.interp(x, *envelope(x, np.append(values[1:], 0.0)))
        slope = (asked[1] - asked[0]) / (x[1] - x[0])
        asked *= min(1.0, 1.0 / (asked[0] - 2.0 * slope)) * (1.0 - 1e-9)
    found = mirrored(x, asked)
    # Whatever rounding did to masses, it is their own profile that has to be on the safe side.
    reached, counts = found.profile(x), asked > 0.0
    off = asked[counts] / reached[counts] if end is End.UPPER else reached[counts] / asked[counts]
    excess = max(float(off.max()) - 1.0, 0.0) + 1e-12
    return RatioPair(replace(found, mass_error=max(found.mass_error, 2.0 * excess)))
