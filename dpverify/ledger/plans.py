"""A budget for a plan: a fixed list of mechanisms that may run in any order.

Privacy losses compose exactly only if parameters do not depend on answers. A plan says them in
advance; which of its entries is run next, and whether all are, may still depend on everything
seen. What remains of the plan is one pair, and the pair of a request times that of the rest of the
plan is the pair of the plan: so the cost of the whole plan, composed as tightly as the accountant
can, bounds every such interaction. Gaussian noise in a plan is a reserve of μ², which may be spent
in other pieces than those planned.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Part
from dpverify.accounting.record import name_of
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.ledger import prices
from dpverify.ledger.amounts import Amount, Amounts, added, read, written
from dpverify.pairs.gaussian import GaussianPair
from dpverify.theorems import PLAN_FILTER, Theorem

_RESERVE = "squared_mu"


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """How often each pair may still be requested, and the μ² in reserve."""

    limits: tuple[tuple[str, Amount], ...]
    by: str = "plan"

    @property
    def theorem(self) -> Theorem:
        return PLAN_FILTER

    @property
    def start(self) -> Amounts:
        return {name: Fraction() for name, _ in self.limits}

    def after(self, spent: Amounts, part: Part) -> Amounts:
        """The charges after a part has run as well; raise if the plan has no such part."""
        price = self.price(part)
        return {name: added(spent[name], price.get(name, Fraction())) for name in spent}

    def price(self, part: Part) -> Amounts:
        """How many entries of the plan, or how much of its reserve, a part uses."""
        limits = dict(self.limits)
        name = _name(part)
        if name in limits:
            return {name: Fraction(part.times)}
        leaks = prices.split(part)[0] > 0
        spread = prices.squared_mu(part) if _RESERVE in limits and not leaks else math.inf
        if isinstance(spread, float):
            raise NotSupported(
                f"mechanism={part.label} must be in the plan, or have a μ and no leaks if the "
                "plan has Gaussian noise: a plan does not cover other parts that are chosen from "
                "answers"
            )
        return {_RESERVE: spread * part.times}

    def fits(self, spent: Amounts) -> bool:
        """Whether the plan covers these charges."""
        return all(spent[name] <= limit for name, limit in self.limits)

    def share(self, spent: Amounts) -> float:
        """The fraction of the plan that has run, by its most used entry."""
        shares = (spent[name] / limit for name, limit in self.limits if limit)
        return max(map(float, shares), default=0.0)

    def least_budget(self, spent: Amounts, budget: Guarantee) -> Guarantee:  # noqa: ARG002
        """The budget itself, as the plan was chosen for it whatever part has run."""
        return budget

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values for a ledger."""
        return {"by": self.by, "limits": written(dict(self.limits))}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "RequestPlan":
        """The plan that `to_dict` wrote."""
        return cls(tuple(read(told["limits"]).items()))


def _name(part: Part) -> str | None:
    """The name of a part's entry; None for a class that cannot be recorded."""
    try:
        return name_of(part.seen)
    except NotSupported:
        return None


def plan_for(budget: Guarantee, plan: Accountant) -> RequestPlan:
    """The limits of a plan, after checking that it keeps the budget."""
    if not isinstance(budget, PureDP | ApproxDP):
        raise InvalidParameter(f"budget={budget!r} must be a PureDP or an ApproxDP to have a plan")
    delta = budget.delta if isinstance(budget, ApproxDP) else 0.0
    cost = plan.epsilon(delta, tolerance=1e-4)
    if not plan.parts or cost.upper > budget.epsilon:
        raise InvalidParameter(
            f"plan must be at least one part, within the budget: it costs epsilon={cost.upper:.6g} "
            f"at delta={float(delta):g}, of {float(budget.epsilon):g}"
        )
    limits: dict[str, Amount] = {}
    for part in plan.parts:
        if part.pair is None:
            raise NotSupported(f"plan={part.label} must have a dominating pair in every entry")
        gaussian = isinstance(part.seen, GaussianPair)
        name = _RESERVE if gaussian else name_of(part.seen)
        amount = prices.squared_mu(part) * part.times if gaussian else Fraction(part.times)
        limits[name] = added(limits.get(name, Fraction()), amount)
    return RequestPlan(tuple(limits.items()))
