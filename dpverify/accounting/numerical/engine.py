"""One tilted composition on one grid: certified upper and lower profiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from dpverify.accounting import deadline
from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.convolution import (
    Convolution,
    Convolver,
    DirectConvolver,
    window_length,
)
from dpverify.accounting.numerical.discretize import LossGrid, discretize
from dpverify.accounting.numerical.evaluation import Composed
from dpverify.accounting.numerical.sketch import Saddle, Sketch
from dpverify.accounting.numerical.spectrum import LowFrequencies, Spectrum
from dpverify.arrays import Floats
from dpverify.pairs.loss_law import AnyCutLaw, CutLaw
from dpverify.pairs.ramps import UNIT, Ramp

CutParts = Sequence[tuple[AnyCutLaw, int]]

LONG = 1 << 21  # nodes of a window of which the low frequencies are tried first
_DIRECT = 1 << 12  # sums with fewer nodes are not worth a transform
_PLAIN = 300.0  # exponents below which nothing overflows or is lost
_STEEP = 4.0  # exponents over a step from which on gentler ones are tried beside them
_SLACK = 1e-6  # relative rounding of a bound that is itself far below what matters


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The losses that a composition is computed on, and the exponents that bound the rest."""

    low: float
    high: float
    below: float
    above: float

    @property
    def width(self) -> float:
        return self.high - self.low


def log_signal(sketch: Sketch, saddle: Saddle) -> float:
    """About how much of the tilted mass the profile is made of, as a logarithm."""
    moment = sketch.log_moment(saddle.tilt)
    return min(saddle.log_delta - moment + saddle.tilt * saddle.epsilon, 0.0)


def window_for(sketch: Sketch, saddle: Saddle, log_mass: float) -> Window:
    """A window that leaves out at most about e^log_mass of the tilted law.

    It is found by Chernoff's bound, never by a normal approximation, so that a rare large loss is
    inside it.
    """
    high, above = sketch.upper_exponent(saddle.tilt, log_mass)
    low, below = sketch.lower_exponent(saddle.tilt, log_mass)
    margin = 0.02 * (high - low)
    return Window(low=low - margin, high=high + margin, below=below, above=above)


def compose(  # noqa: PLR0913  # what is composed, and where
    parts: CutParts,
    sketch: Sketch,
    saddle: Saddle,
    window: Window,
    step: float,
    *,
    is_held: bool = True,
) -> tuple[Composed, Composed]:
    """The dominating and the dominated composition, in this order.

    Unless its window is to be held whole, a long one is described by its low frequencies, or
    `Unresolved` is raised.
    """
    grids = [grid_for(law, step, saddle.tilt) for law, _ in parts]
    work = Work(window, Frame.of(parts, grids, window, is_held=is_held), saddle.tilt)
    scales = sketch.log_moments(saddle.tilt)
    for (law, times), grid, log_scale in zip(parts, grids, scales, strict=True):
        deadline.check()
        work.add(law, times, grid, Tilt(rate=saddle.tilt, log_scale=float(log_scale)))
    return work.upper(), work.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The nodes of the window, by index, and how far those of the whole sum reach."""

    step: float
    offset: float
    offset_error: float
    first: int
    last: int
    start: int
    length: int
    is_direct: bool
    is_long: bool = False

    @classmethod
    def of(
        cls, parts: CutParts, grids: Sequence[LossGrid], window: Window, *, is_held: bool
    ) -> "Frame":
        step = grids[0].step
        first = last = 0
        for (law, times), grid in zip(parts, grids, strict=True):
            low, high = grid.span(*law.loss_range())
            first, last = first + times * low, last + times * high
        offsets = [times * grid.offset for (_, times), grid in zip(parts, grids, strict=True)]
        offset = math.fsum(offsets)
        is_direct = last - first < _DIRECT or sum(times for _, times in parts) == 1
        start, length = first, last - first + 1
        if not is_direct:
            start = max(math.floor((window.low - offset) / step), first)
            end = min(math.ceil((window.high - offset) / step), last)
            length = end - start + 1
        is_long = not (is_direct or is_held) and length > LONG
        if not (is_direct or is_long):
            length = window_length(length)
        return cls(
            step=step,
            offset=offset,
            offset_error=4.0 * UNIT * math.fsum(map(abs, offsets)),
            first=first,
            last=last,
            start=start,
            length=length,
            is_direct=is_direct,
            is_long=is_long,
        )

    @property
    def low(self) -> float:
        return self.offset + self.start * self.step

    @property
    def high(self) -> float:
        """The first loss above the window."""
        return self.offset + (self.start + self.length) * self.step


class _End:
    """One end's transforms, and the sums that bound what lies beyond the window."""

    def __init__(self, frame: Frame, window: Window) -> None:
        self.convolver: DirectConvolver | Convolver | LowFrequencies
        if frame.is_direct:
            self.convolver = DirectConvolver()
        else:
            self.convolver = (LowFrequencies if frame.is_long else Convolver)(frame.length)
        self.above = dict.fromkeys(_exponents(window.above, frame.step), 0.0)
        self.below = dict.fromkeys(_exponents(window.below, frame.step), 0.0)
        self.log_scales: list[float] = []

    def add(self, masses: Floats, first: int, times: int, losses: Floats) -> None:
        self.convolver.add(masses, first, times)
        for exponent in self.above:
            self.above[exponent] += times * _log_moment(masses, exponent * losses)
        for exponent in self.below:
            self.below[exponent] += times * _log_moment(masses, -exponent * losses)

    @property
    def is_empty(self) -> bool:
        """Whether some part has no mass at all, as a lower end may."""
        return -math.inf in self.log_scales


class Work:
    """Running totals over the parts; as parts come, the frame may move, at its length."""

    def __init__(self, window: Window, frame: Frame, rate: float) -> None:
        self.frame, self.rate = frame, rate
        self.ends = (_End(frame, window), _End(frame, window))
        self.loss_error = 0.0
        self.log_infinite = -math.inf

    def add(self, law: AnyCutLaw, times: int, grid: LossGrid, tilt: Tilt) -> None:
        found = discretize(law, grid, tilt)
        losses = grid.losses(found.first, found.first + len(found.upper) - 1)
        for end, masses, sign in zip(self.ends, (found.upper, found.lower), (4, -4), strict=True):
            total = float(masses.sum())
            if total > 0.0:
                # Rounding the quotient is covered by a few units towards the safe side.
                shares = masses / total * (1.0 + sign * UNIT)
                end.add(shares, found.first, times, losses)
            log_total = math.log(total) if total > 0.0 else -math.inf
            end.log_scales += [times * tilt.log_scale, times * log_total]
        self.loss_error += times * found.loss_error
        cut = law.log_above + math.log(times) + _SLACK
        self.log_infinite = float(np.logaddexp(self.log_infinite, cut))

    def upper(self) -> Composed:
        """The upper bound: mass that wraps around only adds; mass beyond the window is added.

        Below the window that is for an ε below it only, which `Composed.upper` sees to.
        """
        above, below = self._outside(self.ends[0])
        # Shares of all parts add up to 1 but for rounding, in however many runs.
        return self._composed(self.ends[0], above, min(below, 2.0), self.log_infinite)

    def lower(self) -> Composed:
        """The lower bound: all mass that may have wrapped around is subtracted."""
        above, below = self._outside(self.ends[1])
        return self._composed(self.ends[1], above + below, 0.0, -math.inf)

    def _outside(self, end: _End) -> tuple[float, float]:
        """Bounds on the tilted mass above and below the window. [Chernoff]"""
        frame, above, below = self.frame, 0.0, 0.0
        if frame.last >= frame.start + frame.length:
            above = min(_exp(moment - t * frame.high) for t, moment in end.above.items())
        if frame.first < frame.start:
            below = min(_exp(moment + t * frame.low) for t, moment in end.below.items())
        return above, below

    def _composed(self, end: _End, outside: float, below: float, log_infinite: float) -> Composed:
        frame = self.frame
        convolution: Convolution[Floats] | Convolution[Spectrum] = end.convolver.result()
        masses, log_scales = convolution.masses, end.log_scales
        if end.is_empty:
            masses, log_scales = np.zeros(1), []
        elif isinstance(masses, Spectrum):
            masses = masses.rolled(frame.start)
        elif not frame.is_direct:
            masses = np.roll(masses, -(frame.start % frame.length))
        return Composed(
            masses=masses if isinstance(masses, Spectrum) else np.maximum(masses, 0.0),
            start=frame.low,
            step=frame.step,
            rate=self.rate,
            log_scale=math.fsum(log_scales),
            scale_error=4.0 * UNIT * math.fsum(map(abs, log_scales)),
            error=convolution.error,
            relative_error=convolution.relative_error,
            outside=outside,
            below=below,
            log_infinite=log_infinite,
            loss_error=self.loss_error
            + frame.offset_error
            + 8.0 * UNIT * max(abs(frame.low), abs(frame.high)),
        )


def _exponents(best: float, step: float) -> tuple[float, ...]:
    """The exponent that suits the law itself, and gentler ones if a step is a long way for it."""
    gentler = tuple(reach / step for reach in (4.0, 1.0, 0.25) if best * step > reach)
    return (best, *gentler) if best * step > _STEEP else (best,)


def _log_moment(masses: Floats, exponents: Floats) -> float:
    """ln Σ m·e^exponent, whatever the range of the exponents."""
    if np.abs(exponents[[0, -1]]).max() < _PLAIN:
        total = float((masses * np.exp(exponents)).sum())
        return math.log(total) if total > 0.0 else -math.inf
    with np.errstate(divide="ignore"):
        return float(np.logaddexp.reduce(np.log(masses) + exponents))


def _exp(exponent: float) -> float:
    """e^exponent, rounded up; ∞ where that overflows or is not a number."""
    return math.exp(exponent + _SLACK) if exponent < 700.0 else math.inf


def grid_for(law: AnyCutLaw, step: float, rate: float) -> LossGrid:
    """The grid of this step with the offset that suits the law when tilted at this rate.

    The offset is free: a part that is narrower than a step would lose most of what it has to say if
    its bulk fell beside a node, and loses next to nothing if the node sits at its barycenter.
    """
    if not isinstance(law, CutLaw):
        return LossGrid(step, law.anchor)
    low, high = law.loss_range()
    if len(law.losses) and high - low > step / 2.0:
        heaviest = int(np.argmax(law.log_masses + rate * law.losses))
        return LossGrid(step, float(law.losses[heaviest]))
    if len(law.ramps) == 1 and not len(law.losses):
        return LossGrid(step, _barycenter(law.ramps[0], step))
    return LossGrid(step, 0.0)


def _barycenter(ramp: Ramp, step: float) -> float:
    """The loss of the bulk of a ramp, if one end of it lies within half a step; else 0.

    A hair is added so that the comparisons in the discretization fall on the side that keeps the
    tangent at that end.
    """
    offset = 0.0
    for _ in range(30):
        near, far = ramp.outcome(np.array([offset - step / 2.0, offset + step / 2.0]))
        at_low, at_high = near <= ramp.low, far >= ramp.high
        if at_low == at_high:
            return 0.0
        left, right = _mass(ramp, near, far)
        moved = math.log1p((left - right) / right) if right > 0.0 else 0.0
        if abs(moved - offset) <= 1e-15:
            break
        offset = moved
    reach = abs(offset - ramp.loss_at(ramp.low if at_low else ramp.high))
    left, right = _mass(ramp, far, ramp.high) if at_low else _mass(ramp, ramp.low, near)
    if abs(left - math.exp(offset) * right) < 1e-3 * reach:
        return 0.0
    return offset + (1e-5 if at_low else -1e-5) * reach


def _mass(ramp: Ramp, low: float, high: float) -> tuple[float, float]:
    """P and Q of a stretch of a normal ramp, roughly."""
    shift = ramp.slope
    plain, left, right = (
        float(scipy.special.ndtr(high - center) - scipy.special.ndtr(low - center))
        for center in (0.0, shift, -shift)
    )
    half = shift * shift / 2.0
    rise, fall = math.exp(ramp.log_left_rise + half), math.exp(ramp.log_right_fall + half)
    return ramp.left_flat * plain + rise * left, ramp.right_flat * plain + fall * right
