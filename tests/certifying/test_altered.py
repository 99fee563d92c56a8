"""Certificates with one thing changed: none that states something false is accepted."""

import json
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from dpverify.certifying.checking import Invalid, verify
from tests.certifying.alterations import altered, transplanted
from tests.certifying.small import SMALL, certificate
from tests.certifying.statements import is_false_there, is_true

STATED = ("method", "schema", "laws", "trees", "claim", "datasets")


def stated(read: Any) -> str:  # noqa: ANN401
    """What a certificate is about, without its proof."""
    return json.dumps([read.get(key) for key in STATED], sort_keys=True)


def holds(read: Any, verdict: str) -> bool:  # noqa: ANN401
    return is_true(read) if verdict == "proved" else is_false_there(read)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SMALL)
def test_what_is_stated_is_true(name: str) -> None:
    read = certificate(name)
    assert holds(read, verify(read))
    assert verify(read) == read["verdict"]


@pytest.mark.parametrize("name", [n for n in SMALL if not n.startswith("less")])
def test_tight_claims_are_false_for_less(name: str) -> None:
    """So that the counting on a grid can tell what is false; and the checker refuses it."""
    read = certificate(name)
    claim = read["claim"]
    if claim["unit"] == "every" or claim.get("kind") in {"gaussian", "zcdp", "renyi"}:
        key = {"gaussian": "mu", "zcdp": "rho"}.get(claim.get("kind"), "epsilon")
    else:
        key = "epsilon" if Fraction(claim["epsilon"]) else "delta"
    claim[key] = str(Fraction(claim[key]) * Fraction(9, 10))
    if claim.get("kind") == "approx":
        claim["delta"] = str(Fraction(claim["delta"]) / 10)
    if name not in {"clipped sums", "larger"}:  # which are not tight, or only far out
        assert not is_true(read)
        with pytest.raises(Invalid):
            verify(read)


def wrongly_accepted(
    read: Any,  # noqa: ANN401
    changed: Iterable[tuple[str, Any]],
) -> tuple[list[str], int, int]:
    """Alterations that state something false and are accepted; how many were, and were tried."""
    same, wrong, accepted, tried = stated(read), [], 0, 0
    for change, made in changed:
        how = change
        tried += 1
        try:
            verdict = verify(made)
        except Invalid:
            continue
        accepted += 1
        if stated(made) == same:
            continue
        try:
            fine = holds(made, verdict)
        except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
            fine, how = False, f"{how}: {error!r}"
        if not fine:
            wrong.append(how)
    return wrong, accepted, tried


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SMALL)
def test_no_altered_certificate_that_is_false_is_accepted(name: str) -> None:
    """One alteration in twenty; which ones depends on the certificate."""
    read = certificate(name)
    wrong, accepted, tried = wrongly_accepted(read, altered(read, len(name) % 20, 20))
    assert not wrong
    assert tried > 10
    assert accepted < tried / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_no_alteration_that_is_false_is_accepted(name: str) -> None:
    read = certificate(name)
    wrong, _, tried = wrongly_accepted(read, altered(read))
    assert not wrong
    assert tried > 200


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "many", [pytest.param(20, id="few"), pytest.param(1_000, id="many", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", SMALL)
def test_no_part_of_a_certificate_can_stand_in_the_place_of_another(name: str, many: int) -> None:
    read = certificate(name)
    changed = transplanted(read, random.Random(len(name)), many)  # noqa: S311
    wrong, _, tried = wrongly_accepted(read, changed)
    assert not wrong
    assert tried >= many / 4
