"""One case by autodp: its (ε, δ) accountant, its Rényi accountant, or its Gaussian composition."""

import warnings
from typing import Any

import measuring

warnings.simplefilter("ignore")  # the package itself does not import without syntax warnings

from autodp import dp_acct, mechanism_zoo, transformer_zoo  # noqa: E402


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    return {"upper": float(METHODS[setting["method"]](case["parts"], case["delta"]))}


def advanced(parts: list[dict[str, Any]], delta: float) -> float:
    spent = dp_acct.DP_acct()
    for part in parts:
        for _ in range(part["times"]):
            spent.update_DPlosses(part["epsilon"], part["delta"])
    return float(spent.get_eps(delta))


def renyi(parts: list[dict[str, Any]], delta: float) -> float:
    each = [mechanism_zoo.PureDP_Mechanism(part["epsilon"]) for part in parts]
    composed = transformer_zoo.Composition()(each, [part["times"] for part in parts])
    return float(composed.get_approxDP(delta))


def gaussian(parts: list[dict[str, Any]], delta: float) -> float:
    each = [mechanism_zoo.ExactGaussianMechanism(part["sigma"]) for part in parts]
    composed = transformer_zoo.ComposeGaussian()(each, [part["times"] for part in parts])
    return float(composed.get_approxDP(delta))


METHODS = {"advanced": advanced, "renyi": renyi, "gaussian": gaussian}


if __name__ == "__main__":
    measuring.serve(solve)
