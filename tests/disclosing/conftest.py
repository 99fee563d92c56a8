"""Small releases, what people say of them, and evidence in files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify import schema

GIVEN: dict[str, Any] = {
    "product": {
        "name": "Commute times",
        "curators": ["City of Examples"],
        "description": "Mean commute by district.",
        "intended_use": "Planning.",
        "kind": "Summary statistics",
        "region": "Examples",
        "published": "2026-03-01",
        "authors": ["A. Author"],
    },
    "unit": {"protected": "person", "record": "trip", "most_records": 3},
    "data": {"domain": "Trips of one week.", "records": 50_000, "unprotected": []},
    "trust": {
        "model": "central",
        "actors": "The city.",
        "releases": "one",
        "data": "static",
        "access": "non-interactive",
    },
    "defenses": {
        "floating_point": "Integer noise on a grid.",
        "timing": "None needed: published once.",
        "preprocessing": "None.",
        "tuning": "On public data.",
    },
    "code": {"version": "1.0"},
}


def noisy(data: list[float], rng: np.random.Generator) -> float:
    return data[0] + rng.laplace(scale=2.0)


def bare(data: list[float], rng: np.random.Generator) -> float:
    return data[0] + rng.laplace(scale=0.25)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, an audit, two witnesses, and a ledger."""
    pytest.importorskip("z3", reason="certificates of alignments need z3")
    folder: Path = tmp_path_factory.mktemp("evidence")
    answers = schema.Answers(dimension=1, sensitivity=1.0)
    claim = dpv.PureDP(epsilon=1.0)
    dpv.certify(noisy, schema=answers, claim=claim).save(folder / "proof.json")
    pair: dict[str, Any] = {"left": [0.0], "right": [1.0], "claim": claim, "seed": 1}
    passed = dpv.audit(noisy, **pair, samples=2000)
    assert not passed.refuted
    (folder / "audit.json").write_text(json.dumps(passed.to_dict()))
    failed = dpv.audit(bare, **pair, samples=2000)
    assert failed.refuted
    assert failed.witness is not None
    failed.witness.save(folder / "witness.json")
    for name, mechanism in (("decided", noisy), ("decided-against", bare)):
        found = dpv.decide(mechanism, schema=answers, claim=claim, seed=1)
        (folder / f"{name}.json").write_text(json.dumps(found.to_dict()))
    drawn = dpv.deciding.Decision(
        verdict="not refuted",
        claim=claim,
        mechanism="noisy",
        sentence="",
        rungs=(dpv.deciding.Rung(name="audit", said="", evidence=passed),),
        level=0.05,
        seed=1,
    )
    (folder / "drawn.json").write_text(json.dumps(drawn.to_dict()))
    traced = dpv.trace(bare, **pair)
    assert traced.witness is not None
    traced.witness.save(folder / "trace.json")
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    ledger = dpv.Ledger.open(
        folder / "budget.ledger", budget=budget, relation=dpv.Relation.ADD_REMOVE
    )
    ledger.spend(dpv.Gaussian(sigma=50.0))
    return folder
