"""A privacy filter: decides before each request whether it fits the budget, and charges it."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Parts
from dpverify.balls import first_float
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import GUARANTEES, Guarantee
from dpverify.ledger.amounts import Amounts
from dpverify.ledger.owners import InMemory
from dpverify.ledger.plans import RequestPlan, plan_for
from dpverify.ledger.schemes import By, Scheme, scheme_for
from dpverify.ledger.subjects import Requested, parts_of
from dpverify.mechanisms import Gaussian, Laplace, NormMechanism, RandomizedResponse
from dpverify.neighbors import Relation
from dpverify.theorems import Theorem

Kind: TypeAlias = type | Callable[[float], Requested]

_NOISE: dict[type, Callable[[float], Requested]] = {
    Gaussian: lambda s: Gaussian(sigma=s),
    Laplace: lambda s: Laplace(scale=s),
    NormMechanism: lambda s: NormMechanism(scale=s, sensitivity=1.0, norm=2.0),
    RandomizedResponse: lambda s: RandomizedResponse(epsilon=1.0 / s),
}
_LEAST, _MOST = 2.0**-60, 2.0**200  # noise scales that are searched


class Filter(InMemory):
    """Grants requests, also adaptive ones, as long as their total stays within the budget.

    Each request may be chosen after all answers so far, its parameters included. What is granted
    is charged before it runs; a refusal costs nothing, and smaller requests may follow.

    An (ε, δ) budget can be charged in three ways (`by`): "gaussian", exact for Gaussian noise;
    "renyi", at given `orders`, for noise on samples and everything else; "basic", sums of ε and δ.
    If none is named, the first request decides, and it stays so. `leak_share` is the share of δ
    set aside for requests with a δ of their own. A `plan`, an accountant, fixes in advance what
    may be requested, and makes the budget go as far as a fixed composition does.

    >>> from dpverify.guarantees import GaussianDP
    >>> guard = Filter(budget=GaussianDP(mu=1.0), relation=Relation.ADD_REMOVE)
    >>> [guard.request(Gaussian(sigma=2.0)) for _ in range(5)]
    [True, True, True, True, False]
    """

    def __init__(  # noqa: PLR0913  # all that a budget is
        self,
        budget: Guarantee,
        relation: Relation,
        *,
        by: By | None = None,
        orders: Iterable[float] | None = None,
        leak_share: float | None = None,
        plan: Accountant | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(budget, GUARANTEES):
            raise InvalidParameter(
                f"budget={budget!r} must be a guarantee, such as ApproxDP(epsilon=1, delta=1e-6)"
            )
        self.budget = budget
        self.relation = Relation.parse(relation)
        self._options = {"by": by, "orders": orders, "leak_share": leak_share}
        self._scheme: Scheme | RequestPlan | None
        if plan is None:
            self._scheme = scheme_for(budget, by=by, orders=orders, leak_share=leak_share)
        else:
            self._scheme = plan_for(budget, self._planned(plan))
        self._spent = None if self._scheme is None else self._scheme.start
        self._only_shows = False

    def _planned(self, plan: Accountant) -> Accountant:
        if not isinstance(plan, Accountant) or any(v is not None for v in self._options.values()):
            raise InvalidParameter(
                f"plan={plan!r} must be an accountant, without by, orders or leak_share"
            )
        return Accountant(relation=self.relation).compose(plan)  # refuses another relation

    @classmethod
    def resumed(
        cls, budget: Guarantee, relation: Relation, scheme: Scheme | RequestPlan, spent: Amounts
    ) -> "Filter":
        """A filter that continues from another one's state."""
        found = cls.__new__(cls)
        InMemory.__init__(found)
        found.budget, found.relation = budget, Relation.parse(relation)
        found._options, found._only_shows = {}, False  # noqa: SLF001
        found._scheme, found._spent = scheme, dict(spent)  # noqa: SLF001
        return found

    def shown(self) -> "Filter":
        """A copy of the filter that can be asked what would fit, but not charged."""
        self._only_shows = True
        return self

    @property
    def scheme(self) -> Scheme | RequestPlan | None:
        """How requests are charged; None until the first request determines it."""
        return self._scheme

    @property
    def theorem(self) -> Theorem | None:
        """The theorem that keeps the budget; None until the first request determines it."""
        return None if self._scheme is None else self._scheme.theorem

    @property
    def spent(self) -> Amounts:
        """What was charged so far, in the units of the scheme."""
        return dict(self._spent or {})

    @property
    def share(self) -> float:
        """The fraction of the budget that is spent, from 0 to 1."""
        if self._scheme is None or self._spent is None:
            return 0.0
        return self._scheme.share(self._spent)

    def least_budget(self) -> Guarantee | None:
        """The smallest budget of the same kind that would have granted the same requests."""
        if self._scheme is None or self._spent is None:
            return None
        return self._scheme.least_budget(self._spent, self.budget)

    def request(self, mechanism: Requested, *, times: int = 1) -> bool:
        """Charge `times` runs of a mechanism and return True if they fit; else return False.

        A mechanism that no theorem prices in the budget's unit is refused with an exception.
        """
        if self._only_shows:
            raise InvalidParameter(
                "request must be made of the ledger: this filter only shows how a budget stands"
            )
        parts = parts_of(mechanism, times=times, relation=self.relation)
        with self._owned():
            found = self._after(parts)
            if found is None:
                return False
            self._scheme, self._spent = found
            return True

    def fits(self, mechanism: Requested, *, times: int = 1) -> bool:
        """Whether `request` would grant this; nothing is charged."""
        parts = parts_of(mechanism, times=times, relation=self.relation)
        return self._after(parts) is not None

    def _after(self, parts: Parts) -> tuple[Scheme | RequestPlan | None, Amounts | None] | None:
        """The state after these parts, or None if they do not fit; no parts change nothing."""
        if not parts:
            return self._scheme, self._spent
        scheme = self._scheme or scheme_for(self.budget, first=parts[0], **self._options)  # type: ignore[arg-type]  # as given
        if scheme is None:
            raise InvalidParameter(f"budget={self.budget!r} must have a scheme")
        spent = scheme.start if self._spent is None else self._spent
        for part in parts:
            spent = scheme.after(spent, part)
        return (scheme, spent) if scheme.fits(spent) else None

    def remaining(self, kind: Kind) -> float:
        """The least noise that still fits in one run: σ for `Gaussian`, the scale for `Laplace`.

        `kind` is one of the library's noises, for sensitivity 1, or a function from the noise to
        the mechanism, such as `lambda s: Subsampled(Gaussian(sigma=s), rate=0.01)`. ∞ if nothing
        fits.

        >>> from dpverify.guarantees import GaussianDP
        >>> guard = Filter(budget=GaussianDP(mu=5.0), relation=Relation.ADD_REMOVE)
        >>> guard.request(Gaussian(sigma=0.25)), round(guard.remaining(Gaussian), 6)
        (True, 0.333333)
        """
        return least_noise(kind, self.fits)


def least_noise(kind: Kind, fits: Callable[[Requested], bool]) -> float:
    """The smallest noise scale whose mechanism fits; ∞ if none does."""
    factory = _NOISE.get(kind) if isinstance(kind, type) else kind
    if factory is None or not callable(factory):
        known = ", ".join(known.__name__ for known in _NOISE)
        raise InvalidParameter(
            f"kind={kind!r} must be one of {known}, or a function of the noise scale"
        )

    def enough(scale: float) -> bool:
        try:
            return fits(factory(scale))
        except NotSupported:
            return False

    if not enough(_MOST):
        fits(factory(1.0))  # says which guarantee is lacking, if one is
        return float("inf")
    return first_float(enough, _LEAST, _MOST)
