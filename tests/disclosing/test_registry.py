"""Entries of the public registry: contradictions found, honest ones left alone, and written."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.disclosing import check_disclosure, disclose, entry_of
from dpverify.disclosing.registry import relation_in
from dpverify.disclosing.text import parsed, written
from tests.disclosing.conftest import GIVEN
from tests.disclosing.test_checking import PLAIN, changed, nodes

ENTRY = """
url_slug: example
status: Draft
tier: 3
deployment:
  basic:
    name: Bus stops
    data_curators: [City of Examples]
    description: Counts by stop.
    intended_use: Planning
    data_product_type: Summary statistics
    data_product_region: Examples
    publication_date: "2025-05-05"
  dp_variant:
    variant_name: Approximate DP
  privacy_loss:
    privacy_unit: Person-level
    privacy_unit_details: Adjacent datasets differ by adding or removing one person.
    privacy_parameters: {epsilon: 1.5, delta: 1e-7}
  deployment_model:
    model_name: Central
    release_type: One release
  accounting:
    composition: Sequential composition.
  administrative:
    registry_authors: [A. Author]
"""
LOSS = "deployment.privacy_loss"


def entry(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """The entry above, with fields of its sections replaced."""
    made: dict[str, Any] = copy.deepcopy(parsed(ENTRY))
    for section, fields in changes.items():
        made["deployment"].setdefault(section, {}).update(fields)
    return made


def test_long_texts_are_read_quickly() -> None:
    blank = "no information was provided" + " " * 10**6 + "x" + "add" * 10**5
    details = {"privacy_unit": "_" * 10**6 + "level!", "privacy_unit_details": blank}
    found = check_disclosure(entry(privacy_loss=details, accounting={"composition": blank}))
    assert found.kind == "registry entry"


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(nodes(parsed(ENTRY)))), PLAIN)
def test_whatever_stands_in_a_field_nothing_breaks(path: tuple[Any, ...], value: object) -> None:
    made = changed(parsed(ENTRY), path, value)
    assert check_disclosure(made).verdict in {"wrong", "incomplete", "stands"}


def test_an_honest_entry_is_left_alone() -> None:
    found = check_disclosure(entry())
    assert found.kind == "registry entry"
    assert str(found).startswith("nothing found wrong, which is no proof of it")


ZCDP = {"variant_name": "Zero-concentrated DP"}


@pytest.mark.parametrize(
    ("changes", "path", "told"),
    [
        ({"dp_variant": {"variant_name": "Pure DP"}}, "delta", "at delta=0 it is inf"),
        (
            # N(√(2ρ), 1) at δ = 1e-5, of the analytic Gaussian mechanism: 1.4758
            {"dp_variant": ZCDP, "privacy_loss": {"rho": 0.0728, "epsilon": 1.453, "delta": 1e-5}},
            "epsilon",
            "needs epsilon ≥ 1.47584",
        ),
        ({"privacy_loss": {"epsilon": -1.0}}, "epsilon", "must be at least 0"),
        ({"privacy_loss": {"epsilon": float("nan")}}, "epsilon", "nan must be a number"),
        ({"privacy_loss": {"delta": 7}}, "delta", "7 must be a number from 0 to 1"),
        ({"privacy_loss": {"epsilon": "<b>"}}, "epsilon", "must be a number"),
        ({"deployment_model": {"release_type_details": "Daily"}}, "release_type", "costs again"),
        ({"deployment_model": {"model_name": "Cloudy"}}, "model_name", "must be one of: Local"),
        ({"accounting": {"budget": "x"}}, "budget", "unknown field"),
    ],
)
def test_contradictions_are_found(changes: dict[str, Any], path: str, told: str) -> None:
    parameters = changes.pop("privacy_loss", None)
    made = entry(**changes)
    if parameters is not None:
        made["deployment"]["privacy_loss"]["privacy_parameters"].update(parameters)
    found = check_disclosure(made)
    assert [each.path.rpartition(".")[2] for each in found.wrong] == [path]
    assert told in found.wrong[0].text


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [(0.0728, 1.6072), (0.0728, 1.61), (2.56, 17.16), (0.07, 2.47), (4.96, 26.34), (7.70, 34.33)],
)
def test_what_follows_from_rho_is_left_alone(rho: float, epsilon: float) -> None:
    made = entry(dp_variant=ZCDP)
    delta = 1e-5 if rho == 0.0728 else 1e-10
    stated = {"rho": rho, "epsilon": epsilon, "delta": delta}
    made["deployment"]["privacy_loss"]["privacy_parameters"] = stated
    found = check_disclosure(made)
    assert found.verdict == "stands"
    assert found.numbers == 1


def test_between_what_is_excluded_and_what_is_certain_nothing_is_claimed() -> None:
    made = entry(dp_variant=ZCDP)
    stated = {"rho": 0.0728, "epsilon": 1.55, "delta": 1e-5}
    made["deployment"]["privacy_loss"]["privacy_parameters"] = stated
    found = check_disclosure(made)
    assert found.verdict == "incomplete"
    assert "nor is it excluded" in found.incomplete[0].text


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"dp_variant": {"variant_name": None}}, "deployment.dp_variant.variant_name"),
        ({"privacy_loss": {"privacy_unit_details": "Neighbors."}}, f"{LOSS}.privacy_unit_details"),
        ({"privacy_loss": {"privacy_unit": ""}}, f"{LOSS}.privacy_unit"),
        ({"privacy_loss": {"privacy_parameters": {}}}, f"{LOSS}.privacy_parameters.epsilon"),
        (
            {"privacy_loss": {"privacy_parameters": {"epsilon": 1.0, "delta": "1/n"}}},
            f"{LOSS}.privacy_parameters.delta",
        ),
        ({"dp_variant": ZCDP}, f"{LOSS}.privacy_parameters.rho"),
        ({"accounting": {"composition": "Not available"}}, "deployment.accounting.composition"),
        (
            {"accounting": {"composition": "No information was provided about composition."}},
            "deployment.accounting.composition",
        ),
        ({"deployment_model": {"model_name": "Varies"}}, "deployment.deployment_model.model_name"),
        ({"basic": {"name": None}}, "deployment.basic.name"),
    ],
)
def test_what_is_left_out_is_incomplete(changes: dict[str, Any], path: str) -> None:
    found = check_disclosure(entry(**changes))
    assert found.verdict == "incomplete"
    assert path in {each.path for each in found.incomplete}


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("the addition or deletion of a single user", "add-remove"),
        ("we add or remove all of the examples of one device", "add-remove"),
        ("The distance is the symmetric distance, at most one.", "add-remove"),
        ("differ by the modification of a single person's record", "replace-one"),
        ("the change-one distance", "replace-one"),
        ("adjacent datasets differ by the data of a single victim", None),
        ("adding or removing one, or the replacement of one", None),
        (None, None),
    ],
)
def test_the_relation_that_a_text_names(text: str | None, relation: str | None) -> None:
    assert relation_in(text) == relation


def test_a_disclosure_becomes_an_entry_that_is_left_alone(tmp_path: Path) -> None:
    made = disclose(
        [(dpv.Gaussian(sigma=40.0), 20)], relation="add-remove", delta=1e-6, given=GIVEN
    )
    told = entry_of(made)
    path = tmp_path / "entry.yaml"
    path.write_text(written(told), encoding="utf-8")
    found = check_disclosure(path)
    assert found.kind == "registry entry"
    assert found.wrong == ()
    assert told["url_slug"] == "commute-times-city-of-examples-2026"
    assert told["deployment"]["privacy_loss"]["privacy_unit"] == "person-level"
    assert "up to 3 records" in told["deployment"]["privacy_loss"]["privacy_unit_details"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", None), ("kind", "Poem"), ("published", "May"), ("sector", "Poetry")],
)
def test_what_the_registry_does_not_take_is_refused(field: str, value: str | None) -> None:
    people = copy.deepcopy(GIVEN)
    people["product"][field] = value
    made = disclose(dpv.PureDP(epsilon=1.0), relation="add-remove", given=people)
    with pytest.raises(dpv.InvalidParameter, match=f"product.{field}"):
        entry_of(made)
