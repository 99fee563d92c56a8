"""The four positive integrals of a loss law over each grid cell, for both bounds.

A cell lies between nodes a < b of the grid, its middle splits it into a left and a right half.
With x = e^loss, P gives it

    lift = ∫ (dP − x_a·dQ)   and   drop = ∫ (x_b·dQ − dP),

each over either half. Everything is kept tilted: an amount that belongs to the node with loss l is
multiplied by e^(tilt·l − log_scale), so that what matters is of size 1 however small δ is.
"""

from dataclasses import dataclass

import numpy as np

from dpverify.accounting import deadline
from dpverify.accounting.numerical.quadrature import WIDEST_PANEL, rule
from dpverify.arrays import Floats, Ints
from dpverify.pairs.ramps import UNIT, Noise, Ramp

ROUNDINGS = 128.0  # relative roundings, in units of `UNIT`, of one integral beyond its exponent's

_CHUNK = 1 << 14
_FINE = 1e-2  # panels below this θ take a shorter rule than the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilt:
    """The weight e^(rate·l − log_scale) that masses at loss l carry."""

    rate: float
    log_scale: float

    def exponent(self, losses: Floats) -> Floats:
        return self.rate * losses - self.log_scale

    def size(self, losses: Floats) -> Floats:
        """The largest number that enters the exponent, and so sets its rounding."""
        return self.rate * np.abs(losses) + abs(self.log_scale)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Lifts are weighted at the node a below the cell, drops at the node b above it.

    `on_node` holds the masses that lie on the nodes themselves, `step_ratio` is x_b/x_a − 1, and
    `errors` bounds the relative error of every integral.
    """

    lift_left: Floats
    lift_right: Floats
    drop_left: Floats
    drop_right: Floats
    on_node: Floats
    step_ratio: Floats
    errors: Floats

    @property
    def lift(self) -> Floats:
        return self.lift_left + self.lift_right

    @property
    def drop(self) -> Floats:
        return self.drop_left + self.drop_right


def integrate(ramp: Ramp, nodes: Floats, tilt: Tilt) -> Cells:
    """The integrals of one ramp over the cells between neighboring nodes.

    The nodes are equally spaced; the ramp's losses lie between the first and the last of them.
    """
    halves = np.empty(2 * len(nodes) - 1)
    halves[::2], halves[1::2] = nodes, (nodes[1:] + nodes[:-1]) / 2.0
    edges = ramp.outcome(halves)
    frame = _Frame.of(ramp, nodes, edges[::2], tilt)
    panels = _panels(ramp, edges)
    sums = np.zeros((2, len(edges) - 1))
    theta = panels.half_width * (
        ramp.noise.steepness(np.maximum(np.abs(panels.left), np.abs(panels.right))) + ramp.slope
    )
    for group in (theta <= _FINE, theta > _FINE):
        if group.any():
            chosen = np.flatnonzero(group)
            nodes_weights = rule(float(theta[chosen].max()))
            for start in range(0, len(chosen), _CHUNK):
                deadline.check()
                _add(sums, frame, panels.take(chosen[start : start + _CHUNK]), nodes_weights)
    return Cells(
        lift_left=sums[0, ::2],
        lift_right=sums[0, 1::2],
        drop_left=sums[1, ::2],
        drop_right=sums[1, 1::2],
        on_node=np.zeros(len(nodes)),
        step_ratio=frame.step_ratio(),
        errors=frame.errors(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Panels:
    """Intervals of outcomes, none across an edge, and the half-cell each lies in."""

    left: Floats
    right: Floats
    half: Ints

    @property
    def half_width(self) -> Floats:
        return (self.right - self.left) / 2.0

    def take(self, chosen: Ints) -> "_Panels":
        return _Panels(self.left[chosen], self.right[chosen], self.half[chosen])


def _panels(ramp: Ramp, edges: Floats) -> _Panels:
    extra = _milestones(ramp)
    extra = extra[(extra > edges[0]) & (extra < edges[-1])]
    places = np.searchsorted(edges, extra, side="right")
    points = np.insert(edges, places, extra)
    is_edge = np.insert(np.ones(len(edges), dtype=np.int64), places, 0)
    half = np.cumsum(is_edge)[:-1] - 1
    left, right = points[:-1], points[1:]
    wide = right > left
    return _Panels(left[wide], right[wide], half[wide])


def _milestones(ramp: Ramp) -> Floats:
    """Outcomes so dense that a panel between neighbors has θ below `WIDEST_PANEL`."""
    first, last = int(np.floor(ramp.low)), int(np.ceil(ramp.high))
    pieces = []
    for whole in range(first, last):
        steep = max(abs(whole), abs(whole + 1), 1) if ramp.noise is Noise.NORMAL else 1
        count = int(np.ceil((steep + ramp.slope) / (2.0 * WIDEST_PANEL)))
        pieces.append(whole + np.arange(count) / count)
    return np.concatenate(pieces) if pieces else np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """What the integrand needs to know of the nodes: outcomes, weights, and gaps.

    A node beyond the ramp's range of losses is represented by the ramp's end, and `gap` is how
    far the loss at that end is from the node.
    """

    ramp: Ramp
    losses: Floats
    outcomes: Floats
    gaps: Floats
    exponents: Floats
    sizes: Floats

    @classmethod
    def of(cls, ramp: Ramp, losses: Floats, outcomes: Floats, tilt: Tilt) -> "_Frame":
        gaps = _gaps(ramp, losses, outcomes)
        return cls(ramp, losses, outcomes, gaps, tilt.exponent(losses), tilt.size(losses))

    def step_ratio(self) -> Floats:
        """x_b/x_a − 1: from the outcomes themselves, so that it cannot cancel, inside the ramp."""
        a, b = self.outcomes[:-1], self.outcomes[1:]
        inside = (self.gaps[:-1] == 0.0) & (self.gaps[1:] == 0.0)
        return np.where(inside, _ratio(self.ramp, a, b), np.expm1(self.losses[1] - self.losses[0]))

    def constant(
        self, nodes: Ints, panels: "_Panels", rule: tuple[Floats, Floats], *, sign: float
    ) -> Floats:
        """What nodes beyond the ramp's ends add: |dP − x·dQ| at the end, as a constant times w."""
        result = np.zeros(len(nodes))
        beyond = np.flatnonzero(self.gaps[nodes] > 0.0)
        if len(beyond):
            node = nodes[beyond]
            size = sign * np.expm1(sign * self.gaps[node])
            exponent = self.ramp.log_left(self.outcomes[node]) + self.exponents[node]
            left, radius = panels.left[beyond], panels.half_width[beyond]
            for place, weight in zip(*rule, strict=True):
                density = self.ramp.noise.log_density(left + radius * (1.0 + place))
                result[beyond] += weight * size * np.exp(density + exponent)
        return result

    def errors(self) -> Floats:
        """Relative error of a cell's integrals: that of the exponents, and a few roundings."""
        ramp = self.ramp
        sizes = np.abs(ramp.noise.log_density(self.outcomes)) + np.abs(ramp.slope * self.outcomes)
        sizes += 2.0 * np.abs(self.losses) + self.sizes
        constants = sum(abs(t) for t in (ramp.log_left_rise, ramp.log_right_fall) if t > -np.inf)
        largest: Floats = np.maximum(sizes[:-1], sizes[1:])
        return UNIT * (ROUNDINGS + 4.0 * (largest + constants))


def _gaps(ramp: Ramp, losses: Floats, outcomes: Floats) -> Floats:
    """Distances of the nodes next to the ramp from its ends, and 0 for nodes inside.

    They are measured from the outcomes of the nodes inside, one step from these, so that the
    cells at the ends see their nodes exactly where the cells inside see them.
    """
    low, high = ramp.loss(np.array([ramp.low, ramp.high]))
    gaps: Floats = np.maximum(np.maximum(low - losses, losses - high), 0.0)
    inside = np.flatnonzero(gaps == 0.0)
    step = losses[1] - losses[0]
    ends = np.array([ramp.low, ramp.high])
    if not len(inside):
        first = int(np.argmin(np.where(losses < low, low - losses, np.inf)))
        across = float(np.log1p(_ratio(ramp, ends[:1], ends[1:]))[0])
        gaps[first + 1] = max(step - gaps[first] - across, 0.0)
        return gaps
    first, last = int(inside[0]), int(inside[-1])
    reach = np.log1p(
        _ratio(ramp, np.array([ramp.low, outcomes[last]]), np.array([outcomes[first], ramp.high]))
    )
    if first > 0:
        gaps[first - 1] = max(step - float(reach[0]), 0.0)
    if last < len(losses) - 1:
        gaps[last + 1] = max(step - float(reach[1]), 0.0)
    return gaps


def _ratio(ramp: Ramp, a: Floats, b: Floats) -> Floats:
    """x_b/x_a − 1 for outcomes a ≤ b."""
    log_right = ramp.log_right(b)
    with np.errstate(over="ignore"):
        rate = np.exp(ramp.log_left_rise + ramp.slope * b - ramp.loss(a) - log_right)
        rate += np.exp(ramp.log_right_fall - ramp.slope * a - log_right)
    return -np.expm1(-ramp.slope * (b - a)) * rate


def _add(sums: Floats, frame: _Frame, panels: _Panels, rule: tuple[Floats, Floats]) -> None:
    """Add the integrals over the panels to the half-cells that they lie in."""
    ramp, below = frame.ramp, panels.half >> 1
    above = below + 1
    radius, slope = panels.half_width, ramp.slope
    z_a, z_b = frame.outcomes[below], frame.outcomes[above]
    weight_a, weight_b = frame.exponents[below], frame.exponents[above]
    from_a, to_b = panels.left - z_a, z_b - panels.right
    rise, fall = ramp.log_left_rise, ramp.log_right_fall
    # Constants of the four exponents: those that rise with z, and those that fall with it.
    rise_a, rise_b = rise + weight_a, rise + slope * z_b + weight_b
    fall_a = fall + frame.losses[below] - slope * z_a + weight_a
    fall_b = fall + frame.losses[above] + weight_b
    lift = frame.constant(below, panels, rule, sign=-1.0)
    drop = frame.constant(above, panels, rule, sign=1.0)
    with np.errstate(over="ignore", under="ignore"):
        for node, weight in zip(*rule, strict=True):
            ahead, behind = radius * (1.0 + node), radius * (1.0 - node)
            z = panels.left + ahead
            density = ramp.noise.log_density(z)
            up = -weight * np.expm1(-slope * (from_a + ahead))
            down = -weight * np.expm1(-slope * (to_b + behind))
            if rise > -np.inf:
                lift += up * np.exp(density + slope * z + rise_a)
                drop += down * np.exp(density + rise_b)
            if fall > -np.inf:
                lift += up * np.exp(density + fall_a)
                drop += down * np.exp(density - slope * z + fall_b)
    for row, amount in enumerate((lift * radius, drop * radius)):
        sums[row] += np.bincount(panels.half, amount, minlength=sums.shape[1])
