"""How much of the truth an audit certifies, beside baselines and the oracle; and how fast.

    python benchmarks/auditing.py [--parts power refute gaussian speed] [--seeds 10]
        [--sizes 10000 100000] [--rows NAME …] [--file RESULTS.jsonl]

For every case of the battery, vectors of 1,000 and 10,000 numbers among them, and every size, at
level 0.05, the mean over seeds of

- `ours`: the lower bound of `audit(method="fixed")`;
- `Bonferroni`: Clopper–Pearson at each of 50 thresholds on a score, the level shared among them;
  the score is the output itself where it is one number, else a classifier from half of the draws;
- `boosted` (not of long vectors): boosted trees from a quarter of the draws, the threshold chosen
  on another quarter, Clopper–Pearson on the rest;
- `oracle`: the best event known in advance, Clopper–Pearson on all draws (its counts are drawn from
  the event's true chances); `own test`: the same judged by the test that audits use, which is
  sharper. An audit may be ahead of both where two events, one for each side, show more than one.

All see the same draws but the oracle. With a file, what it holds is not computed again, so that a
run may be killed. `gaussian` holds 0.9 ε of Gaussian noise (δ = 1e-3) against 200,000 draws a side,
five seeds and forty; beside it what the best events, known in advance, would do on all draws. Then
the draws a side that refute Laplace claims, and the time of an audit against that of its draws.
"""

import argparse
import cProfile
import io
import json
import math
import pstats
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from battery import Case, battery, vectors
from scipy.stats import norm

from dpverify.auditing import audit
from dpverify.auditing.attacks.classifiers import boosted, mean_difference
from dpverify.auditing.attacks.draws import MANY, Draws, Explore, numeric_features
from dpverify.auditing.sampling.drawing import Side, generator
from dpverify.auditing.sampling.outputs import Outputs
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.binomial import (
    Counts,
    epsilon_lower,
    rejects,
    split_epsilon_lower,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import Laplace

LEVEL = 0.05
THRESHOLDS = 50
SIMULATED = 20_000
CANDIDATES, DRAWN, JUDGED = 6, 200, 40  # events that an oracle tries; counts of each


def bound(hits: int, other: int, size: int, delta: float, level: float = LEVEL) -> float:
    counts = Counts(hits=hits, trials=size, other_hits=other, other_trials=size)
    return split_epsilon_lower(counts, delta=delta, level=level)


def ours(case: Case, size: int, seed: int) -> float:
    claim = ApproxDP(epsilon=20.0, delta=case.delta)
    verdict = audit(
        case.mechanism,
        left=case.left,
        right=case.right,
        claim=claim,
        level=LEVEL,
        seed=seed,
        samples=size,
        method="fixed",
    )
    return verdict.epsilon_lower


def oracle(case: Case, size: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean bounds of the best event known in advance: by Clopper–Pearson, and by our own test.

    The events with the largest bounds at their expected counts are tried on drawn counts.
    """

    def expected(chances: tuple[float, float]) -> float:
        p, q = chances
        return bound(min(size, round(p * size)), min(size, round(q * size)), size, case.delta)

    found = [0.0, 0.0]
    for p, q in sorted(case.nested(), key=expected)[-CANDIDATES:]:
        drawn = rng.binomial(size, [min(p, 1.0), min(q, 1.0)], (DRAWN, 2)).tolist()
        exact = float(np.mean([bound(*hits, size, case.delta) for hits in drawn]))
        joint = float(np.mean([own_bound(*hits, size, case.delta) for hits in drawn[:JUDGED]]))
        found = [max(found[0], exact), max(found[1], joint)]
    return found[0], found[1]


def own_bound(hits: int, other: int, size: int, delta: float) -> float:
    counts = Counts(hits=hits, trials=size, other_hits=other, other_trials=size)
    return epsilon_lower(counts, delta=delta, level=LEVEL)


def drawn(case: Case, size: int, seed: int) -> Draws:
    sampler = Sampler(mechanism=case.mechanism, left=case.left, right=case.right, seed=seed)
    return Draws(*sampler.draw(0, size))


def scores(draws: Draws, start: int, stop: int, fit: int) -> tuple[np.ndarray, np.ndarray]:
    """A score of draws start…stop: the output, or what trees learned from the first `fit`."""
    part = [side.between(start, stop) for side in (draws.left, draws.right)]
    names = numeric_features(Explore(draws))
    if names == ["output"]:
        return part[0].column("output"), part[1].column("output")
    first = [side.between(0, fit) for side in (draws.left, draws.right)]
    event = boosted(*first, names) if len(names) <= MANY else mean_difference(*first, names)
    return event.score(part[0]), event.score(part[1])


def best_cut(
    left: np.ndarray, right: np.ndarray, delta: float, level: float
) -> tuple[float, tuple]:
    """The largest bound over thresholds, tails and directions, each at this level."""
    pooled = np.sort(np.concatenate([left, right]))
    best: tuple[float, tuple] = (0.0, (0.0, True, True))
    for cut in np.unique(pooled[np.linspace(0, len(pooled) - 1, THRESHOLDS).astype(int)]):
        for upper in (True, False):
            hits = [int((s >= cut).sum() if upper else (s <= cut).sum()) for s in (left, right)]
            for swap in (False, True):
                a, b = hits[::-1] if swap else hits
                value = bound(a, b, len(left), delta, level)
                if value > best[0]:
                    best = (value, (float(cut), upper, swap))
    return best


def bonferroni(case: Case, size: int, draws: Draws) -> float:
    scalar = numeric_features(Explore(draws)) == ["output"]
    start = 0 if scalar else size // 2
    left, right = scores(draws, start, size, size // 2)
    return best_cut(left, right, case.delta, LEVEL / (4 * THRESHOLDS))[0]


def boosted_baseline(case: Case, size: int, draws: Draws) -> float:
    names = numeric_features(Explore(draws))
    if len(names) > MANY:
        return math.nan
    quarter, half = size // 4, size // 2
    event = boosted(draws.left.between(0, quarter), draws.right.between(0, quarter), names)

    def part(side: Outputs, a: int, b: int) -> np.ndarray:
        return event.score(side.between(a, b))

    chosen = best_cut(
        part(draws.left, quarter, half), part(draws.right, quarter, half), case.delta, LEVEL
    )
    cut, upper, swap = chosen[1]
    fresh = [part(side, half, size) for side in (draws.left, draws.right)]
    hits = [int((s >= cut).sum() if upper else (s <= cut).sum()) for s in fresh]
    a, b = hits[::-1] if swap else hits
    return bound(a, b, size - half, case.delta)


def measured(case: Case, size: int, seed: int) -> list[float]:
    draws = drawn(case, size, seed)
    baselines = bonferroni(case, size, draws), boosted_baseline(case, size, draws)
    del draws  # before ours are drawn: they may be large
    return [ours(case, size, seed), *baselines]


def power(sizes: list[int], seeds: int, rows: list[str], file: Path | None) -> None:
    known = _known(file)
    cases = [case for case in (*battery(), *vectors()) if not rows or case.name in rows]
    for size in sizes:
        print(f"\n{size:,} draws a side, {1 - LEVEL:.0%} lower bounds, mean of {seeds} seeds")
        print(
            f"{'case':40}{'truth':>8}{'ours':>8}{'Bonf.':>8}"
            f"{'boosted':>9}{'oracle':>8}{'ours/oracle':>13}{'own test':>10}"
        )
        ratios = []
        for case in cases:
            best, own = oracle(case, size, np.random.default_rng(0))
            for seed in range(seeds):
                if (case.name, size, seed) not in known:
                    known[case.name, size, seed] = found = measured(case, size, seed)
                    if file is not None:
                        with file.open("a") as out:
                            out.write(json.dumps([case.name, size, seed, found]) + "\n")
            table = [known[case.name, size, seed] for seed in range(seeds)]
            mine, shared, trees = np.mean(table, axis=0)
            ratios.append([mine / best, shared / best, mine / own])
            behind = "" if mine > shared else "  BEHIND"
            print(
                f"{case.name:40}{case.truth:8.3f}{mine:8.3f}{shared:8.3f}"
                f"{trees:9.3f}{best:8.3f}{mine / best:13.3f}{own:10.3f}{behind}",
                flush=True,
            )
        means = np.mean(ratios, axis=0)
        print(
            f"mean share of the oracle: ours {means[0]:.3f}, Bonferroni {means[1]:.3f}; of the "
            f"same event judged by our own test: ours {means[2]:.3f}"
        )


def _known(file: Path | None) -> dict[tuple[str, int, int], list[float]]:
    """What a file holds; a line that was cut short is left out."""
    found: dict[tuple[str, int, int], list[float]] = {}
    if file is None or not file.exists():
        return found
    for line in file.read_text().splitlines():
        with suppress(ValueError):
            name, size, seed, values = json.loads(line)
            found[name, size, seed] = values
    return found


def gaussian(level: float, size: int = 200_000, seeds: int = 40) -> None:
    case = battery()[1]
    claim = ApproxDP(epsilon=0.9 * case.truth, delta=case.delta)
    one, two = known_events(case, claim, level, size)
    print(
        f"Gaussian, 0.9 ε, level {level:g}, {size:,} draws a side: no test refutes with "
        f"probability above {most_power(claim, level, size):.2f}"
    )
    print(
        f"Gaussian, 0.9 ε, level {level:g}, {size:,} draws a side: events known in advance, judged "
        f"on all draws, refute with probability {one:.2f} (one) and {two:.2f} (one for each side)"
    )
    given = {"left": case.left, "right": case.right, "claim": claim, "level": level}
    for method in ("both", "fixed"):
        found = [
            audit(case.mechanism, **given, seed=seed, samples=size, method=method).refuted
            for seed in range(seeds)
        ]
        print(
            f"  method {method}: {sum(found[:5])} of 5 seeds, {sum(found)} of {seeds}", flush=True
        )


def most_power(claim: ApproxDP, level: float, size: int) -> float:
    """A bound on the power of any test of the claim on N(0, 1) and N(1, 1), from draws.

    An honest pair (P', Q') is refuted with probability at most the level, so by Neyman and Pearson
    no test has more power than the one that tells (P, Q) from (P', Q'). Any honest pair gives a
    bound; this one has the least Kullback–Leibler divergence from (P, Q), on cells that keep apart
    what has a loss near the claimed ε or beyond.
    """
    import cvxpy as cp  # slow

    ends = np.concatenate([np.linspace(-5.5, -1.0, 151), np.linspace(2.0, 6.5, 151)])
    lower = [norm.cdf(ends - mean) for mean in (0.0, 1.0)]
    left, right = (np.diff(np.concatenate([[0.0], below, [1.0]])) for below in lower)
    ratios = cp.Variable(len(left)), cp.Variable(len(left))
    honest = cp.multiply(left, ratios[0]), cp.multiply(right, ratios[1])
    far = sum(
        cp.sum(cp.multiply(true, ratio - 1 - cp.log(ratio)))
        for true, ratio in zip((left, right), ratios, strict=True)
    )
    scale = math.exp(claim.epsilon)
    rules = [cp.sum(part) == 1 for part in honest]
    rules += [
        1e3 * cp.sum(cp.pos(one - scale * other)) <= 1e3 * claim.delta
        for one, other in (honest, honest[::-1])
    ]
    cp.Problem(cp.Minimize(size * far), rules).solve(solver=cp.CLARABEL)
    near = [part.value / part.value.sum() for part in honest]
    logs = [np.log(true / part) for true, part in zip((left, right), near, strict=True)]
    rng = np.random.default_rng(0)
    seen, kept = (
        sum(
            rng.multinomial(size, part / part.sum(), SIMULATED) @ log
            for part, log in zip(pair, logs, strict=True)
        )
        for pair in ((left, right), near)
    )
    return float(np.mean(seen > np.quantile(kept, 1.0 - level)))


def known_events(case: Case, claim: ApproxDP, level: float, size: int) -> tuple[float, float]:
    """How often the best event refutes, and the best two, from drawn counts of their chances."""
    rng, ratio = np.random.default_rng(0), math.exp(claim.epsilon)
    chances = np.clip(case.nested(), 0.0, 1.0)  # sums of masses have round-off

    def best(part: np.ndarray) -> np.ndarray:
        p, q = part.T
        spread = np.sqrt(p * (1 - p) + ratio**2 * q * (1 - q))
        return part[np.argmax((p - ratio * q - claim.delta) / np.maximum(spread, 1e-12))]

    half = len(chances) // 2
    (p, q), (other, back) = best(chances[:half]), best(chances[half:])
    left = rng.multinomial(size, [p, back, 1 - p - back], DRAWN).tolist()
    right = rng.multinomial(size, [q, other, 1 - q - other], DRAWN).tolist()
    found = np.zeros(2)
    for (hits, seldom, _), (few, many, _) in zip(left, right, strict=True):
        also = Counts(hits=many, trials=size, other_hits=seldom, other_trials=size)
        alone = Counts(hits=hits, trials=size, other_hits=few, other_trials=size)
        against = {"epsilon": claim.epsilon, "delta": claim.delta, "level": level}
        found += [rejects(counts, **against) for counts in (alone, replace(alone, also=also))]
    return float(found[0] / DRAWN), float(found[1] / DRAWN)


def samples_to_refute(seeds: int) -> None:
    print("\ndraws a side until a claim on Laplace noise (true ε = 1) is refuted, level 0.01")
    case = battery()[0]
    for method in ("both", "anytime"):
        for claimed in (0.5, 0.9):
            used = [
                audit(
                    case.mechanism,
                    left=0.0,
                    right=1.0,
                    claim=PureDP(epsilon=claimed),
                    level=0.01,
                    seed=seed,
                    samples=60_000,
                    method=method,
                ).samples
                for seed in range(seeds)
            ]
            print(
                f"method {method:8} claimed {claimed}: "
                f"median {np.median(used):,.0f}, largest {max(used):,}"
            )


def speed() -> None:
    print("\ntime of an audit that runs to its end, against drawing its samples alone")
    plain, safe = battery()[0].mechanism, Laplace(scale=1.0)
    for name, mechanism in (("numpy Laplace", plain), ("dpverify.Laplace", safe)):
        for size in (100_000, 300_000, 1_000_000, 3_000_000):
            alone, whole = timed(mechanism, size)
            print(
                f"{name}: {size:,} draws a side, drawing {alone:.3f} s, "
                f"audit {whole:.3f} s, ratio {whole / alone:.1f}; "
                f"{1e3 * (whole - alone):.0f} ms besides drawing"
            )
    print("(whole batches of numbers are drawn in less time than events are searched in)")
    for name, call in CALLS.items():
        alone, whole = timed_calls(call, 100_000)
        print(
            f"{name}, one call a draw: 100,000 draws a side, drawing {alone:.2f} s, "
            f"audit {whole:.2f} s, ratio {whole / alone:.1f}",
            flush=True,
        )
    profiled("numpy Laplace", plain, 300_000, 1.0)
    profiled("a vector of 1,000, one call a draw", long, 20_000, 6.0)


def profiled(name: str, mechanism: object, size: int, epsilon: float) -> None:
    print(f"\nwhere the time goes ({name}, {size:,} draws a side)")
    profile = cProfile.Profile()
    claim = PureDP(epsilon=epsilon)
    profile.runcall(audit, mechanism, left=0.0, right=1.0, claim=claim, samples=size)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("cumtime").print_stats("auditing|battery", 24)
    print("\n".join(line for line in text.getvalue().splitlines()[6:] if line.strip()))


def timed(mechanism: object, size: int) -> tuple[float, float]:
    """Processor seconds of drawing and of an audit: the least of three, both in one run."""
    found = []
    for seed in range(3):
        start = time.process_time()
        for data in (0.0, 1.0):
            mechanism.sample(data, size, rng=np.random.default_rng(seed))
        middle = time.process_time()
        claim = PureDP(epsilon=1.0)
        audit(mechanism, left=0.0, right=1.0, claim=claim, samples=size, seed=seed)
        found.append((middle - start, time.process_time() - middle))
    return min(a for a, _ in found), min(b for _, b in found)


def one_number(data: float, rng: np.random.Generator) -> float:
    return data + rng.laplace()


def vector(data: float, rng: np.random.Generator) -> np.ndarray:
    return data + rng.laplace(size=5)


def long(data: float, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.laplace(size=1_000)
    numbers[700] += data
    return numbers


def longer(data: float, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.laplace(size=10_000)
    numbers[7_000] += data
    return numbers


def frame(data: float, rng: np.random.Generator) -> object:
    import pandas as pd  # only here

    return pd.DataFrame({"count": np.array([3.0, 1.0, 2.0, 5.0, data]) + rng.laplace(size=5)})


CALLS = {
    "a number": one_number,
    "a vector of 5": vector,
    "a vector of 1,000": long,
    "a vector of 10,000": longer,
    "a frame": frame,
}


def timed_calls(call: Callable[..., object], size: int) -> tuple[float, float]:
    """Processor seconds of the calls, each with a generator of its own, and of an audit."""
    start = time.process_time()
    for index in range(size):
        for data, side in ((0.0, Side.LEFT), (1.0, Side.RIGHT)):
            call(data, generator(0, side, index))
    middle = time.process_time()
    audit(call, left=0.0, right=1.0, claim=PureDP(epsilon=6.0), samples=size)
    return middle - start, time.process_time() - middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=["power", "refute", "gaussian", "speed"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", nargs="*", default=[])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    chosen = parser.parse_args()
    if "power" in chosen.parts:
        power(chosen.sizes, chosen.seeds, chosen.rows, chosen.file)
    if "refute" in chosen.parts:
        samples_to_refute(21)
    if "gaussian" in chosen.parts:
        for level in (0.01, 0.05):
            gaussian(level)
    if "speed" in chosen.parts:
        speed()


if __name__ == "__main__":
    main()
