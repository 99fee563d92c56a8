"""Privacy-loss distributions on a grid, from other accountants: one for each direction.

The outcome with loss i·h has mass pᵢ under P and pᵢ·e^(−ih) under Q; what Q lacks it has where P
has nothing, and P has `infinity_mass` where Q has nothing.
"""

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from flint import arb

from dpverify.balls import ball
from dpverify.errors import InvalidParameter, as_between, as_positive, settle, shown
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT

_MOST_NODES = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class GridLosses:
    """Masses at the losses (first + i)·step, as floats multiply, and the mass at loss ∞."""

    step: float
    first: int
    masses: tuple[float, ...]
    infinity_mass: float = 0.0

    def __post_init__(self) -> None:
        settle(self, step=as_positive("step", self.step))
        settle(self, infinity_mass=as_between("infinity_mass", self.infinity_mass, 0.0, 1.0))
        if isinstance(self.first, bool) or not isinstance(self.first, Integral):
            raise InvalidParameter(f"first={shown(self.first)} must be a whole number")
        wrong = InvalidParameter(
            f"masses={shown(self.masses)} must be a list of 1 to {_MOST_NODES} non-negative numbers"
        )
        try:
            array = np.asarray(self.masses, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise wrong from None
        if array.ndim != 1 or not 0 < array.size <= _MOST_NODES or not (array >= 0.0).all():
            raise wrong
        total = math.fsum(array) + float(self.infinity_mass)
        if not total <= 1.0 + 1e-6:
            raise InvalidParameter(f"masses must add up to at most 1, not to {total!r}")
        settle(self, first=int(self.first), masses=tuple(array.tolist()))

    @property
    def losses(self) -> tuple[float, ...]:
        return tuple(self.loss(i) for i in range(len(self.masses)))

    def loss(self, index: int) -> float:
        return (self.first + index) * float(self.step)


@dataclass(frozen=True, slots=True)
class GridPair(Pair):
    """The pair of two grid laws: losses of left over right, and of right over left."""

    forward: GridLosses
    backward: GridLosses

    def __post_init__(self) -> None:
        for name in ("forward", "backward"):
            if not isinstance(getattr(self, name), GridLosses):
                raise InvalidParameter(f"{name}={getattr(self, name)!r} must be a GridLosses")

    @property
    def reversed(self) -> "GridPair":
        return GridPair(self.backward, self.forward)

    def singular_mass_ball(self) -> arb:
        return ball(self.forward.infinity_mass)

    def max_loss_ball(self) -> arb:
        law = self.forward
        top = max((i for i, mass in enumerate(law.masses) if mass > 0), default=None)
        return arb(0) if top is None else ball(law.loss(top)).max(arb(0))

    def profile_ball(self, epsilon: arb) -> arb:
        """Σ pᵢ·(1 − e^(ε − ih))₊ and the mass at ∞."""
        law = self.forward
        total, step = ball(law.infinity_mass), ball(law.step)
        start = max(0, int(float(epsilon.lower() / step.upper())) - law.first - 1)
        for i in range(start, len(law.masses)):
            if law.masses[i]:
                kept = -(epsilon - ball(law.loss(i))).expm1()
                total += ball(law.masses[i]) * kept.max(arb(0))
        return total

    def loss_law(self) -> LossLaw:
        losses, masses = np.array(self.forward.losses), np.array(self.forward.masses)
        kept = masses > 0.0
        largest = float(np.abs(losses).max())
        return LossLaw(
            losses=losses[kept],
            log_masses=np.log(masses[kept]),
            loss_error=4.0 * UNIT * (1.0 + largest),
            mass_error=UNIT * (8.0 + 4.0 * float(np.abs(np.log(masses[kept])).max(initial=0.0))),
        )
