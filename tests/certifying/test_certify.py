"""Certificates through the front door: verdicts, files, every ε, what stays open and where."""

import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying import certify, check_certificate
from dpverify.cli import run
from tests.certifying.mutations import MUTANTS
from tests.certifying.programs import PROGRAMS, Program
from tests.certifying.random_programs import cases
from tests.certifying.schemas import Answers, Category, Number, Records
from tests.certifying.small import SMALL

QUICK = {
    *("sparse vector 1", "sparse vector 4", "sparse vector 5"),
    *(
        "gap sparse vector",
        "noisy max, numpy",
        "noisy max with its value",
    ),
    *("noisy max, exponential", "partial sum, told twice", "shared noise"),
    *("noisy max, geometric, for half of its ε", "truncated geometric", "randomized response"),
    *("exponential mechanism", "unary response", "one record by lot, for less", "die added"),
    *("die added, smaller δ", "count, then sum", "which is larger", "clipped Gaussian sum"),
    *("clipped Gaussian sum for less", "gradient steps without a clip", "stops at zero"),
}
NOT_REFUTED_YET = {
    "clipped gradient steps: half of the noise",
    "clipped gradient steps: no noise",
}
ANSWERS = Answers(dimension=3, sensitivity=1.0)
ONE = dpv.PureDP(epsilon=1.0)
Rng = np.random.Generator


def each(programs: list[Program]) -> pytest.MarkDecorator:
    marked = [
        pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.slow)
        for p in programs
    ]
    return pytest.mark.parametrize("program", marked)


@pytest.mark.sampled(3)
@each(list(PROGRAMS))
def test_each_program_is_decided_and_its_file_checks(program: Program, tmp_path: Path) -> None:
    found = certify(program.mechanism, program.schema, program.claim, seconds=300)
    assert found.verdict == program.verdict, found.reason
    found.save(tmp_path / "certificate.json")
    checked = check_certificate(tmp_path / "certificate.json")
    assert checked.valid, checked.reason
    assert checked.verdict == program.verdict
    if found.counterexample is not None:
        program.schema.check_neighbors(found.counterexample.left, found.counterexample.right)


@pytest.mark.slow
@pytest.mark.parametrize("program", MUTANTS, ids=lambda p: p.name)
def test_no_false_mutant_is_proved(program: Program) -> None:
    found = certify(program.mechanism, program.schema, program.claim, seconds=300)
    assert found.verdict in {program.verdict, "open"}, str(found)
    if program.name not in NOT_REFUTED_YET:
        assert found.verdict == program.verdict or "time" in found.reason


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        (3, 0),
        pytest.param(12, 0, marks=pytest.mark.slow),
        pytest.param(400, 10_000, marks=pytest.mark.slow),
    ],
)
def test_random_programs_agree_with_enumeration(count: int, seed: int) -> None:
    opened = 0
    for case in cases(count, seed):
        found = certify(case.program.mechanism, case.schema, case.claim.guarantee, seconds=120)
        truth = "proved" if case.decision.true else "refuted"
        assert found.verdict in {truth, "open"}, f"{case.program.source}\n{found}"
        opened += found.verdict == "open"
    assert opened <= max(1, count // 20)


# Every ε at once.


def noisy_max(scores: Any, rng: Rng, epsilon: float) -> int:  # noqa: ANN401
    best, top = 0, scores[0] + rng.laplace(0.0, 2 / epsilon)
    for i in range(1, len(scores)):
        noisy = scores[i] + rng.laplace(0.0, 2 / epsilon)
        if noisy > top:
            best, top = i, noisy
    return best


def geometric_count(count: int, rng: Rng, epsilon: float) -> int:
    p = 1.0 - math.exp(-epsilon)
    return min(max(count + int(rng.geometric(p)) - int(rng.geometric(p)), 0), 3)


def half_noise(scores: Any, rng: Rng, epsilon: float) -> int:  # noqa: ANN401
    return int(np.argmax(scores + rng.laplace(0.0, 1 / epsilon, size=3)))


def test_every_epsilon_by_translations_and_by_exact_probabilities() -> None:
    found = certify(noisy_max, ANSWERS, dpv.PureDP)
    assert found.proved
    assert "every epsilon" in found.scope
    box = Answers(sensitivity=1, integer=True, low=0, high=3)
    found = certify(geometric_count, box, dpv.PureDP)
    assert (found.verdict, found.method) == ("proved", "exact")
    assert check_certificate(found).valid


def test_every_epsilon_is_refuted_at_one() -> None:
    found = certify(half_noise, ANSWERS, dpv.PureDP)
    assert found.refuted
    assert found.counterexample is not None
    shown = found.counterexample
    limit = math.exp(shown.epsilon) * shown.probability_right
    assert shown.probability_left > limit


def test_epsilon_without_a_default_is_passed() -> None:
    assert certify(noisy_max, ANSWERS, ONE).proved
    assert certify(noisy_max, ANSWERS, dpv.PureDP(epsilon=0.3)).proved


# What a certificate is good for.


def test_a_certified_mechanism_composes() -> None:
    found = certify(
        lambda data, rng: sum(data) + rng.normal(scale=5.0), UNITS, dpv.GaussianDP(mu=0.2)
    )
    assert found.proved
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(found, times=25)
    exact = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(sigma=1.0))
    assert spent.epsilon(delta=1e-5).upper == pytest.approx(exact.epsilon(delta=1e-5).upper)
    with pytest.raises(dpv.InvalidParameter, match="add-remove"):
        found.pair(dpv.Relation.REPLACE_ONE)


UNITS = Records(record=Number(low=0.0, high=1.0), length=(0, 3), relation=dpv.Relation.ADD_REMOVE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (dpv.ApproxDP(epsilon=1.0, delta=1e-5), "proved"),
        (dpv.ZeroConcentratedDP(rho=0.02), "proved"),
        (dpv.RenyiDP(order=2.0, epsilon=0.04), "proved"),
        (dpv.GaussianDP(mu=0.19), "refuted"),
        (dpv.ApproxDP(epsilon=0.1, delta=1e-5), "refuted"),
    ],
)
def test_gaussian_sums(claim: Any, verdict: str) -> None:  # noqa: ANN401
    """σ = 5 and sensitivity 1: 0.2-GDP."""

    def noisy_sum(data: Any, rng: Rng) -> float:  # noqa: ANN401
        return float(np.sum(np.clip(data, 0, 1))) + rng.normal(0.0, 5.0)

    found = certify(noisy_sum, UNITS, claim)
    assert found.verdict == verdict, found.reason
    assert check_certificate(found).valid


def test_an_adaptive_second_release_is_paid_for() -> None:
    def twice(data: Any, rng: Rng) -> Any:  # noqa: ANN401
        first = sum(data) + rng.normal(scale=5.0)
        return (first, sum(data) + rng.normal(scale=5.0)) if first > 2 else (first, None)

    assert certify(twice, UNITS, dpv.GaussianDP(mu=0.2829)).proved  # √2/5 = 0.28284
    assert not certify(twice, UNITS, dpv.GaussianDP(mu=0.2828)).proved


@pytest.mark.false_alarm(0.0)
def test_a_counterexample_replays_in_an_audit() -> None:
    def released(data: Any, rng: Rng) -> list[bool]:  # noqa: ANN401
        bar = rng.laplace(scale=2.0)
        return [bool(a >= bar) for a in data]

    found = certify(released, Answers(dimension=2, sensitivity=1.0), ONE)
    assert found.counterexample is not None
    shown = found.counterexample
    verdict = dpv.audit(released, left=shown.left, right=shown.right, claim=ONE, seed=1)
    assert verdict.refuted


# What is not understood: open, with the line and the reason, in bounded time.


def endless(data: Any, _rng: Rng) -> int:  # noqa: ANN401
    while True:
        data = data + 0


def recursion(data: Any, rng: Rng) -> int:  # noqa: ANN401
    return recursion(data, rng)


def rejection(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    noise = rng.laplace()
    while noise < 0:
        noise = rng.laplace()
    return data[0] + noise


def equal_floats(data: Any, rng: Rng) -> bool:  # noqa: ANN401
    return bool(data[0] + rng.laplace() == 0.5)


def keyed(data: Any, rng: Rng) -> dict[Any, int]:  # noqa: ANN401
    return {data[0] + rng.laplace(): 1}


def written(data: Any, rng: Rng) -> str:  # noqa: ANN401
    return f"{data[0] + rng.laplace()}"


def squared(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return math.tanh(data[0] * data[1]) + rng.laplace(scale=4.0)


def hidden(data: Any, rng: Rng) -> float:  # noqa: ANN401
    try:
        return float(f"{data[0]}") + rng.laplace()
    except BaseException:  # noqa: BLE001
        return rng.laplace()


def other_noise(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    return data[0] + np.random.default_rng().laplace()


def grows(data: Any, _rng: Rng) -> list[Any]:  # noqa: ANN401
    kept: list[Any] = []
    while True:
        kept.append([data] * 1000)


def too_large(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    """One step of C, which no watcher can stop."""
    return data[0] + rng.laplace() + len([0] * 10**10)


def too_long(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return data[0] + rng.laplace() + 10 ** (10**9) % 7


def noise_without_end(_data: Any, rng: Rng) -> list[Any]:  # noqa: ANN401
    kept = []
    while True:
        kept.append(rng.laplace())


def until_it_is_small(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    left = data[0]
    while left > 0:
        left = left - 1
    return left + rng.laplace()


def to_and(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return fro(data, rng)


def fro(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return to_and(data, rng)


def in_a_set(data: Any, rng: Rng) -> int:  # noqa: ANN401
    return len({x + rng.laplace() for x in data})


def in_c(data: Any, rng: Rng) -> float:  # noqa: ANN401
    return math.erf(data[0] + rng.laplace())


@dataclass(frozen=True)
class Reading:
    """Its `__eq__` is generated: that code is in no file."""

    value: Any


def in_generated_code(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return Reading(data[0] + rng.laplace()) == Reading(0.0)


def in_generated_code_of_ours(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    return data[0] + rng.laplace(scale=dpv.PureDP(-1.0).epsilon)


def asleep(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    time.sleep(0.0)
    return data[0] + rng.laplace()


def test_a_module_that_answers_differently_is_named() -> None:
    found = certify(asleep, ANSWERS, ONE, seconds=5.0)
    assert found.verdict == "open"
    assert "time.sleep is a function from outside" in found.reason


OPEN: list[tuple[Any, str]] = [
    (in_generated_code, "Reading is a type from outside"),
    (in_generated_code_of_ours, ".epsilon is not in the language"),
    (too_large, "too long"),
    (too_long, "a power that is too large"),
    (noise_without_end, "noises on one path"),
    (until_it_is_small, "comparisons"),
    (to_and, "functions within functions"),
    (in_a_set, "a set is not in the language"),
    (in_c, "erf of data, noise"),
    (endless, "time or memory"),
    (recursion, "functions within functions"),
    (rejection, "comparisons"),
    (equal_floats, "equality"),
    (keyed, "key"),
    (written, "text"),
    (squared, "not linear"),
    (hidden, "try is not in the language"),
    (other_noise, ".default_rng is not in the language"),
    (grows, "time or memory"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("mechanism", "reason"), OPEN, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_not_understood_is_open_with_its_line(mechanism: Any, reason: str) -> None:  # noqa: ANN401
    counted = reason in {"noises on one path", "comparisons"}  # takes time
    found = certify(mechanism, ANSWERS, ONE, seconds=60.0 if counted else 0.4)
    assert found.verdict == "open"
    assert any(reason in text for text in found.tried), found.tried
    assert found.where is not None
    assert found.where.startswith("test_certify.py:")
    lines = [text.split(": ")[0] for text in found.tried if ".py:" in text]
    assert lines[-1:] in ([], [found.where])
    assert all(line.startswith("test_certify.py:") for line in lines)
    checked = check_certificate(found)
    assert not checked.valid


def test_a_mechanism_that_looks_at_types_is_not_proved() -> None:
    def typed(data: Any, rng: Rng) -> int:  # noqa: ANN401
        if data.dtype == float:
            return int(np.argmax(data))
        return int(np.argmax(data + rng.laplace(0.0, 2.0, size=3)))

    found = certify(typed, ANSWERS, ONE, seconds=2.0)
    assert not found.proved


@pytest.mark.slow
def test_closures_methods_and_objects_are_mechanisms() -> None:
    def scaled(scale: float) -> Any:  # noqa: ANN401
        def added(x: Any, rng: Rng) -> Any:  # noqa: ANN401
            return float(x) + rng.laplace(0.0, scale)

        return lambda data, rng: max(range(3), key=[added(x, rng) for x in data].__getitem__)

    class Noisy:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def __call__(self, data: Any, rng: Rng) -> int:  # noqa: ANN401
            return int(np.argmax(np.asarray(data, dtype=float) + rng.laplace(0, self.scale, 3)))

    for mechanism in (scaled(2.0), Noisy(2.0), Noisy(2.0).__call__):
        assert certify(mechanism, ANSWERS, ONE, seconds=300).proved
    for mechanism in (scaled(1.0), Noisy(1.0)):
        assert certify(mechanism, ANSWERS, ONE, seconds=300).refuted


def test_a_mechanism_with_a_memory_is_not_proved() -> None:
    calls: list[int] = []

    def forgetful(data: Any, rng: Rng) -> Any:  # noqa: ANN401
        calls.append(1)
        return data[0] + len(calls) % 2 * rng.laplace()

    assert not certify(forgetful, ANSWERS, ONE).proved


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mechanism": 3}, "mechanism=3 must be callable"),
        ({"claim": 1.0}, "claim=1.0 must be a guarantee"),
        ({"claim": [(1.0, 0.1)]}, "must be a guarantee, or the class PureDP"),
        ({"claim": dpv.Laplace(scale=1.0).pair(dpv.Relation.REPLACE_ONE)}, "must be a guarantee"),
        ({"claim": dpv.PureDP(epsilon=math.inf)}, "epsilon=inf must be finite"),
        ({"seconds": 0.0}, "seconds=0.0 must be positive"),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"mechanism": noisy_max, "schema": ANSWERS, "claim": ONE} | wrong
    with pytest.raises(dpv.InvalidParameter, match=message):
        certify(**given)


# The command line.


def test_check_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coin = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)

    def response(bit: int, rng: Rng) -> int:
        return bit if rng.random() < 0.75 else 1 - bit

    path = tmp_path / "c.json"
    for epsilon, code, verdict in ((math.log(3), 0, "proved"), (1.0, 1, "refuted")):
        certify(response, coin, dpv.PureDP(epsilon=epsilon)).save(path)
        assert run(["check", str(path), "--json"]) == code
        told = json.loads(capsys.readouterr().out)
        assert (told["valid"], told["verdict"]) == (True, verdict)
    read = json.loads(path.read_text())
    read["claim"]["epsilon"] = "2"
    path.write_text(json.dumps(read))
    assert run(["check", str(path)]) == 2
    assert "not valid" in capsys.readouterr().out
    assert run(["check", str(tmp_path / "none.json")]) == 2


def test_a_mechanism_that_states_a_claim_is_one() -> None:
    stated = dpv.Laplace(scale=1.0, l1_sensitivity=1.0)
    assert certify(noisy_max, ANSWERS, stated).claim == dpv.PureDP(epsilon=1.0)
    other = replace(stated.claim, relation=dpv.Relation.ADD_REMOVE)
    swapped = replace(ANSWERS, relation=dpv.Relation.REPLACE_ONE)
    with pytest.raises(dpv.InvalidParameter, match="must hold for relation='replace-one'"):
        certify(noisy_max, swapped, other)


def test_a_proof_does_not_depend_on_earlier_ones() -> None:
    found = []
    for names in (("larger", "exponential max"), ("exponential max", "larger")):
        made = {name: certify(*SMALL[name]).evidence for name in names}
        found.append(made["larger"])
    assert found[0] == found[1]


def scaled_by_epsilon(data: list[float], rng: np.random.Generator, epsilon: float) -> float:
    return sum(data) + rng.normal(scale=1.0 / epsilon)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (dpv.ApproxDP(epsilon=4.0, delta=1e-3), "refuted"),  # δ is 0.768 at ε = 4
        (dpv.ApproxDP(epsilon=0.1, delta=0.05), "proved"),  # δ is 0.0088 at ε = 0.1
        (dpv.RenyiDP(order=2.0, epsilon=3.0), "open"),
        (dpv.ZeroConcentratedDP(rho=0.5), "open"),
        (dpv.GaussianDP(mu=1.0), "open"),
    ],
)
def test_gaussian_noise_is_scaled_by_the_epsilon_of_the_claim(
    claim: dpv.Guarantee, verdict: str
) -> None:
    unit = Number(low=0.0, high=1.0)
    schema = Records(record=unit, length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
    found = dpv.certify(scaled_by_epsilon, schema, claim, seconds=20.0)
    assert found.verdict == verdict
    if verdict == "open":
        assert "the claim has no epsilon" in found.reason
