"""One case by dp-accounting: privacy-loss distributions, Rényi, or optimal composition."""

import functools
from typing import Any

import dp_accounting
import measuring
from dp_accounting import dp_event, pld, rdp
from dp_accounting.pld import accountant, common, privacy_loss_distribution
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

RELATION = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    if case["question"] == "noise":
        return {"upper": noise(case, setting)}
    match setting["method"]:
        case "pld":
            found = distribution(case["parts"], setting["interval"], pessimistic=True)
            return {"upper": float(found.get_epsilon_for_delta(case["delta"]))}
        case "rdp":
            spent = rdp.RdpAccountant(neighboring_relation=RELATION)
            for part in case["parts"]:
                spent.compose(event(part), part["times"])
            return {"upper": float(spent.get_epsilon(case["delta"]))}
        case "optimal":
            (part,) = case["parts"]
            each = common.DifferentialPrivacyParameters(part["epsilon"], part["delta"])
            return {"upper": accountant.advanced_composition(each, part["times"], case["delta"])}
        case _:
            raise ValueError(f"setting={setting!r} must name a method of this tool")


def optimistic(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    """The estimate from below: rounded down, which only the older discretization can do."""
    if case["question"] == "noise" or setting["method"] != "pld":
        return {}
    if any(part["kind"] == "response" for part in case["parts"]):
        return {}  # from_privacy_parameters is pessimistic only
    found = distribution(case["parts"], setting["interval"], pessimistic=False)
    return {"lower": float(found.get_epsilon_for_delta(case["delta"]))}


def distribution(
    parts: list[dict[str, Any]], interval: float, *, pessimistic: bool
) -> PrivacyLossDistribution:
    composed = (
        single(part, interval, pessimistic=pessimistic).self_compose(part["times"])
        for part in parts
    )
    return functools.reduce(lambda left, right: left.compose(right), composed)


def single(part: dict[str, Any], interval: float, *, pessimistic: bool) -> PrivacyLossDistribution:
    if part["kind"] == "response":
        each = common.DifferentialPrivacyParameters(part["epsilon"], part["delta"])
        return privacy_loss_distribution.from_privacy_parameters(each, interval)
    options = {
        "value_discretization_interval": interval,
        "pessimistic_estimate": pessimistic,
        "use_connect_dots": pessimistic,
    }
    if part["kind"] == "laplace":
        return privacy_loss_distribution.from_laplace_mechanism(part["scale"], **options)
    rate = part.get("rate", 1.0)
    return privacy_loss_distribution.from_gaussian_mechanism(
        part["sigma"], sampling_prob=rate, **options
    )


def event(part: dict[str, Any]) -> dp_event.DpEvent:
    match part["kind"]:
        case "gaussian":
            return dp_event.GaussianDpEvent(part["sigma"])
        case "laplace":
            return dp_event.LaplaceDpEvent(part["scale"])
        case "subsampled":
            base = dp_event.GaussianDpEvent(part["sigma"])
            return dp_event.PoissonSampledDpEvent(part["rate"], base)
        case _:
            raise ValueError(f"part={part!r} must be of a kind that this tool knows")


def noise(case: dict[str, Any], setting: dict[str, Any]) -> float:
    (part,) = case["parts"]

    def fresh() -> dp_accounting.PrivacyAccountant:
        if setting["method"] == "rdp":
            return rdp.RdpAccountant(neighboring_relation=RELATION)
        return pld.PLDAccountant(RELATION, value_discretization_interval=setting["interval"])

    return float(
        dp_accounting.calibrate_dp_mechanism(
            fresh,
            lambda s: dp_event.SelfComposedDpEvent(event({**part, "sigma": s}), part["times"]),
            case["epsilon"],
            case["delta"],
            tol=case["tolerance"],
        )
    )


if __name__ == "__main__":
    measuring.serve(solve, then=optimistic)
