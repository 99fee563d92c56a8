"""One run with 10,000 canaries, Gaussian scores with μ = 1: what is certified, and false alarms.

The truth is ε = 4.377 at δ = 1e-5. `python benchmarks/one_run.py --seeds 20 --nulls 10000`
prints the mean certified ε at level 0.05 through Gaussian DP and without it, and how often the true
claim, μ = 1, is refuted. Only the penalty of guesses enters a p-value, so each is computed once,
and none of penalties that are far from refuting.
"""

import argparse
from typing import Any

import numpy as np

import dpverify as dpv
from dpverify.auditing.one_run.audit import _default_plans
from dpverify.auditing.one_run.limits import Tiered

CANARIES, LEVEL = 10_000, 0.05


def gaussian(included: Any, rng: np.random.Generator) -> Any:  # noqa: ANN401
    return included + rng.normal(size=len(included))


def certified(seeds: int, first: int) -> None:
    rows = []
    for seed in range(first, first + seeds):
        found = dpv.audit_one_run(
            gaussian,
            canaries=CANARIES,
            claim=dpv.GaussianDP(mu=0.5),
            level=LEVEL,
            seed=seed,
        )
        rows.append((found.epsilon_if_gaussian, found.epsilon_lower, found.seconds))
        print(
            f"seed {seed}: through GDP {rows[-1][0]:.3f}, at δ alone {rows[-1][1]:.3f}", flush=True
        )
    through, alone, seconds = np.array(rows).T
    print(f"{seeds} seeds from {first}: mean certified ε through GDP {through.mean():.3f}")
    print(
        f"  from {through.min():.3f} to {through.max():.3f}; at δ = 1e-5 alone {alone.mean():.3f}"
    )
    print(f"  {seconds.mean():.1f} s each; above the truth: {(through > 4.3772).sum()}")


def false_alarms(nulls: int) -> None:
    """P-values from the smallest penalty up, until five in a row are far above the level."""
    claim = dpv.GaussianDP(mu=1.0)
    (tiers,) = _default_plans(CANARIES, claim)
    drawn: dict[int, list[tuple[int, ...]]] = {}
    for seed in range(nulls):
        rng = np.random.default_rng([seed, 16])
        included = rng.random(CANARIES) < 0.5
        wrong = tiers.wrong(np.argsort(gaussian(included, rng)), included)
        drawn.setdefault(tiers.penalty(wrong), []).append(wrong)
    refuted = above = 0
    for penalty in sorted(drawn):
        p_value = Tiered(tiers, drawn[penalty][0], CANARIES).p_value(claim)
        refuted += len(drawn[penalty]) * (p_value <= LEVEL)
        above = above + 1 if p_value > 3 * LEVEL else 0
        print(f"penalty {penalty}: {len(drawn[penalty])} runs, p = {p_value:.4f}", flush=True)
        if above == 5:
            break
    print(f"true claim refuted in {refuted} of {nulls} runs at level {LEVEL}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--nulls", type=int, default=10_000)
    told = parser.parse_args()
    if told.seeds:
        certified(told.seeds, told.first)
    if told.nulls:
        false_alarms(told.nulls)
