"""What a trace catches, what it lets pass, what it costs; and what it shows of other libraries.

    python benchmarks/tracing.py [--parts flawed honest fine libraries cost sound] [--audit 0]

- `flawed`: every flawed release of the tests: the verdict, the line, executions; with `--audit N`
  beside it the draws a side that `audit` needs, of at most N;
- `honest`: how the verdicts on correct releases are distributed, and how many traced ε equal the
  closed form;
- `fine`: noise one per cent too small, by a trace and by audits;
- `libraries`: OpenDP's measurements, this library's solvers and, where they are installed,
  diffprivlib's tools and models and noise of torch; what is not shown is audited, with `--audit N`;
- `cost`: a recorded and a replayed call in units of a plain one, in CPU time;
- `sound`: how often `satisfies` fails on correct mechanisms, in 1,000 runs at level 0.05.
"""

# ruff: noqa: ANN401  # data of any kind; what is not installed is left out

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dpverify as dpv
from dpverify.tracing import Traced
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.runs import record, replay

_ROUNDS = 25
PARTS = ("flawed", "honest", "fine", "libraries", "cost", "sound")


def line_of(found: Traced) -> str:
    """The line that a verdict names first: what leaks, or what loses most."""
    ranked = sorted(found.releases, key=lambda r: -r.loss if r.loss >= 0 else 1.0)
    named = [*found.leaks, *found.puzzles, *ranked]
    return str(named[0].place) if named else ""


def flawed(budget: int) -> None:
    """What a trace says of each flaw; `audit`: the draws a side that an audit of the pair needs.

    `line`: whether the first line that is named is the one at fault, as reading finds it, or
    one where that surfaces ("surfaces").
    """
    print(f"{'verdict':15s} {'runs':>4s} {'audit':>9s} {'line':8s}  name; line")
    counts: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    handed = []
    for name, mechanism, left, right, claim, draws, bits, at_fault in flawed_cases():
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
        line = line_of(found)
        right_one = _named(line, at_fault)
        lines[right_one] += found.verdict not in {"shown", "not understood"}
        told_all = f"{found.verdict:15s} {found.executions:4d} {told:>9s} {right_one:8s}"
        print(f"{told_all}  {name}; {line[:70]}")
        if found.verdict in {"shown", "not understood"}:
            why = "right in real arithmetic, wrong in its bits: audit(arithmetic='float')"
            why = why if bits else str(found.puzzles[0])
            handed.append(f"  {name}: {why}; audit: {told}")
    print(dict(counts), "first line that is named:", dict(lines))
    print("left to the audit, which needs so many draws a side:", *handed, sep="\n")


def _named(line: str, pieces: tuple[str, ...]) -> str:
    if pieces[0] in line:
        return "at fault"
    return "surfaces" if any(piece in line for piece in pieces) else "neither"


Flaw = tuple[str, Any, Any, Any, Any, int, bool, tuple[str, ...]]


def flawed_cases() -> Iterator[Flaw]:
    """Flaws with their pairs; of decorated tests, with the pair that a search by trace finds."""
    from tests.flawed import FLAWED, FROM_NOTES
    from tests.testing.demo_mechanisms import BROKEN
    from tests.tracing.flawed_releases import FLAWED_RELEASES

    for new in FLAWED_RELEASES:
        pieces = (new.line, *new.also)
        yield new.name, new.mechanism, new.left, new.right, new.claim, 0, False, pieces
    for old in (*FLAWED, *FROM_NOTES.values()):
        pieces = (old.line, *old.also)
        yield old.name, old, old.left, old.right, old.claim, old.samples, old.bits, pieces
    for demo in BROKEN:
        found = dpv.trace(demo.mechanism, schema=demo.on, claim=demo.claim, confirm=False)
        sides = (found.left, found.right)
        yield demo.name, demo.mechanism, *sides, demo.claim, 0, False, ("# flaw",)


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
            print(f"{found.verdict:15s} {case.name}; {line_of(found)[:70]}")
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


def libraries(budget: int) -> None:
    """What a trace shows of other libraries as they are; an audit of what it does not show."""
    print(f"{'verdict':15s} {'ε, δ = 0':>9s} {'runs':>4s} {'audit':>12s}  what; first finding")
    for name, mechanism, left, right, claim in library_cases():
        try:
            found = dpv.trace(mechanism, left=left, right=right, claim=claim, confirm=False)
        except Exception as error:  # noqa: BLE001  # a library may refuse the data
            print(f"{'error':15s} {'':>9s} {'':4s} {'':12s}  {name}; {error!r}"[:150])
            continue
        told = ""
        if budget and found.verdict not in {"shown", "refuted"}:
            verdict = dpv.audit(mechanism, left=left, right=right, claim=claim, samples=budget)
            told = f"{verdict.samples:,}" if verdict.refuted else "not refuted"
        upper = found.epsilon(0.0).upper
        first = next(iter((*found.leaks, *found.puzzles)), None)
        why = "" if first is None else f"; {first.what}"[:90]
        print(f"{found.verdict:15s} {upper:9.4g} {found.executions:4d} {told:>12s}  {name}{why}")


Case = tuple[str, Callable[[Any, Any], Any], Any, Any, Any]


def library_cases() -> Iterator[Case]:
    for module, cases in (
        ("opendp", opendp_cases),
        ("torch", torch_cases),
        ("opacus", opacus_cases),
        ("solvers", solver_cases),
        ("diffprivlib", diffprivlib_cases),
    ):
        if find_spec(module) is None:
            print(f"{module} is not installed")
        else:
            yield from cases()


def opendp_cases() -> Iterator[Case]:
    import opendp.prelude as dp

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
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    top = dp.m.make_noisy_max(*scores, dp.max_divergence(), scale=2.0)
    yield "OpenDP noisy max", lambda d, _: top(d), [2.0, 3.0], [3.0, 2.0], one
    response = dp.m.make_randomized_response_bool(prob=0.73)
    yield "OpenDP randomized response", lambda d, _: response(d), True, False, one
    rows = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False)), dp.symmetric_distance()
    total = rows >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0)
    said = dpv.PureDP(epsilon=total.map(1))  # a little above 1: sums of floats are off by some
    yield "OpenDP sum, chained", lambda d, _: total(d), [1.0, 0.5], [1.0, 0.5, 1.0], said


def diffprivlib_cases() -> Iterator[Case]:
    import diffprivlib as dpl

    one = dpv.PureDP(epsilon=1.0)
    left, right = np.array([0.0, 1.0, 0.25, 1.0]), np.array([0.0, 1.0, 0.25, 0.0])
    bounds = {"epsilon": 1.0, "bounds": (0.0, 1.0)}
    tools = dpl.tools
    for name in ("sum", "mean", "var", "std", "nanmean", "median"):
        tool = getattr(tools, name)
        yield f"diffprivlib {name}", lambda d, _, t=tool: t(d, **bounds), left, right, one
    outlier = np.array([0.0, 1.0, 0.5, 9.0])
    free = "diffprivlib mean, no bounds"
    yield free, lambda d, _: tools.mean(d, epsilon=1.0), left, outlier, one
    for name, other_side in (("replaced", right), ("removed", left[:3])):
        yield (
            f"diffprivlib histogram, a record {name}",
            lambda d, _: tools.histogram(d, epsilon=1.0, bins=4, range=(0.0, 1.0))[0],
            left,
            other_side,
            one,
        )
    counted = "diffprivlib count_nonzero"
    yield counted, lambda d, _: tools.count_nonzero(d, epsilon=1.0), left, right, one
    middle = "diffprivlib quantile"
    yield middle, lambda d, _: tools.quantile(d, 0.5, **bounds), left, right, one
    rows = np.column_stack([left, left[::-1]])
    other = np.column_stack([right, right[::-1]])
    other[0] = rows[0]
    models, labels = dpl.models, [0, 1, 0, 1]
    box = {"epsilon": 1.0, "bounds": (0.0, 1.0)}
    ball = {"epsilon": 1.0, "data_norm": 2.0}
    fits: dict[str, Callable[[Any], Any]] = {
        "StandardScaler": lambda d: _told(models.StandardScaler(**box).fit(d), "mean_", "var_"),
        "GaussianNB": lambda d: _told(
            models.GaussianNB(**box).fit(d, labels), "theta_", "var_", "class_count_"
        ),
        "LogisticRegression": lambda d: models.LogisticRegression(**ball).fit(d, labels).coef_,
        "LinearRegression": lambda d: (
            models.LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0))
            .fit(d, labels)
            .coef_
        ),
        "KMeans": lambda d: models.KMeans(2, **box).fit(d).cluster_centers_,
        "PCA": lambda d: models.PCA(1, **ball, bounds=(0.0, 1.0)).fit(d).components_,
        "RandomForest": lambda d: (
            models.RandomForestClassifier(2, **box, classes=[0, 1], max_depth=2)
            .fit(d, labels)
            .predict(rows)
        ),
    }
    for name, fit in fits.items():
        yield f"diffprivlib {name}", lambda d, _, f=fit: f(d), rows, other, one


def _told(model: Any, *names: str) -> list[Any]:
    return [getattr(model, name) for name in names]


def torch_cases() -> Iterator[Case]:
    import torch

    left, right = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3)
    mu = dpv.GaussianDP(mu=1.0)
    yield "torch.randn", lambda d, _: d + torch.randn(3), left, right, mu
    yield "torch.normal, too small", lambda d, _: torch.normal(d, 0.9), left, right, mu
    laplace = torch.distributions.Laplace(0.0, 1.0)
    one = dpv.PureDP(epsilon=1.0)
    yield "torch Laplace", lambda d, _: d + laplace.sample((3,)), left, right, one

    def descent(data: Any, _: Any) -> Any:
        weights = torch.zeros(3)
        for _step in range(2):
            gradient = weights - data
            gradient = gradient / torch.clamp(gradient.norm(), min=1.0)
            weights = weights - 0.1 * (gradient + 2.0 * torch.randn(3))
        return weights

    yield "torch, two noisy gradient steps", descent, left, right, mu


def opacus_cases() -> Iterator[Case]:
    """Opacus with a linear model; a record with a large gradient is removed, or replaced."""
    import torch
    from opacus import GradSampleModule, PrivacyEngine
    from opacus.optimizers import DPOptimizer
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def records(*last: list[float]) -> Any:
        rows = torch.tensor([[1.0, 0.0], [0.0, 9.0], *last])
        return rows, torch.ones(len(rows))

    def epoch(model: Any, optimizer: Any, batches: Any) -> Any:
        for x, y in batches:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x).squeeze(-1), y).backward()
            optimizer.step()
        return model._module.weight.detach().numpy()  # noqa: SLF001  # the model that is private

    def steps(number: int) -> Callable[[Any, Any], Any]:
        def fit(data: Any, _: Any) -> Any:
            model = GradSampleModule(nn.Linear(2, 1, bias=False))
            descent = torch.optim.SGD(model.parameters(), lr=0.1)
            private = DPOptimizer(
                descent, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=3
            )
            return epoch(model, private, [data] * number)

        return fit

    def engine(data: Any, _: Any) -> Any:
        model = nn.Linear(2, 1, bias=False)
        descent = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(TensorDataset(*data), batch_size=3)
        return epoch(
            *PrivacyEngine().make_private(
                module=model,
                optimizer=descent,
                data_loader=loader,
                noise_multiplier=1.0,
                max_grad_norm=1.0,
            )
        )

    whole, less, other = records([0.0, 9.0]), records(), records([9.0, 0.0])
    one, two = dpv.GaussianDP(mu=1.0), dpv.GaussianDP(mu=2.0)
    yield "Opacus, one step of DPOptimizer", steps(1), whole, less, one
    yield "Opacus, two steps", steps(2), whole, less, dpv.GaussianDP(mu=2**0.5)
    yield "Opacus, two steps on one budget", steps(2), whole, less, one
    yield "Opacus, PrivacyEngine, replaced", engine, whole, other, two


def solver_cases() -> Iterator[Case]:
    from dpverify.cli.solver_targets import solver, worst_pair

    for name in ("output-perturbation", "objective-perturbation", "gradient-descent", "sgd"):
        mechanism = solver(name, 1.0, 1e-6, "replace-one")
        left, right = worst_pair(name, "replace-one")
        yield f"solvers, {name}", mechanism, left, right, mechanism.claim


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
        ("total of 1,000 noisy numbers", _total, scalars, [*scalars[:-1], 0.7]),
        ("1,000 running totals", _totals, scalars, [*scalars[:-1], 0.7]),
        ("1,000 moving averages", _averages, scalars, [*scalars[:-1], 0.7]),
        ("histogram of 100,000, numpy", _histogram, some, np.r_[0.0, some[1:]]),
        ("a million noisy numbers, numpy", _vector, vector, np.r_[0.0, vector[1:]]),
        ("histogram of a million, numpy", _histogram, vector, np.r_[0.0, vector[1:]]),
        ("50 gradient steps, numpy", _steps, matrix, np.vstack([matrix[1:], matrix[:1] / 2])),
    )
    nothing = best(lambda: record(_nothing, None, NoiseScript(0)))
    small = record(_sum, [0.5], NoiseScript(0))
    moved = best(lambda: replay(_sum, [0.7], small))
    print("one call recorded on the left, one replayed on the right, in units of a plain call")
    print("with numpy's generator; least CPU time of 25 in turn; all of the call is counted, also")
    print(f"what every call takes: {nothing * 1e6:.0f} µs to put the stand-ins in place, and")
    print(f"{(moved - nothing) * 1e6:.0f} µs for a release that moved; a function that does next")
    print("to nothing therefore costs more than the ratios below")
    print(f"{'':32s} {'plain ms':>9s} {'recorded':>9s} {'replayed':>9s}")
    for name, mechanism, left, right in cases:
        base = record(mechanism, left, NoiseScript(0))
        plain, recorded, replayed = in_turn(
            lambda m=mechanism, d=left: m(d, rng),
            lambda m=mechanism, d=left: record(m, d, NoiseScript(0)),
            lambda m=mechanism, d=right, b=base: replay(m, d, b),
        )
        shown = f"{recorded / plain:8.1f}x {replayed / plain:8.1f}x"
        print(f"{name:32s} {plain * 1e3:9.3f} {shown}")


def sound(runs: int = 1000, level: float = 0.05) -> None:
    """Correct mechanisms as tests, each with as many seeds; all but one use up their claim."""
    from hypothesis import HealthCheck, seed, settings

    from dpverify.testing import PrivacyViolation, satisfies
    from tests.testing.demo_mechanisms import CORRECT

    failed: Counter[str] = Counter()
    slowly = [HealthCheck.too_slow]  # it goes by the clock, and other work may share the machine
    usual = settings(database=None, deadline=None, max_examples=30, suppress_health_check=slowly)
    for number in range(runs):
        demo = CORRECT[number % len(CORRECT)]
        test = satisfies(demo.claim, on=demo.on, level=level, samples=1_000)(demo.mechanism)
        test = seed(number)(usual(test))
        try:
            test()
        except PrivacyViolation:
            failed[demo.name] += 1
    print(f"{failed.total()} of {runs} tests failed at level {level}: {dict(failed)}")


def in_turn(*calls: Callable[[], object]) -> list[float]:
    """The least CPU time of each, measured one after the other again and again."""
    rounds = [[best(call, 1) for call in calls] for _ in range(_ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


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


def _total(data: Any, rng: Any) -> Any:
    total = 0.0
    for v in data:
        total += v + rng.laplace(scale=1.0)
    return total


def _totals(data: Any, rng: Any) -> Any:
    total, out = 0.0, []
    for v in data:
        total += v + rng.laplace(scale=1.0)
        out.append(total)
    return out


def _averages(data: Any, rng: Any) -> Any:
    average, out = 0.0, []
    for v in data:
        average = 0.9 * average + 0.1 * (v + rng.laplace(scale=1.0))
        out.append(average)
    return out


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
        if part in {"flawed", "libraries"}:
            {"flawed": flawed, "libraries": libraries}[part](given.audit)
        else:
            {"honest": honest, "fine": fine, "cost": cost, "sound": sound}[part]()


if __name__ == "__main__":
    main()
