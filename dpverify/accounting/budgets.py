"""Budgets: what an accountant may spend, as one number with a limit.

An (ε, δ), a whole profile, μ of Gaussian DP, ρ of zCDP, a Rényi divergence, or what an attacker may
gain. Whatever has `spent(accountant, precision)` fits: a bracket around the number, its limit, and
the width that was asked for.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import gaussian_parts
from dpverify.accounting.rules.rdp import RenyiComposition
from dpverify.accounting.rules.zcdp import zcdp
from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, NotSupported, as_between, settle
from dpverify.guarantees import (
    ApproxDP,
    Bracket,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, SubsampledPair
from dpverify.theorems import GAUSSIAN_COMPOSITION, RENYI_COMPOSITION, ZCDP_COMPOSITION

_EXACT = (GaussianPair, LaplacePair, SubsampledPair, FinitePair)  # with their own divergences


class Spent(NamedTuple):
    """A number that must be at most `allowed`; `tolerance` is the width that was asked for."""

    bracket: Bracket
    allowed: float
    tolerance: float


@runtime_checkable
class Budgeted(Protocol):
    """A budget of any kind."""

    def spent(self, accountant: Accountant, precision: float) -> Spent:
        """What the accountant spends of it, to about `precision` of the limit."""
        ...


Budget: TypeAlias = Guarantee | Budgeted | Iterable[Guarantee | Budgeted]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRisk:
    """A limit on how well any attacker may tell two neighbors apart, used as a budget.

    `advantage`: by how much the true-positive rate of any test may exceed its false-positive rate;
    or `true_positive_rate`: the most that a test may have at `false_positive_rate`. Noise for a
    risk is less than noise for an (ε, δ) that implies it.

    >>> AttackRisk(true_positive_rate=0.1, false_positive_rate=0.05)
    AttackRisk(advantage=None, true_positive_rate=0.1, false_positive_rate=0.05)
    """

    advantage: float | None = None
    true_positive_rate: float | None = None
    false_positive_rate: float | None = None

    def __post_init__(self) -> None:
        for name in ("advantage", "true_positive_rate", "false_positive_rate"):
            value = getattr(self, name)
            if value is not None:
                settle(self, **{name: as_between(name, value, 0.0, 1.0)})
        has_rates = (self.true_positive_rate is not None, self.false_positive_rate is not None)
        if has_rates not in {(True, True), (False, False)} or (
            (self.advantage is None) is not all(has_rates)
        ):
            raise InvalidParameter(
                f"advantage={self.advantage!r}, true_positive_rate={self.true_positive_rate!r}, "
                f"false_positive_rate={self.false_positive_rate!r} must be an advantage alone, or "
                "both rates"
            )
        if self.advantage == 1 or self.true_positive_rate == 1:
            name = "advantage" if self.advantage == 1 else "true_positive_rate"
            raise InvalidParameter(f"{name}=1 must be below 1: anything stays within it")
        rate, alarm = self.true_positive_rate, self.false_positive_rate
        if rate is not None and alarm is not None and rate <= alarm:
            raise InvalidParameter(
                f"true_positive_rate={rate!r} must exceed false_positive_rate={alarm!r}: guessing "
                "blindly achieves that much"
            )

    def spent(self, accountant: Accountant, precision: float) -> Spent:
        alarm, rate = self.false_positive_rate, self.true_positive_rate
        if alarm is None or rate is None:
            found = accountant.advantage(tolerance=precision / 4)
            allowed = 0.0 if self.advantage is None else self.advantage
            return Spent(found, allowed, found.upper * precision / 4)
        # Only what exceeds blind guessing falls with the noise.
        precision *= float(1 - alarm / rate)
        found = accountant.true_positive_rate(alarm, tolerance=precision / 4)
        return Spent(found, rate, found.upper * precision / 4)


@dataclass(frozen=True, slots=True)
class Guaranteed:
    """A guarantee as a budget."""

    guarantee: Guarantee

    def spent(self, accountant: Accountant, precision: float) -> Spent:
        match self.guarantee:
            case PureDP(epsilon=epsilon):
                return _approximate(accountant, epsilon, 0.0, precision)
            case ApproxDP(epsilon=epsilon, delta=delta):
                return _approximate(accountant, epsilon, delta, precision)
            case GaussianDP(mu=mu):
                return Spent(_mu(accountant), mu, mu * precision)
            case ZeroConcentratedDP(rho=rho):
                return Spent(_rho(accountant), rho, rho * precision)
            case RenyiDP(order=order, epsilon=epsilon):
                return Spent(_divergence(accountant, order), epsilon, epsilon * precision)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Several budgets at once, such as points of a profile: the largest share that is spent."""

    budgets: tuple[Budgeted, ...]

    def spent(self, accountant: Accountant, precision: float) -> Spent:
        each = [budget.spent(accountant, precision) for budget in self.budgets]
        shares = [
            (_share(e.bracket.lower, e.allowed), _share(e.bracket.upper, e.allowed)) for e in each
        ]
        lower, upper = (max(ends) for ends in zip(*shares, strict=True))
        worst = max(each, key=lambda e: _share(e.bracket.upper, e.allowed))
        bracket = Bracket(
            lower * (1 - 2.0**-50),
            upper * (1 + 2.0**-50),
            worst.bracket.theorem,
            worst.bracket.assumes,
        )
        return Spent(bracket, 1.0, _share(worst.tolerance, worst.allowed))


def _share(spent: float, allowed: float) -> float:
    if allowed == 0:
        return 0.0 if spent == 0 else math.inf
    return spent / allowed


def as_budget(budget: object) -> Budgeted:
    """Read a caller's budget; raise for other values, and for budgets that nothing exceeds."""
    match budget:
        case PureDP() | ApproxDP() | GaussianDP() | ZeroConcentratedDP() | RenyiDP():
            _check_finite(budget)
            return Guaranteed(budget)
        case Budgeted() if not isinstance(budget, type):
            return budget
        case list() | tuple() if budget:
            return AllOf(tuple(as_budget(each) for each in budget))
        case _:
            raise InvalidParameter(
                f"budget={budget!r} must be a guarantee such as ApproxDP(epsilon=1, delta=1e-6), "
                "an AttackRisk, a list of these, or have spent(accountant, precision)"
            )


def _check_finite(budget: Guarantee) -> None:
    limit = next(
        getattr(budget, name) for name in ("epsilon", "mu", "rho") if hasattr(budget, name)
    )
    if limit == math.inf or getattr(budget, "delta", 0.0) == 1:
        raise InvalidParameter(
            f"budget={budget!r} must be finite, with a delta below 1: no noise is needed otherwise"
        )


def _approximate(accountant: Accountant, epsilon: float, delta: float, precision: float) -> Spent:
    """The cost in ε, or in δ if the budget has ε = 0."""
    if epsilon == 0:
        spent = accountant.delta(epsilon, tolerance=precision / 4)
        return Spent(spent, delta, spent.upper * precision / 4)
    # ε falls at least like 1/noise near the root, so this much of ε is worth less noise.
    tolerance = precision * epsilon / 4
    return Spent(accountant.epsilon(delta, tolerance=tolerance), epsilon, tolerance)


def _mu(accountant: Accountant) -> Bracket:
    one = gaussian_parts(accountant.parts) if accountant.parts else None
    if one is None:
        raise NotSupported(
            "budget=GaussianDP(…) must come with Gaussian parts only; for others "
            "`accountant.gaussian_summary(leak=…)` says which μ they keep"
        )
    square = one.squared_mu
    return Bracket(*enclose(lambda: ball(square).sqrt()), GAUSSIAN_COMPOSITION)


def _rho(accountant: Accountant) -> Bracket:
    total = zcdp(accountant.parts)
    if total is None:
        raise NotSupported(
            "budget=ZeroConcentratedDP(…) must come with parts that have a ρ: Gaussian noise, pure "
            "DP or zCDP"
        )
    one = gaussian_parts(accountant.parts)
    least = 0.0 if one is None else math.nextafter(total.rho, 0.0)
    return Bracket(least, total.rho, ZCDP_COMPOSITION)


def _divergence(accountant: Accountant, order: float) -> Bracket:
    """Divergences add up exactly where each is that of a pair; they are rounded up by units."""
    if not accountant.parts:
        return Bracket(0.0, 0.0, RENYI_COMPOSITION)
    found = RenyiComposition(accountant.parts).divergence(order)
    is_exact = all(isinstance(part.seen, _EXACT) for part in accountant.parts)
    least = found * (1 - 2.0**-40) if is_exact and math.isfinite(found) else 0.0
    return Bracket(least, found, RENYI_COMPOSITION)
