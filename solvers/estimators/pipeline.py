"""A pipeline of private steps, with one claim for all of them."""

import math
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import BASIC_COMPOSITION
from solvers.estimators.declarations import (
    Budget,
    Declaration,
    check_in_memory,
    check_sum,
    spent,
)
from solvers.estimators.surroundings import (
    before_last,
    charged_apart,
    is_private,
    learns,
    stateless_steps,
)


class PrivatePipeline(Pipeline):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's `Pipeline` with one claim for all its private steps.

    Every private step has a budget of its own; their ε and δ add up. Later steps may depend on what
    earlier ones released. Steps that are not private must change each record by itself, as
    `FunctionTransformer` and `Normalizer` do; the claim says so. One that learns from data, such as
    `StandardScaler`, gives a warning and stands in the claim as an assumption; as the last step it
    is refused, since what it learns is what the pipeline releases. Behind a private step, private
    steps must clip: whether a record keeps to their bounds would depend on all the others.

    >>> import numpy as np
    >>> from dpverify import PureDP
    >>> from solvers import PrivateLogisticRegression, PrivateStandardizer
    >>> X = np.random.default_rng(0).uniform(20.0, 90.0, (5000, 2))
    >>> whole = PrivatePipeline([
    ...     ("scale", PrivateStandardizer(budget=PureDP(epsilon=0.5), low=0.0, high=120.0,
    ...                                   relation="add-remove", random_state=0)),
    ...     ("model", PrivateLogisticRegression(budget=PureDP(epsilon=1.0), norm_bound=2.0,
    ...                                         clip=True, classes=(False, True),
    ...                                         relation="add-remove", random_state=1))])
    >>> bool(whole.fit(X, X[:, 0] > 50.0).score(X, X[:, 0] > 50.0) > 0.8)
    True
    >>> whole.claim_.guarantee
    PureDP(epsilon=1.5)
    """

    @property
    def budget(self) -> Budget:
        """The cost of a fit: the sum of all private steps' budgets, rounded up."""
        parts = [spent(Declaration.of(step.budget, step.relation).budget) for step in self._private]
        if not parts:
            names = [name for name, _ in self.steps]
            raise InvalidParameter(f"steps={names!r} must have a private one: it has the budget")
        epsilon, delta = (_total([part[k] for part in parts]) for k in (0, 1))
        return ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)

    @property
    def relation(self) -> Relation:
        """The neighboring relation, which all private steps must share."""
        found = {Declaration.of(step.budget, step.relation).relation for step in self._private}
        if len(found) != 1:
            named = ", ".join(sorted(relation.value for relation in found)) or "none"
            raise InvalidParameter(
                f"relation of the private steps must be one and the same: {named}"
            )
        return found.pop()

    @property
    def _private(self) -> list[Any]:
        steps = [step for _, step in self.steps if step not in {None, "passthrough"}]
        return [step for step in steps if is_private(step)]

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:  # noqa: ANN401, N803
        """Fit all steps in turn; their declarations are checked before the first one sees data."""
        budget, relation = self.budget, self.relation
        if before_last(self):
            check_in_memory(self, X)
        self._check_last()
        self._check_clipping()
        self._check_noise()
        super().fit(X, y, **params)
        claims = [step.claim_ for step in self._private]
        check_sum([claim.guarantee for claim in claims], budget)
        rests = [f"each part rests on {claim.theorem}" for claim in claims]
        apart = set(charged_apart(self))  # by each step; here all of them are charged
        assumes = [text for claim in claims for text in claim.assumes if text not in apart]
        if names := stateless_steps(self):
            assumes.append(f"the steps {', '.join(names)} change each record by itself")
        texts = tuple(dict.fromkeys([*rests, *assumes]))
        self.claim_ = Claim(budget, relation, BASIC_COMPOSITION, texts)
        return self

    def _check_last(self) -> None:
        name, last = self.steps[-1]
        if last not in {None, "passthrough"} and not is_private(last) and learns(last):
            raise InvalidParameter(
                f"the last step {name}={type(last).__name__}(…) must be private, or learn nothing: "
                "no budget pays for what it learns"
            )

    def _check_clipping(self) -> None:
        for name, step in [pair for pair in self.steps if pair[1] in self._private][1:]:
            clips = [v for k, v in step.get_params().items() if k.split("__")[-1] == "clip"]
            if not all(clips):
                raise InvalidParameter(
                    f"clip=False of the step {name} must be True: behind a private step, a refusal "
                    "would tell what no budget pays for"
                )

    def _check_noise(self) -> None:
        """Raise if two steps would draw the same noise."""
        states = _states(self)
        seeds = [state for state in states if isinstance(state, Integral)]
        if len(set(seeds)) < len(seeds):
            raise InvalidParameter(
                f"random_state={seeds!r} must differ between private steps: equal noise cancels out"
            )
        if self.memory is not None and any(
            not isinstance(state, Integral | None) for state in states
        ):
            raise InvalidParameter(
                f"memory={self.memory!r} must be None for steps with a generator as random_state: "
                "it copies them, and copies repeat their noise"
            )

    @available_if(lambda self: hasattr(self.steps[-1][1], "transform"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Any:  # noqa: ANN401, N803
        """Fit, then transform."""
        return self.fit(X, y, **params).transform(X)

    @available_if(lambda self: hasattr(self.steps[-1][1], "predict"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Any:  # noqa: ANN401, N803
        """Fit, then predict."""
        return self.fit(X, y, **params).predict(X)


def _states(step: Any) -> list[Any]:  # noqa: ANN401
    """The random states of a step; for a pipeline, those of all its private steps."""
    if isinstance(step, PrivatePipeline):
        return [state for each in step._private for state in _states(each)]  # noqa: SLF001
    return [getattr(step, "random_state", None)]


def _total(parts: list[float]) -> float:
    """The sum, not rounded down; exact if floats can hold it."""
    total = math.fsum(parts)
    exact = sum(map(Fraction, parts), Fraction())
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)
