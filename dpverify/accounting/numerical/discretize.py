"""Put one part on the grid: a law that dominates it, and a law that it dominates.

*Upper.* The mass of each cell is split between its two nodes so that both P and Q keep theirs:
the profile is replaced by its chords. [Doroshenko et al., PoPETs 2022(4), "connect the dots"]

*Lower.* The tangents of the profile f at the middle of every cell lie below it. Their values at
node i are f(xᵢ) − ∫(x−xᵢ)dQ over the half-cell above and f(xᵢ) − ∫(xᵢ−x)dQ over the one below. The
chords of v = f − g, with gᵢ the larger of the two integrals, lie below all tangents; where v is
convex it is the profile of a grid law, and its convex minorant serves elsewhere.

Both ends are second order in the step, and neither is the difference of two large numbers.
Domination between measures is the order of their profiles over all x ≥ 0, and products keep it:
∫ r·f(x·s/r) only grows with f. No measure need have total mass 1, so every doubt is settled by
making single masses larger (upper) or smaller (lower).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpverify.accounting.numerical.atoms import place
from dpverify.accounting.numerical.cells import ROUNDINGS, Cells, Tilt, integrate
from dpverify.accounting.numerical.hull import convex_minorant, tail_profile
from dpverify.arrays import Floats
from dpverify.pairs.loss_law import AnyCutLaw, CutLaw
from dpverify.pairs.profile_law import CutProfile
from dpverify.pairs.ramps import UNIT

_FLOOR = 1e-290  # times what a step weighs, added to every upper mass: covers all that underflows
_LEAST = 1e-270  # times the same: cells with less are left out of the lower law
_WIDEST_EXPONENT = 300.0
_LARGEST_EXPONENT = 600.0
_SAFE = 1.0 - 1e-9  # a comparison with this margin is right although sums are rounded


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Losses offset + i·step for whole i."""

    step: float
    offset: float

    def losses(self, first: int, last: int) -> Floats:
        return self.offset + self.step * np.arange(first, last + 1, dtype=np.float64)

    def span(self, low: float, high: float) -> tuple[int, int]:
        """Nodes at or beyond both ends, and at least one cell between them."""
        first = math.floor((low - self.offset) / self.step - 1e-9)
        last = math.ceil((high - self.offset) / self.step + 1e-9)
        return first, max(last, first + 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridLaw:
    """Tilted masses at nodes first, first + 1, … of the dominating and the dominated law.

    `loss_error` bounds how far the losses that the masses stand for may be from the nodes'.
    """

    first: int
    upper: Floats
    lower: Floats
    loss_error: float


def discretize(law: AnyCutLaw, grid: LossGrid, tilt: Tilt) -> GridLaw:
    """Both ends of `law` on the grid, with masses weighted by `tilt`; mass at ∞ is not included."""
    if not isinstance(law, CutLaw):
        return from_profile(law, grid, tilt)
    low, high = law.loss_range()
    first, last = grid.span(low, high)
    nodes = grid.losses(first, last)
    parts = [integrate(ramp, nodes, tilt) for ramp in law.ramps]
    if len(law.losses):
        parts.append(place(law, nodes, grid.step, tilt))
    largest = max(abs(low), abs(high))
    error = max((ramp.loss_error(largest) for ramp in law.ramps), default=0.0)
    error = max(error, law.loss_error + 16.0 * UNIT * (1.0 + largest))
    # Parts that meet in a cell may differ by the loss error in where they see its nodes.
    doubt = 4.0 * error / grid.step
    meeting = sum(bool(part.lift.any() or part.drop.any()) for part in parts) > 1
    slack = _Slack(nodes=doubt, parts=doubt if meeting else 0.0, loss=error)
    return GridLaw(
        first=first,
        upper=_upper(parts, law, nodes, grid.step, tilt),
        lower=_lower(parts, grid.step, tilt.rate, slack),
        loss_error=error,
    )


def _upper(parts: list[Cells], law: CutLaw, nodes: Floats, step: float, tilt: Tilt) -> Floats:
    growth = math.exp(tilt.rate * step)
    masses = np.full(len(nodes), _FLOOR * max(growth, 1.0))
    for part in parts:
        masses += _split(part, growth) * (1.0 + _node_errors(part))
    for loss in law.below:
        node = min(int(np.searchsorted(nodes, loss + 1e-9 * step)), len(nodes) - 1)
        masses[node] += math.exp(law.log_below + float(tilt.exponent(nodes[node])))
    return masses


@dataclass(frozen=True, slots=True)
class _Slack:
    """How well the nodes are known: relative to a step, between parts of a law, and as losses."""

    nodes: float
    parts: float
    loss: float


def _lower(parts: list[Cells], step: float, rate: float, slack: _Slack) -> Floats:
    growth = math.exp(rate * step)
    parts = _without_traces(parts, _LEAST * max(growth, 1.0))
    split: Floats = np.add.reduce([_split(part, growth) for part in parts])
    if not split.any():
        return split
    errors = np.maximum.reduce([_node_errors(part) for part in parts])
    # Where masses are hardly known at all, no comparison of their sums is to be trusted.
    safe = max(_SAFE - 8.0 * float(errors.max()), 0.0)
    gaps = _Tangents.of(parts).gaps(split, step, rate, safe)
    masses = _lowered(split, gaps, errors, 1.0 / parts[0].step_ratio, growth, slack.parts)
    return _better(
        convex_minorant(masses, step, rate, slack.nodes),
        _single_atom(split, step, rate, float(errors.max()), slack.loss),
    )


def _single_atom(split: Floats, step: float, rate: float, error: float, near: float) -> Floats:
    """Everything merged into one outcome, on the node at or below its loss.

    It serves parts so narrow that the grid cannot resolve them at all.
    """
    result = np.zeros_like(split)
    ahead = step * (np.arange(len(split)) - len(split) // 2)
    if (1.0 + abs(rate)) * -ahead[0] > _WIDEST_EXPONENT:
        return result
    left = split * np.exp(-rate * ahead)
    right = float((left * np.exp(-ahead)).sum())
    place = (math.log(float(left.sum()) / right) + near - ahead[0]) / step
    node = min(math.floor(place), len(split) - 1)
    if node >= 0:
        mass = right * (1.0 - 2.0 * error) * math.exp((1.0 + rate) * ahead[node])
        result[node] = mass
    return result


def _better(first: Floats, second: Floats) -> Floats:
    """Of two lower laws the one that keeps more of the tilted mass."""
    return first if first.sum() >= second.sum() else second


def _split(part: Cells, growth: float) -> Floats:
    """Masses at the nodes when each cell is split between its two ends."""
    masses = part.on_node.copy()
    masses[1:] += part.lift * (1.0 + 1.0 / part.step_ratio) * growth
    masses[:-1] += part.drop / (part.step_ratio * growth)
    return masses


def _node_errors(part: Cells) -> Floats:
    """The largest relative error among the cells that touch each node or a neighbor of it."""
    errors = np.pad(part.errors, 2, mode="edge")
    largest: Floats = np.maximum.reduce([errors[i : len(errors) - 3 + i] for i in range(4)])
    return largest


def _without_traces(parts: list[Cells], least: float) -> list[Cells]:
    """The parts without the cells and nodes in which underflow may have cost accuracy."""
    kept = np.add.reduce([part.lift + part.drop for part in parts]) >= least
    return [
        replace(
            part,
            lift_left=part.lift_left * kept,
            lift_right=part.lift_right * kept,
            drop_left=part.drop_left * kept,
            drop_right=part.drop_right * kept,
            on_node=part.on_node * (part.on_node >= least),
        )
        for part in parts
    ]


def _lowered(  # noqa: PLR0913, PLR0917  # masses, what is taken off them, and the grid
    split: Floats,
    gaps: Floats,
    errors: Floats,
    inverse: Floats | float,
    growth: float,
    slack: float = 0.0,
) -> Floats:
    """Masses of the chords of v = f − g: the second divided difference of the gaps g, under P."""
    own, others = np.zeros_like(split), np.zeros_like(split)
    own[:-1] += gaps[:-1] * inverse
    own[1:] += gaps[1:] * (1.0 + inverse)
    others[:-1] += gaps[1:] * inverse / growth
    others[1:] += gaps[:-1] * (1.0 + inverse) * growth
    doubt = errors * (split + own + others) + slack * (own + others)
    masses: Floats = split + own - others - doubt
    # The topmost mass is v at the node below it over the step, and v is never negative.
    top = int(np.flatnonzero(split)[-1])
    masses[top] = max(masses[top], 0.0)
    return masses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tangents:
    """How far below the profile tangents run: at the lower and at the upper node of each cell.

    `above` and `below` are those of the tangent in the middle of the cell, `lift` that of the
    tangent at its upper node, `drop` that of the one at its lower node.
    """

    above: Floats
    below: Floats
    lift: Floats
    drop: Floats

    @classmethod
    def of(cls, parts: list[Cells]) -> "_Tangents":
        return cls(
            above=np.add.reduce([part.lift_left for part in parts]),
            below=np.add.reduce([part.drop_right for part in parts]),
            lift=np.add.reduce([part.lift for part in parts]),
            drop=np.add.reduce([part.drop for part in parts]),
        )

    def gaps(self, split: Floats, step: float, rate: float, safe: float) -> Floats:
        """How far below the profile the lower of the two tangents at each node runs.

        A tangent that would fall below 0 at the cell's upper node is mixed with the one at that
        node, so that v is never negative; one that would fall below P − x·Q of everything at the
        cell's lower node is mixed with the one there, if that is possible, so that both laws keep
        their mass.
        """
        above, below = self.above, self.below
        top = safe * tail_profile(split, step, rate)[1:]
        bottom = safe * tail_profile(split[::-1], step, -1.0 - rate)[::-1][:-1]
        share = _share(bottom, above)
        raised = share * below + (1.0 - share) * self.drop
        possible = raised <= top
        above, below = np.where(possible, share * above, above), np.where(possible, raised, below)
        share = _share(top, below)
        above, below = share * above + (1.0 - share) * self.lift, share * below
        gaps: Floats = np.maximum(np.append(above, 0.0), np.insert(below, 0, 0.0))
        return gaps


def _share(most: Floats, wanted: Floats) -> Floats:
    """The largest share of what is wanted that does not exceed `most`."""
    return np.divide(most, wanted, out=np.ones_like(wanted), where=wanted > most)


def from_profile(law: CutProfile, grid: LossGrid, tilt: Tilt) -> GridLaw:
    """Both ends of a law that is known by its profile alone; see `pairs.profile_law`."""
    low, high = law.loss_range()
    first, last = grid.span(low, high)
    nodes = grid.losses(first, last)
    found = law.masses(nodes)
    weights = tilt.exponent(nodes)
    error = UNIT * (ROUNDINGS + 4.0 * float((tilt.size(nodes) + np.abs(nodes)).max()))
    loss_error = 16.0 * UNIT * (1.0 + max(abs(low), abs(high)))

    def weighted(logs: Floats, at: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(logs + at) * (1.0 + error)

    upper = weighted(found.log_upper, weights)
    known = weighted(found.log_lower, weights) * (1.0 - 3.0 * error)
    tangents = _Tangents(
        above=weighted(found.log_above, weights[:-1]),
        below=weighted(found.log_below, weights[1:]),
        lift=weighted(found.log_lift, weights[:-1]),
        drop=weighted(found.log_drop, weights[1:]),
    )
    growth = math.exp(tilt.rate * grid.step)
    gaps = tangents.gaps(known, grid.step, tilt.rate, _SAFE)
    gaps[0] = max(gaps[0], math.exp(min(found.log_under + weights[0], _LARGEST_EXPONENT)))
    doubt = 4.0 * loss_error / grid.step + 4.0 * error
    lower = np.zeros_like(known)
    # Nothing is certain to lie above the last node whose mass is, so that v is level from there on.
    if count := int(np.flatnonzero(known)[-1]) + 1 if known.any() else 0:
        gaps[count - 1 :] = 0.0
        kept, errors = known[:count], np.full(count, doubt)
        inverse = 1.0 / math.expm1(grid.step)
        kept = _lowered(kept, gaps[:count], errors, inverse, growth)
        lower[:count] = convex_minorant(kept, grid.step, tilt.rate, doubt)
    # What may lie anywhere beyond the last node lies at least there.
    log_top = math.log(found.rest) + float(weights[-1]) if found.rest > 0.0 else -math.inf
    if log_top < _LARGEST_EXPONENT:
        lower[-1] += math.exp(log_top) * (1.0 - error)
    return GridLaw(
        first=first,
        upper=upper + _FLOOR * max(growth, 1.0),
        lower=_better(lower, _no_loss(nodes, found.singular, tilt)),
        loss_error=loss_error,
    )


def _no_loss(nodes: Floats, singular: float, tilt: Tilt) -> Floats:
    """All outcomes merged into one: every profile is at least 1 − s − x, s its limit."""
    result = np.zeros_like(nodes)
    if singular >= 1.0:
        return result
    node = int(np.searchsorted(nodes, math.log1p(-singular), side="right")) - 1
    if node >= 0:
        exponent = float(nodes[node] + tilt.exponent(nodes)[node])
        result[node] = _SAFE * math.exp(min(exponent, _LARGEST_EXPONENT))
    return result
