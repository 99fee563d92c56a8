"""Odd uses of noise: no honest mechanism is refuted, and nothing that leaks is called shown.

What fails today is marked with its cause; the mark is strict, so that a repair shows.
"""

# ruff: noqa: ANN401, ARG001, ARG005  # data of any kind, and mechanisms that ignore them

import copy
import gc
import inspect
import json
import random
import secrets
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.cli import run
from dpverify.errors import DPVerifyError
from dpverify.guarantees import PureDP
from dpverify.tracing import Traced, TraceWitness, trace
from dpverify.tracing.recording.places import Place
from tests.tracing import (  # noqa: F401  # they add cases
    embarrassing_releases,
    hidden_releases,
    selecting_releases,
    symmetric_releases,
    threshold_releases,
    uncommon_releases,
)
from tests.tracing.adversarial_releases import CASES, Case

ONE = PureDP(epsilon=1.0)

# Cases that take a long time; each has a shorter one of its kind.
LONG = {
    *("honest accepted_by_value", "honest rejected_until_positive", "honest accepted_steps"),
    *("honest table_written_in_place", "honest table_filled_row_by_row", "flawed number_of_tries"),
    *("flawed one_comparison_each_with_fresh_noise", "flawed last_one_standing"),
    *("flawed sparse_vector_noise_on_answers_only", "honest best_of_a_random_number"),
    *("flawed responses_of_private_chance", "flawed reservoir", "flawed where_of_a_ufunc_by_data"),
    *("honest frame_with_a_noisy_column", "honest level", "flawed how_many_were_sampled"),
}


def _params() -> Iterator[Any]:
    for case in CASES:
        marks = [pytest.mark.slow] if case.name in LONG else []
        yield pytest.param(case, id=case.name, marks=marks)


def test_every_long_case_is_one() -> None:
    assert {case.name for case in CASES} >= LONG
    assert len({case.name for case in CASES}) == len(CASES) > 120


@pytest.mark.sampled(9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", list(_params()))
def test_verdicts(case: Case) -> None:
    found = trace(
        case.mechanism,
        left=case.left,
        right=case.right,
        claim=case.claim,
        confirm=False,
        executions=case.executions,
    )
    if case.honest:
        assert found.verdict != "refuted", str(found)
        if inspect.getmodule(case.mechanism) is threshold_releases:
            assert found.verdict != "leaking", str(found)
    else:
        assert found.verdict != "shown", str(found)
        marked = _marked(case.mechanism)
        if marked and found.verdict != "not understood":
            assert _first_named(found).line in marked, str(found)
    if case.quiet:
        assert found.verdict == "shown", str(found)
    if case.exact is not None and found.verdict != "not understood":
        bracket = found.epsilon(case.delta)
        assert bracket.lower <= case.exact * (1 + 1e-12)
        assert bracket.upper >= case.exact * (1 - 1e-12)


def _marked(mechanism: Any) -> set[int]:
    """The lines of a mechanism that are marked as its flaw, or as good to name."""
    function = getattr(mechanism, "func", mechanism)
    if not inspect.isfunction(function):
        return set()
    lines, start = inspect.getsourcelines(function)
    return {start + i for i, line in enumerate(lines) if "# flaw" in line or "# also" in line}


def _first_named(found: Traced) -> Place:
    """The line that a verdict names first: a leak, or what loses most."""
    ranked = sorted(found.releases, key=lambda r: -r.loss if r.loss >= 0 else 1.0)
    named: list[Place] = [x.place for x in (*found.leaks, *ranked)]
    return named[0]


def test_most_flaws_are_marked() -> None:
    assert sum(bool(_marked(case.mechanism)) for case in CASES if not case.honest) > 150


def _traced(mechanism: Any, left: Any = 0.0, right: Any = 1.0, **more: Any) -> Any:
    return trace(mechanism, left=left, right=right, claim=ONE, confirm=False, **more)


def _laplace(x: Any, rng: Any) -> Any:
    return x + rng.laplace()


# Noise that a trace does not see.


def test_unseen_noise_is_never_a_refutation() -> None:
    """x + Laplace noise of scale 2 is post-processed: ε = 1/2."""
    for seed in range(12):
        own = np.random.default_rng(seed)
        found = _traced(lambda x, rng, own=own: x + own.laplace(scale=2.0) + rng.laplace(scale=0.5))
        assert found.verdict != "refuted", str(found)


def test_unseen_coins_are_never_a_refutation() -> None:
    """Randomized response at ε = ln 3 next to a public coin."""
    for seed in range(12):
        own = random.Random(seed)  # noqa: S311
        found = trace(
            lambda bit, rng, own=own: (bit ^ (own.random() < 0.25), rng.random() < 0.5),
            left=0,
            right=1,
            claim=PureDP(epsilon=1.1),
            confirm=False,
        )
        assert found.verdict != "refuted", str(found)


class _Written:
    """A generator in plain Python."""

    state = 7

    def __init__(self) -> None:
        self.state = 12_345

    def random(self) -> float:
        self.state = (1_103_515_245 * self.state + 12_345) % 2**31
        return self.state / 2**31

    @classmethod
    def shared(cls) -> float:
        cls.state = (1_103_515_245 * cls.state + 12_345) % 2**31
        return cls.state / 2**31


def _closed_over() -> Any:
    state = 99

    def drawn() -> float:
        nonlocal state
        state = (1_103_515_245 * state + 12_345) % 2**31
        return state / 2**31

    return drawn


def _yielded() -> Iterator[float]:
    inner = _Written()
    while True:
        yield inner.random()


@pytest.mark.parametrize("kind", ["object", "class", "closure", "iterator", "list"])
def test_coins_written_in_python_are_never_a_refutation(kind: str) -> None:
    """Randomized response at ε = ln 24 next to a public coin: most runs are as if it told."""
    coin = {
        "object": _Written().random,
        "class": _Written.shared,
        "closure": _closed_over(),
        "iterator": _yielded().__next__,
        "list": iter(np.random.default_rng(0).random(5_000).tolist()).__next__,
    }[kind]
    for seed in range(6):
        found = trace(
            lambda bit, rng: (bit ^ (coin() < 0.04), rng.random() < 0.5),
            left=0,
            right=1,
            claim=PureDP(epsilon=3.2),
            confirm=False,
            seed=seed,
        )
        assert found.verdict != "refuted", str(found)


def test_floating_point_errors_are_as_the_caller_has_them() -> None:
    def halves(x: Any, rng: Any) -> Any:
        return np.divide(1.0, x) > 0, rng.laplace()

    def raised(x: Any, rng: Any) -> Any:
        try:
            return halves(x, rng)
        except FloatingPointError:
            return None

    with np.errstate(all="ignore"):
        before = np.geterr()
        assert _traced(raised, np.float64(0.0), np.float64(1.0)).verdict == "shown"
        assert np.geterr() == before
    with np.errstate(all="raise"):
        before = np.geterr()
        assert _traced(raised, np.float64(0.0), np.float64(1.0)).verdict == "leaking"
        assert np.geterr() == before


def test_names_of_temporary_files_are_no_noise() -> None:
    def through_a_file(x: Any, rng: Any) -> Any:
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write(str(x))
            file.seek(0)
            return float(file.read()) + rng.laplace(scale=0.5)

    assert _traced(through_a_file).verdict == "refuted"


# Mechanisms that never return.


@pytest.mark.parametrize(
    "mechanism", [lambda x: x, lambda x, rng: x / 0], ids=["arguments", "zero"]
)
def test_a_mechanism_that_always_raises_shows_nothing(mechanism: Any) -> None:
    assert _traced(mechanism).verdict != "shown"


def test_a_mechanism_that_exits_does_not_end_the_trace() -> None:
    _traced(lambda x, rng: sys.exit(0))


# What is replaced is put back.

_WATCHED = [
    *((np.random, n) for n in ("laplace", "normal", "default_rng", "Generator", "RandomState")),
    *((random, n) for n in ("random", "gauss", "Random", "SystemRandom")),
    *((secrets, n) for n in ("randbelow", "choice")),
    *((np, n) for n in ("array", "asarray", "asanyarray")),
    (json.JSONEncoder, "default"),
]
_BEFORE = [getattr(holder, name) for holder, name in _WATCHED]


def _is_clean() -> bool:
    now = [getattr(holder, name) for holder, name in _WATCHED]
    return all(a == b for a, b in zip(now, _BEFORE, strict=True))


def _interrupted(x: Any, rng: Any) -> Any:
    raise KeyboardInterrupt


def _nested(x: Any, rng: Any) -> Any:
    return x + rng.laplace(), _traced(_laplace, executions=4).verdict


@pytest.mark.parametrize("mechanism", [_laplace, lambda x, rng: x / 0, _nested, _interrupted])
def test_sources_of_noise_are_put_back(mechanism: Any) -> None:
    try:
        _traced(mechanism)
    except KeyboardInterrupt:
        assert mechanism is _interrupted
    assert _is_clean()


def test_two_traces_in_two_threads_put_everything_back() -> None:
    first, second, over = threading.Event(), threading.Event(), threading.Event()

    def one(x: Any, rng: Any) -> Any:
        first.set()
        second.wait(5)
        return x + rng.laplace()

    def two(x: Any, rng: Any) -> Any:
        second.set()
        over.wait(5)
        return x + rng.laplace()

    def later() -> None:
        first.wait(5)
        _traced(two, executions=2)

    threads = [threading.Thread(target=lambda: _traced(one, executions=2))]
    threads.append(threading.Thread(target=later))
    for thread in threads:
        thread.start()
    threads[0].join()
    over.set()
    threads[1].join()
    clean = _is_clean()
    for (holder, name), original in zip(_WATCHED, _BEFORE, strict=True):
        setattr(holder, name, original)
    for name in dir(np.random):
        held = getattr(np.random, name)
        if type(getattr(held, "__self__", None)).__module__.startswith("dpverify"):
            setattr(np.random, name, getattr(np.random.mtrand._rand, name))
    for name in dir(random):
        held = getattr(random, name)
        if type(getattr(held, "__self__", None)).__module__.startswith("dpverify"):
            setattr(random, name, getattr(random._inst, name))
    assert clean


def test_other_threads_keep_their_noise() -> None:
    errors, over = [], threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                float(np.random.normal())  # noqa: NPY002
            except AttributeError as error:
                errors.append(error)
                return

    def slow(x: Any, rng: Any) -> Any:
        time.sleep(0.02)
        return x + rng.laplace()

    thread = threading.Thread(target=work)
    thread.start()
    _traced(slow, executions=2)
    over.set()
    thread.join()
    assert not errors


def test_modules_imported_in_a_run_are_not_left_with_stand_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from numpy.random import laplace\ndef noisy(x):\n    return x + laplace()\n"
    (tmp_path / "imported_in_a_run.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    def lazy(x: Any, rng: Any) -> Any:
        import imported_in_a_run as module  # type: ignore[import-not-found]  # noqa: PLC0415

        return module.noisy(x)

    _traced(lazy)
    noisy = sys.modules.pop("imported_in_a_run").noisy
    assert isinstance(noisy(0.0), float)


def test_an_alias_that_was_changed_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("changed_alias")
    monkeypatch.setitem(sys.modules, "changed_alias", module)
    source = "import numpy as np\nnoise = np.random.laplace\n"
    source += "def release(x, rng):\n    return x + noise()\n"
    exec(source, module.__dict__)  # noqa: S102
    assert _traced(module.release).verdict == "shown"
    module.noise = lambda: 0.0  # type: ignore[attr-defined]
    assert _traced(module.release).verdict != "shown"


# Brackets.


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda v, rng: np.asarray(v) + rng.laplace(size=20),
        lambda v, rng: (np.asarray(v) + rng.laplace(size=20))[::-1],
        lambda v, rng: (np.reshape(v, (4, 5)) + rng.laplace(size=(4, 5))).T,
        lambda v, rng: np.asarray(v) + rng.exponential(size=20) - rng.exponential(size=20),
    ],
    ids=["plain", "reversed", "transposed", "exponential"],
)
def test_brackets_of_many_coordinates_are_tight(mechanism: Any) -> None:
    """Twenty shifts by 1/10 under Laplace noise of scale 1: exactly 2 at δ = 0."""
    found = _traced(mechanism, [0.0] * 20, [0.1] * 20)
    bracket = found.epsilon(0.0)
    assert bracket.lower == pytest.approx(2.0, rel=1e-11)
    assert bracket.lower <= 2.0 * (1 + 1e-15)
    assert 2.0 <= bracket.upper <= 2.0 * (1 + 1e-12)
    assert found.verdict == "refuted"


def test_probabilities_that_agree_have_no_lower_end() -> None:
    """P(−1 < y < 2) is the same for y around 0 and around 1."""

    def between(x: Any, rng: Any) -> Any:
        y = x + rng.laplace()
        return -1.0 < y < 2.0

    bracket = _traced(between).epsilon(0.0)
    assert bracket.lower == 0.0
    assert bracket.upper < 1e-60


def test_words_of_a_refutation_say_what_was_tried() -> None:
    assert "needs no confidence level" in str(_traced(lambda x, rng: x + rng.laplace(scale=0.5)))
    looked = _traced(lambda x, rng: float(x + rng.laplace(scale=0.5)))
    assert looked.verdict == "refuted"
    assert "needs no confidence level" not in str(looked)
    assert "those that were tried" in str(looked)


def test_long_sums_of_floats_are_no_refutation() -> None:
    left = (7 * np.random.default_rng(0).random(20_000)).tolist()
    found = _traced(lambda d, rng: sum(d) + rng.laplace(), left, [*left, 1.0])
    assert found.verdict == "shown"


def test_unseen_state_shows_nothing() -> None:
    calls = [0]

    def counting(x: Any, rng: Any) -> Any:
        calls[0] += 1
        return calls[0] + rng.laplace(scale=100.0)

    assert _traced(counting).verdict == "not understood"


# Witnesses.


def _half(data: Any, rng: Any) -> Any:
    return sum(data) + rng.laplace(scale=0.5)


@pytest.fixture(name="held")
def _held() -> dict[str, Any]:
    found = trace(_half, left=[0, 0], right=[0, 1], claim=ONE, confirm=False)
    assert found.witness is not None
    return copy.deepcopy(found.witness.to_dict())


def _loaded(held: dict[str, Any], folder: Path) -> TraceWitness:
    (folder / "w.json").write_text(json.dumps(held), encoding="utf-8")
    return TraceWitness.load(folder / "w.json")


def test_witness_with_another_claim_or_noise_fails(held: dict[str, Any], tmp_path: Path) -> None:
    assert _loaded(held, tmp_path).check(_half)
    changes: tuple[dict[str, Any], ...] = (
        {"claim": {"kind": "PureDP", "epsilon": 3.0}},
        {"noise": [1e9]},
        {"lines": []},
    )
    for change in changes:
        assert not _loaded(held | change, tmp_path).check(_half)


@pytest.mark.parametrize("field", ["left", "right"])
def test_witness_with_forged_lines_fails(held: dict[str, Any], tmp_path: Path, field: str) -> None:
    held["lines"][0][field] = 50.0
    assert not _loaded(held, tmp_path).check(_half)


@pytest.mark.parametrize(
    "hiding",
    [
        lambda d, rng: bool(float(_half(d, rng)) > 0),
        lambda d, rng: abs(float(_half(d, rng))),
        lambda d, rng: 0.0 * float(_half(d, rng)),
    ],
    ids=["sign", "size", "nothing"],
)
def test_witness_does_not_pass_where_the_output_hides(
    held: dict[str, Any], tmp_path: Path, hiding: Any
) -> None:
    assert not _loaded(held, tmp_path).check(hiding)


@pytest.mark.parametrize(
    "change",
    [{"scale": 0.0}, {"law": "zzz"}, {"released": "5.0"}],
    ids=["scale", "law", "text"],
)
def test_damaged_lines_are_refused_in_words(
    held: dict[str, Any], tmp_path: Path, change: dict[str, Any]
) -> None:
    held["lines"][0] |= change
    with pytest.raises(DPVerifyError):
        _loaded(held, tmp_path).check(_half)


@pytest.mark.parametrize("change", [{"claim": 5}, {"right": [0, 5]}], ids=["claim", "data"])
def test_damaged_files_are_refused_in_words(
    held: dict[str, Any], tmp_path: Path, change: dict[str, Any]
) -> None:
    with pytest.raises(DPVerifyError):
        _loaded(held | change, tmp_path)


def _filling(v: Any, rng: Any) -> Any:
    parts = [[k] for k in range(400)]
    best = int(np.argmax(np.asarray(v) + rng.laplace(scale=9.0, size=2)))
    return v[best * len(parts[0])]  # flaw


def test_named_lines_do_not_depend_on_collections_of_garbage() -> None:
    threshold, kept, named = gc.get_threshold(), [], set()

    def collected(phase: str, info: Any) -> None:  # to the tracer, a function like any other
        kept.append(phase)

    gc.callbacks.append(collected)
    try:
        for most in (350, 450, 600, 800, 1000):
            gc.set_threshold(most)
            found = trace(_filling, left=[3.0, 1.0], right=[2.0, 1.0], claim=ONE, confirm=False)
            named.add(_first_named(found).line)
    finally:
        gc.callbacks.remove(collected)
        gc.set_threshold(*threshold)
    assert kept
    assert gc.isenabled()
    assert named == _marked(_filling)


# Command line.

_TARGETS = """
import sys
def good(d, rng): return sum(d) + rng.laplace()
def bad(d, rng): return sum(d) + rng.laplace(scale=0.5)
def odd(d, rng): return sum(d) + 40 * rng.standard_t(3)
def leak(d, rng): return d[1]
def no_generator(d): return 1
"""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("good", 0),
        ("bad", 1),
        ("odd", 2),
        ("leak", 0),
        ("no_generator", 2),
    ],
)
def test_exit_codes(name: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adversarial_targets.py").write_text(_TARGETS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for side, data in (("left", [0, 0]), ("right", [0, 1])):
        (tmp_path / f"{side}.json").write_text(json.dumps(data), encoding="utf-8")
    given = ["trace", f"adversarial_targets:{name}", "--epsilon", "1", "--no-confirm"]
    for side in ("left", "right"):
        given += [f"--{side}", str(tmp_path / f"{side}.json")]
    assert run(given) == code
