"""What a trace catches, what it lets pass, what it costs; and what it shows of other libraries.

    python benchmarks/tracing.py [--parts flawed honest fine libraries cost] [--audit 0]

- `flawed`: every flawed release of the tests: the verdict, the line, executions; with `--audit N`
  beside it the draws a side that `audit` needs, of at most N;
- `honest`: how the verdicts on correct releases are distributed, and how many traced ε equal the
  closed form;
- `fine`: noise one per cent too small, by a trace and by audits;
- `libraries`: OpenDP's measurements and, where it is installed, diffprivlib's tools and models;
- `cost`: a recorded and a replayed call in units of a plain one, in CPU time.
"""

# ruff: noqa: ANN401  # data of any kind; what is not installed is left out

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dpverify as dpv
from dpverify.tracing import Traced
from dpverify.tracing.recording.draws import Script
from dpverify.tracing.recording.runs import record, replay

PARTS = ("flawed", "honest", "fine", "libraries", "cost")


def line_of(found: Traced) -> str:
    named = [*found.leaks, *found.puzzles, *found.releases]
    return str(named[0].place)[:70] if named else ""


def flawed(budget: int) -> None:
    """`audit` is what an audit of the same pair draws a side until it refutes."""
    print(f"{'verdict':15s} {'runs':>4s} {'audit':>9s}  name; line")
    counts: Counter[str] = Counter()
    handed = []
    for name, mechanism, left, right, claim, draws, bits in flawed_cases():
        pair = {"left": left, "right": right, "claim": claim}
        found = dpv.trace(mechanism, **pair, confirm=False)
        counts[found.verdict] += 1
        told = ""
        if budget:
            arithmetic = "float" if bits else "real"
            most = max(budget, draws)
            verdict = dpv.audit(
                mechanism, **pair, samples=most, method="anytime", arithmetic=arithmetic
            )
            told = f"{verdict.samples:,}" if verdict.refuted else f">{most:,}"
        print(f"{found.verdict:15s} {found.executions:4d} {told:>9s}  {name}; {line_of(found)}")
        if found.verdict in {"shown", "not understood"}:
            why = "right in real arithmetic, wrong in its bits: audit(arithmetic='float')"
            why = why if bits else str(found.puzzles[0])
            handed.append(f"  {name}: {why}; audit: {told}")
    print(dict(counts))
    print("left to the audit, which needs so many draws a side:", *handed, sep="\n")


Flaw = tuple[str, Any, Any, Any, Any, int, bool]


def flawed_cases() -> Iterator[Flaw]:
    """Flaws with their pairs; of decorated tests, with the pair that a search by trace finds."""
    from tests.flawed import FLAWED, FROM_NOTES
    from tests.testing.demo_mechanisms import BROKEN
    from tests.tracing.flawed_releases import FLAWED_RELEASES

    for new in FLAWED_RELEASES:
        yield new.name, new.mechanism, new.left, new.right, new.claim, 0, False
    for old in (*FLAWED, *FROM_NOTES.values()):
        yield old.name, old, old.left, old.right, old.claim, old.samples, old.bits
    for demo in BROKEN:
        found = dpv.trace(demo.mechanism, schema=demo.on, claim=demo.claim, confirm=False)
        yield demo.name, demo.mechanism, found.left, found.right, demo.claim, 0, False


def honest() -> None:
    from tests.tracing.honest_releases import HONEST_RELEASES

    counts: Counter[str] = Counter()
    equal = closed = 0
    for case in HONEST_RELEASES:
        found = dpv.trace(
            case.mechanism, left=case.left, right=case.right, claim=case.claim, confirm=False
        )
        counts[found.verdict] += 1
        if found.verdict != "shown":
            print(f"{found.verdict:15s} {case.name}; {line_of(found)}")
        elif case.released and case.epsilon is not None:
            closed += 1
            equal += abs(found.epsilon(case.delta).upper - case.epsilon) <= 2e-3 * case.epsilon
    print(f"{len(HONEST_RELEASES)} correct releases: {dict(counts)}")
    print(f"traced ε equal to the closed form: {equal} of {closed}")


def fine() -> None:
    def release(data: Any, rng: Any) -> Any:
        return sum(data) + rng.laplace(scale=0.99)

    class Vectorized:
        def sample(self, data: Any, size: int, *, rng: Any) -> Any:
            return sum(data) + rng.laplace(0.0, 0.99, size)

    pair = {"left": [0.0, 1.0], "right": [0.0, 0.0], "claim": dpv.PureDP(epsilon=1.0)}
    found = dpv.trace(release, **pair)
    print(f"noise one per cent too small, trace: {found.verdict}, {found.executions} executions")
    for samples in (10**5, 10**6, 10**7):
        start = time.perf_counter()
        verdict = dpv.audit(Vectorized(), **pair, samples=samples, seed=1)
        told = f"refuted after {verdict.samples:,}" if verdict.refuted else "not refuted"
        print(f"audit, {samples:,} draws a side: {told}, {time.perf_counter() - start:.0f} s")
        if verdict.refuted:
            break


def libraries() -> None:
    print(f"{'verdict':15s} {'ε, δ = 0':>10s} {'runs':>4s}  what; first finding")
    for name, mechanism, left, right, claim in (*opendp_cases(), *diffprivlib_cases()):
        try:
            found = dpv.trace(mechanism, left=left, right=right, claim=claim, confirm=False)
        except Exception as error:  # noqa: BLE001  # a library may refuse the data
            print(f"{'error':15s} {'':>10s} {'':4s}  {name}; {error!r}"[:150])
            continue
        upper = found.epsilon(0.0).upper
        first = next(iter((*found.leaks, *found.puzzles)), None)
        told = "" if first is None else f"; {first}"[:110]
        print(f"{found.verdict:15s} {upper:10.4g} {found.executions:4d}  {name}{told}")


Case = tuple[str, Callable[[Any, Any], Any], Any, Any, Any]


def opendp_cases() -> Iterator[Case]:
    try:
        import opendp.prelude as dp
    except ImportError:
        print("OpenDP is not installed")
        return
    dp.enable_features("contrib", "honest-but-curious")
    one = dpv.PureDP(epsilon=1.0)
    number = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    vector = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    laplace = dp.m.make_laplace(*number, scale=1.0)
    yield "OpenDP Laplace", lambda d, _: laplace(float(sum(d))), [1.0, 0.0], [1.0, 1.0], one
    gaussian = dp.m.make_gaussian(*number, scale=2.0)
    claim = dpv.ZeroConcentratedDP(rho=0.125)
    yield "OpenDP Gaussian", lambda d, _: gaussian(float(sum(d))), [1.0, 0.0], [1.0, 1.0], claim
    geometric = dp.m.make_geometric(*whole, scale=1.0)
    yield "OpenDP geometric", lambda d, _: geometric(len(d)), [1, 2], [1, 2, 3], one
    noisy = dp.m.make_laplace(*vector, scale=2.0)
    yield "OpenDP histogram, replaced", lambda d, _: noisy(d), [2.0, 3.0], [1.0, 4.0], one
    yield "OpenDP twice, one budget", lambda d, _: [laplace(d), laplace(d)], 0.0, 1.0, one


def diffprivlib_cases() -> Iterator[Case]:
    try:
        import diffprivlib as dpl
    except ImportError:
        print("diffprivlib is not installed")
        return
    one = dpv.PureDP(epsilon=1.0)
    left, right = np.array([0.0, 1.0, 0.25, 1.0]), np.array([0.0, 1.0, 0.25, 0.0])
    bounds = {"epsilon": 1.0, "bounds": (0.0, 1.0)}
    for name in ("sum", "mean", "var", "std"):
        tool = getattr(dpl.tools, name)
        yield f"diffprivlib {name}", lambda d, _, t=tool: t(d, **bounds), left, right, one
    yield (
        "diffprivlib mean, no bounds",
        lambda d, _: dpl.tools.mean(d, epsilon=1.0),
        left,
        np.array([0.0, 1.0, 0.5, 9.0]),
        one,
    )
    for name, other_side in (("replaced", right), ("removed", left[:3])):
        yield (
            f"diffprivlib histogram, a record {name}",
            lambda d, _: dpl.tools.histogram(d, epsilon=1.0, bins=4, range=(0.0, 1.0))[0],
            left,
            other_side,
            one,
        )
    yield (
        "diffprivlib quantile",
        lambda d, _: dpl.tools.quantile(d, 0.5, **bounds),
        left,
        right,
        one,
    )
    rows = np.column_stack([left, left[::-1]])
    other = np.column_stack([right, right[::-1]])
    other[0] = rows[0]
    yield (
        "diffprivlib StandardScaler",
        lambda d, _: dpl.models.StandardScaler(epsilon=1.0, bounds=(0.0, 1.0)).fit(d).mean_,
        rows,
        other,
        one,
    )
    yield (
        "diffprivlib GaussianNB",
        lambda d, _: (
            dpl.models.GaussianNB(epsilon=1.0, bounds=(0.0, 1.0)).fit(d, [0, 1, 0, 1]).theta_
        ),
        rows,
        other,
        one,
    )
    yield (
        "diffprivlib LogisticRegression",
        lambda d, _: (
            dpl.models.LogisticRegression(epsilon=1.0, data_norm=2.0).fit(d, [0, 1, 0, 1]).coef_
        ),
        rows,
        other,
        one,
    )


def cost() -> None:
    rng = np.random.default_rng(0)
    scalars, coins = [0.5] * 1000, [1] * 1000
    vector, matrix = rng.random(1_000_000), rng.random((5000, 20))
    some = vector[:100_000]
    cases: tuple[tuple[str, Callable[[Any, Any], Any], Any, Any], ...] = (
        ("1,000 noisy numbers", _numbers, scalars, [*scalars[:-1], 0.7]),
        ("1,000 coins", _coins, coins, [*coins[:-1], 0]),
        ("1,000 comparisons", _comparisons, scalars, [*scalars[:-1], 0.7]),
        ("1,000 draws of random.gauss", _python, scalars, [*scalars[:-1], 0.7]),
        ("sum of 1,000 numbers", _sum, scalars, [*scalars[:-1], 0.7]),
        ("sum of 50 numbers", _sum, scalars[:50], [*scalars[:49], 0.7]),
        ("histogram of 100,000, numpy", _histogram, some, np.r_[0.0, some[1:]]),
        ("a million noisy numbers, numpy", _vector, vector, np.r_[0.0, vector[1:]]),
        ("histogram of a million, numpy", _histogram, vector, np.r_[0.0, vector[1:]]),
        ("50 gradient steps, numpy", _steps, matrix, np.vstack([matrix[1:], matrix[:1] / 2])),
    )
    nothing = best(lambda: record(_nothing, None, Script(0)))
    small = record(_sum, [0.5], Script(0))
    moved = best(lambda: replay(_sum, [0.7], small))
    print("one call recorded on the left, one replayed on the right, in units of a plain call")
    print("with numpy's generator; least CPU time of 9 each; all of the call is counted, also")
    print(f"what every call takes: {nothing * 1e6:.0f} µs to put the stand-ins in place, and")
    print(f"{(moved - nothing) * 1e6:.0f} µs for a release that moved; a function that does next")
    print("to nothing therefore costs more than the ratios below")
    print(f"{'':32s} {'plain ms':>9s} {'recorded':>9s} {'replayed':>9s}")
    for name, mechanism, left, right in cases:
        plain = best(lambda m=mechanism, d=left: m(d, rng))
        recorded = best(lambda m=mechanism, d=left: record(m, d, Script(0)))
        base = record(mechanism, left, Script(0))
        replayed = best(lambda m=mechanism, d=right, b=base: replay(m, d, b))
        shown = f"{recorded / plain:8.1f}x {replayed / plain:8.1f}x"
        print(f"{name:32s} {plain * 1e3:9.3f} {shown}")


def best(call: Callable[[], object], times: int = 9) -> float:
    """The least CPU time, as other work on the machine does not count."""
    found = []
    for _ in range(times):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return max(min(found), 1e-9)


def _nothing(data: Any, rng: Any) -> Any:
    del data, rng


def _python(data: Any, rng: Any) -> Any:
    del rng
    return [v + random.gauss(0.0, 1.0) for v in data]


def _numbers(data: Any, rng: Any) -> Any:
    return [v + rng.laplace(scale=1.0) for v in data]


def _coins(data: Any, rng: Any) -> Any:
    return [b if rng.random() < 0.75 else 1 - b for b in data]


def _comparisons(data: Any, rng: Any) -> Any:
    return [v + rng.laplace(scale=1.0) > 0.5 for v in data]


def _sum(data: Any, rng: Any) -> Any:
    return sum(min(max(v, 0.0), 1.0) for v in data) + rng.laplace(scale=1.0)


def _vector(data: Any, rng: Any) -> Any:
    return data + rng.laplace(scale=1.0, size=data.shape)


def _histogram(data: Any, rng: Any) -> Any:
    counts, _ = np.histogram(data, bins=100, range=(0, 1))
    return np.maximum(counts + rng.laplace(size=100), 0)


def _steps(data: Any, rng: Any) -> Any:
    theta = np.zeros(20)
    for _ in range(50):
        clipped = data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))
        theta = theta - 0.1 * (clipped.sum(0) + rng.normal(scale=5.0, size=20))
    return theta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--audit", type=int, default=0, help="most draws a side for audits beside")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts:
        print(f"\n{part}")
        if part == "flawed":
            flawed(given.audit)
        else:
            {"honest": honest, "fine": fine, "libraries": libraries, "cost": cost}[part]()


if __name__ == "__main__":
    main()
