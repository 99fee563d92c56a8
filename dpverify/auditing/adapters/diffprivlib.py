"""diffprivlib mechanisms and estimators: the claim is their own `epsilon` and `delta`."""

import math
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any

import numpy as np

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.neighbors import Relation
from dpverify.schema import Answers, Category, Records, Schema
from dpverify.theorems import Theorem

PARAMETERS = Theorem(
    name="diffprivlib-parameters",
    statement="The object satisfies (epsilon, delta)-DP for its own parameters of these names.",
    source="diffprivlib, the documentation of the object's class",
)
OWN_RANDOMNESS = (
    "diffprivlib draws from the system's randomness, as random_state is None: the audit's seed "
    "does not fix it"
)
RESEEDED = "diffprivlib's random_state is set anew from the audit's seed"
READS_DATA = "{} is None, so diffprivlib reads it off the private data"
_BOUNDS = ("data_norm", "bounds", "bounds_X", "bounds_y")
_FITTED = ("coef_", "intercept_", "cluster_centers_", "components_", "mean_", "var_", "theta_")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffprivlibMechanism:
    """A diffprivlib mechanism whose `randomise` is called in a loop; see `from_diffprivlib`."""

    mechanism: Any
    claim: Claim
    schema: Schema | None
    notes: tuple[str, ...]

    def sample(self, data: object, size: int, *, rng: np.random.Generator) -> list[object]:
        value = data.item() if isinstance(data, np.generic) else data
        mechanism = self.mechanism
        if mechanism.random_state is not None:
            mechanism = deepcopy(mechanism)
            mechanism.random_state = _random_state(rng)
            mechanism._rng = mechanism.random_state  # noqa: SLF001  # set at birth only
        return [mechanism.randomise(value) for _ in range(size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffprivlibEstimator:
    """A diffprivlib estimator that is fitted anew at every call; the output is what it learned."""

    estimator: Any
    claim: Claim
    attributes: tuple[str, ...] | None
    notes: tuple[str, ...]
    schema: Schema | None = None

    def __call__(self, data: Any, rng: np.random.Generator) -> dict[str, object]:  # noqa: ANN401
        from sklearn.base import clone  # noqa: PLC0415  # slow, and there with diffprivlib

        model = clone(self.estimator)
        if model.random_state is not None:
            model.random_state = _random_state(rng)
        model.accountant = type(self.estimator.accountant)()  # its budget is not what is audited
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence; of leaks the claim's assumptions tell
            model.fit(*data) if isinstance(data, tuple) else model.fit(data)
        names = self.attributes or tuple(name for name in _FITTED if hasattr(model, name))
        return {name: np.asarray(getattr(model, name)).tolist() for name in names}


def from_diffprivlib(
    mechanism: Any,  # noqa: ANN401  # of diffprivlib, which is not imported here
    *,
    relation: Relation | str | None = None,
    attributes: Sequence[str] | None = None,
) -> DiffprivlibMechanism | DiffprivlibEstimator:
    """Wrap a diffprivlib mechanism or estimator for `audit`; the claim is its own parameters.

    The data of a mechanism is the value to randomize; that of an estimator is X, or the pair
    (X, y). An output of an estimator are the fitted `attributes`, by default its coefficients.
    Draws follow the audit's seed where `random_state` is set, and cannot where it is None.

    >>> import dpverify as dpv
    >>> class Laplace:  # as diffprivlib's
    ...     epsilon, delta, sensitivity, random_state = 0.5, 0.0, 1.0, 7
    ...
    ...     def randomise(self, value):
    ...         return value
    >>> dpv.from_diffprivlib(Laplace()).claim.guarantee
    PureDP(epsilon=0.5)
    """
    parsed = None if relation is None else Relation.parse(relation)
    names = None if attributes is None else tuple(attributes)
    seeded = getattr(mechanism, "random_state", None) is not None
    assumes = (RESEEDED if seeded else OWN_RANDOMNESS,)
    claim = Claim(_guarantee(mechanism), parsed, PARAMETERS, assumes)
    if callable(getattr(mechanism, "randomise", None)):
        schema = _schema(mechanism)
        return DiffprivlibMechanism(mechanism=mechanism, claim=claim, schema=schema, notes=assumes)
    if callable(getattr(mechanism, "fit", None)):
        read = [n for n in _BOUNDS if n in mechanism.get_params() and getattr(mechanism, n) is None]
        unbounded = tuple(READS_DATA.format(name) for name in read)
        claim = replace(claim, assumes=assumes + unbounded)
        return DiffprivlibEstimator(
            estimator=mechanism, claim=claim, attributes=names, notes=assumes
        )
    raise InvalidParameter(
        f"mechanism={short(mechanism)} must be a mechanism or an estimator of diffprivlib"
    )


def _guarantee(mechanism: Any) -> Guarantee:  # noqa: ANN401
    epsilon, delta = (getattr(mechanism, name, 0.0) for name in ("epsilon", "delta"))
    if not isinstance(epsilon, Real) or not isinstance(delta, Real):
        raise InvalidParameter(f"mechanism={short(mechanism)} must have epsilon as a number")
    if float(delta) > 0.0:
        return ApproxDP(epsilon=float(epsilon), delta=float(delta))
    return PureDP(epsilon=float(epsilon))


def _schema(mechanism: Any) -> Schema | None:  # noqa: ANN401
    """Which inputs are neighbors: numbers within the sensitivity, or one of two categories."""
    if hasattr(mechanism, "value0"):
        values = Category(values=(mechanism.value0, mechanism.value1))
        return Records(record=values, length=None, relation=Relation.REPLACE_ONE)
    sensitivity = getattr(mechanism, "sensitivity", None)
    if not isinstance(sensitivity, Real) or hasattr(mechanism, "utility"):
        return None
    if not float(sensitivity) > 0.0:
        return None
    low = getattr(mechanism, "lower", -math.inf)
    high = getattr(mechanism, "upper", math.inf)
    whole = isinstance(sensitivity, Integral)
    return Answers(sensitivity=float(sensitivity), low=low, high=high, integer=whole)


def _random_state(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(int(rng.integers(1 << 32)))  # the kind that diffprivlib takes
