"""Solvers by name: `dpverify audit objective-perturbation --epsilon 1 --relation add-remove`.

Each is logistic regression (or a median) with records of norm at most 1, at the budget that the
options state, on a pair of datasets that is hard to hide: a record at the bound, there or not, or
turned around.
"""

from collections.abc import Callable
from typing import Any

from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation

RIDGE = 1.0
RECORDS = 2
STEPS = 2

Budget = PureDP | ApproxDP


def is_solver(target: str) -> bool:
    """Whether the target is one of the names here."""
    return target in _SOLVERS


def names() -> str:
    """All of them, for messages."""
    return ", ".join(sorted(_SOLVERS))


def solver(name: str, epsilon: float | None, delta: float, relation: str | None) -> Any:  # noqa: ANN401
    """The mechanism of that name at that budget, which is its own claim."""
    if epsilon is None:
        raise InvalidParameter(f"epsilon=None must be the budget of {name}")
    if relation is None:
        raise InvalidParameter(f"relation=None must be given for {name}: add-remove or replace-one")
    budget: Budget = (
        ApproxDP(epsilon=epsilon, delta=delta) if delta > 0 else PureDP(epsilon=epsilon)
    )
    return _SOLVERS[name](budget, Relation.parse(relation))


def worst_pair(name: str, relation: str | None) -> tuple[Any, Any]:
    """Two neighboring datasets on which a leak of the solver would show clearly."""
    import numpy as np  # noqa: PLC0415

    replaced = Relation.parse(relation or "") is Relation.REPLACE_ONE
    if name == "median":
        # Few outputs lie above 1/2, and one record more beyond it makes them much likelier.
        if replaced:
            return [0.0] * 5 + [0.5] * 6, [0.0] * 4 + [0.5] * 6 + [1.0]
        return [0.0] * 2 + [0.5] * 3, [0.0] * 2 + [0.5] * 3 + [1.0]
    other = np.array([[0.5]]), np.array([1.0])
    with_record = np.array([[1.0], [0.5]]), np.array([1.0, 1.0])
    turned = np.array([[1.0], [0.5]]), np.array([-1.0, 1.0])
    return (with_record, turned) if replaced else (with_record, other)


def _problem() -> Any:  # noqa: ANN401  # a solvers.Problem
    import solvers  # noqa: PLC0415  # slow to import

    return solvers.Problem(
        loss=solvers.Logistic(),
        bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
        regularizer=solvers.Ridge(RIDGE),
    )


def _output(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    return solvers.OutputPerturbation(problem=_problem(), budget=budget, relation=relation)


def _objective(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    return solvers.ObjectivePerturbation(problem=_problem(), budget=budget, relation=relation)


def _approximate(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    return solvers.ApproximateMinima(
        problem=_problem(), budget=budget, relation=relation, gradient_tolerance=1e-3
    )


def _setting(relation: Relation) -> Any:  # noqa: ANN401  # a solvers.descent.Setting
    import solvers  # noqa: PLC0415
    from solvers.descent import DescentSetting  # noqa: PLC0415

    return DescentSetting(
        loss=solvers.Logistic(),
        bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
        domain=solvers.Ball(5.0),
        relation=relation,
        records=RECORDS,
    )


def _descent(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    return solvers.GradientDescent(_setting(relation), budget=budget, steps=STEPS)


def _stochastic(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    return solvers.StochasticGradientDescent(
        _setting(relation),
        budget=budget,
        steps=STEPS,
        batches=solvers.PoissonBatches(0.5),
        learning_rate=1.0,
    )


def _median(budget: Budget, relation: Relation) -> Any:  # noqa: ANN401
    import solvers  # noqa: PLC0415

    if not isinstance(budget, PureDP):
        raise InvalidParameter(f"delta={budget.delta!r} must be 0 for median, which is pure")
    return solvers.ExponentialQuantile(epsilon=budget.epsilon, low=0.0, high=1.0, relation=relation)


_SOLVERS: dict[str, Callable[[Budget, Relation], Any]] = {
    "output-perturbation": _output,
    "objective-perturbation": _objective,
    "approximate-minima": _approximate,
    "gradient-descent": _descent,
    "sgd": _stochastic,
    "median": _median,
}
