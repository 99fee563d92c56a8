"""dp_accounting's answers on random event trees against our brackets: inside, above or below.

    python benchmarks/event_trees.py --trees 200

Their PLD accountant rounds losses up, so its ε should be at least our lower end; one below it
would be a bound that is wrong, and is printed with both numbers.
"""

import argparse
import logging
import sys
from collections import Counter

import dp_accounting as dpa
import numpy as np

import dpverify as dpv
from dpverify.interop import from_dp_event

ROUNDING = 1e-6  # of theirs, which is not certified: what their FFT may lose


def leaf(rng: np.random.Generator) -> dpa.DpEvent:
    noise = float(np.exp(rng.uniform(np.log(0.7), np.log(20.0))))
    rate = float(np.exp(rng.uniform(np.log(1e-3), np.log(0.5))))
    kinds = [
        lambda: dpa.GaussianDpEvent(noise),
        lambda: dpa.LaplaceDpEvent(noise),
        lambda: dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise)),
        lambda: dpa.PoissonSampledDpEvent(rate, dpa.LaplaceDpEvent(noise)),
        lambda: dpa.dp_event.DiscreteLaplaceDpEvent(1.0 / noise, 1),
        dpa.NoOpDpEvent,
    ]
    return kinds[rng.integers(len(kinds))]()


def tree(rng: np.random.Generator, depth: int) -> dpa.DpEvent:
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    if rng.random() < 0.5:
        return dpa.SelfComposedDpEvent(tree(rng, depth - 1), int(rng.integers(1, 12)))
    return dpa.ComposedDpEvent([tree(rng, depth - 1) for _ in range(rng.integers(1, 4))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    logging.disable()
    counts: Counter[str] = Counter()
    widest = 0.0
    for index in range(asked.trees):
        rng = np.random.default_rng([asked.seed, index])
        event, delta = tree(rng, 3), float(10 ** rng.uniform(-9, -2))
        ours = from_dp_event(event, relation=dpv.Relation.ADD_REMOVE).epsilon(delta)
        theirs = dpa.pld.PLDAccountant()
        theirs.compose(event)
        found = theirs.get_epsilon(delta)
        if found < ours.lower - ROUNDING:
            counts["below"] += 1
            print(f"BELOW tree {index}, δ = {delta!r}: theirs {found!r}, ours {ours}\n  {event!r}")
        else:
            counts["inside" if found <= ours.upper else "above"] += 1
            widest = max(widest, found - ours.upper)
    print(f"{asked.trees} trees: {dict(counts)}; theirs at most {widest:.3g} above our upper end")
    return 1 if counts["below"] else 0


if __name__ == "__main__":
    sys.exit(main())
