"""Privacy-loss distributions in and out: masses on a grid of losses, with their rounding direction.

Out: the dominating and the dominated law of one run, as the numerical accountant makes them. In:
what another library computed is a bound in the direction in which it rounded, and only that end
of a bracket rests on it.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.discretize import LossGrid, discretize
from dpverify.accounting.parts import Composable, part_of
from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, NotSupported, as_positive
from dpverify.guarantees import End
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.estimated import EstimatedPair
from dpverify.pairs.grid import GridLosses, GridPair

_ROUNDING = 2.0**-48
_OFF = 1e-6  # by which sums of masses may be off
_MOST_NODES = 1 << 22
_WIDEST = 700.0  # losses whose exponentials are floats
_LEAST = -690.0  # logarithm of the mass that may be cut off at the top


@dataclass(frozen=True, slots=True, kw_only=True)
class LossDistribution:
    """The losses of one run on a grid, in both directions, rounded towards one end.

    `removed` holds the loss of the left law over the right one, with the record over without it
    under add-remove; `added` that of the right over the left.

    >>> import dpverify as dpv
    >>> from dpverify.guarantees import End
    >>> upper = dpv.loss_distribution(
    ...     dpv.Laplace(scale=2.0), relation=dpv.Relation.ADD_REMOVE, step=0.01, end=End.UPPER
    ... )
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(upper.pair, times=10)
    >>> round(spent.epsilon(1e-6).upper, 1)
    5.0
    """

    removed: GridLosses
    added: GridLosses
    end: End

    def __post_init__(self) -> None:
        for name in ("removed", "added"):
            law = getattr(self, name)
            with np.errstate(over="ignore"):
                other = math.fsum(np.exp(-np.array(law.losses)) * np.array(law.masses))
            if not other <= 1.0 + _OFF:
                raise InvalidParameter(
                    f"{name} must be losses of two laws: the other one has mass {other:.6g}"
                )
            total = math.fsum(law.masses) + float(law.infinity_mass)
            if self.end is End.UPPER and total < 1.0 - _OFF:
                raise InvalidParameter(
                    f"{name} must add up to 1, not to {total:.6g}, to be a bound from above"
                )

    @property
    def pair(self) -> EstimatedPair:
        """As an accountant composes it: a bound in the direction in which it was rounded."""
        pair = GridPair(self.removed, self.added)
        return EstimatedPair(above=pair) if self.end is End.UPPER else EstimatedPair(below=pair)

    def to_dp_accounting(self) -> Any:  # noqa: ANN401  # a PrivacyLossDistribution
        """The same as a `PrivacyLossDistribution` of dp_accounting, which must be installed."""
        from dp_accounting.pld import (  # type: ignore[import-untyped]  # noqa: PLC0415
            pld_pmf,
            privacy_loss_distribution,
        )

        def pmf(law: GridLosses) -> Any:  # noqa: ANN401
            masses = {law.first + i: mass for i, mass in enumerate(law.masses) if mass > 0.0}
            upper = self.end is End.UPPER
            return pld_pmf.create_pmf(masses, float(law.step), float(law.infinity_mass), upper)

        return privacy_loss_distribution.PrivacyLossDistribution(pmf(self.removed), pmf(self.added))


def loss_distribution(
    subject: Composable,
    *,
    relation: Relation,
    step: float,
    end: End | Literal["upper", "lower"],
) -> LossDistribution:
    """The losses of one run of a mechanism on a grid, dominating (UPPER) or dominated (LOWER).

    Products of the dominating laws dominate, and likewise below, so that whoever composes them
    composes bounds.

    >>> import dpverify as dpv
    >>> from dpverify.guarantees import End
    >>> losses = dpv.loss_distribution(
    ...     dpv.Laplace(scale=2.0), relation=dpv.Relation.ADD_REMOVE, step=0.01, end=End.UPPER
    ... )
    >>> losses.removed.infinity_mass
    0.0
    """
    step, relation = as_positive("step", step), Relation.parse(relation)
    if not isinstance(end, End | str) or end not in {"upper", "lower", *End}:
        raise InvalidParameter(f"end={end!r} must be 'upper' or 'lower'")
    end = End(end)
    pair = part_of(subject, times=1, relation=relation).pair
    if pair is None:
        raise NotSupported(
            f"subject={subject!r} must have a pair: a guarantee without one has none"
        )
    removed, added = (_on_grid(side, float(step), end) for side in (pair, pair.reversed))
    return LossDistribution(removed=removed, added=added, end=end)


def _on_grid(pair: Pair, step: float, end: End) -> GridLosses:
    law, grid = pair.simplest.loss_law().cut(_LEAST, _LEAST), LossGrid(step, 0.0)
    # Tilted, so that of two lower laws the one that spreads out counts as the better one.
    tilt = Tilt(rate=1.0, log_scale=0.0)
    least, most = law.loss_range()
    if max(-least, most) > _WIDEST:
        raise NotSupported(
            f"losses from {least:.4g} to {most:.4g} must lie within ±{_WIDEST:g}: masses of larger "
            "ones are no floats"
        )
    if not (most - least) / _MOST_NODES < step <= _WIDEST:
        raise InvalidParameter(
            f"step={step!r} must be at most {_WIDEST:g}, and give at most {_MOST_NODES} nodes "
            f"between losses {least:.4g} and {most:.4g}"
        )
    found = discretize(law, grid, tilt)
    low, high = enclose(pair.singular_mass_ball)
    tilted, infinity, sign = found.lower, max(low, 0.0), -1.0
    if end is End.UPPER:
        beyond = math.exp(law.log_above) if law.log_above > -math.inf else 0.0
        tilted, infinity, sign = found.upper, min(high + beyond, 1.0), 1.0
    losses = grid.losses(found.first, found.first + len(tilted) - 1)
    # Nodes are known to `loss_error`, exponentials to a few units: P and x·Q both move that much.
    slack = 2.0 * found.loss_error + _ROUNDING * (1.0 + float(abs(losses).max()))
    masses = tilted * np.exp(-losses) * (1.0 + sign * slack)
    top = int(np.flatnonzero(masses).max(initial=0))
    if end is End.LOWER and not ball((found.first + top) * step) <= pair.max_loss_ball():
        # The last node may lie above the largest loss, by a rounding. One node further down, with
        # as much mass of the other law, it counts for less.
        if top > 0:
            masses[top - 1] += masses[top] * math.exp(-step) * (1.0 - _ROUNDING)
        masses[top] = 0.0
    return GridLosses(
        step=step, first=found.first, masses=tuple(masses.tolist()), infinity_mass=infinity
    )


def from_loss_distribution(
    *given: Any,  # noqa: ANN401  # LossDistributions, or dp_accounting's
) -> EstimatedPair:
    """The pair of a mechanism whose losses these distributions bound: one, or one from each side.

    A `PrivacyLossDistribution` of dp_accounting that is a pessimistic estimate bounds from above,
    and only the upper end of a bracket is certified then; an optimistic one from below. What they
    rest on beyond rounding, the floats of that library, is theirs.

    >>> import dpverify as dpv
    >>> from dpverify.guarantees import End
    >>> noisy = dpv.Laplace(scale=2.0)
    >>> lower, upper = (
    ...     dpv.loss_distribution(noisy, relation=dpv.Relation.ADD_REMOVE, step=0.01, end=end)
    ...     for end in (End.LOWER, End.UPPER)
    ... )
    >>> pair = dpv.from_loss_distribution(lower, upper)
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(pair, times=10)
    >>> round(spent.epsilon(1e-6).width, 2)
    0.0
    """
    if not given:
        raise InvalidParameter("given=() must be one or two privacy-loss distributions")
    found = EstimatedPair()
    for each in given:
        read = each if isinstance(each, LossDistribution) else _read(each)
        side = "above" if read.end is End.UPPER else "below"
        found = replace(found, **{side: getattr(read.pair, side)})
    return found


def _read(foreign: Any) -> LossDistribution:  # noqa: ANN401
    """dp_accounting's distribution, by the names of its fields."""
    try:
        removed, added = foreign._pmf_remove, foreign._pmf_add  # noqa: SLF001  # there is no door
        ends = {bool(pmf._pessimistic_estimate) for pmf in (removed, added)}  # noqa: SLF001
        laws = [_law(pmf) for pmf in (removed, added)]
    except AttributeError:
        raise InvalidParameter(
            f"given={foreign!r} must be a LossDistribution or a PrivacyLossDistribution"
        ) from None
    if len(ends) != 1:
        raise InvalidParameter(f"given={foreign!r} must be rounded the same way in both directions")
    return LossDistribution(
        removed=laws[0], added=laws[1], end=End.UPPER if ends == {True} else End.LOWER
    )


def _law(pmf: Any) -> GridLosses:  # noqa: ANN401
    dense = pmf.to_dense_pmf() if hasattr(pmf, "to_dense_pmf") else pmf
    return GridLosses(
        step=float(dense._discretization),  # noqa: SLF001
        first=int(dense._lower_loss),  # noqa: SLF001
        masses=dense._probs,  # noqa: SLF001
        infinity_mass=float(dense._infinity_mass),  # noqa: SLF001
    )
