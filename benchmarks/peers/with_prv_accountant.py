"""One case by prv-accountant."""

import warnings
from typing import Any

import measuring
import prv_accountant
from prv_accountant import dpsgd


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    warnings.simplefilter("ignore")
    if case["question"] == "noise":
        return {"upper": noise(case, setting)}
    counts = [part["times"] for part in case["parts"]]
    spent = prv_accountant.PRVAccountant(
        [variable(part) for part in case["parts"]],
        eps_error=setting["error"],
        delta_error=case["delta"] / 1000,
        max_self_compositions=counts,
    )
    lower, _, upper = spent.compute_epsilon(case["delta"], counts)
    return {"lower": float(lower), "upper": float(upper)}


def noise(case: dict[str, Any], setting: dict[str, Any]) -> float:
    (part,) = case["parts"]
    return float(
        dpsgd.find_noise_multiplier(
            sampling_probability=part["rate"],
            num_steps=part["times"],
            target_epsilon=case["epsilon"],
            target_delta=case["delta"],
            eps_error=setting["error"],
        )
    )


def variable(part: dict[str, Any]) -> prv_accountant.PrivacyRandomVariable:
    match part["kind"]:
        case "gaussian":
            return prv_accountant.GaussianMechanism(part["sigma"])
        case "laplace":
            return prv_accountant.LaplaceMechanism(1 / part["scale"])
        case "subsampled":
            return prv_accountant.PoissonSubsampledGaussianMechanism(part["rate"], part["sigma"])
        case "response":
            return prv_accountant.ApproximateDPMechanism(part["epsilon"], part["delta"])
        case _:
            raise ValueError(f"part={part!r} must be of a kind that this tool knows")


if __name__ == "__main__":
    measuring.serve(solve)
