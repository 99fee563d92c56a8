"""What is measured: compositions and questions, as plain data that every tool is given alike.

Only the standard library, so that the process that starts the tools stays small. The truths come
from `truth.py`: closed forms, or contour integrals that agree on two contours.
"""

import random
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Part: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The exact answer, known up to `error`."""

    value: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Case:
    """A composition with the question asked about it, and what the answer is asked to meet.

    `faster` maps a tool's label to the factor by which dpverify should beat it.
    """

    name: str
    title: str
    parts: list[Part]
    delta: float
    question: Literal["epsilon", "noise"] = "epsilon"
    epsilon: float | None = None  # the budget, where the question is the noise
    tolerance: float = 1e-3  # of the bracket, for tools that take one
    engine: Literal["any", "numerical"] = "any"  # "numerical": do not use closed forms
    truth: Truth | None = None
    asked_width: float | None = None
    faster: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What a tool is told: everything but the truth and what is asked."""
        told = asdict(self)
        for name in ("truth", "asked_width", "faster"):
            del told[name]
        return told


def gaussian(sigma: float, times: int = 1) -> Part:
    return {"kind": "gaussian", "sigma": sigma, "times": times}


def laplace(scale: float, times: int = 1) -> Part:
    return {"kind": "laplace", "scale": scale, "times": times}


def subsampled(sigma: float, rate: float, times: int = 1) -> Part:
    """A Gaussian on a Poisson sample, neighbors by adding or removing one record."""
    return {"kind": "subsampled", "sigma": sigma, "rate": rate, "times": times}


def allocation(sigma: float, steps: int, selected: int = 1, times: int = 1) -> Part:
    """Epochs in which each record takes part in some of the steps, drawn at random."""
    return {
        "kind": "allocation",
        "sigma": sigma,
        "steps": steps,
        "selected": selected,
        "times": times,
    }


def response(epsilon: float, delta: float = 0.0, times: int = 1) -> Part:
    """Any (ε, δ) guarantee: at its worst, a leaky randomized response."""
    return {"kind": "response", "epsilon": epsilon, "delta": delta, "times": times}


def mixed_parts() -> list[Part]:
    """50 Gaussians, 50 Laplaces and 100 subsampled Gaussians, all distinct."""
    draw = random.Random(20).uniform  # noqa: S311 - fixed parameters, nothing secret
    parts = [gaussian(round(draw(20, 100), 3)) for _ in range(50)]
    parts += [laplace(round(draw(20, 100), 3)) for _ in range(50)]
    parts += [subsampled(round(draw(0.8, 1.5), 4), round(draw(0.001, 0.02), 5)) for _ in range(100)]
    return parts


def unequal_parts() -> list[Part]:
    """200 distinct (ε, δ): ε from 0.01 to 0.2, δ from 1e-12 to 1e-9."""
    draw = random.Random(200).uniform  # noqa: S311 - fixed parameters, nothing secret
    return [
        response(round(draw(0.01, 0.2), 6), float(f"{10 ** draw(-12, -9):.4g}")) for _ in range(200)
    ]
