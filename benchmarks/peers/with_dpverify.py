"""One case by dpverify, through its front door."""

import functools
import gc
from typing import Any

import measuring

import dpverify as dpv
from dpverify.accounting.parts import Composable
from dpverify.accounting.rules import NUMERICAL, Question

RELATION = dpv.Relation.ADD_REMOVE


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:  # noqa: ARG001
    if case["question"] == "noise":
        return noise(case)
    accountant = dpv.Accountant(relation=RELATION)
    for part in case["parts"]:
        accountant = accountant.compose(subject(part), times=part["times"])
    if case["engine"] == "numerical":
        question = Question("epsilon", case["delta"], case["tolerance"])
        found = NUMERICAL.answer(accountant.parts, question)
    else:
        found = accountant.epsilon(case["delta"], tolerance=case["tolerance"])
    if not isinstance(found, dpv.Bracket):
        raise TypeError(f"found={found!r} must be a bracket")
    return {"lower": found.lower, "upper": found.upper}


def noise(case: dict[str, Any]) -> measuring.Answer:
    """The smallest noise lies between one that breaks the budget and one that meets it."""
    (part,) = case["parts"]
    found = dpv.calibration(
        lambda sigma: dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=part["rate"]),
        times=part["times"],
        budget=dpv.ApproxDP(epsilon=case["epsilon"], delta=case["delta"]),
        relation=RELATION,
        precision=case["tolerance"],
    )
    return {"lower": found.insufficient, "upper": found.noise}


def subject(part: dict[str, Any]) -> Composable:
    match part["kind"]:
        case "gaussian":
            return dpv.Gaussian(sigma=part["sigma"])
        case "laplace":
            return dpv.Laplace(scale=part["scale"])
        case "subsampled":
            return dpv.Subsampled(dpv.Gaussian(sigma=part["sigma"]), rate=part["rate"])
        case "allocation":
            noise = dpv.Gaussian(sigma=part["sigma"])
            return dpv.RandomAllocation(noise, steps=part["steps"], selected=part["selected"])
        case "response":
            return dpv.ApproxDP(epsilon=part["epsilon"], delta=part["delta"])
        case _:
            raise ValueError(f"part={part!r} must be of a kind that this tool knows")


def forget() -> None:
    """Empty every cache of dpverify, so that no run profits from the one before."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith(  # noqa: SLF001
            "dpverify"
        ):
            found.cache_clear()


if __name__ == "__main__":
    measuring.serve(solve, forget=forget)
