"""Chosen noise: both outcomes of every comparison, far values, and ties."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, islice, product
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.tracing.evidence.releases import EDGE
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Bits, Move, Pick, Value
from dpverify.tracing.recording.journal import Tie, beyond
from dpverify.tracing.recording.laws import TracedLaw, coin
from dpverify.tracing.recording.runs import TracedRun, Twin

_MOST_COINS = 512
_MOST_SIGNS = 4
_MOST_INTERVALS = 6
_MOST_KNOWN = 12  # numbers of the code that noisy ones are put to
_MOST_PUT = 5000  # numbers of one release that are put somewhere
_MOST_AMOUNTS = 100  # of noise that all whole numbers have
_MOST_SWEPT, _FEW_SWEPT = 30, 6  # of them, before anything else is tried
_NEAR = 1e-8  # numbers that are known are put a little above themselves
_MOST_TURNS = 256  # draws by which a run may be longer than the first one
_FLIPPED = 2  # times that a line of the first run is turned around
_MOST_CROSSED = 4  # comparisons of which all combinations are tried
_TURNS = 4  # times that a line is looked at in later transcripts
FAR = 12.0  # in scales: what happens once in 320,000 runs with Laplace noise
_FARTHEST = 36.0  # as far as tails are computed


def _all(value: Any, to: float) -> Any:  # noqa: ANN401  # a float or an array
    return np.full_like(value, to) if isinstance(value, np.ndarray) else to


def far_out(law: TracedLaw, value: Any, to: float) -> Any:  # noqa: ANN401
    """Noise as extreme as Laplace noise `to` scales away from 0."""
    return _all(value, far_of(law, to))


def far_of(law: TracedLaw, to: float) -> float:  # one case a law
    """One draw as extreme as Laplace noise `to` scales away from 0."""
    tail = max(0.5 * math.exp(-abs(to)), 2.0**-53)
    match law.name:
        case "uniform":
            return 1.0 - tail if to > 0 else tail
        case "exponential":
            return -math.log(tail) if to > 0 else tail
        case "geometric":
            return max(1.0, math.ceil(-math.log(tail) / law.rate)) if to > 0 else 1.0
        case "integers":
            return law.parameter - 1.0 if to > 0 else 0.0
        case _ if abs(to) > _FARTHEST:
            return to
        case "normal":
            return math.copysign(float(scipy.special.ndtri(tail)), to)
        case "gumbel" if to < 0:
            return -math.log(-math.log(tail))
        case "cauchy":
            return math.copysign(1.0 / math.tan(math.pi * tail), to)
        case _:
            return to


def alternating(law: TracedLaw, value: Any, to: float = FAR) -> Any:  # noqa: ANN401
    if not isinstance(value, np.ndarray):
        return far_out(law, value, to if value > 0.5 else -to)
    ups, downs = far_out(law, value, to), far_out(law, value, -to)
    return np.where(np.arange(value.size).reshape(value.shape) % 2 == 0, ups, downs)


def _tie(law: TracedLaw, value: Any) -> Any:  # noqa: ANN401
    return value if law.name in {"uniform", "integers", "geometric"} else _all(value, 0.0)


def reach_of(delta: float, base: TracedRun) -> float:
    """How far noise is moved, in scales; anything beyond is rarer than δ.

    Noise that was cut off is moved less far, to what is rarer than δ^0.8: near the cut is what
    cannot come out on the other side, which is charged by its probability and is no leak.
    """
    if not delta:
        return FAR
    is_cut = base.journal.draws.low is not None
    far = 0.8 * math.log(0.5 / min(delta, 0.4)) if is_cut else -math.log(2.1 * min(delta, 0.4))
    return min(_FARTHEST, far)


def scripts(
    base: TracedRun,
    seed: int,
    delta: float = 0.0,
    spot: int | None = None,
    known: Sequence[float] = (),
) -> Iterator[NoiseScript]:
    """Transcripts to trace after the first one, beginning with flipped comparisons.

    `spot` is the first record that differs: samples that take it, orders that put it first or last.
    `known` are numbers that noisy ones may be compared with out of sight. A claim with δ > 0
    allows anything on transcripts of smaller probability: `rare` sees to those.
    """
    most = base.journal.draws.top
    reach = reach_of(delta, base)
    seen: dict[Any, int] = {}
    for number, event in enumerate(base.journal.events):
        turn = seen[event.place] = seen.get(event.place, -1) + 1
        if isinstance(event, Bits) and (turn < _FLIPPED or is_near(turn, spot)):
            flip = flipped(base, number, delta)
            if flip is not None:
                yield flip
                for far in () if turn < _FLIPPED else (reach, -reach):
                    yield flip.shaped(partial(far_out, to=far), most)
        elif turn < 2 and spot is not None:
            yield from _towards(base, seed, number, spot)
    yield from _between(base, delta)
    for far in (reach, -reach):
        yield NoiseScript(seed, shape=partial(far_out, to=far), until=most)
    # A loop that goes on while noise lets it may go on for longer than the first run did.
    for far in () if delta else (100 * FAR, -100 * FAR):
        yield NoiseScript(seed, shape=partial(far_out, to=far), until=most + _MOST_TURNS)
    yield NoiseScript(seed, shape=partial(alternating, to=reach), until=most)
    yield NoiseScript(seed, shape=_tie, until=most)
    yield from _at(base, seed, delta, known)
    if is_whole(base):
        amounts, sweep = swept(base, seed, reach, delta)
        yield from islice(sweep, first_swept(amounts))
    else:
        yield from _signs(base, seed, reach)
    picks = sum(isinstance(event, Pick) for event in base.journal.events)
    for more in range(1, 4 if picks < 2 else 13):
        yield NoiseScript(seed + 1000 * more)


def plain_draws(base: TracedRun) -> NDArray[np.intp]:
    """The draws behind noisy numbers that the code saw as plain numbers on some line."""
    loose = [e for e in base.journal.events if isinstance(e, Value) and not e.final]
    if not loose:
        return np.zeros(0, dtype=np.intp)
    every = np.unique(np.concatenate([np.ravel(event.idx) for event in loose]))
    laws = base.journal.draws
    return every[[laws.law_of(int(j)).name not in {"shaped", "bounded"} for j in every]]


def is_whole(base: TracedRun) -> bool:
    """Whether the code saw noisy numbers as plain ones, all of them whole."""
    draws = plain_draws(base)
    return bool(len(draws)) and all(law.is_discrete for law in base.journal.draws.names_of(draws))


def _signs(base: TracedRun, seed: int, reach: float) -> Iterator[NoiseScript]:
    """If the code saw few noisy numbers: each far out, in all combinations of signs."""
    draws = plain_draws(base)
    if not 2 <= len(draws) <= _MOST_SIGNS:
        return
    laws = [base.journal.draws.law_of(int(j)) for j in draws]
    for signs in product((reach, -reach), repeat=len(draws)):
        if len(set(signs)) == 2:
            ends = map(far_of, laws, signs)
            yield NoiseScript(seed, fixed=dict(zip(draws.tolist(), ends, strict=True)))


def rarer(base: TracedRun, seed: int, delta: float) -> Iterator[NoiseScript]:
    """Noisy numbers that the code saw, each further out than probability δ/number allows.

    Each of k numbers may be so far out more rarely than δ, and one of them be so more often: all of
    them at once, for what asks for the largest, and one alone.
    """
    draws = plain_draws(base)
    if len(draws) < 2:
        return
    reach = reach_of(delta / len(draws), base)
    for some in (draws, draws[:1], draws[-1:]):
        laws = [base.journal.draws.law_of(int(j)) for j in some]
        for far in (reach, -reach):
            ends = [far_of(law, far) for law in laws]
            yield NoiseScript(seed, fixed=dict(zip(some.tolist(), ends, strict=True)))


def _at(base: TracedRun, seed: int, delta: float, known: Sequence[float]) -> Iterator[NoiseScript]:
    """Noisy numbers that the code saw, all equal to one known number."""
    reach = _FARTHEST if is_whole(base) and not delta else reach_of(delta, base)
    seen = [e for e in base.journal.events if isinstance(e, Value) and not e.final]
    for number in known[:_MOST_KNOWN] if seen else ():
        fixed: dict[int, float] = {}
        for event in seen:
            fixed |= _noise_for(base, event, number - np.asarray(event.offset), reach)
        fixed = _likely(base, fixed, delta)
        if fixed:
            yield NoiseScript(seed, fixed=fixed)


def swept(
    base: TracedRun, seed: int, reach: float, delta: float
) -> tuple[int, Iterator[NoiseScript]]:
    """Whole numbers that the code saw, all with the same noise: each amount once.

    What code decides on a whole number may come true for a single value of it. So many amounts
    there are; the scripts have the likeliest first.
    """
    draws = base.journal.draws
    seen = [
        event
        for event in base.journal.events
        if isinstance(event, Value)
        and not event.final
        and np.size(event.idx)
        and all(law.is_discrete for law in draws.names_of(np.ravel(event.idx)))
    ]
    laws = {law for event in seen for law in draws.names_of(np.ravel(event.idx))}
    most = max((abs(far_of(law, far)) for law in laws for far in (reach, -reach)), default=0.0)
    amounts = 2 * int(most) + 1 if laws else 0

    def every() -> Iterator[NoiseScript]:
        for amount in islice(_amounts(), min(amounts, _MOST_AMOUNTS)):
            fixed: dict[int, float] = {}
            for event in seen:
                fixed |= _noise_for(base, event, np.asarray(float(amount)), reach)
            fixed = _likely(base, fixed, delta)
            if fixed:
                yield NoiseScript(seed, fixed=fixed)

    return amounts, every()


def first_swept(amounts: int) -> int:
    """How many amounts are tried first: all, or a few if they are very many."""
    return amounts if amounts <= _MOST_SWEPT else _FEW_SWEPT


def _likely(base: TracedRun, fixed: dict[int, float], delta: float) -> dict[int, float]:
    """As many of the chosen whole numbers as occur together with probability above δ.

    Half of the mass of one draw is less than that of its difference to another one.
    """
    if not delta:
        return fixed
    laws = {j: base.journal.draws.law_of(j) for j in fixed}
    kept = {j: z for j, z in fixed.items() if not laws[j].is_discrete}
    chance = 1.0
    for j, z in fixed.items():
        if laws[j].is_discrete:
            chance *= _mass(laws[j], z) / (1.0 if laws[j].name == "integers" else 2.0)
            if chance <= delta * (1 + EDGE):
                break
            kept[j] = z
    return kept


def _amounts() -> Iterator[int]:
    """0, 1, −1, 2, −2, …"""
    yield 0
    for size in count(1):
        yield from (size, -size)


def _noise_for(base: TracedRun, event: Value, wanted: Floats, reach: float) -> dict[int, float]:
    """One draw per number that gives the number the wanted noise, where possible.

    Of several draws that are added up, the first that can make up for the rest.
    """
    many = np.size(event.values)
    if not 0 < many <= _MOST_PUT:
        return {}
    names = np.reshape(np.asarray(event.idx), (many, -1))
    factors = np.broadcast_to(event.coef, np.shape(event.idx)).reshape(names.shape)
    draws = base.journal.draws
    shape = np.shape(event.values)
    wanted, offset = (np.broadcast_to(x, shape).reshape(-1) for x in (wanted, event.offset))
    gaps = wanted - (factors * draws.z[names]).sum(axis=1)
    columns = (names, factors, gaps, np.abs(wanted) + np.abs(offset))
    fixed: dict[int, float] = {}
    for row, coefs, gap, size in zip(*(each.tolist() for each in columns), strict=True):
        for j, c in zip(row, coefs, strict=True):
            law = draws.law_of(j)
            z = _put(law, draws.z.item(j) + gap / c, size / abs(c)) if c else math.nan
            if _happens(law, z, reach):
                fixed[j] = z
                break
    return fixed


def _put(law: TracedLaw, z: float, size: float) -> float:
    """The wanted noise, rounded to a whole number if it is close to one at this size."""
    near = round(z) if law.is_discrete and math.isfinite(z) else z
    return float(near) if abs(near - z) <= _NEAR * max(1.0, size) else z


def _happens(law: TracedLaw, z: float, reach: float) -> bool:
    """Whether noise can take this value, no further out than `reach`."""
    if law.is_discrete and z != round(z):
        return False
    return law.name not in {"shaped", "bounded"} and far_of(law, -reach) <= z <= far_of(law, reach)


class Branches:
    """Comparisons by line and turn, with the outcomes that transcripts have had so far."""

    def __init__(self, base: TracedRun, delta: float) -> None:
        self.delta = delta
        self.places = {key[0] for _, key, _ in _compared(base)}
        self.seen = {key for _, key, _ in _compared(base)}
        # `scripts` has these flips.
        self.seen |= {other for *_, other in _compared(base) if other[1] < _FLIPPED}
        self.ways: set[tuple[bool, ...]] = set()
        self.ties: Counter[Any] = Counter()

    def crossed(self, run: TracedRun) -> Iterator[NoiseScript]:
        """Scripts for ways through the first comparisons that no transcript took yet.

        Two coins may matter together and neither alone, also as parts of a short row. With δ > 0,
        ways that are rarer are left.
        """
        way: tuple[bool, ...] = ()
        chance = 1.0
        for number, event in enumerate(run.journal.events):
            if not isinstance(event, Bits) or len(way) + np.size(event.idx) > _MOST_CROSSED:
                continue
            chances = chances_of(run, event) if self.delta else np.ones(np.size(event.idx))
            for element, outcome in enumerate(np.ravel(event.outcome).tolist()):
                other, turn = float(chances[element]), (*way, not outcome)
                if turn not in self.ways and chance * other > self.delta * (1 + EDGE):
                    self.ways.add(turn)
                    yield turned(run, number, np.array([element]))
                way, chance = (*way, outcome), chance * (1.0 - other if self.delta else 1.0)
                self.ways.add(way)
            if len(way) == _MOST_CROSSED:
                return

    def tied(self, run: TracedRun) -> Iterator[NoiseScript]:
        """Scripts in which whole numbers equal what the code compares them with.

        The first times that a line asks. With δ > 0, what is rarer is left.
        """
        turns: Counter[Any] = Counter()
        for tie in run.journal.ties:
            turns[tie.place] += 1
            if turns[tie.place] <= min(self.ties[tie.place], _TURNS):
                continue
            self.ties[tie.place] += 1
            fixed = _equal(run, tie, self.delta)
            if fixed:
                yield run.journal.script.turned({}, fixed)

    def new(self, run: TracedRun) -> Iterator[NoiseScript]:
        """Scripts for the other outcome of comparisons first met by this transcript.

        So decisions inside of decisions are found, one level after the other.
        """
        met = list(_compared(run))
        before = len(self.places)
        self.places |= {key[0] for _, key, _ in met}
        if len(self.places) > before:
            yield from _between(run, self.delta)
        self.seen |= {key for _, key, _ in met}
        for number, _, other in met:
            if other not in self.seen:
                self.seen.add(other)
                flip = flipped(run, number, self.delta)
                if flip is not None:
                    yield flip


def _equal(run: TracedRun, tie: Tie, delta: float) -> dict[int, float]:
    """Draws that make all numbers of a tie equal; none if impossible or rare."""
    fixed: dict[int, float] = {}
    chance = 1.0
    for draws, coefs, gap in zip(tie.draws.tolist(), tie.coefs.tolist(), tie.gaps, strict=True):
        z = [float(run.journal.draws.z[j]) for j in draws]
        short = float(gap) + sum(c * x for c, x in zip(coefs, z, strict=True))
        for j, c, x in zip(draws, coefs, z, strict=True):
            law, wanted = run.journal.draws.law_of(j), x - short / c if c else x
            if law.is_discrete and wanted == round(wanted) and _happens(law, wanted, _FARTHEST):
                chance *= _mass(law, wanted)
                fixed[j] = wanted
                break
        else:
            return {}
    return fixed if chance > delta * (1 + EDGE) else {}


def _mass(law: TracedLaw, z: float) -> float:
    """The probability of one whole number."""
    if law.name == "geometric":
        return -math.expm1(-law.rate) * math.exp(-law.rate * (z - 1.0))
    if law.name == "discrete laplace":
        return math.tanh(law.rate / 2.0) * math.exp(-law.rate * abs(z))
    return float(law.between(z - 0.5, z + 0.5))


def _between(run: TracedRun, delta: float) -> Iterator[NoiseScript]:
    """Noise between two thresholds that it was compared with, as `(v > 2.9) & (v < 3.0)`."""
    cuts: dict[int, dict[float, None]] = {}
    for event in run.journal.events:
        if isinstance(event, Bits):
            some = np.arange(min(np.size(event.idx), _MOST_COINS))
            for j, _, cut, *_ in _coins(run, event, some):
                cuts.setdefault(j, {})[cut] = None
    inner: list[dict[int, float]] = [{} for _ in range(_MOST_INTERVALS)]
    for j, found in cuts.items():
        law, ranked = run.journal.draws.law_of(j), sorted(found)
        for spots, low, high in zip(inner, ranked, ranked[1:], strict=False):
            z = beyond(law, low, (low, high), up=True)
            if z is not None and not law.between(low, high) <= delta * (1 + EDGE):
                spots[j] = z
    yield from (run.journal.script.turned({}, spots) for spots in inner if spots)


def _compared(run: TracedRun) -> Iterator[tuple[int, Any, Any]]:
    """Comparisons of a run: the event's number, its outcome, and other possible outcomes."""
    turns: dict[Any, int] = {}
    for number, event in enumerate(run.journal.events):
        if isinstance(event, Bits):
            turn = turns[event.place] = turns.get(event.place, -1) + 1
            if turn < _TURNS:
                outcome = event.outcome if np.ndim(event.idx) == 0 else True
                other = not outcome if np.ndim(event.idx) == 0 else False
                yield number, (event.place, turn, outcome), (event.place, turn, other)


def flipped(run: TracedRun, number: int, delta: float) -> NoiseScript | None:
    """A comparison with the other outcome; of several, those for which that is not rare."""
    event = run.journal.events[number]
    chances = chances_of(run, event) if delta else np.ones(np.size(event.idx))
    likely = np.argsort(-chances, kind="stable")
    # All of them together must be more frequent than δ. Thresholds are often put at δ exactly.
    together = np.cumprod(np.minimum(chances[likely], 1.0))
    wanted = np.sort(likely[together > delta * (1 + EDGE)])
    return turned(run, number, wanted) if wanted.size else None


def turned(run: TracedRun, number: int, which: NDArray[np.intp]) -> NoiseScript:
    """The script of a run, except that some coins of one comparison fall the other way."""
    event = run.journal.events[number]
    outcome = np.array(event.outcome)
    outcome.reshape(-1)[which] = ~outcome.reshape(-1)[which]
    fixed = {}
    for j, law, cut, window, up in _coins(run, event, which):
        moved = beyond(law, cut, window, up=not up)
        if moved is not None:
            fixed[j] = moved
    script: NoiseScript = run.journal.script
    return script.turned({number: outcome[()]}, fixed)


def _coins(
    run: TracedRun, event: Bits, which: NDArray[np.intp]
) -> Iterator[tuple[int, TracedLaw, float, tuple[float, float], bool]]:
    """For some coins of a comparison: draw, law, cut, range and side."""
    shape = np.shape(event.idx)
    offset, coef, raised = (
        np.broadcast_to(np.asarray(x), shape).reshape(-1)
        for x in (event.offset, event.coef, event.raised)
    )
    lows, highs = (np.broadcast_to(x, shape).reshape(-1) for x in event.window)
    draws = np.ravel(event.idx)
    for i in which.tolist():
        up = bool(raised[i]) == bool(coef[i] > 0)
        window = (float(lows[i]), float(highs[i]))
        cut = float(-offset[i] / coef[i]) if coef[i] else math.inf
        yield int(draws[i]), run.journal.draws.law_of(int(draws[i])), cut, window, up


def chances_of(run: TracedRun, event: Bits) -> Floats:
    """The probability that each coin of a comparison falls the other way."""
    every = np.arange(np.size(event.idx))
    some = every[:_MOST_COINS]
    known = [float(coin(law, w, cut, up=up)[1]) for _, law, cut, w, up in _coins(run, event, some)]
    return np.pad(np.array(known), (0, len(every) - len(some)), mode="edge")


def _towards(base: TracedRun, seed: int, number: int, spot: int) -> Iterator[NoiseScript]:
    """Samples, orders and whole numbers that select the differing record."""
    event = base.journal.events[number]
    if isinstance(event, Pick):
        for outcome in _with_record(event, spot):
            yield NoiseScript(seed, outcomes={number: outcome})
    elif isinstance(event, Value):
        fixed = _at_record(base, event, spot)
        if fixed:
            yield NoiseScript(seed, fixed=fixed)


def is_near(turn: int, spot: int | None) -> bool:
    """Whether this turn's coin may belong to the differing record, in a loop over all."""
    return spot is not None and turn in {spot - 1, spot}


def _at_record(base: TracedRun, event: Value, spot: int) -> dict[int, float]:
    """Whole numbers that may be an index of a record, set to that of the differing one."""
    draws = base.journal.draws
    first = np.ravel(event.idx)[:1].tolist()
    whole = [j for j in first if draws.law_of(j).name == "integers"]
    return {j: float(spot) for j in whole if spot < draws.law_of(j).parameter}


def _with_record(event: Pick, spot: int) -> Iterator[Any]:
    """Outcomes of a shuffle or sample with one record first or last."""
    outcome = np.array(event.outcome)
    if outcome.ndim != 1 or not outcome.size or outcome.dtype.kind not in "iu":
        return
    if event.key[0] == "permutation" and spot < len(outcome):
        others = outcome[outcome != spot]
        yield np.r_[spot, others]
        yield np.r_[others, spot]
    elif event.key[0] == "choice" and event.weights is None and spot < event.key[2]:
        outcome[0] = spot if spot not in outcome else outcome[0]
        yield outcome


def worst_script(twin: Twin, seed: int, target: float, *, simple: bool) -> NoiseScript:
    """The transcript on which the releases of a twin lose most, or more than `target`.

    Laplace noise loses |d| wherever z has the sign of its shift d; Gaussian noise loses z·d + d²/2,
    so z is put far enough out. If `simple`, all other noise is 0.
    """
    fixed: dict[int, float] = {}
    moves = [m for m in twin.differences if isinstance(m, Move)]
    for move in moves:
        event = twin.left.journal.events[move.event]
        draws = np.atleast_1d(event.idx)
        many = isinstance(event, Value) and draws.size != np.size(event.values)
        if many or np.isnan(move.values).any() or draws.size <= int(move.flat.max()):
            continue
        step = move.z_other - move.z
        far = np.ones(len(step))
        if move.law.name == "normal":
            far = (target + 1.0) / np.maximum(np.abs(step), 1e-300) / max(len(step), 1)
        names = draws.reshape(-1)[move.flat]
        for j, d, t in zip(names, step, far, strict=True):
            if move.law.name in {"laplace", "normal", "logistic"} and abs(t) < 1e6:
                fixed[int(j)] = float(np.sign(d) * t)
    most = twin.left.journal.draws.top
    return NoiseScript(seed, fixed=fixed, shape=_tie if simple else None, until=most)
