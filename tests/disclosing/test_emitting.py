"""Disclosures of every source; what is not known is not stated, and never made up."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
import solvers
from dpverify.cli import run
from dpverify.disclosing import check_disclosure, disclose
from dpverify.disclosing.parts import composed, label_of, seen_part, stated_part
from dpverify.mechanisms.registered import MECHANISMS
from dpverify.neighbors import Relation

SUBJECTS: list[Any] = [
    dpv.Gaussian(sigma=2.0, l2_sensitivity=3.0),
    dpv.Laplace(scale=2.0),
    dpv.mechanisms.NormMechanism(scale=2.0, norm=math.inf),
    dpv.RandomizedResponse(epsilon=0.5),
    dpv.LeakyRandomizedResponse(epsilon=0.5, delta=1e-6),
    dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.01),
    dpv.DiscreteGaussian(sigma=2.0, sensitivity=1),
    dpv.DiscreteLaplace(scale=2.0, sensitivity=1),
    dpv.PureDP(epsilon=0.1),
    dpv.ApproxDP(epsilon=0.1, delta=1e-8),
    dpv.ZeroConcentratedDP(rho=0.1),
    dpv.GaussianDP(mu=0.1),
    dpv.RenyiDP(order=8.0, epsilon=0.1),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: type(subject).__name__)
@pytest.mark.parametrize("relation", Relation)
def test_a_stated_part_is_the_same_part(subject: Any, relation: Relation) -> None:  # noqa: ANN401
    told = stated_part(subject, 3, relation)
    own = dpv.Accountant(relation=relation).compose(subject, times=3)
    assert composed([told], relation) == own
    assert "arithmetic" not in (told.parameters or {})
    assert told.arithmetic is None
    (part,) = own.parts
    again = seen_part(part, relation)
    assert (again.name, again.parameters) == (told.name, told.parameters)
    assert label_of(told, relation) == told.label == again.label


def test_most_mechanisms_are_stated_by_name() -> None:
    named = {stated_part(each, 1, Relation.ADD_REMOVE).name for each in SUBJECTS}
    assert named - {"pair"} >= {"gaussian", "laplace", "subsampled", "pure", "approx", "zcdp"}
    assert "gaussian" in MECHANISMS


def test_a_class_of_ones_own_is_not_stated() -> None:
    class Own:
        def pair(self, relation: Relation) -> Any:  # noqa: ANN401
            return dpv.Gaussian(sigma=1.0).pair(relation)

    made = disclose(Own(), relation="add-remove", delta=1e-6)
    assert made.mechanisms is not None
    assert made.mechanisms[0].name == "pair"
    assert check_disclosure(made).wrong == ()


def test_nothing_is_made_up() -> None:
    told = disclose(dpv.PureDP(epsilon=1.0), relation="replace-one").to_dict()
    assert {name for name, part in told.items() if part == "not stated"} == {
        *("product", "data", "trust", "defenses")
    }
    assert told["unit"]["protected"] == told["code"]["sha256"] == "not stated"
    assert told["mechanisms"][0]["arithmetic"] == "not stated"


def test_a_group_of_records_is_accounted_for() -> None:
    unit = {"protected": "user", "record": "event", "most_records": 5}
    made = disclose(dpv.PureDP(epsilon=0.1), relation="add-remove", given={"unit": unit})
    assert made.guarantee is not None
    assert made.guarantee.epsilon is not None
    assert made.guarantee.epsilon.upper == pytest.approx(0.5)


def test_one_unit_may_be_written_in_many_ways() -> None:
    for protected, record in (("User-level", "users"), ("  person ", "Person"), ("_" * 10**6, "x")):
        unit = {"protected": protected, "record": record, "most_records": 1}
        made = disclose(dpv.PureDP(epsilon=0.1), relation="add-remove", given={"unit": unit})
        assert check_disclosure(made).wrong == ()


def test_a_fitted_model_states_its_claim(tmp_path: Path, capsys: Any) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)) / 8
    y = np.where(x[:, 0] > 0, 1, -1)
    model = solvers.PrivateLogisticRegression(
        budget=dpv.ApproxDP(epsilon=1.0, delta=1e-5),
        norm_bound=1.0,
        relation=dpv.Relation.ADD_REMOVE,
        clip=True,
        classes=[-1, 1],
        random_state=0,
    ).fit(x, y)
    made = disclose(model)
    assert made.guarantee is not None
    assert made.guarantee.epsilon is not None
    assert made.guarantee.epsilon.upper == pytest.approx(1.0)
    assert made.guarantee.delta == 1e-5
    assert made.composition is not None
    assert made.composition.rule == model.claim_.theorem.name
    assert check_disclosure(made).wrong == ()
    table = tmp_path / "data.csv"
    rows = "\n".join(f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True))
    table.write_text(f"a,b,y\n{rows}\n")
    options = ["--epsilon", "1", "--delta", "1e-5", "--norm-bound", "1", "--clip"]
    assert run(["fit", str(table), "--target", "y", "--classes=-1,1", *options, "--seed", "0"]) == 0
    capsys.readouterr()
    from_file = disclose(tmp_path / "data.model.json")
    assert from_file.guarantee == made.guarantee
    assert from_file.evidence is not None
    assert from_file.evidence[-1].kind == "model"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"delta": 1e-6}, "relation=None must be"),
        ({"relation": "add-remove"}, "delta=None must be given"),
        ({"relation": "swap", "delta": 1e-6}, "relation='swap' must be one of"),
        ({"relation": "add-remove", "delta": 2}, "delta=2 must lie in"),
        ({"given": {"guarantee": {}}}, "given.guarantee must be left out"),
        ({"given": {"unit": {"relation": "replace-one"}}, "relation": "add-remove"}, "one and the"),
        ({"given": {"producd": {}}}, "given.producd: unknown field"),
        ({"given": {"product": {"name": 3}}}, "given.product.name: 3 must be a text"),
        ({"given": []}, "given must be an object"),
        (
            {"given": {"composition": {"statement": "x"}}},
            "given.composition.statement must be left",
        ),
        (
            {
                "given": {"unit": {"protected": "user", "record": "event"}},
                "relation": "add-remove",
                "delta": 1e-6,
            },
            "given.unit.most_records must be stated: one user may hold more than one event",
        ),
        (
            {"given": {"code": {"file": "no.py"}}, "relation": "add-remove", "delta": 1e-6},
            "given.code.file='no.py' must be a file",
        ),
        ({"evidence": ["nowhere.json"], "relation": "add-remove"}, "must be a file"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(dpv.InvalidParameter) as refused:
        disclose(dpv.Gaussian(sigma=5.0), **options)
    assert told in str(refused.value)


def test_delta_is_printed_as_it_was_stated(capsys: Any, tmp_path: Path) -> None:  # noqa: ANN401
    options = ["--relation", "add-remove", "--output", str(tmp_path / "d.yaml")]
    assert run(["disclose", "gaussian(sigma=5)", "--delta", "1.2345678e-6", *options]) == 0
    assert "at δ = 1.2345678e-06\n" in capsys.readouterr().out
    assert run(["disclose", "pure(epsilon=0.5)", "--delta", "0", *options]) == 0
    assert "at δ = 0\n" in capsys.readouterr().out


def test_evidence_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    for name, text in (("a.json", "{}"), ("b.json", "[]"), ("c.json", "x"), ("d.json", "[" * 9999)):
        (tmp_path / name).write_text(text)
        with pytest.raises(dpv.InvalidParameter, match="evidence="):
            disclose(tmp_path / name, relation="add-remove")


@pytest.mark.parametrize(
    "damage", [{"level": "x"}, {"samples": None}, {"samples": -1}, {"claim": 3}, {"most_shown": []}]
)
def test_damaged_evidence_is_refused(damage: dict[str, Any], kept: Path, tmp_path: Path) -> None:
    held = json.loads((kept / "audit.json").read_text()) | damage
    (tmp_path / "audit.json").write_text(json.dumps(held))
    with pytest.raises(dpv.DPVerifyError):
        disclose(tmp_path / "audit.json", relation="add-remove")
