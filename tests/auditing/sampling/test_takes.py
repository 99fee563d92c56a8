"""What an audit takes: claims of many kinds, data of many kinds, schemas."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing import Witness
from dpverify.schema import Number, Records


def half_noise(data: list[float], rng: np.random.Generator) -> float:
    return float(sum(data)) + float(rng.laplace(scale=0.5))


@pytest.mark.parametrize(
    "data",
    [
        (np.eye(2), np.array([1.0, -1.0])),
        {"age": np.array([1, 2]), "name": ["a", "b"]},
        [np.array([1.0]), (1, "x")],
        [1.0, None, "text"],
        3.5,
    ],
    ids=str,
)
def test_a_witness_keeps_data_of_many_kinds(data: Any, tmp_path: Path) -> None:  # noqa: ANN401
    verdict = dpv.audit(half_noise, left=[0.0], right=[1.0], claim=dpv.PureDP(epsilon=1.0), seed=7)
    assert verdict.witness is not None
    kept = replace(verdict.witness, left=data)
    kept.save(tmp_path / "witness.json")
    loaded = Witness.load(tmp_path / "witness.json").left
    assert type(loaded) is type(data)
    assert repr(loaded) == repr(data)


def test_a_density_that_is_not_known_for_the_data_is_done_without() -> None:
    mechanism = dpv.NormMechanism(scale=1.0)
    verdict = dpv.audit(mechanism, left=[0.0, 0.0], right=[1.0, 0.0], seed=1, samples=2000)
    assert not verdict.refuted
    assert "likelihood ratio" not in verdict.tried


def test_a_whole_profile_is_a_claim() -> None:
    exact = dpv.Gaussian(sigma=1.0)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(exact)
    options: dict[str, Any] = {"left": 0.0, "right": 1.0, "seed": 1, "samples": 20_000}
    assert not dpv.audit(exact, claim=spent, **options).refuted
    assert dpv.audit(dpv.Gaussian(sigma=0.6), claim=spent, **options).refuted
    assert dpv.audit(exact, claim=[(0.5, 0.01)], **options).refuted


def test_a_schema_checks_the_pair_that_is_given() -> None:
    data = Records(record=Number(low=0.0, high=1.0), length=2, relation=dpv.Relation.REPLACE_ONE)
    for right, message in (([0.0, 0.5], "differ"), ([1.0, 1.0], "neighbor")):
        with pytest.raises(dpv.InvalidParameter, match=message):
            dpv.audit(half_noise, left=[0.0, 0.5], right=right, schema=data)


def test_notebooks_show_verdicts_escaped() -> None:
    def leaky(data: str, rng: np.random.Generator) -> str:
        return f"<b>{data}</b>" if rng.random() < 0.5 else "nothing"

    verdict = dpv.audit(leaky, left="l", right="r", claim=dpv.PureDP(epsilon=1.0), seed=1)
    assert verdict.witness is not None
    for shown in (verdict._repr_html_(), verdict.witness._repr_html_()):
        assert "&lt;b&gt;" in shown
        assert "<b>l</b>" not in shown
    assert "#a40e26" in verdict._repr_html_()
