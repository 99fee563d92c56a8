"""The budget, relation and bounds that a caller declares; checked before any data are read.

Rows are kept within the declared norm, and get a constant feature at the end for the intercept.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, NotSupported, check_count, check_flag, check_positive
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import BASIC_COMPOSITION
from solvers.bounds import Bounds, numbers
from solvers.chunks import Chunks, is_sparse
from solvers.defaults import INTERCEPT
from solvers.estimators.surroundings import watched
from solvers.privacy.theorems import PARALLEL_COMPOSITION
from solvers.privacy.weights import WEIGHTS_BELONG

Budget: TypeAlias = PureDP | ApproxDP
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"

DENSE = 1 << 22  # cells of a sparse matrix that are made dense at once

ONE_BATCH = (
    "each record is in one batch only, the same whatever the other records are; where one is "
    "replaced, the other takes its place in that batch"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A budget that noise can meet, and its neighboring relation."""

    budget: Budget
    relation: Relation

    @classmethod
    def of(cls, budget: object, relation: object) -> "Declaration":
        """Check budget and relation; (ε, 0)-DP becomes ε-DP.

        >>> Declaration.of(ApproxDP(epsilon=1.0), "add-remove").budget
        PureDP(epsilon=1.0)
        """
        if not isinstance(budget, PureDP | ApproxDP):
            raise InvalidParameter(f"budget={budget!r} must be declared: PureDP or ApproxDP")
        if not 0.0 < budget.epsilon < math.inf:
            raise InvalidParameter(f"epsilon={budget.epsilon!r} must be positive and finite")
        if isinstance(budget, ApproxDP):
            if budget.delta == 0.0:
                budget = PureDP(epsilon=budget.epsilon)
            elif not budget.delta < 1.0:
                raise InvalidParameter(f"delta={budget.delta!r} must be below 1")
        if not isinstance(relation, Relation | str):
            names = ", ".join(each.value for each in Relation)
            raise InvalidParameter(f"relation={relation!r} must be declared, one of: {names}")
        return cls(budget=budget, relation=Relation.parse(relation))

    @property
    def least_records(self) -> int:
        """The fewest records a fit accepts: 0 if their number is private, else 1."""
        return 1 if self.relation is Relation.REPLACE_ONE else 0

    def share(self, parts: int) -> "Declaration":
        """One of `parts` equal shares of the budget; together they do not exceed it."""
        return self if parts == 1 else replace(self, budget=fraction(self.budget, 1.0 / parts))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Parameters that every private model takes; stored as given, checked by `fit`."""

    budget: Budget | None = None
    relation: Relation | str | None = None
    clip: bool = False
    random_state: RandomState = None

    def __init_subclass__(cls, **named: object) -> None:
        """Wrap `fit` so that the claim lists steps outside the fit that were not charged."""
        super().__init_subclass__(**named)
        for name in {"fit", "partial_fit"} & set(vars(cls)):
            setattr(cls, name, watched(all_or_nothing(vars(cls)[name])))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateTransformer(TransformerMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A private model that needs no targets and transforms rows."""

    def fit_transform(self, X: ArrayLike, y: object = None, **params: Any) -> Any:  # noqa: ANN401, N803
        """Fit, then transform."""
        check_in_memory(self, X)
        return super().fit_transform(X, y, **params)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fit`: if it fails, the model stays as it was; weights are refused if unsupported."""
    weighted = "sample_weight" in inspect.signature(fit).parameters

    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401  # as `fit` has them
        if not weighted:
            given = args[2] if len(args) > 2 else named.pop("sample_weight", None)
            if given is not None:
                raise InvalidParameter(
                    f"sample_weight={type(given).__name__} must not be given: "
                    f"{type(self).__name__} takes no weights"
                )
            args = args[:2]
        before = dict(vars(self))
        try:
            return fit(self, *args, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fitted


def check_in_memory(model: object, X: object) -> None:  # noqa: N803
    """Raise if data come in chunks where arrays are needed."""
    if isinstance(X, Chunks):
        raise InvalidParameter(
            f"X=Chunks must be an array here: {type(model).__name__} takes data in chunks for fit "
            "alone, or not at all"
        )


def validated(model: Any, X: Any, *y: Any, **checks: Any) -> Any:  # noqa: ANN401, N803
    """Arrays checked by scikit-learn's `validate_data`; data in chunks are refused."""
    check_in_memory(model, X)
    return validate_data(model, X, *y, **checks)


def fraction(budget: Budget, part: float) -> Budget:
    """That fraction of ε and of δ, each rounded down.

    >>> fraction(ApproxDP(epsilon=1.0, delta=1e-6), 0.5)
    ApproxDP(epsilon=0.4999999999999998, delta=4.999999999999998e-07)
    """
    scaled = part * (1.0 - 2.0**-51)  # below the exact share, and so is its sum over the parts
    if isinstance(budget, PureDP):
        return PureDP(epsilon=budget.epsilon * scaled)
    return ApproxDP(epsilon=budget.epsilon * scaled, delta=budget.delta * scaled)


def together(claims: Sequence[Claim], declared: Declaration) -> Claim:
    """The claim of several releases whose budgets add up to the declared one. [BASIC_COMPOSITION]

    What each of them assumes is assumed by all.
    """
    check_count("claims", len(claims))
    if len(claims) == 1:
        return claims[0]
    check_sum([claim.guarantee for claim in claims], declared.budget)
    assumes = dict.fromkeys(text for claim in claims for text in claim.assumes)
    rests = dict.fromkeys(f"each part rests on {claim.theorem}" for claim in claims)
    return Claim(declared.budget, declared.relation, BASIC_COMPOSITION, (*rests, *assumes))


def in_batches(claim: Claim, before: Claim | None) -> Claim:
    """The claim after fits to several disjoint batches, each with the whole budget.

    [PARALLEL_COMPOSITION] `before` is that of the batches before, or of a first fit; what it
    assumes of them is still assumed.
    """
    if before is not None and (before.guarantee, before.relation) != (
        claim.guarantee,
        claim.relation,
    ):
        raise InvalidParameter(
            f"budget={claim.guarantee!r} and relation={claim.relation!r} must be those of the "
            f"batches before: {before.guarantee!r}, {before.relation!r}"
        )
    rests = f"each batch rests on {claim.theorem}"
    earlier = () if before is None else before.assumes
    assumes = dict.fromkeys((ONE_BATCH, rests, *earlier, *claim.assumes))
    return Claim(claim.guarantee, claim.relation, PARALLEL_COMPOSITION, tuple(assumes))


def with_weights(claim: Claim, weight_bound: float | None) -> Claim:
    """The claim of a fit with weights, if a bound on the weights was declared."""
    if weight_bound is None or WEIGHTS_BELONG in claim.assumes:
        return claim
    return replace(claim, assumes=(*claim.assumes, WEIGHTS_BELONG))


def check_sum(parts: Sequence[Guarantee], budget: Budget) -> None:
    """Raise if the parts exceed the declared budget, which would be a bug of this library."""
    pairs = [spent(part) for part in parts]
    total = math.fsum(epsilon for epsilon, _ in pairs), math.fsum(delta for _, delta in pairs)
    allowed = spent(budget)
    if total[0] > allowed[0] or total[1] > allowed[1]:
        raise InvalidParameter(f"parts={total!r} must not exceed budget={budget!r}")


def spent(guarantee: Guarantee) -> tuple[float, float]:
    """ε and δ, which add up."""
    match guarantee:
        case PureDP(epsilon=epsilon):
            return epsilon, 0.0
        case ApproxDP(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case _:
            raise NotSupported(f"guarantee={guarantee!r} has no ε and δ to add up")


def generator(random_state: RandomState, *, batch: int = 0) -> np.random.Generator:
    """The random generator: fresh for None; anyone who knows a seed can subtract the noise.

    A seed draws other noise for every `batch`: with the same noise twice, the difference of two
    releases would be that of the data.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    moves_on = isinstance(random_state, (np.random.Generator, np.random.BitGenerator))
    try:
        if batch and random_state is not None and not moves_on:
            return np.random.default_rng(_seed_of_batch(random_state, batch))
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"random_state={random_state!r} must be None, a whole number or a generator"
        ) from None


def _seed_of_batch(seed: Any, batch: int) -> np.random.SeedSequence:  # noqa: ANN401
    """A seed for each batch, independent of the others, like the children of a SeedSequence."""
    first = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    key = (*first.spawn_key, batch)
    return np.random.SeedSequence(first.entropy, spawn_key=key, pool_size=first.pool_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows within the declared norm, with a constant feature added for the intercept.

    ‖x‖₂ ≤ `bound`, and behind x the constant `constant`; 0 for no intercept.

    >>> rows = Rows.of(4.0, fit_intercept=True, clip=False)
    >>> rows.prepare(np.array([[2.0, 0.0]]), np.array([1.0]))[0].tolist()
    [[2.0, 0.0, 1.0]]
    """

    bound: float
    constant: float
    clip: bool

    @classmethod
    def of(
        cls,
        norm_bound: float | None,
        *,
        fit_intercept: bool,
        clip: bool,
        constant: float = INTERCEPT,
    ) -> "Rows":
        if norm_bound is None:
            raise InvalidParameter("norm_bound=None must be declared: a bound on every row's norm")
        check_positive("norm_bound", norm_bound)
        check_flag("fit_intercept", fit_intercept)
        check_flag("clip", clip)
        bound = float(norm_bound)
        return cls(bound=bound, constant=constant * bound if fit_intercept else 0.0, clip=clip)

    @property
    def norm(self) -> float:
        """A bound on the norm of rows with the constant feature: √(bound² + constant²), rounded up.

        By 2^-40 of it, so that rows at the bound are certainly inside, and are not copied again.
        """
        return math.hypot(self.bound, self.constant) * (1.0 + 2.0**-40)

    def prepare(
        self, features: Floats, labels: Floats, *, label_bound: float | None = None
    ) -> tuple[Floats, Floats]:
        """Check rows and labels against their bounds; clip them if that was asked for."""
        bounds = Bounds(norm=self.bound, label_bound=label_bound)
        return bounds.prepare(features, labels, clip=self.clip, constant=self.constant)

    def width(self, features: int) -> int:
        """The number of columns after preparation."""
        return features if self.constant == 0.0 else features + 1

    def split(self, weights: Floats) -> tuple[Floats, Floats]:
        """Coefficients (m, d) and intercepts (m) from weights (m, d + 1), or (m, d)."""
        if self.constant == 0.0:
            return weights, np.zeros(len(weights))
        return weights[:, :-1], weights[:, -1] * self.constant


def weight_shares(
    sample_weight: ArrayLike | None, weight_bound: float | None, records: int, *, clip: bool
) -> Floats | None:
    """Each record's weight divided by the declared bound; None if none was declared.

    A weight belongs to its record: whoever replaces the one replaces the other. Without
    `sample_weight` every record has weight 1.

    >>> weight_shares([0.5, 2.0], 4.0, 2, clip=False).tolist()
    [0.125, 0.5]
    """
    if weight_bound is None:
        if sample_weight is not None:
            raise InvalidParameter(
                "weight_bound=None must be declared beside sample_weight: a bound on every weight"
            )
        return None
    check_positive("weight_bound", weight_bound)
    bound = float(weight_bound)
    if sample_weight is None and bound < 1.0 and not clip:
        raise InvalidParameter(
            f"weight_bound={bound!r} must be at least 1 without sample_weight: every record then "
            "has weight 1"
        )
    given = np.ones(records) if sample_weight is None else numbers("sample_weight", sample_weight)
    if len(given) != records:
        raise InvalidParameter(
            f"sample_weight has {len(given)} entries and X {records} rows; there must be equally "
            "many"
        )
    if not clip and ((given < 0.0) | (given > bound)).any():
        raise InvalidParameter(
            f"every weight must lie between 0 and weight_bound={bound!r}, or be clipped (clip=True)"
        )
    return np.clip(given, 0.0, bound) / bound


def scores(features: Any, coefficients: Floats) -> Floats:  # noqa: ANN401  # dense, or sparse
    """Scores of all rows; each depends on its own row alone, to the last bit.

    ⟨θ, x⟩ for rows (n, d) and coefficients (m, d): (n, m), each row's by itself.

    A matrix product may add up a row's terms in an order that depends on how many rows there are.
    Then one record more could change the scores of all others in their last bits, and a selection
    that is charged for one record would be charged too little. Sparse rows are made dense in turn.
    """
    if is_sparse(features):
        step = max(1, DENSE // features.shape[1])
        starts = range(0, max(features.shape[0], 1), step)
        parts = [features[start : start + step].toarray() for start in starts]
        return np.vstack([scores(part, coefficients) for part in parts])
    rows = np.ascontiguousarray(features)
    found: Floats = np.einsum("nd,md->nm", rows, coefficients, optimize=False)
    return found
