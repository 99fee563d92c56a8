"""Attack risk beside riskcal, and the noise that a risk needs beside that of an (ε, δ).

    python benchmarks/risk.py [--peer PYTHON]

Thirty compositions: the largest true-positive rate at a false-positive rate, both certified ends
here, and riskcal's value on dp_accounting's grid. PYTHON is an interpreter with riskcal installed;
without it the peer's column is empty.
"""

import argparse
import json
import math
import random
import subprocess
import time
from pathlib import Path

from tables import NONE, aligned

import dpverify as dpv

ADD = dpv.Relation.ADD_REMOVE
PEER = """
import json, sys
from dp_accounting.pld import privacy_loss_distribution as pld
from riskcal.analysis import get_beta_from_pld
for sigma, rate, times, alarm in json.load(sys.stdin):
    one = pld.from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=1e-4)
    beta = get_beta_from_pld(one.self_compose(times), alpha=alarm)
    print(1 - float(beta), flush=True)
"""


def cases() -> list[tuple[float, float, int, float]]:
    draw = random.Random(7)  # noqa: S311 - nothing secret
    found = []
    for _ in range(30):
        sigma = round(math.exp(draw.uniform(math.log(0.6), math.log(8.0))), 3)
        rate = draw.choice([1.0, 0.1, 0.01, 0.003])
        times = (
            int(math.exp(draw.uniform(0.0, math.log(3000.0)))) if rate < 1 else draw.randint(1, 30)
        )
        found.append((sigma, rate, times, draw.choice([0.001, 0.01, 0.05, 0.1, 0.5])))
    return found


def steps(sigma: float, rate: float, times: int) -> dpv.Accountant:
    noise = dpv.Gaussian(sigma=sigma)
    step = noise if rate == 1 else dpv.Subsampled(noise, rate=rate)
    return dpv.Accountant(relation=ADD).compose(step, times=times)


def beside_riskcal(peer: Path | None) -> None:
    drawn = cases()
    theirs: list[str] = []
    if peer is not None:
        told = subprocess.run(
            [str(peer), "-c", PEER],
            input=json.dumps(drawn),
            capture_output=True,
            text=True,
            check=False,
        )
        theirs = told.stdout.split()
    rows, off = [], 0.0
    for index, (sigma, rate, times, alarm) in enumerate(drawn):
        start = time.perf_counter()
        found = steps(sigma, rate, times).true_positive_rate(alarm)
        seconds = time.perf_counter() - start
        peer_value = float(theirs[index]) if index < len(theirs) else None
        if peer_value is not None:
            off = max(off, found.lower - peer_value, peer_value - found.upper)
        rows.append(
            (
                f"σ={sigma:g} q={rate:g} k={times} α={alarm:g}",
                f"{found.lower:.6f}",
                f"{found.upper:.6f}",
                NONE if peer_value is None else f"{peer_value:.6f}",
                f"{seconds:.2f}",
            )
        )
    print(aligned(("case", "lower", "upper", "riskcal", "seconds"), rows))
    if theirs:
        print(f"farthest outside the bracket: {max(off, 0.0):.2e}")


def noise_for_a_risk() -> None:
    def step(sigma: float) -> dpv.Subsampled:
        return dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=0.01)

    budgets: dict[str, dpv.AttackRisk | dpv.ApproxDP] = {
        "10 % found at 5 % false alarms": dpv.AttackRisk(
            true_positive_rate=0.1, false_positive_rate=0.05
        ),
        "(ε, 1e-5) that implies it": dpv.ApproxDP(math.log((0.1 - 1e-5) / 0.05), 1e-5),
    }
    noise = {}
    for name, budget in budgets.items():
        start = time.perf_counter()
        noise[name] = dpv.calibrate(step, times=10_000, budget=budget, relation=ADD, precision=1e-3)
        print(f"{name}: σ = {noise[name]:.4g} ({time.perf_counter() - start:.1f} s)")
    risk, implied = noise.values()
    print(f"{1 - risk / implied:.1%} less noise, 10,000 steps at rate 0.01")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=Path)
    beside_riskcal(parser.parse_args().peer)
    noise_for_a_risk()


if __name__ == "__main__":
    main()
