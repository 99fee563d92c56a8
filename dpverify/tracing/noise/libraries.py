"""OpenDP and diffprivlib mechanisms, and pandas tables, inside a traced function.

Their noise is made from bits in ways that no form follows. So the call as a whole is recorded: what
went in on either side, and what came out, which a replay answers with. Additive noise becomes a
form like any other; for the rest the library's own word is taken for what the difference between
the inputs costs.
"""

# ruff: noqa: ANN401  # values are those of other libraries

import math
import sys
from collections import Counter
from typing import Any

import numpy as np

from dpverify.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.noise.own import SOLVERS, own_patches, paid, same, solver_patches
from dpverify.tracing.recording.events import Paid
from dpverify.tracing.recording.journal import CURRENT
from dpverify.tracing.recording.laws import NOTHING
from dpverify.tracing.recording.places import NOWHERE, here

Patch = tuple[Any, str, Any]


def library_patches() -> list[Patch]:
    """Stand-ins for the mechanisms of those libraries that are loaded."""
    return [*own_patches(), *solver_patches(), *_pandas(), *_opendp(), *_diffprivlib()]


FOLLOWED = (
    *("opendp.mod", "diffprivlib.mechanisms", "torch", "pandas"),
    *(f"solvers.{name}" for name in SOLVERS),
)
"""Modules whose functions are replaced where they are loaded."""


# pandas.


def _pandas() -> list[Patch]:
    """pandas tables accept noise of their own shape, as arrays do."""
    module = sys.modules.get("pandas")
    if module is None:
        return []
    kind = module.DataFrame
    names = ("__add__", "__radd__", "__sub__", "__rsub__", "add", "sub")
    found: list[Patch] = [(kind, name, _table(name, getattr(kind, name))) for name in names]
    places = [type(getattr(module.Series([0.0]), by)) for by in ("loc", "iloc", "at", "iat")]
    name = "__setitem__"
    owners = {_owner(each, name) for each in (kind, module.Series, *places)}
    return found + [(each, name, _setting(getattr(each, name))) for each in owners]


def _owner(kind: type, name: str) -> type:
    """The class that defines a method."""
    return next(each for each in kind.__mro__ if name in vars(each))


def _setting(original: Any) -> Any:
    """Writing noisy numbers into a table, which makes them known."""

    def method(self: Any, key: Any, value: Any) -> None:
        from dpverify.tracing.noise.shapes import plain  # noqa: PLC0415  # a cycle

        place = here(2)
        original(self, plain(key, place), plain(value, place))

    return method


def _table(name: str, original: Any) -> Any:
    def method(self: Any, other: Any, *args: Any, **options: Any) -> Any:
        from dpverify.tracing.noise.arrays import NoisyArray  # noqa: PLC0415  # a cycle

        if type(other) is not NoisyArray or args or options:
            return original(self, other, *args, **options)
        values = self.to_numpy(dtype=np.float64)
        signed = -values if name == "__rsub__" else values
        total = signed - other if name in {"__sub__", "sub"} else signed + other
        return type(self)(total.realize(here(2)), index=self.index, columns=self.columns)

    return method


# OpenDP.


def _opendp() -> list[Patch]:
    module = sys.modules.get("opendp.mod")
    kind = getattr(module, "Measurement", None)
    if kind is None or "__call__" not in vars(kind):
        return []
    original = vars(kind)["__call__"]

    def call(self: Any, arg: Any) -> Any:
        journal = CURRENT.get()
        plain = _numbers(arg, here(2))
        name = f"OpenDP measurement on {self.input_metric}"

        def cost(left: Any, right: Any) -> Any:
            return None if left == right else _opendp_cost(self, name, left, right)

        return journal.call(name, plain, lambda: original(self, plain), cost, here(2))

    return [(kind, "__call__", call)]


def _numbers(arg: Any, place: Any) -> Any:
    from dpverify.tracing.noise.shapes import plain  # noqa: PLC0415  # a cycle

    found = plain(arg, place)
    return found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found


def _opendp_cost(measurement: Any, name: str, left: Any, right: Any) -> Any:
    """The measurement's own privacy map at the distance between the two inputs."""
    metric = str(measurement.input_metric)
    distance = _distance(metric, left, right)
    if distance is None:
        return f"the distance between inputs under {metric} is not known"
    try:
        bound = measurement.map(distance)
    except Exception as error:  # noqa: BLE001  # OpenDP raises errors of its own
        return f"OpenDP has no bound at distance {distance!r}: {error}"
    measure = str(measurement.output_measure)
    if measure.startswith("MaxDivergence"):
        return paid(name, PureDP(epsilon=float(bound)), shift=float(distance))
    if measure.startswith("ZeroConcentratedDivergence"):
        return paid(name, ZeroConcentratedDP(rho=float(bound)), shift=float(distance))
    return f"what OpenDP says under {measure} is not understood"


def _distance(metric: str, left: Any, right: Any) -> Any:
    kind = metric.partition("(")[0]
    whole = "(i" in metric or "(u" in metric
    if kind == "AbsoluteDistance":
        gap: Any = abs(left - right)
    elif kind in {"L1Distance", "L2Distance", "LInfDistance"}:
        if len(left) != len(right):
            return None
        order = {"L1Distance": 1, "L2Distance": 2, "LInfDistance": np.inf}[kind]
        gap = float(np.linalg.norm(np.subtract(left, right), order))
    elif kind in {"SymmetricDistance", "InsertDeleteDistance"}:
        one, two = Counter(left), Counter(right)
        return int((one - two).total() + (two - one).total())
    elif kind in {"ChangeOneDistance", "HammingDistance"} and len(left) == len(right):
        one, two = Counter(left), Counter(right)
        return int((one - two).total())
    elif kind == "DiscreteDistance":
        return 1
    else:
        return None
    return math.ceil(gap) if whole else float(gap)


# diffprivlib.


_DERIVED = ("LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded")
"""Mechanisms that draw from another one and change what came out: their code is followed."""


def _diffprivlib() -> list[Patch]:
    module = sys.modules.get("diffprivlib.mechanisms")
    if module is None:
        return []
    kinds = {name: getattr(module, name) for name in dir(module) if name not in _DERIVED}
    return [
        (kind, "randomise", _randomise(name, vars(kind)["randomise"]))
        for name, kind in kinds.items()
        if isinstance(kind, type) and "randomise" in vars(kind)
    ]


def _randomise(name: str, original: Any) -> Any:
    def randomise(self: Any, *values: Any) -> Any:
        from dpverify.tracing.noise.generator import RecordingGenerator  # noqa: PLC0415  # a cycle
        from dpverify.tracing.noise.shapes import plain  # noqa: PLC0415  # a cycle

        place = here(2)
        journal = CURRENT.get()
        rng = RecordingGenerator(journal)
        if name == "Laplace" and values:
            scale = self.sensitivity / (self.epsilon - math.log(1 - self.delta))
            if not scale:
                return _without_noise(journal, name, plain(values[0], place), place)
            return values[0] + rng.laplace(0.0, float(scale))
        if name in {"Gaussian", "GaussianAnalytic"} and hasattr(self, "_scale") and values:
            return values[0] + rng.normal(0.0, float(self._scale))
        if name == "Geometric" and self.sensitivity and values:
            p = -math.expm1(-self.epsilon / self.sensitivity)
            return values[0] + rng.geometric(p) - rng.geometric(p)
        if name == "Exponential" and type(self).__name__ == name:
            weights = np.diff(np.concatenate([[0.0], self._probabilities]))
            chosen = journal.pick(
                (name,), weights, lambda own: int(own.choice(len(weights), p=weights)), place
            )
            return self.candidates[chosen] if self.candidates else chosen
        given = [plain(value, place) for value in values]
        held = {key: value for key, value in vars(self).items() if key in _DATA}
        promise = ApproxDP(epsilon=float(self.epsilon), delta=float(self.delta))

        def cost(left: Any, right: Any) -> Any:
            if same(left, right):
                return None
            return _randomised_cost(self, f"diffprivlib {name}", promise, left, right)

        return journal.call(
            f"diffprivlib {name}", [*given, held], lambda: original(self, *given), cost, place
        )

    return randomise


def _without_noise(journal: Any, name: str, value: Any, place: Any) -> Any:
    """A mechanism that was told that nothing depends on the data, and adds no noise."""

    def cost(left: Any, right: Any) -> Any:
        said = f"diffprivlib {name} was told sensitivity 0 and adds no noise"
        above = LeakyResponsePair(ApproxDP(epsilon=math.inf))
        bill = Paid(-1, NOWHERE, said, above, NOTHING, exact=False, shift=math.nan, scale=math.nan)
        return None if same(left, right) else bill

    return journal.call(name, value, lambda: value, cost, place)


def _randomised_cost(
    mechanism: Any, name: str, promise: ApproxDP, left: list[Any], right: list[Any]
) -> Any:
    """The mechanism's own guarantee, if the inputs are within its sensitivity."""
    if name == "diffprivlib Binary":
        return paid(name, promise)
    sensitivity = getattr(mechanism, "sensitivity", None)
    if sensitivity is None:
        return f"how far apart the inputs of {name} may be is not known"
    *given, held = left
    *other, held_other = right
    if held or held_other:
        if given != other or {k: v for k, v in held.items() if k != "utility"} != {
            k: v for k, v in held_other.items() if k != "utility"
        }:
            return f"the inputs of {name} differ in more than utilities"
        given, other = held.get("utility", []), held_other.get("utility", [])
    try:
        one, two = np.asarray(given, dtype=np.float64), np.asarray(other, dtype=np.float64)
        distance = float(np.abs(one - two).max(initial=0.0)) if one.size == two.size else math.inf
    except (TypeError, ValueError):
        distance = math.inf
    if one_number(given) or held:
        if distance <= float(sensitivity) * (1 + 2.0**-50):
            return paid(name, promise)
        return f"the inputs of {name} are {distance:g} apart, and it promises for {sensitivity:g}"
    return f"how far apart the inputs of {name} are is not known"


def one_number(given: list[Any]) -> bool:
    """Whether a mechanism was called with a single plain number."""
    return len(given) == 1 and isinstance(given[0], (int, float))


_DATA = ("utility", "candidates", "measure")
"""What mechanisms of diffprivlib are given at birth and not with the call."""
