"""How requests are charged to a budget: the unit, the limit, and the theorem.

Each scheme is a filter in the sense of Rogers et al. 2016: a rule that says, from the charges
alone, whether the next request may run, such that the whole interaction keeps the budget whatever
is asked, parameters chosen after earlier answers included. Four of them:

- `basic`: ε and δ add up;
- `gaussian`: μ² adds up, and what is left is the μ² of one Gaussian: exact for Gaussian noise;
- `zcdp`: ρ adds up;
- `renyi`: Rényi divergences add up, at one order or at several. With several, the limit at each
  is that of an equal share of δ: the order that is left in the end depends on what was asked, and
  so on answers, and only the sum over all of them is within δ.

Who may leak (requests with a δ of their own) charges a part of δ that is set aside for leaks, in
advance: `proofs/leaky_filter.py`.

A fifth, `plan`, lives in a file of its own. What is *not* a filter is to compose, after each
request, the privacy losses of all that were asked so far, and to compare the total with the
budget: `proofs/published/profile_filter.py` overspends it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from dpverify.accounting.parts import Part
from dpverify.accounting.renyi_conversion import largest_divergence, renyi_epsilon
from dpverify.accounting.rules.stating import approx_of
from dpverify.balls import at_most, ball, enclose, first_float, round_up
from dpverify.errors import InvalidParameter, NotSupported, as_between, as_real, check_member
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.ledger import prices
from dpverify.ledger.amounts import Amount, Amounts, added, read, written
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.theorems import (
    BASIC_FILTER,
    GAUSSIAN_FILTER,
    LEAKY_FILTER,
    RENYI_FILTER,
    ZCDP_FILTER,
    Theorem,
)

By: TypeAlias = Literal["basic", "gaussian", "zcdp", "renyi"]
LEAK = "leak"
_THEOREMS: dict[By, Theorem] = {
    "basic": BASIC_FILTER,
    "gaussian": GAUSSIAN_FILTER,
    "zcdp": ZCDP_FILTER,
    "renyi": RENYI_FILTER,
}
_PIECES = 64  # of the share of leaks, one for each part that is stated as (ε, δ)
_ORDERS = (
    *(1.0625, 1.125, 1.25, 1.5, *map(float, range(2, 33)), *map(float, range(36, 65, 4))),
    *(80.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0),
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Amounts, one of which must stay within its limit, and the limit on the leak probability."""

    by: By
    limits: tuple[tuple[str, Amount], ...]
    leak: Fraction
    orders: tuple[float, ...] = ()

    @property
    def theorem(self) -> Theorem:
        """The theorem that makes it a filter; if δ is set aside for leaks, the one about leaks."""
        return LEAKY_FILTER if self.leak and self.by != "basic" else _THEOREMS[self.by]

    @property
    def start(self) -> Amounts:
        return {name: Fraction() for name in (*dict(self.limits), LEAK)}

    def after(self, spent: Amounts, part: Part) -> Amounts:
        """The charges after a part has run as well; raise if no theorem prices it in this unit."""
        price = self.price(part)
        return {name: added(spent[name], price[name]) for name in spent}

    def price(self, part: Part) -> Amounts:
        """The cost of a part with all its runs."""
        leak, rest = prices.split(part)
        each = self._each(rest)
        if rest is not None and not leak and self.leak and _unpriced(each):
            leak, rest = self._stated(rest)
            each = self._each(rest)
        if 0 < leak < 1 and not self.leak:
            raise NotSupported(
                f"mechanism={part.label} has a delta of its own and must be given a share of the "
                "budget's delta: leak_share, of an (epsilon, delta) budget"
            )
        if leak < 1 and _unpriced(each):
            raise NotSupported(
                f"mechanism={part.label} must have {_NEEDED[self.by]} under the budget's relation, "
                f"as requests are charged by {self.theorem.name}"
            )
        names = [name for name, _ in self.limits]
        return {
            LEAK: min(leak * part.times, Fraction(1)),
            **{n: a * part.times for n, a in zip(names, each, strict=True)},
        }

    def _stated(self, part: Part) -> tuple[Fraction, Part]:
        """A part that no theorem prices, stated as (ε, δ/64) with the δ that is set aside."""
        stated = approx_of(part, below(self.leak / _PIECES))
        bounded = LeakyResponsePair(ApproxDP(epsilon=stated.epsilon))
        return Fraction(stated.delta), Part(bounded, part.times, part.label)

    def _each(self, part: Part | None) -> list[Amount]:
        """The cost of one run in each unit."""
        return [Fraction() if part is None else self._unit(part, name) for name, _ in self.limits]

    def _unit(self, part: Part, name: str) -> Amount:
        match self.by:
            case "basic":
                return prices.largest_loss(part)
            case "gaussian":
                return prices.squared_mu(part)
            case "zcdp":
                return prices.rho(part)
            case "renyi":
                return prices.divergence(part, _order(name))

    def fits(self, spent: Amounts) -> bool:
        """Whether these charges keep the budget."""
        return spent[LEAK] <= self.leak and any(spent[n] <= most for n, most in self.limits)

    def share(self, spent: Amounts) -> float:
        """The fraction of the budget that is spent, from 0 to 1, by the amount with most left."""
        shares = [_share(spent[name], limit) for name, limit in self.limits]
        return max(min(shares), _share(spent[LEAK], self.leak))

    def least_budget(self, spent: Amounts, budget: Guarantee) -> Guarantee:
        """The smallest budget of the same kind and δ that these charges keep."""
        amounts = [spent[name] for name, _ in self.limits]
        first = amounts[0]
        total = math.inf if isinstance(first, float) else round_up(first)
        match budget:
            case PureDP():
                return PureDP(epsilon=total)
            case ZeroConcentratedDP():
                return ZeroConcentratedDP(rho=total)
            case RenyiDP(order=order):
                return RenyiDP(order=order, epsilon=total)
            case GaussianDP():
                return GaussianDP(mu=enclose(lambda: ball(first).sqrt())[1])
            case ApproxDP(delta=delta):
                rest = _rest(delta, self.leak)
                return ApproxDP(epsilon=self._epsilon(amounts, rest), delta=delta)

    def _epsilon(self, amounts: list[Amount], delta: float) -> float:
        first = amounts[0]
        match self.by:
            case "gaussian" if isinstance(first, Fraction):
                return GaussianPair(first).epsilon(delta)
            case "renyi":
                each = _each(delta, len(amounts))
                known = [
                    renyi_epsilon(order, round_up(amount), each)
                    for order, amount in zip(self.orders, amounts, strict=True)
                    if isinstance(amount, Fraction)
                ]
                return min(known, default=math.inf)
            case _:
                return round_up(first) if isinstance(first, Fraction) else math.inf

    def to_dict(self) -> dict[str, Any]:
        """The scheme as plain values for a ledger."""
        limits = written(dict(self.limits))
        return {"by": self.by, "limits": limits, "leak": str(self.leak)}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Scheme":
        """The scheme that `to_dict` wrote."""
        limits = tuple(read(told["limits"]).items())
        check_member("by", told["by"], get_args(By))
        orders = tuple(_order(name) for name, _ in limits if name.startswith("renyi:"))
        return cls(told["by"], limits, Fraction(told["leak"]), orders)


_NEEDED: dict[By, str] = {
    "basic": "a largest privacy loss",
    "gaussian": "a Gaussian guarantee",
    "zcdp": "a zCDP guarantee",
    "renyi": "a bounded Rényi divergence",
}


def _unpriced(amounts: list[Amount]) -> bool:
    return all(amount == math.inf for amount in amounts)


def _order(name: str) -> float:
    return float(name.removeprefix("renyi:"))


def _share(spent: Amount, limit: Amount) -> float:
    if isinstance(spent, float):
        return math.inf if limit != math.inf else 0.0
    if isinstance(limit, float) or not spent:
        return 0.0
    return math.inf if not limit else round_up(spent / limit)


def scheme_for(
    budget: Guarantee,
    *,
    by: By | None = None,
    orders: Iterable[float] | None = None,
    leak_share: float | None = None,
    first: Part | None = None,
) -> Scheme | None:
    """The scheme for a budget; None if it depends on the first request.

    A budget of ε-DP, zCDP, Gaussian or Rényi DP has one natural scheme. An (ε, δ) budget has
    three, and if none is named the first request decides: it was chosen before anything was
    released, so a choice made from it is as good as one made in advance.
    """
    if leak_share is not None:
        leak_share = as_between("leak_share", leak_share, 0.0, 1.0)
    listed = None if orders is None else checked_orders(orders)
    if not isinstance(budget, ApproxDP) or budget.delta == 0:
        return _natural(budget, by, listed, leak_share)
    if budget.delta == 1 or budget.epsilon == math.inf:
        raise InvalidParameter(
            f"budget={budget!r} must have a finite epsilon and a delta below 1: nothing is refused "
            "otherwise"
        )
    if by is not None:
        check_member("by", by, ("basic", "gaussian", "renyi"))
    if by != "renyi" and listed is not None:
        raise InvalidParameter(f"orders={listed!r} must be given with by='renyi' alone")
    if by is not None and by != "basic" and leak_share is None:
        leak_share = 0.0
    if by == "basic":
        return _basic(budget)
    if by == "gaussian":
        return _gaussian(budget, leak_share or 0.0)
    if by == "renyi" and listed is not None:
        return _renyi(budget, leak_share or 0.0, listed)
    return None if first is None else _chosen(budget, by, leak_share, first)


def checked_orders(orders: Iterable[float]) -> tuple[float, ...]:
    """Rényi orders as floats without repeats; raise unless finite and above 1."""
    if not isinstance(orders, Iterable) or isinstance(orders, str):
        raise InvalidParameter(f"orders={orders!r} must be a list of numbers, such as [8, 16]")
    found = tuple(sorted({float(as_real("orders", order)) for order in orders}))
    if not found or not 1 < found[0] <= found[-1] < math.inf:
        raise InvalidParameter(f"orders={found!r} must be finite numbers above 1, at least one")
    return found


def _natural(
    budget: Guarantee, by: By | None, orders: tuple[float, ...] | None, leak_share: float | None
) -> Scheme:
    found: Scheme
    match budget:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
            found = Scheme("basic", (("epsilon", _limit(budget, epsilon)),), Fraction())
        case ZeroConcentratedDP(rho=rho):
            found = Scheme("zcdp", (("rho", _limit(budget, rho)),), Fraction())
        case GaussianDP(mu=mu):
            found = Scheme("gaussian", (("squared_mu", _limit(budget, mu) ** 2),), Fraction())
        case RenyiDP(order=math.inf, epsilon=epsilon):
            raise InvalidParameter(
                f"budget={budget!r} must have a finite order: PureDP(epsilon={float(epsilon):g}) "
                "says the same"
            )
        case RenyiDP(order=order, epsilon=epsilon):
            limits = ((f"renyi:{float(order)!r}", _limit(budget, epsilon)),)
            found = Scheme("renyi", limits, Fraction(), (float(order),))
        case _:
            raise InvalidParameter(
                f"budget={budget!r} must be a guarantee, such as ApproxDP(epsilon=1, delta=1e-6)"
            )
    if by not in {None, found.by} or orders is not None or leak_share:
        raise InvalidParameter(
            f"by, orders and leak_share must not be given with budget={budget!r}: it is charged by "
            f"{found.theorem.name}"
        )
    return found


def _limit(budget: Guarantee, value: float) -> Fraction:
    if value == math.inf:
        raise InvalidParameter(f"budget={budget!r} must be finite: nothing is refused otherwise")
    return Fraction(value)


def _basic(budget: ApproxDP) -> Scheme:
    limits = (("epsilon", Fraction(budget.epsilon)),)
    return Scheme("basic", limits, Fraction(budget.delta))


def _gaussian(budget: ApproxDP, leak_share: float) -> Scheme:
    leak = Fraction(budget.delta) * Fraction(leak_share)
    limit = _largest_squared_mu(float(budget.epsilon), _rest(budget.delta, leak))
    return Scheme("gaussian", (("squared_mu", Fraction(limit)),), leak)


def _renyi(budget: ApproxDP, leak_share: float, orders: tuple[float, ...]) -> Scheme:
    leak = Fraction(budget.delta) * Fraction(leak_share)
    each = _each(_rest(budget.delta, leak), len(orders))
    epsilon = below(budget.epsilon)
    limits = tuple(
        (f"renyi:{order!r}", Fraction(largest_divergence(order, epsilon, each))) for order in orders
    )
    return Scheme("renyi", limits, leak, orders)


def below(value: float | Fraction) -> float:
    """A float not above a number, which may be a fraction."""
    if isinstance(value, float):
        return value
    return enclose(lambda: ball(value))[0]


def _rest(delta: float, leak: Fraction) -> float:
    """The δ left if nothing leaks, (δ − L)/(1 − L), rounded down."""
    return enclose(lambda: ball((Fraction(delta) - leak) / (1 - leak)))[0]


def _each(delta: float, orders: int) -> float:
    return delta if orders == 1 else enclose(lambda: ball(delta) / orders)[0]


@lru_cache(maxsize=64)
def _largest_squared_mu(epsilon: float, delta: float) -> float:
    """The largest float μ² whose Gaussian is certainly (ε, δ)-DP."""

    def exceeds(squared: float) -> bool:
        pair = GaussianPair(Fraction(squared))
        return not at_most(lambda: pair.profile_ball(ball(epsilon)) - ball(delta), 0.0)

    if delta == 0:
        return 0.0
    most = 1.0
    while not exceeds(most):
        most *= 16.0
    return math.nextafter(first_float(exceeds, 0.0, most), 0.0)


@lru_cache(maxsize=256)
def _chosen(budget: ApproxDP, by: By | None, leak_share: float | None, first: Part) -> Scheme:
    """The scheme in which the first request uses the smallest fraction of the budget."""
    leak, _ = prices.split(first)
    share = leak_share if leak_share is not None else (0.5 if leak else 0.0)
    if by is None and isinstance(first.seen, GaussianPair):
        return _gaussian(budget, share)  # exact, so that no other takes less
    choices = [_best_order(budget, share, first)]
    if by is None:
        choices += [_gaussian(budget, share)]
        choices += [_basic(budget)] if leak_share is None else []
    priced = [(_priced(scheme, first), scheme) for scheme in choices if scheme is not None]
    known = [(cost, scheme) for cost, scheme in priced if cost is not None]
    if not known:
        raise NotSupported(
            f"mechanism={first.label} must have a privacy loss that is bounded, Gaussian or "
            "of bounded Rényi divergence under the budget's relation"
        )
    return min(known, key=lambda choice: choice[0])[1]


def _priced(scheme: Scheme, part: Part) -> float | None:
    try:
        return scheme.share(scheme.price(part))
    except NotSupported:
        return None


def _best_order(budget: ApproxDP, leak_share: float, first: Part) -> Scheme | None:
    """The Rényi scheme at the order at which the first request fits most often."""
    _, rest = prices.split(first)
    if rest is None:
        return None
    own = [rest.seen.order] if isinstance(rest.seen, RenyiDP) else []
    delta = _rest(budget.delta, Fraction(budget.delta) * Fraction(leak_share))
    best: float | None = None
    most: Amount = Fraction()
    for order in (*_ORDERS, *map(float, own)):
        room = _room(order, below(budget.epsilon), delta)
        cost = prices.divergence(rest, order) if room > 0 else math.inf
        if isinstance(cost, Fraction) and (often := _quotient(Fraction(room), cost)) > most:
            best, most = order, often
    return None if best is None else _renyi(budget, leak_share, (best,))


def _quotient(room: Fraction, cost: Fraction) -> Amount:
    """How often a cost fits into a limit; ∞ if it costs nothing."""
    return room / cost if cost else math.inf


def _room(order: float, epsilon: float, delta: float) -> float:
    """The divergence that implies (ε, δ)-DP; by the closed form if that gives any.

    To compare orders only. Below a third of the order from which on it does, nothing is expected.
    """
    quick = epsilon - math.log1p(-1 / order) + math.log(order * delta) / (order - 1)
    if quick > 0:
        return quick
    near = 3 * order * epsilon > -math.log(delta)
    return largest_divergence(order, epsilon, delta) if near else 0.0
