"""The document: read as declared, sealed, and described by the JSON Schema that is published."""

import json
import math
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

import dpverify as dpv
from dpverify.disclosing import Disclosure, schema
from dpverify.disclosing.document import Exhibit, StatedGuarantee, TwoEnds
from tests.disclosing.conftest import GIVEN


def example() -> Disclosure:
    parts = [(dpv.Gaussian(sigma=50.0), 100)]
    return dpv.disclose(parts, relation="add-remove", delta=1e-6, given=GIVEN)


def test_what_is_not_stated_is_written_so_and_read_so() -> None:
    made = Disclosure(guarantee=StatedGuarantee(epsilon=TwoEnds(lower=1.0, upper=math.inf)))
    told = made.to_dict()
    assert told["product"] == told["guarantee"]["delta"] == "not stated"
    assert told["guarantee"]["epsilon"] == {"lower": 1.0, "upper": "inf"}
    assert Disclosure.read(told) == (made, ())


@pytest.mark.parametrize(
    ("tree", "path", "text"),
    [
        ({"guarantee": {"delta": math.nan}}, "guarantee.delta", "nan must be a number"),
        ({"guarantee": {"delta": 2}}, "guarantee.delta", "must be from 0 to 1"),
        ({"guarantee": {"delta": True}}, "guarantee.delta", "True must be a number"),
        ({"guarantee": {"delta": 10**400}}, "guarantee.delta", "a float can hold"),
        ({"guarantee": {"epsilon": {"upper": "1"}}}, "guarantee.epsilon.upper", "must be a number"),
        ({"guarantee": {"epsilon": {"upper": -1}}}, "guarantee.epsilon.upper", "at least 0"),
        ({"guarantee": []}, "guarantee", "must be an object"),
        ({"unit": {"relaton": 1}}, "unit.relaton", "did you mean 'relation'?"),
        ({"unit": {"relation": "swap"}}, "unit.relation", "one of: add-remove, replace-one"),
        ({"unit": {"most_records": 1.01}}, "unit.most_records", "must be a whole number"),
        ({"data": {"unprotected": "x"}}, "data.unprotected", "must be a list"),
        ({"mechanisms": [{"times": 0}]}, "mechanisms[0].times", "at least 1"),
        ({"mechanisms": [{"parameters": 3}]}, "mechanisms[0].parameters", "must be an object"),
        (
            {"mechanisms": [{"parameters": {"x": [math.nan]}}]},
            "mechanisms[0].parameters.x[0]",
            "nan must be a number",
        ),
        ({"evidence": [{"says": "x"}]}, "evidence[0].kind", "must be stated"),
        ({"evidence": [{"kind": "oath"}]}, "evidence[0].kind", "must be one of: theorem"),
        ({"product": {"name": 5}}, "product.name", "must be a text"),
        ({"<script>": 1}, "<script>", "unknown field"),
        ({"version": 2}, "version", "2 must be one of: 1"),
        ({"version": 1.0}, "version", "1.0 must be one of: 1"),
    ],
)
def test_one_sentence_a_problem_with_its_path(tree: Any, path: str, text: str) -> None:  # noqa: ANN401
    _, objections = Disclosure.read({"format": "dpverify disclosure", "version": 1} | tree)
    assert [each.path for each in objections] == [path]
    assert text in objections[0].text
    assert objections[0].weight == "wrong"


@pytest.mark.parametrize("tree", [3, "x", [], None])
def test_what_is_no_object_is_objected_to(tree: object) -> None:
    found, objections = Disclosure.read(tree)
    assert found == Disclosure()
    assert [each.path for each in objections] == ["document"]


def test_a_seal_is_of_the_content() -> None:
    made = example()
    assert made.seal == made.digest
    again, _ = Disclosure.read(json.loads(json.dumps(made.to_dict())))
    assert again == made


def test_the_published_file_is_the_schema() -> None:
    """`dpverify disclose --schema` writes it; version 1 may gain fields and lose none."""
    published = files("dpverify.disclosing").joinpath("disclosure-1.schema.json")
    assert json.loads(published.read_text(encoding="utf-8")) == schema()


def test_the_schema_takes_what_is_written_and_nothing_else() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the validator is not installed")
    published = schema()
    jsonschema.Draft202012Validator.check_schema(published)
    validator = jsonschema.Draft202012Validator(published)
    told = example().to_dict()
    assert not list(validator.iter_errors(told))
    for damaged in (
        told | {"version": 2},
        told | {"surprise": 1},
        told | {"unit": told["unit"] | {"relation": "swap"}},
        told | {"guarantee": told["guarantee"] | {"delta": 2}},
    ):
        assert list(validator.iter_errors(damaged))


def test_the_schema_describes_every_field() -> None:
    told = schema()
    assert told["$id"] == "urn:dpverify:disclosure:1"
    assert told["properties"]["evidence"]["anyOf"][0]["items"]["required"] == ["kind"]
    kinds = told["properties"]["evidence"]["anyOf"][0]["items"]["properties"]["kind"]["enum"]
    assert {Exhibit(kind=kind).kind for kind in kinds} == set(kinds)

    assert not list(_undescribed(told))


def _undescribed(node: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    for name, part in node.get("properties", {}).items():
        if "description" not in part:
            yield f"{path}.{name}"
        yield from _undescribed(part, f"{path}.{name}")
    for part in (*node.get("anyOf", ()), *([node["items"]] if "items" in node else [])):
        yield from _undescribed(part, path)
