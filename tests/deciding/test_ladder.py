"""The ladder: who speaks, what exactly it says, and that a true claim is never refuted."""

# ruff: noqa: ANN401  # mechanisms of any kind

import json
import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.deciding import Rung
from dpverify.schema import Answers, Category, Records
from tests.deciding import mechanisms as known

ONE = dpv.PureDP(epsilon=1.0)
NUMBER = Answers(sensitivity=1.0)
THREE = Answers(dimension=3, sensitivity=1.0)
FEW: dict[str, Any] = {"samples": 2_000, "seconds": 400.0}


def freshly(mechanism: Any, schema: Any = NUMBER, **options: Any) -> dpv.Decision:
    return dpv.decide(mechanism, schema, ONE, **(FEW | options))


decided = cache(freshly)


@pytest.mark.parametrize(
    ("mechanism", "verdict", "rung"),
    [
        (known.enough, "proved", "certify"),
        (known.too_little, "refuted", "certify"),
        (known.timed, "not refuted", "trace"),
        (known.timed_little, "refuted", "trace"),
        pytest.param(known.by_hand, "not refuted", "audit", marks=pytest.mark.false_alarm(1e-9)),
        (known.by_hand_little, "refuted", "audit"),
        pytest.param(known.hidden, "not refuted", "audit", marks=pytest.mark.false_alarm(1e-9)),
    ],
)
def test_a_mechanism_for_each_rung(mechanism: Any, verdict: str, rung: str) -> None:
    found = decided(mechanism, level=1e-9)
    assert (found.verdict, found.rung) == (verdict, rung)
    names = ["certify", "trace", "audit"]
    assert [each.name for each in found.rungs] == names[: names.index(rung) + 1]
    assert found.sentence.startswith(f"{verdict}: ")
    assert found.evidence is found.rungs[-1].evidence
    assert (found.witness is not None) == found.refuted
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_proved_says_for_what() -> None:
    assert decided(known.enough, level=1e-9).sentence == (
        "proved: enough keeps PureDP(epsilon=1.0) between all neighbors (all data that the schema "
        "allows, epsilon = 1), computing with real numbers and drawing from rng alone"
    )


def test_what_is_refuted_exactly_says_the_probabilities() -> None:
    found = decided(known.too_little, level=1e-9)
    assert found.sentence == (
        "refuted: too_little does not keep PureDP(epsilon=1.0): the event output ≤ 1 has "
        "probability 0.5 on 1.0 and 0.0676676 on its neighbor 2.0, exactly, in real arithmetic"
    )
    assert isinstance(found.evidence, dpv.Certificate)
    assert dpv.check_certificate(found.evidence).valid


def test_what_a_trace_shows_is_called_no_proof() -> None:
    found = decided(known.timed, level=1e-9)
    assert not found.proved
    assert "on all traced runs of the worst neighbors that were found" in found.sentence
    assert found.sentence.endswith("for other runs and neighbors this is no proof")
    assert isinstance(found.evidence, dpv.Traced)


def test_what_a_trace_refutes_names_the_line() -> None:
    found = decided(known.timed_little, level=1e-9)
    assert "mechanisms.py:" in found.sentence
    assert found.sentence.endswith("moved by 1, laplace noise of scale 0.5, loses 2")
    assert isinstance(found.witness, dpv.TraceWitness)
    assert found.witness.check(known.timed_little)


def test_what_an_audit_refutes_names_its_level_and_replays() -> None:
    found = decided(known.by_hand_little, level=1e-9)
    assert found.sentence.endswith("a true claim would be refuted with probability at most 1e-09")
    assert isinstance(found.witness, dpv.Witness)
    assert found.witness.replay(known.by_hand_little, samples=4_000, seed=1, level=1e-6).refuted
    assert found.rungs[-1].said.startswith("refuted at level 1e-09: ε ≥ ")


@pytest.mark.false_alarm(1e-9)
def test_what_is_overspent_inside_but_honest_is_not_refuted() -> None:
    """Gumbel noise loses without bound; the index of the largest is the exponential mechanism."""
    found = decided(known.unusual_max, THREE, level=1e-9)
    assert (found.verdict, found.rung) == ("not refuted", "audit")
    assert found.rungs[1].said.startswith("overspent: ")
    assert isinstance(found.evidence, dpv.NotRefuted)
    shared = "the level was shared: half for one pair of neighbors that were suspected before"
    assert any(note.startswith(shared) for note in found.evidence.notes)


def test_what_a_trace_refutes_on_what_it_tried_is_left_to_the_audit() -> None:
    found = decided(known.rounded_little, level=1e-6)
    trace = found.rungs[1]
    assert isinstance(trace.evidence, dpv.Traced)
    assert trace.evidence.verdict in {"refuted", "overspent"}
    assert not trace.evidence.exact
    assert (found.verdict, found.rung) == ("refuted", "audit")


def test_code_that_noise_steers_is_not_settled_by_runs_that_were_traced() -> None:
    found = decided(known.rarely, level=1e-6)
    assert (found.verdict, found.rung) == ("refuted", "audit")


def test_neighbors_that_a_certificate_suspects_are_audited() -> None:
    """1 and True have the same text to a symbol's eye, and the types alone tell neighbors apart."""

    def typed(answer: int, rng: np.random.Generator) -> object:
        return bool(rng.integers(2)) if answer else int(rng.integers(2))

    bit = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)
    proof = dpv.certify(typed, bit, ONE)
    assert (proof.verdict, proof.suspects) == ("open", ((0, 1),))
    found = decided(typed, bit, level=1e-6)
    assert isinstance(found.rungs[0].evidence, dpv.Certificate)
    assert found.verdict == "refuted"


def test_what_an_audit_refutes_is_shown_on_simple_neighbors() -> None:
    """Whatever pair the search came upon, one answer that moves is enough to show it."""
    found = decided(known.by_hand_little_of_many, THREE, samples=1_000, level=1e-4)
    assert (found.verdict, found.rung) == ("refuted", "audit")
    assert isinstance(found.witness, dpv.Witness)
    moved = np.array(found.witness.left) != np.array(found.witness.right)
    assert moved.sum() == 1
    assert (np.array(found.witness.left) == 0).sum() >= 2
    assert found.witness.replay(
        known.by_hand_little_of_many, samples=2_000, seed=1, level=1e-4
    ).refuted


@pytest.mark.parametrize("rung", ["certify", "trace"])
def test_an_interrupt_keeps_what_was_found(rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a rung: what was tried so far is the answer. No mechanism runs in the first."""
    told: list[str] = []

    def pressed(*_: object) -> Any:
        raise KeyboardInterrupt

    def interrupted(answer: float, rng: np.random.Generator) -> Any:
        return pressed() if told[-1] == rung else known.by_hand(answer, rng)

    if rung == "certify":
        monkeypatch.setattr(sys.modules["dpverify.certifying.certify"]._Attempt, "_tried", pressed)
        read = SimpleNamespace(main=SimpleNamespace(name="interrupted"), digest="")
        monkeypatch.setattr(sys.modules["dpverify.certifying.certify"], "Program", lambda _: read)
    found = freshly(interrupted, progress=told.append)
    assert told == ["certify", "trace"][: 1 + (rung == "trace")]
    assert (found.verdict, found.stopped, found.witness) == ("not refuted", rung, None)
    assert found.sentence == (
        f"not refuted: interrupted in the rung {rung}, before anything was shown of interrupted"
    )
    assert [each.name for each in found.rungs] == told
    assert found.rungs[-1].said.endswith("interrupted")
    assert isinstance(found.evidence, dpv.Certificate)
    assert str(found).split("\n")[0] == found.sentence
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("enough", 1e-9),
        ("timed", 1e-9),
        ("rarely", 1e-6),
        pytest.param("by_hand_little", 1e-9, marks=pytest.mark.slow),
    ],
)
def test_same_inputs_same_decision(name: str, level: float) -> None:
    def told(found: dpv.Decision) -> dict[str, Any]:
        return {k: v for k, v in found.to_dict().items() if k not in {"seconds", "rungs"}}

    mechanism = getattr(known, name)
    assert told(decided(mechanism, level=level)) == told(freshly(mechanism, level=level))


def test_claims_and_mechanisms_of_every_kind_climb() -> None:
    laplace = dpv.Laplace(scale=1.0, l1_sensitivity=1.0)
    found = dpv.decide(laplace, NUMBER, **FEW)  # its own claim
    assert found.verdict == "not refuted"
    assert found.rungs[0].said == "open: only functions mechanism(data, rng) are read"
    points = [(1.0, 0.0), (0.0, 0.6)]
    profile = dpv.decide(known.enough, NUMBER, points, **FEW)
    assert profile.rungs[0].said == "open: only guarantees are proved, not whole profiles"
    assert profile.verdict == "not refuted"
    mu = dpv.decide(
        lambda answer, rng: answer + rng.normal(scale=2.0), NUMBER, dpv.GaussianDP(mu=0.5)
    )
    assert (mu.verdict, mu.rung) == ("proved", "certify")


def test_without_z3_the_ladder_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    found = freshly(known.enough)
    assert (found.verdict, found.rung) == ("not refuted", "trace")
    assert "needs z3: install dpverify with the extra certify" in found.rungs[0].said
    assert "\n" not in found.rungs[0].said


def test_a_loop_that_no_symbol_ends_is_left_to_the_next_rung() -> None:
    found = decided(known.while_below, seconds=30.0)
    assert found.rungs[0].said.startswith("open: mechanisms.py:")
    assert found.rung != "certify"
    assert found.verdict == "not refuted"


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # time may be up in a callback
@pytest.mark.parametrize(
    ("mechanism", "seconds", "sentence"),
    [
        pytest.param(
            *(known.endless, 10.0, "not one pair of draws was finished in time"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(known.recursive, 120.0, "every call raises RecursionError"), marks=pytest.mark.slow
        ),
        (known.leaving, 60.0, "every call raises SystemExit: 4"),
    ],
)
def test_what_never_gives_an_output_is_refused(
    mechanism: Any, seconds: float, sentence: str
) -> None:
    told: list[str] = []
    with pytest.raises(dpv.InvalidParameter, match=sentence) as caught:
        dpv.decide(mechanism, NUMBER, ONE, samples=200, seconds=seconds, progress=told.append)
    assert told == ["certify", "trace", "audit"]
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_what_swallows_every_interruption_is_stopped() -> None:
    with pytest.raises(dpv.InvalidParameter):
        dpv.decide(known.swallowing, NUMBER, ONE, seconds=3.0)


def test_it_can_be_read_as_text_and_as_json() -> None:
    found = decided(known.too_little, level=1e-9)
    text = str(found).split("\n")
    assert text[0] == found.sentence
    assert text[1] == "  certify: refuted"
    told = found.to_dict()
    assert told["rungs"][0]["evidence"]["counterexample"]["probabilities"][0] == 0.5
    assert (told["verdict"], told["rung"], told["version"]) == ("refuted", "certify", 1)
    assert found.rungs[0] == Rung(name="certify", said=found.rungs[0].said, evidence=found.evidence)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"mechanism": 3}, "mechanism=3 must be callable"),
        ({"schema": None}, "schema=None must say what data look like"),
        ({"schema": [0, 1]}, r"schema=\[0, 1\] must say what data look like"),
        ({"claim": None}, "claim=None must be given"),
        ({"claim": dpv.PureDP}, "claim=.*must be"),
        ({"claim": dpv.PureDP(epsilon=float("inf"))}, "epsilon=inf must be finite"),
        ({"level": 0.9}, "level=0.9 must lie in"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"seconds": 0}, "seconds=0 must be positive"),
        ({"samples": 0}, "samples=0 must be"),
    ],
)
def test_misuse_is_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"mechanism": known.enough, "schema": NUMBER, "claim": ONE}
    with pytest.raises(dpv.InvalidParameter, match=sentence) as caught:
        dpv.decide(**given | changed)
    assert "\n" not in str(caught.value)
