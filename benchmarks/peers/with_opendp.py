"""One case by opendp: sums of (ε, δ), or zCDP with a conversion at the end."""

import itertools
from collections.abc import Callable
from typing import Any

import measuring
import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    if setting["method"] == "basic":
        epsilon, delta = compose(case["parts"], stated).map(1.0)
        if delta > case["delta"]:
            raise ValueError(f"delta={delta!r} of all parts must be at most that of the case")
        return {"upper": epsilon}
    concentrated = compose(case["parts"], gaussian if setting["method"] == "gaussian" else pure)
    profile = dp.c.make_zCDP_to_approxDP(concentrated).map(1.0)
    return {"upper": profile.epsilon(case["delta"])}


def compose(
    parts: list[dict[str, Any]], measurement: Callable[[dict[str, Any]], dp.Measurement]
) -> dp.Measurement:
    repeated = (itertools.repeat(measurement(part), part["times"]) for part in parts)
    return dp.c.make_composition(list(itertools.chain.from_iterable(repeated)))


def stated(part: dict[str, Any]) -> dp.Measurement:
    """A measurement of which only (ε, δ) is known."""
    return dp.m.make_user_measurement(
        *SPACE,
        output_measure=dp.fixed_smoothed_max_divergence(),
        function=lambda value: value,
        privacy_map=lambda distance: (part["epsilon"] * distance, part["delta"]),
    )


def pure(part: dict[str, Any]) -> dp.Measurement:
    return dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*SPACE, scale=1 / part["epsilon"]))


def gaussian(part: dict[str, Any]) -> dp.Measurement:
    return dp.m.make_gaussian(*SPACE, scale=part["sigma"])


if __name__ == "__main__":
    measuring.serve(solve)
