"""Emit, check: it stands. Change any number by one percent: the check finds it."""

import copy
import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.parts import brief
from dpverify.disclosing import Disclosure, Review, check_disclosure, disclose
from dpverify.disclosing.exhibits import shown_by
from dpverify.disclosing.text import parsed, written
from tests.conftest import examples
from tests.disclosing.conftest import GIVEN

STANDS = "stands: numbers and evidence verified, what people state taken as given"
ALL_GIVEN = GIVEN | {"code": GIVEN["code"] | {"file": "release.py"}}


@pytest.fixture
def folder(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the evidence that may be damaged, and some code beside it."""
    for file in kept.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "release.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def emitted(name: str) -> Disclosure:
    """A disclosure of every kind of source."""
    relation, delta = "add-remove", 1e-6
    match name:
        case "parts":
            parts = [(dpv.Gaussian(sigma=40.0), 200), (dpv.Gaussian(sigma=90.0), 7)]
            return disclose(
                parts, relation=relation, delta=delta, given=ALL_GIVEN, evidence=["audit.json"]
            )
        case "gaussian":
            return disclose([(dpv.Gaussian(sigma=40.0), 200)], relation=relation, delta=delta)
        case "zcdp":
            return disclose(dpv.ZeroConcentratedDP(rho=0.1), relation=relation, delta=delta)
        case "accountant":
            spent = dpv.Accountant(relation=dpv.Relation.REPLACE_ONE)
            return disclose(spent.compose(dpv.Laplace(scale=5.0)), delta=1e-3)
        case "certificate":
            return disclose("proof.json", relation=relation)
        case "ledger":
            return disclose(dpv.Ledger("budget.ledger"))
        case "decision":
            return disclose("drawn.json", relation=relation)
        case _:
            return disclose("audit.json", relation=relation)


SOURCES = ("parts", "accountant", "certificate", "ledger", "audit", "decision")
GIVEN_BY_PEOPLE = {("parts", ("data", "records")), ("ledger", ("guarantee", "delta"))}
"""Numbers from which nothing follows, or hardly anything: the seal alone shows a change."""


def numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:  # noqa: ANN401
    match tree:
        case dict():
            for name, part in tree.items():
                yield from numbers(part, (*path, name))
        case list():
            for i, part in enumerate(tree):
                yield from numbers(part, (*path, i))
        case bool():
            return
        case int() | float():
            yield path, tree
        case _:
            return


def changed(tree: Any, path: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401
    made = copy.deepcopy(tree)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return made


def by_one_percent(value: float) -> float:
    """The number, one percent more; a count stays a count where it can."""
    if isinstance(value, int) and value >= 100:
        return round(value * 1.01)
    return value * 1.01 if value else 0.01


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", SOURCES)
def test_every_number_that_is_changed_is_found(name: str) -> None:
    tree = parsed(written(emitted(name).to_dict()))
    fine = check_disclosure(tree)
    assert fine.wrong == ()
    known = {each.path for each in fine.objections}
    held = dict(numbers(tree))
    assert len(held) > 12
    by_seal = set()
    for path, value in held.items():
        found = check_disclosure(changed(tree, path, by_one_percent(value)))
        assert found.verdict == "wrong", path
        if not {each.path for each in found.objections} - known - {"seal"}:
            by_seal.add((name, path))
    assert by_seal == {each for each in GIVEN_BY_PEOPLE if each[0] == name}


@pytest.mark.usefixtures("folder")
def test_a_complete_document_stands() -> None:
    made = disclose(
        [(dpv.Gaussian(sigma=40.0), 200)],
        relation="add-remove",
        delta=1e-6,
        given=ALL_GIVEN,
        arithmetic="integers on a grid",
    )
    made.save("disclosure.yaml")
    made.save("disclosure.json")
    for file in ("disclosure.yaml", "disclosure.json"):
        found = check_disclosure(file)
        assert str(found) == f"{STANDS}; numbers computed again: 16"
    Path("release.py").write_text("print('other')\n")
    assert [each.path for each in check_disclosure("disclosure.yaml").wrong] == ["code.sha256"]


def resealed(tree: Any) -> Review:  # noqa: ANN401
    """The check of a document whose author sealed what he changed."""
    found, _ = Disclosure.read(tree)
    return check_disclosure(tree | {"seal": found.digest})


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "value", "where", "told"),
    [
        (("guarantee", "variant"), "pure", "guarantee.delta", "must be 0 for pure DP"),
        (("guarantee", "epsilon", "upper"), 0.1, "guarantee.epsilon.upper", "is above it"),
        (("guarantee", "epsilon", "lower"), 9.0, "guarantee.epsilon.lower", "is below it"),
        (("guarantee", "theorem"), "renyi-composition", "guarantee.theorem", "must be"),
        (("data", "records"), 2 * 10**6, "guarantee.delta", "must not exceed 1/2000000"),
        (("unit", "most_records"), 4, "guarantee.epsilon.upper", "is above it"),
        (("unit", "most_records"), "not stated", "unit", "protected='person' does not match"),
        (("mechanisms", 0, "parameters", "sigma"), 39.0, "guarantee.epsilon.upper", "is above it"),
        (("mechanisms", 0, "parameters", "sigma"), -1, "mechanisms[0]", "must be positive"),
        (("mechanisms", 0, "parameters", "x"), 1, "mechanisms[0]", "parameter='x' of gaussian"),
        (("mechanisms", 0, "name"), "os.system", "mechanisms[0]", "must be one of"),
        (("mechanisms", 0, "name"), "pair", "mechanisms[0]", "must be one that dpverify wrote"),
        (("evidence", 1, "sha256"), "0" * 64, "evidence[1].sha256", "by the file"),
        (("evidence", 1, "most_shown"), 99.0, "evidence[1].most_shown", "by the file"),
        (("evidence", 1, "epsilon_lower"), 9.0, "evidence[1].epsilon_lower", "by the file"),
        (("evidence", 1, "file"), "/etc/passwd", "evidence[1].file", "beside the document"),
        (("evidence", 1, "file"), "../audit.json", "evidence[1].file", "beside the document"),
        (("evidence", 0, "source"), "My cousin", "evidence[0].source", "must be"),
        (("evidence", 0, "says"), "ε is 0.", "evidence[0].says", "must be"),
        (("evidence", 0, "proof"), "proofs/none.py", "evidence[0].proof", "must be"),
        (("evidence", 1, "says"), "It is proved.", "evidence[1].says", "by the file"),
        (("mechanisms", 0, "label"), "Gaussian(sigma=6000)", "mechanisms[0].label", "must be"),
        (("mechanisms", 0, "label"), "Very much noise", "mechanisms[0].label", "must be"),
        (("composition", "rule"), "basic-composition", "composition.rule", "must be"),
        (("composition", "statement"), "Nothing composes.", "composition.statement", "must be"),
    ],
)
def test_a_false_statement_is_wrong_whoever_sealed_it(
    path: tuple[Any, ...], value: object, where: str, told: str
) -> None:
    tree = changed(emitted("parts").to_dict(), path, value)
    found = resealed(tree)
    assert [each for each in found.wrong if each.path == where and told in each.text], str(found)
    assert "seal" not in {each.path for each in found.wrong}


@pytest.mark.usefixtures("folder")
def test_what_the_promise_assumes_must_be_named() -> None:
    numerical = disclose([(STEP, 10)], relation="add-remove", delta=1e-6).to_dict()
    for tree in (numerical, emitted("certificate").to_dict()):
        assert tree["guarantee"]["assumes"]
        silent = changed(tree, ("guarantee", "assumes"), [])
        assert {each.path for each in resealed(silent).wrong} == {"guarantee.assumes"}
        older = changed(silent, ("code", "dpverify"), "0.0.1")
        assert resealed(older).verdict == "incomplete"
        assert "guarantee.assumes" in {each.path for each in resealed(older).incomplete}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "where"),
    [
        (("unit", "relation"), "unit.relation"),
        (("composition", "rule"), "composition.rule"),
        (("trust", "model"), "trust.model"),
        (("guarantee", "variant"), "guarantee.variant"),
        (("guarantee", "delta"), "guarantee.delta"),
        (("evidence", 1, "file"), "evidence[1].file"),
        (("defenses",), "defenses"),
        (("mechanisms",), "mechanisms"),
        (("mechanisms", 1, "times"), "mechanisms[1].times"),
        (("seal",), "seal"),
    ],
)
def test_what_is_left_out_is_incomplete_and_not_wrong(path: tuple[Any, ...], where: str) -> None:
    tree = changed(emitted("parts").to_dict(), path, "not stated")
    found = check_disclosure(tree) if path == ("seal",) else resealed(tree)
    assert found.verdict == "incomplete", str(found)
    assert where in {each.path for each in found.incomplete}


def by_hand(file: str) -> Disclosure:
    """A document that promises ε = 1 beside evidence that `disclose` would not take."""
    made = disclose(dpv.PureDP(epsilon=1.0), relation="add-remove")
    evidence = (*(made.evidence or ()), shown_by(Path(file)).exhibit)
    return replace(made, evidence=evidence).sealed()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("file", ["witness.json", "trace.json", "decided-against.json"])
def test_evidence_that_refutes_is_found_and_not_disclosed(file: str) -> None:
    found = check_disclosure(by_hand(file))
    assert [each for each in found.wrong if "the evidence refutes the claim" in each.text]
    for options in ({"subject": file}, {"subject": dpv.PureDP(epsilon=1.0), "evidence": [file]}):
        with pytest.raises(dpv.InvalidParameter, match=f"evidence='{file}' must not refute"):
            disclose(**options, relation="add-remove")


def test_what_an_audit_could_see_counts_the_draws_of_its_witness(tmp_path: Path) -> None:
    """Bets refute after some 80 draws, and 1,000 fresh ones show more than 80 can."""

    def told(data: int, rng: np.random.Generator) -> int:
        return data if rng.random() < 0.999 else 1 - data

    verdict = dpv.audit(told, left=0, right=1, claim=dpv.PureDP(epsilon=0.5), samples=4_000)
    assert isinstance(verdict, dpv.Refuted)
    assert verdict.samples < 200 < verdict.witness.counts.trials
    assert verdict.epsilon_lower > 4.0  # 200 draws show at most ln(200 / −ln 0.01) = 3.8
    assert verdict.epsilon_lower <= verdict.most_shown
    (tmp_path / "audit.json").write_text(json.dumps(verdict.to_dict()))
    shown = shown_by(tmp_path / "audit.json")
    assert shown.broken is None
    assert shown.exhibit.most_shown == verdict.most_shown


@pytest.mark.usefixtures("folder")
def test_a_promise_below_what_an_audit_showed_is_found_and_not_disclosed() -> None:
    found = check_disclosure(by_hand("witness.json"))
    assert [each for each in found.wrong if "contradicts the promise" in each.text]
    promise = dpv.PureDP(epsilon=0.01)
    with pytest.raises(dpv.InvalidParameter, match=r"'audit.json' must not refute .* contradicts"):
        disclose(promise, relation="add-remove", evidence=["audit.json"])


@pytest.mark.usefixtures("folder")
def test_a_decision_is_evidence_as_far_as_its_file_goes() -> None:
    claim = dpv.PureDP(epsilon=1.0)
    for file, verdict, told in (
        ("decided.json", None, "in the file of its certificate"),
        ("drawn.json", "not refuted", "not replayed"),
    ):
        made = disclose(claim, relation="add-remove", evidence=[file])
        exhibit = (made.evidence or ())[-1]
        assert (exhibit.kind, exhibit.verdict) == ("decision", verdict)
        found = check_disclosure(made)
        assert not found.wrong
        assert [each for each in found.incomplete if told in each.text]
    both = disclose(claim, relation="add-remove", evidence=["decided.json", "proof.json"])
    assert "evidence" not in str(check_disclosure(both))


@pytest.mark.usefixtures("folder")
def test_a_decision_that_somebody_wrote_by_hand_does_not_stand() -> None:
    rung = {"rung": "trace", "said": "", "evidence": {"verdict": "shown"}}
    held = {"verdict": "not refuted", "rung": "trace", "level": 0.01, "rungs": [rung]}
    Path("h.json").write_text(json.dumps(held | {"claim": {"kind": "PureDP", "epsilon": 0.1}}))
    complete = ALL_GIVEN | {"unit": {"protected": "person", "record": "person"}}
    made = disclose("h.json", relation="add-remove", given=complete, arithmetic="real numbers")
    found = check_disclosure(made)
    assert [(each.path, each.text[:12]) for each in found.incomplete] == [
        ("evidence[1]", "not replayed")
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        ("decided-against.json", {"verdict": "proved"}, "must be what its last rung rests on"),
        ("decided-against.json", {"rung": "audit"}, "must be what its last rung rests on"),
        ("decided-against.json", {"claim": {"kind": "PureDP", "epsilon": 9.0}}, "do not exceed"),
        ("decided.json", {"claim": {"kind": "PureDP", "epsilon": 0.1}}, "its evidence is for all"),
        ("drawn.json", {"claim": {"kind": "PureDP", "epsilon": 0.5}}, "its audit is about"),
        ("drawn.json", {"verdict": "refuted"}, "must be what its last rung rests on"),
        ("decided.json", {"rungs": []}, "must be as it was written"),
        ("decided.json", {"claim": None}, "must"),
        ("decided.json", {"level": math.nan}, "level=nan"),
        ("decided-against.json", {"verdict": "<script>alert(1)</script>"}, "must be what"),
    ],
)
def test_a_decision_that_was_edited_is_found(file: str, change: dict[str, Any], told: str) -> None:
    made = by_hand(file)
    held = json.loads(Path(file).read_text())
    Path(file).write_text(json.dumps(held | change))
    assert [each for each in check_disclosure(made).wrong if told in each.text]
    with pytest.raises(dpv.InvalidParameter, match="must"):
        disclose(file, relation="add-remove")


@pytest.mark.usefixtures("folder")
def test_a_counterexample_has_probabilities() -> None:
    made = by_hand("decided-against.json")
    held = json.loads(Path("decided-against.json").read_text())
    held["rungs"][-1]["evidence"]["counterexample"]["probabilities"] = [50, 0.09]
    Path("decided-against.json").write_text(json.dumps(held))
    assert [each for each in check_disclosure(made).wrong if "probability=50" in each.text]


STEP = dpv.Subsampled(dpv.Gaussian(sigma=4.0), rate=0.01)


def as_pair() -> dict[str, Any]:
    """A disclosure of an accountant whose parts are known by their pairs alone."""
    seen = STEP.pair(dpv.Relation.ADD_REMOVE)
    tree = disclose([(seen, 1)], relation="add-remove", delta=1e-6).to_dict()
    assert tree["mechanisms"][0]["name"] == "pair"
    made: dict[str, Any] = changed(tree, ("mechanisms", 0, "label"), brief(STEP))
    return made


def test_a_mechanism_costs_what_it_costs_under_the_stated_relation() -> None:
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(STEP, times=10)
    tree = disclose(spent, delta=1e-6).to_dict()
    assert tree["mechanisms"][0]["name"] == "subsampled"
    assert not resealed(tree).wrong
    found = resealed(changed(tree, ("unit", "relation"), "replace-one"))
    assert "guarantee.epsilon.upper" in {each.path for each in found.wrong}


def test_a_pair_is_that_of_its_relation() -> None:
    tree = as_pair()
    assert not resealed(tree).wrong
    other = changed(tree, ("unit", "relation"), "replace-one")
    assert "mechanisms[0].relation" in {each.path for each in resealed(other).wrong}
    both = changed(other, ("mechanisms", 0, "relation"), "replace-one")
    assert [each for each in resealed(both).wrong if "this one has a direction" in each.text]
    unsaid = changed(tree, ("mechanisms", 0, "relation"), "not stated")
    assert "mechanisms[0].relation" in {each.path for each in resealed(unsaid).incomplete}
    renamed = changed(tree, ("mechanisms", 0, "label"), "Gaussian(sigma=6000)")
    assert "mechanisms[0].label" in {each.path for each in resealed(renamed).wrong}
    words = changed(tree, ("mechanisms", 0, "label"), "a lot of noise")
    assert "mechanisms[0].label" in {each.path for each in resealed(words).incomplete}


def test_a_document_does_not_choose_how_well_it_is_checked() -> None:
    made = disclose([(STEP, 10)], relation="add-remove", delta=1e-6, tolerance=0.1)
    tree = made.to_dict()
    assert not resealed(tree).wrong
    wide = changed(tree, ("guarantee", "tolerance"), 1e9)
    for path, value in (
        (("guarantee", "epsilon"), {"lower": 0.01, "upper": 0.02}),
        (("risk", "advantage"), {"lower": 0.0, "upper": 1e-6}),
        (("guarantee", "profile", 0, "delta"), {"lower": 0.0, "upper": 1e-12}),
    ):
        wide = changed(wide, path, value)
    found = {each.path for each in resealed(wide).wrong if "value is above it" in each.text}
    assert found == {
        *("guarantee.epsilon.upper", "risk.advantage.upper", "guarantee.profile[0].delta.upper")
    }


@pytest.mark.usefixtures("folder")
def test_evidence_is_verified_and_not_believed() -> None:
    made = disclose("proof.json", relation="add-remove")
    held = json.loads(Path("proof.json").read_text())
    Path("proof.json").write_text(json.dumps(held | {"claim": held["claim"] | {"epsilon": "1/4"}}))
    found = check_disclosure(made)
    assert [each for each in found.wrong if "the certificate is not valid" in each.text]
    Path("proof.json").unlink()
    found = check_disclosure(made)
    assert found.verdict == "incomplete"
    assert [each for each in found.incomplete if "is not beside the document" in each.text]


@pytest.mark.usefixtures("folder")
def test_a_ledger_that_went_on_is_another_one() -> None:
    made = emitted("ledger")
    dpv.Ledger("budget.ledger").spend(dpv.Gaussian(sigma=50.0))
    paths = {each.path for each in check_disclosure(made).wrong}
    assert paths == {"evidence[2].sha256", "evidence[2].requests"}


@pytest.mark.usefixtures("folder")
def test_a_promise_must_rest_on_the_ledger() -> None:
    made = disclose(
        dpv.ApproxDP(0.5, 1e-6), relation="add-remove", delta=1e-6, evidence=["budget.ledger"]
    )
    found = check_disclosure(made)
    assert [each for each in found.wrong if "no mechanism is stated as that" in each.text]


@pytest.mark.usefixtures("folder")
def test_another_version_may_have_had_other_ends_but_not_false_ones() -> None:
    tree = changed(emitted("gaussian").to_dict(), ("code", "dpverify"), "0.0.1")
    wider = changed(tree, ("guarantee", "epsilon", "upper"), 9.0)
    assert "note" in {each.weight for each in resealed(wider).objections}
    assert resealed(wider).wrong == ()
    below = changed(tree, ("guarantee", "epsilon", "upper"), 0.1)
    assert resealed(below).verdict == "wrong"


def test_epsilon_must_follow_from_rho_or_mu() -> None:
    base = disclose(dpv.ZeroConcentratedDP(rho=0.1), relation="add-remove", delta=1e-6).to_dict()
    tree = changed(base, ("guarantee", "epsilon", "upper"), 1.0)
    assert [each for each in resealed(tree).wrong if "does not follow from rho=0.1" in each.text]


def test_what_is_out_of_range_is_told_and_left_out() -> None:
    base = disclose(dpv.Gaussian(sigma=5.0), relation="add-remove", delta=1e-6).to_dict()
    for path, value in (
        (("guarantee", "delta"), 7.0),
        (("guarantee", "tolerance"), "inf"),
        (("guarantee", "profile", 0, "epsilon"), "inf"),
        (("guarantee", "rho"), "inf"),
        (("guarantee", "epsilon", "upper"), "inf"),
        (("mechanisms", 0, "times"), 10**30),
        (("mechanisms", 0, "parameters", "sigma"), 10**400),
        (("mechanisms", 0, "parameters", "sigma"), float("nan")),
        (("mechanisms", 0, "parameters", "sigma"), [[1]]),
        (("mechanisms", 0, "parameters"), {"mechanism": {"name": "subsampled", "parameters": {}}}),
        (("evidence", 0, "claim"), {"x": float("nan")}),
    ):
        assert resealed(changed(base, path, value)).verdict != "stands"


@pytest.mark.usefixtures("folder")
def test_what_takes_too_long_is_incomplete_and_not_wrong() -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=4.0), rate=0.01)
    made = disclose([(step, 10)], relation="add-remove", delta=1e-6)
    found = check_disclosure(made, seconds=1e-9)
    assert found.wrong == ()
    assert [each for each in found.incomplete if "not verified in 1e-09 s" in each.text]


@pytest.mark.parametrize(
    "label",
    [
        "Gaussian(sigma=Fraction(1, 0))",
        "Gaussian(**{})",
        "__import__('os').system('true')",
        "Gaussian(sigma=" + "-" * 999 + "1)",
        "(" * 3000,
        "\0",
    ],
)
def test_a_label_is_read_and_never_run(label: str) -> None:
    tree = changed(BASE, ("mechanisms", 0, "label"), label)
    assert "mechanisms[0].label" in {each.path for each in resealed(tree).incomplete}


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["inf", "not stated", "pure", "gaussian", "pair", "1/0", "theorem", "audit"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def nodes(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    parts = (
        tree.items() if isinstance(tree, dict) else enumerate(tree if type(tree) is list else ())
    )
    for name, part in parts:
        yield (*path, name)
        yield from nodes(part, (*path, name))


BASE = disclose(
    dpv.PureDP(epsilon=1.0), relation="add-remove", given=GIVEN | {"unit": {}}
).to_dict()


@settings(max_examples=examples(quick=20, fresh=60), deadline=None)
@given(st.sampled_from(list(nodes(BASE))), PLAIN)
def test_whatever_stands_in_a_field_is_told_and_nothing_breaks(
    path: tuple[Any, ...], value: object
) -> None:
    tree = changed(BASE, path, value)
    assert isinstance(check_disclosure(tree), Review)
    assert isinstance(resealed(tree), Review)


def test_what_is_repeated_moves_no_cursor() -> None:
    found = check_disclosure({"\x1b[2J\u202e": 1, "evidence": [{"kind": "audit", "says": "\x07"}]})
    assert all(each.isprintable() for each in str(found).replace("\n", ""))


@pytest.mark.usefixtures("folder")
def test_many_unknown_fields_are_told_quickly() -> None:
    found = check_disclosure({f"x{i}": i for i in range(3000)})
    assert len(found.wrong) == 3000 + len(("format", "version"))


def test_a_script_is_text_and_nothing_is_looked_up() -> None:
    people = copy.deepcopy(GIVEN)
    people["product"]["name"] = "<script>alert(1)</script>"
    people["product"]["description"] = "${jndi:ldap://example.org} {{7*7}} %n"
    made = disclose(dpv.PureDP(epsilon=1.0), relation="add-remove", given=people)
    found = check_disclosure(made)
    assert found.wrong == ()
    assert found.name == "<script>alert(1)</script>"
