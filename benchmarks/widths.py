"""Random Poisson-subsampled Gaussians: which brackets come out wider than asked?

    python benchmarks/widths.py 0 500 [--tolerance 1e-3]

draws one composition for each number, σ from .4 to 16, rate from 1e-6 to .9, up to 1e7 steps and
δ from 1e-10 to 1e-4, all evenly in the logarithm. Every bracket that is wider than the tolerance is
printed with the number that replays it.
"""

import argparse
import math
import random
import time
from dataclasses import dataclass

import dpverify as dpv

_SHOWN = 50


@dataclass(frozen=True)
class Steps:
    """So many steps of Gaussian noise on Poisson samples."""

    sigma: float
    rate: float
    times: int
    delta: float

    @classmethod
    def of(cls, seed: int) -> "Steps":
        draw = random.Random(seed)  # noqa: S311 - nothing secret

        def between(low: float, high: float) -> float:
            return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")

        sigma, rate = between(0.4, 16.0), between(1e-6, 0.9)
        return cls(sigma, rate, int(between(1.0, 1e7)), between(1e-10, 1e-4))

    def bracket(self, tolerance: float) -> dpv.Bracket:
        step = dpv.Subsampled(dpv.Gaussian(sigma=self.sigma), rate=self.rate)
        spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=self.times)
        return spent.epsilon(delta=self.delta, tolerance=tolerance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    given = parser.parse_args()
    wide, slowest = 0, (0.0, given.first)
    for seed in range(given.first, given.last):
        case, start = Steps.of(seed), time.perf_counter()
        found = case.bracket(given.tolerance)
        seconds = time.perf_counter() - start
        slowest = max(slowest, (seconds, seed))
        if not found.width <= given.tolerance:
            wide += 1
            why = found.assumes[-1] if found.assumes else ""
            print(
                f"{seed}: {case}: [{found.lower:.6g}, {found.upper:.6g}], width {found.width:.2g} "
                f"in {seconds:.1f} s: {why}",
                flush=True,
            )
        if (seed + 1 - given.first) % _SHOWN == 0:
            print(f"{seed + 1 - given.first} cases, {wide} wider than asked", flush=True)
    print(
        f"{given.last - given.first} cases, {wide} wider than asked; slowest {slowest[0]:.1f} s "
        f"(case {slowest[1]})"
    )


if __name__ == "__main__":
    main()
