"""Refine the grid until the bracket is as narrow as asked, or a limit is met."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpverify.accounting import deadline
from dpverify.accounting.numerical.engine import (
    CutParts,
    Window,
    compose,
    log_signal,
    window_for,
)
from dpverify.accounting.numerical.jumps import Expansion, expand
from dpverify.accounting.numerical.preparation import LONGEST_STEP, Prepared
from dpverify.accounting.numerical.sketch import Saddle, Sketch
from dpverify.accounting.numerical.spectrum import Unresolved
from dpverify.accounting.numerical.targets import LEAST_LOG, Ends, Target
from dpverify.accounting.one_variable import zero
from dpverify.pairs.loss_law import CutLaw
from dpverify.pairs.profile_law import MOST_CELLS as PROFILE_CELLS

Progress = Callable[[str], None]

_MOST_NODES = 1 << 23  # of a window that is held whole; keeps all arrays together below 2 GiB
_MOST_CELLS = 1 << 22  # of one part
_MANY = 1 << 10  # runs of one part from which on a few frequencies may say all of their sum
_MOST_ATTEMPTS = 10
_MOST_STALLS = 1  # attempts in a row that may gain less than a tenth
_CHEAP = 1 << 17  # grids with fewer nodes may always be refined
_AIM = 0.5  # share of the tolerance that the first grid is chosen for
_SAFER_AIM = 0.2  # where a second grid would cost more than a finer first one
_MANY_PARTS = 100  # from which on it would: the cost is that of the parts, not of their nodes
_COARSEST = 2.0  # steps over which the tilt changes by more in the exponent see too little
_MOST_TILT_PER_STEP = 50.0  # neighboring nodes need not differ by more in the exponent
_LEAST_SIGNAL = -8.0  # logarithm of the share of the tilted law below which other ways are tried
_NEGLECTED = 1e-3  # share of the tolerance that terms and ends of an expansion may be left out for
_FAR = 0.1  # change of ε, relative, after which an expansion is chosen anew
_LEAST = 1e-300  # of what is added to a variance
_CUT = -20.0  # logarithm of the share of δ that may be cut off at the top

ENOUGH = ""
GRID_LIMIT = (
    f"a finer grid would need more than {_MOST_NODES} nodes or {_MOST_CELLS} cells a part "
    f"({PROFILE_CELLS} for one known by its profile alone), which "
    "limits the width"
)
ROUNDING_LIMIT = "floating-point rounding, not the grid, limits the width"
NO_PROGRESS = "refining the grid further does not narrow the ends"


@dataclass(frozen=True, slots=True)
class Refined:
    """Both bounds, and if they are wider than asked, a sentence on why."""

    lower: float
    upper: float
    limit: str


def refine(
    prepared: Prepared,
    target: Target,
    tolerance: float,
    *,
    enough: float = -math.inf,
    progress: Progress | None = None,
) -> Refined:
    """A bracket for `target`, `tolerance` wide if possible.

    An answer that is certainly not above `enough` need not be known better. When a time limit
    passes, the ends are those that were found until then.
    """
    lower, upper = -math.inf, math.inf
    if deadline.is_over():
        return Refined(lower, upper, deadline.OUT_OF_TIME)
    log_delta = guessed_log_delta(prepared, target)
    attempts: _Attempts | _Expanded = _Attempts(prepared, target, tolerance, log_delta)
    try:
        for _ in range(_MOST_ATTEMPTS):
            ends, limit = attempts.next(progress)
            lower, upper = max(lower, ends.lower), min(upper, ends.upper)
            if target.width(lower, upper) <= tolerance or upper <= enough:
                return Refined(lower, upper, ENOUGH)
            expanded = attempts.expanded(ends)
            if expanded is not None:
                attempts = expanded
                continue
            if limit:
                return Refined(lower, upper, limit)
    except deadline.DeadlinePassed:
        return Refined(lower, upper, deadline.OUT_OF_TIME)
    return Refined(lower, upper, NO_PROGRESS)


def guessed_log_delta(prepared: Prepared, target: Target) -> float:
    """About the logarithm of the profile where it will be read."""
    return target.log_delta(lambda: Sketch(_cut(prepared, LEAST_LOG)))


class _Attempts:
    """One grid after another, each chosen by what the last one showed."""

    def __init__(
        self, prepared: Prepared, target: Target, tolerance: float, log_delta: float
    ) -> None:
        self.prepared, self.target, self.tolerance = prepared, target, tolerance
        self._start(log_delta)

    def _start(self, log_delta: float) -> None:
        self.log_delta = log_delta
        self.parts = _cut(self.prepared, log_delta)
        # A window may be too long to hold as long as its low frequencies say all of it.
        self.is_held = all(runs < _MANY for _, runs in self.parts)
        self.sketch = Sketch(self.parts)
        self.state = _State.start(self.sketch, self.target, self.tolerance)
        self.log_signal = log_signal(self.sketch, self.state.saddle)

    def next(self, progress: Progress | None) -> tuple[Ends, str]:
        """Both ends on the next grid, and the limit that makes further ones useless, if any."""
        saddle, window, step = self._plan()
        if step > LONGEST_STEP:
            return Ends(-math.inf, math.inf, max(saddle.epsilon, 0.0), 0.0, 0.0), GRID_LIMIT
        if progress is not None:
            progress(f"grid of {window.width / step:.0f} nodes, step {step:.3g}")
        try:
            composed = compose(self.parts, self.sketch, saddle, window, step, is_held=self.is_held)
        except Unresolved:
            self.is_held = True
            return self.next(progress)
        ends = self.target.read(*composed, saddle.epsilon)
        return ends, self._limit(ends, saddle, window, step)

    def _limit(self, ends: Ends, saddle: Saddle, window: Window, step: float) -> str:
        """What makes further grids useless, if anything; else the next one is chosen."""
        if ends.is_cut and self.log_delta > LEAST_LOG:
            self._start(max(self.log_delta - 100.0, LEAST_LOG))
            return ""
        width = self.target.width(ends.lower, ends.upper)
        if width <= self.tolerance:
            return ""
        if ends.noise > width / 2.0 and -600.0 < ends.log_signal < self.log_signal - 0.5:
            # There is less to see than was thought: the window has to leave out less.
            self.log_signal = ends.log_signal
            return ""
        tilted = self.sketch.saddle_at_epsilon(ends.epsilon)
        self.state = self.state.following(step, width, self.tolerance, tilted)
        if abs(tilted.tilt - saddle.tilt) >= 0.2 * saddle.tilt:
            return ""
        if self.prepared.is_lattice and step == self.prepared.gap:
            return ROUNDING_LIMIT
        if step == self._finest(window):
            return GRID_LIMIT
        if window.width <= _CHEAP * step:  # what lies beyond the window may still shrink
            return ""
        if ends.noise > width / 2.0:
            return ROUNDING_LIMIT
        return NO_PROGRESS if self.state.stalls > _MOST_STALLS else ""

    def log_neglected(self, ends: Ends) -> float:
        """The logarithm of what terms and ends of an expansion may leave out."""
        return self.target.level(ends) + math.log(_NEGLECTED * self.tolerance)

    def expanded(self, ends: Ends) -> "_Expanded | None":
        """Further attempts by the number of large losses, if the tilt shows too little as it is."""
        if self.prepared.is_lattice or ends.log_signal > _LEAST_SIGNAL or ends.is_cut:
            return None
        return _Expanded.of(self, ends)

    def _finest(self, window: Window) -> float:
        return _finest(self.parts, window, _MOST_NODES if self.is_held else math.inf)

    def _plan(self) -> tuple[Saddle, Window, float]:
        """Where to tilt, the window around it, and a step that memory allows."""
        saddle = self.state.saddle
        precision = 1e-3 * min(1.0, self.tolerance * self.target.cost(saddle.tilt))
        log_mass = self.log_signal + math.log(precision)
        window = window_for(self.sketch, saddle, log_mass)
        step = max(self.prepared.step(self.state.step), self._finest(window))
        if self.state.is_first and self.log_signal < _LEAST_SIGNAL:  # perhaps there is a better way
            step = max(step, self.prepared.step(window.width / _CHEAP))
        if saddle.tilt * step > _MOST_TILT_PER_STEP:
            saddle = self.sketch.saddle(_MOST_TILT_PER_STEP / step)
            window = window_for(self.sketch, saddle, log_mass)
            step = max(step, self._finest(window))
        return saddle, window, step


class _Expanded:
    """Attempts on the terms of an expansion by the number of large losses."""

    def __init__(self, expansion: Expansion, before: _Attempts, ends: Ends) -> None:
        self.expansion, self.before = expansion, before
        self.state = before.state
        if not self.state.is_first:  # what was wrong with the last grid was not its step alone
            step = math.sqrt(self.state.last_step * self.state.step)
            self.state = replace(self.state, step=step)
        self.ends, self.epsilon = ends, before.target.place(ends)

    @classmethod
    def of(cls, before: _Attempts, ends: Ends) -> "_Expanded | None":
        epsilon = before.target.place(ends)
        expansion = expand(before.parts, epsilon, before.log_neglected(ends))
        return None if expansion is None else cls(expansion, before, ends)

    def next(self, progress: Progress | None) -> tuple[Ends, str]:
        """Both ends on the next grid, and the limit that makes further ones useless, if any."""
        before, epsilon = self.before, self.epsilon
        log_neglected = before.log_neglected(self.ends)
        terms = self.expansion.terms
        windows = [term.window(epsilon, log_neglected) for term in terms]
        finest = max(map(_finest, [term.parts for term in terms], windows))
        tilt = max(term.saddle(epsilon).tilt for term in terms)
        step = max(min(before.prepared.step(self.state.step), _COARSEST / tilt), finest)
        if progress is not None:
            progress(f"{len(terms)} numbers of large losses, step {step:.3g}")
        composed = self.expansion.compose(epsilon, log_neglected, step)
        self.ends = ends = before.target.read(*composed, epsilon)
        width = before.target.width(ends.lower, ends.upper)
        if width <= before.tolerance:
            return ends, ""
        self.state = self.state.following(step, width, before.tolerance, self.state.saddle)
        if step == finest:
            return ends, GRID_LIMIT
        if max(window.width for window in windows) > _CHEAP * step:
            if ends.noise > width / 2.0:
                return ends, ROUNDING_LIMIT
            if self.state.stalls > _MOST_STALLS:
                return ends, NO_PROGRESS
        self._follow()
        return ends, ""

    def _follow(self) -> None:
        """Expand anew where the answer turned out to be far from where it was looked for."""
        seen = self.before.target.place(self.ends)
        if abs(seen - self.epsilon) > _FAR * self.epsilon:
            found = expand(self.before.parts, seen, self.before.log_neglected(self.ends))
            self.expansion = self.expansion if found is None else found
        self.epsilon = seen

    def expanded(self, ends: Ends) -> None:
        """It is already."""


@dataclass(frozen=True, slots=True)
class _State:
    """What the next attempt uses, and what the last one gave."""

    step: float
    saddle: Saddle
    last_step: float = math.inf
    last_width: float = math.inf
    stalls: int = 0

    @property
    def is_first(self) -> bool:
        return self.last_step == math.inf

    @classmethod
    def start(cls, sketch: Sketch, target: Target, tolerance: float) -> "_State":
        saddle = target.saddle(sketch)
        return cls(suitable_step(sketch, target, tolerance, saddle.tilt), saddle)

    def following(self, step: float, width: float, tolerance: float, saddle: Saddle) -> "_State":
        """A step that should do, by the order of convergence seen so far."""
        order = 2.0
        if self.last_step < math.inf and step < self.last_step and width < self.last_width:
            order = math.log(self.last_width / width) / math.log(self.last_step / step)
        ratio = (0.6 * tolerance / width) ** (1.0 / min(max(order, 0.8), 2.0))
        smaller = step * min(max(ratio, 0.05), 0.7)
        stalls = self.stalls + 1 if width > 0.9 * self.last_width else 0
        return _State(min(smaller, _COARSEST / saddle.tilt), saddle, step, width, stalls)


def _cut(prepared: Prepared, log_delta: float) -> CutParts:
    """The laws without what is certainly too rare to matter at this δ."""
    above, below = cuts(prepared.runs, log_delta)
    return [(law.cut(above, below), times) for law, times in prepared.laws]


def cuts(runs: int, log_delta: float) -> tuple[float, float]:
    """Logarithms of what may be cut off each of this many laws, above and below."""
    log_runs = math.log(runs)
    return log_delta - log_runs + _CUT, 1.5 * _CUT - log_runs


def suitable_step(sketch: Sketch, target: Target, tolerance: float, tilt: float) -> float:
    """A step that should give ends half the tolerance apart, or nearer if parts are many."""
    aim = _SAFER_AIM if len(sketch.times) >= _MANY_PARTS else _AIM
    step = _first_step(sketch, aim * tolerance / target.cost(tilt))
    return min(step, _COARSEST / tilt)


def _first_step(sketch: Sketch, variance: float) -> float:
    """The step at which the two ends differ by about this much in variance.

    A cell adds h²/6 at the upper end and takes h²/12 at the lower one; less if the part is
    narrower than the cell.
    """
    deviations = np.maximum(sketch.deviations(), 1e-300)
    times = sketch.times

    def excess(log_step: float) -> float:
        step = math.exp(log_step)
        added = times @ np.minimum(step * step / 4.0, 0.8 * step * deviations)
        return math.log(max(float(added), _LEAST)) - math.log(variance)

    variance = max(variance, _LEAST)
    guess = 0.5 * math.log(4.0 * variance / float(times.sum()))
    high = guess
    while excess(high) < 0.0 and high < guess + 40.0:
        high += 2.0
    if high == guess or excess(high) < 0.0:
        return math.exp(high)
    return math.exp(zero(excess, guess, high, 1e-3))


def _finest(parts: CutParts, window: Window, most_nodes: float = _MOST_NODES) -> float:
    """The smallest step that the limits on memory allow."""
    finest = window.width / most_nodes
    for law, _ in parts:
        low, high = law.loss_range()
        most = _MOST_CELLS if isinstance(law, CutLaw) else PROFILE_CELLS
        finest = max(finest, (high - low) / most)
    return finest
