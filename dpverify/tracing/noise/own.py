"""Mechanisms and solvers of this library, called inside a traced function.

Laplace and Gaussian noise becomes a form like any other. Any other mechanism is recorded as a call:
what went in on either side, and what came out, which a replay answers with; its own claim says what
the difference between the inputs costs.
"""

# ruff: noqa: ANN401  # mechanisms and data of any kind

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify import mechanisms
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.noise.generator import told
from dpverify.tracing.recording.events import BY_CLAIM, Paid
from dpverify.tracing.recording.journal import CURRENT
from dpverify.tracing.recording.laws import NOTHING
from dpverify.tracing.recording.places import NOWHERE, here
from dpverify.tracing.recording.records import records_apart

Patch = tuple[Any, str, Any]

SOLVERS = (
    *("approximate_minima", "gradient_descent", "objective_perturbation", "selection", "sgd"),
    *("sufficient_statistics", "exponential.candidates", "exponential.on_ball"),
    "exponential.quantiles",
)
"""Modules of `solvers` whose noise goes into an optimizer, a descent, or is made from bits."""


def own_patches() -> list[Patch]:
    found: list[Patch] = []
    for name in mechanisms.__all__:
        kind = getattr(mechanisms, name)
        if isinstance(kind, type) and "sample" in vars(kind):
            found.append((kind, "sample", _own_sample(name, vars(kind)["sample"])))
    return found


def _own_sample(name: str, original: Any) -> Any:
    def sample(self: Any, data: Any, size: int, *, rng: Any) -> Any:
        from dpverify.tracing.noise.generator import RecordingGenerator  # noqa: PLC0415  # a cycle

        if not isinstance(rng, RecordingGenerator):
            return original(self, data, size, rng=rng)
        journal = CURRENT.get()
        place = here(2)
        if name in {"Laplace", "Gaussian"}:
            answer = np.asarray(data, dtype=np.float64)
            shape = (size, *answer.shape)
            if name == "Laplace":
                return answer + rng.laplace(0.0, float(self.scale), shape)
            return answer + rng.normal(0.0, float(self.sigma), shape)

        if name == "ExponentialMechanism" and size == 1:
            options = np.arange(np.size(data))
            weights = np.exp(self.log_density(options, data))
            if np.all(weights > 0.0):  # none is too small for a float
                chosen = journal.pick(
                    (name,), weights, lambda rng: int(original(self, data, 1, rng=rng)[0]), place
                )
                return np.array([chosen])

        def run() -> Any:
            return original(self, data, size, rng=journal.script.rng)

        def cost(left: Any, right: Any) -> Any:
            return None if same(left, right) else _own_cost(self, name, size, left, right)

        return journal.call(name, data, run, cost, place)

    return sample


def solver_patches() -> list[Patch]:
    found: list[Patch] = []
    for name in SOLVERS:
        module = sys.modules.get(f"solvers.{name}")
        for kind in [] if module is None else list(vars(module).values()):
            mine = isinstance(kind, type) and kind.__module__ == f"solvers.{name}"
            if mine and "sample" in vars(kind) and hasattr(kind, "claim"):
                found.append((kind, "sample", _solver_sample(vars(kind)["sample"])))
    return found


def _solver_sample(original: Any) -> Any:
    """A solver's sample: one release at the cost of its claim, as noise inside is not followed."""

    def sample(self: Any, data: Any, size: int, *, rng: Any) -> Any:
        from dpverify.tracing.noise.generator import RecordingGenerator  # noqa: PLC0415  # a cycle

        if not isinstance(rng, RecordingGenerator):
            return original(self, data, size, rng=rng)
        journal, place, name = CURRENT.get(), here(2), type(self).__name__
        made = (repr(self), size)

        def run() -> Any:
            return original(self, data, size, rng=journal.script.rng)

        def cost(left: Any, right: Any) -> Any:
            if left[1] != right[1]:
                return f"{name} is set up differently on the two sides"
            return _solver_cost(self, name, size, left[0], right[0])

        return journal.call(name, (data, made), run, cost, place)

    return sample


def _solver_cost(mechanism: Any, name: str, size: int, left: Any, right: Any) -> Any:
    claim = mechanism.claim
    steps = records_apart(left, right, claim.relation)
    if steps is None:
        return f"the data of {name} are no neighbors under {claim.relation.value}"
    if not steps:
        return None
    found = repeated(claim.guarantee, steps, size)
    if found is None:
        return f"what {name} costs {steps} records apart, {size} times, is not known from its claim"
    return paid(name, found)


def repeated(guarantee: Guarantee, steps: int, size: int) -> Guarantee | None:
    """The cost of `size` releases for datasets `steps` neighbors apart, if it is simple."""
    match guarantee:
        case _ if steps * size == 1:
            return guarantee
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=epsilon * steps * size)
        case ZeroConcentratedDP(rho=rho):
            return ZeroConcentratedDP(rho=rho * steps**2 * size)
        case GaussianDP(mu=mu):
            return GaussianDP(mu=mu * steps * math.sqrt(size) * (1 + 2.0**-50))
        case _:
            return None


def _own_cost(mechanism: Any, name: str, size: int, left: Any, right: Any) -> Any:
    """The mechanism's claim, as many times as its sensitivity fits between the inputs.

    Inputs k sensitivities apart have k − 1 others between them on a straight line, each within
    the sensitivity of the next: group privacy.
    """
    claimed = mechanism.claim.guarantee
    steps = 1 if name in _ANY_TWO else _sensitivities(mechanism, name, left, right)
    if isinstance(steps, str):
        return steps
    found = repeated(claimed, steps, size)
    if found is None:
        return f"what {name} costs {steps} times {size} is not known from its claim"
    return paid(name, found)


_ANY_TWO = ("RandomizedResponse", "LeakyRandomizedResponse")
"""Mechanisms whose claim is about any two inputs."""


def _sensitivities(mechanism: Any, name: str, left: Any, right: Any) -> int | str:
    one, two = (np.asarray(x, dtype=np.float64) for x in (left, right))
    if one.shape != two.shape:
        return f"the inputs of {name} have different shapes"
    gap = (one - two).reshape(-1)
    if name == "NormMechanism":
        distance, most = np.linalg.norm(gap, mechanism.norm), mechanism.sensitivity
    elif name in {"NoisyMax", "ExponentialMechanism", "SparseVector"}:
        if mechanism.monotone and np.any(gap > 0) and np.any(gap < 0):
            return f"{name} takes scores to be monotone, but some rise while others fall"
        most = mechanism.sensitivity if name == "SparseVector" else mechanism.score_sensitivity
        distance = np.abs(gap).max(initial=0.0)
    else:
        return f"how far apart the inputs of {name} may be is not known"
    return _steps(float(distance), float(most), name)


def _steps(distance: float, most: float, name: str) -> int | str:
    if not math.isfinite(distance):
        return f"the inputs of {name} are not finite"
    return max(1, math.ceil(distance / most * (1 - 2.0**-50)))


def same(left: Any, right: Any) -> bool:
    """Whether two inputs of any kind are equal."""
    return bool(told(left) == told(right))


def paid(name: str, guarantee: Guarantee, *, shift: float = math.nan) -> Paid:
    """The cost that a library's mechanism states itself, by its pair if there is one."""
    above: Pair = LeakyResponsePair(ApproxDP(epsilon=math.inf))
    match guarantee:
        case PureDP(epsilon=epsilon):
            above = LeakyResponsePair(ApproxDP(epsilon=epsilon))
        case ApproxDP():
            above = LeakyResponsePair(guarantee)
        case ZeroConcentratedDP(rho=rho) if math.isfinite(rho):
            # Not dominated by this pair at all δ in general; it is for Gaussian noise, which is
            # what the libraries at hand state zCDP for.
            above = GaussianPair(2 * Fraction(rho))
        case GaussianDP(mu=mu) if math.isfinite(mu):
            above = GaussianPair(Fraction(mu) ** 2)
    said = f"{name}, {BY_CLAIM} {_short(guarantee)}"
    return Paid(-1, NOWHERE, said, above, NOTHING, exact=False, shift=shift, scale=math.nan)


def _short(guarantee: Guarantee) -> str:
    match guarantee:
        case PureDP(epsilon=epsilon):
            return f"ε = {epsilon:.6g}"
        case ApproxDP(epsilon=epsilon, delta=delta):
            return f"ε = {epsilon:.6g}, δ = {delta:.6g}"
        case _:
            return str(guarantee)
