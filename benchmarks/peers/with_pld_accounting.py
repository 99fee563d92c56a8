"""One case by PLD_accounting: Gaussian random allocation."""

from typing import Any

import measuring
import PLD_accounting as pld


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    (part,) = case["parts"]
    if part["kind"] != "allocation":
        raise ValueError(part)
    upper, lower = pld.gaussian_allocation_epsilon_range(
        delta=case["delta"],
        sigma=part["sigma"],
        num_steps=part["steps"],
        num_selected=part["selected"],
        num_epochs=part["times"],
        epsilon_accuracy=setting["accuracy"],
    )
    return {"lower": float(lower), "upper": float(upper)}


if __name__ == "__main__":
    measuring.serve(solve)
