"""The checker: what it accepts is true; a wrong number anywhere is refused."""

import copy
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.certifying import certify
from dpverify.certifying.checking import Invalid, verify
from dpverify.certifying.checking.masses import BoxMasses as CheckedMasses
from dpverify.certifying.checking.neighbors import allowed, pairs, situations
from dpverify.certifying.checking.normal import normal
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient, exp_bounds, root_bounds
from dpverify.certifying.searching.boxes import BoxRecipes
from dpverify.certifying.searching.masses import Masses
from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.plain import plain_laws, plain_schema
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Inequality, NoiseLaw
from dpverify.certifying.symbolic.schemas import plain_rows
from tests.certifying.schemas import Answers, BoxedVector, Category, Number, Records, Schema

Rng = np.random.Generator


def maximum(scores: Any, rng: Rng) -> int:  # noqa: ANN401
    noisy = [s + rng.laplace(scale=2.0) for s in scores]
    return noisy.index(max(noisy))


def response(bit: int, rng: Rng) -> int:
    return bit if rng.random() < 0.75 else 1 - bit


def clipped(count: int, rng: Rng) -> int:
    return min(max(count + int(rng.geometric(0.5)) - int(rng.geometric(0.5)), 0), 2)


def noisy_sum(values: Any, rng: Rng) -> float:  # noqa: ANN401
    return (
        float(sum(values) + rng.normal(scale=2.0)) if len(values) else rng.normal(scale=2.0) + 0.0
    )


PERSON = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)
COUNT = Answers(sensitivity=1, integer=True, low=0, high=2)
UNITS = Records(record=Number(low=0.0, high=1.0), length=(1, 2), relation=dpv.Relation.ADD_REMOVE)
TIGHT: dict[str, tuple[Any, Schema, Any]] = {
    "alignment": (maximum, Answers(dimension=2, sensitivity=1.0), dpv.PureDP(epsilon=1.0)),
    "exact": (clipped, COUNT, dpv.PureDP(epsilon=math.log(2))),
    "draws": (response, PERSON, dpv.PureDP(epsilon=math.log(3))),
    "sums": (noisy_sum, UNITS, dpv.GaussianDP(mu=0.5)),
    "counterexample": (maximum, Answers(dimension=2, sensitivity=1.0), dpv.PureDP(epsilon=0.5)),
}


@cache
def evidence(name: str) -> str:
    mechanism, schema, claim = TIGHT[name]
    found = certify(mechanism, schema, claim)
    assert found.verdict == ("refuted" if name == "counterexample" else "proved"), found.reason
    return json.dumps(found.evidence)


@pytest.mark.parametrize("name", TIGHT)
def test_what_the_search_found_is_accepted(name: str) -> None:
    assert verify(json.loads(evidence(name))) in {"proved", "refuted"}


def _claim(read: Any) -> None:  # noqa: ANN401
    claim = read["claim"]
    if claim.get("kind") == "gaussian":
        claim["mu"] = "499/1000"
    else:
        claim["epsilon"] = str(Fraction(claim["epsilon"]) * Fraction(99, 100))


def _noise(read: Any) -> None:  # noqa: ANN401
    """Less noise: a smaller scale, a smaller ratio of masses, a fairer coin."""
    text = json.dumps(read["trees"])
    for law in [*read["laws"].values(), *_laws(read["trees"])]:
        number = law["parameter"]
        number["num"] = [str(Fraction(c) * Fraction(9, 10)) for c in number["num"]]
    if '"draw"' in text:
        for tree in _trees(read["trees"]):
            if "draw" in tree:
                for weight, value in zip(tree["draw"], ("4/5", "1/5"), strict=True):
                    weight["num"] = [value]


def _sensitivity(read: Any) -> None:  # noqa: ANN401
    schema = read["schema"]
    if schema["relation"] == "move":
        schema["reach"] = "2"
    elif schema["slots"] is not None:
        schema["slots"][0][1] = "2"
    else:
        schema["values"] = [0, 1, 2]


def _output(read: Any) -> None:  # noqa: ANN401
    """One leaf returns data as they are; or something that no other dataset returns."""
    leaf = next(tree for tree in _trees(read["trees"]) if "output" in tree)
    leaf["output"] = ["text", "secret"] if "datasets" in read else ["value", {"x0": "1"}]


def _missing(read: Any) -> None:  # noqa: ANN401
    if "proof" in read:
        read["proof"] = read["proof"][:-1]
    else:
        for key in ("datasets", "trees", "masses"):
            read[key] = read[key][:-1]


def _trees(value: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _trees(part)
    elif isinstance(value, list):
        for part in value:
            yield from _trees(part)


def _laws(trees: Any) -> Iterator[Any]:  # noqa: ANN401
    return (tree["law"] for tree in _trees(trees) if "release" in tree)


@pytest.mark.parametrize("name", [n for n in TIGHT if n != "counterexample"])
@pytest.mark.parametrize("change", [_claim, _noise, _sensitivity, _output, _missing])
def test_a_false_statement_is_refused(name: str, change: Any) -> None:  # noqa: ANN401
    """Every claim above is tight, so that each of these changes makes it false."""
    read = json.loads(evidence(name))
    change(read)
    with pytest.raises(Invalid):
        verify(read)


def _numbers(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """Where there are rationals in a proof."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _numbers(part, (*way, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _numbers(part, (*way, i))
    elif isinstance(value, str):
        yield way


@pytest.mark.parametrize("name", ["alignment", "sums"])
@pytest.mark.parametrize("wrong", ["-1", "7/3", "0"])
def test_a_wrong_multiplier_shows_nothing_new(name: str, wrong: str) -> None:
    """Most changes are refused; where one is accepted the statement is the same, and true."""
    read = json.loads(evidence(name))
    refused = total = 0
    for way in _numbers(read["proof"]):
        changed = copy.deepcopy(read)
        part = changed["proof"]
        for key in way[:-1]:
            part = part[key]
        if part[way[-1]] == wrong:
            continue
        part[way[-1]] = wrong
        total += 1
        try:
            verify(changed)
        except Invalid:
            refused += 1
    assert refused > 0.8 * total > 5


@pytest.mark.parametrize("junk", [{}, {"method": "alignment"}, {"method": "magic"}, [], None, 3])
def test_junk_is_refused(junk: Any) -> None:  # noqa: ANN401
    with pytest.raises(Invalid):
        verify(junk)


def test_a_counterexample_needs_neighbors_of_the_schema() -> None:
    read = json.loads(evidence("counterexample"))
    read["datasets"][1] = ["9", "9"]
    with pytest.raises(Invalid, match="neighbors"):
        verify(read)


# What a schema allows.

SCHEMAS: list[Schema] = [
    Answers(dimension=3, sensitivity=1.0),
    Answers(dimension=3, sensitivity=2.0, norm=1, low=-1.0, high=4.0),
    Answers(dimension=2, sensitivity=1.5, norm=2),
    Answers(dimension=3, sensitivity=1.0, monotone=True),
    Answers(dimension=2, sensitivity=2, integer=True, low=0, high=5),
    Records(record=Number(low=0.0, high=1.0), length=3, relation=dpv.Relation.REPLACE_ONE),
    Records(
        record=Number(low=-1, high=2, integer=True), length=(0, 3), relation=dpv.Relation.ADD_REMOVE
    ),
    Records(
        record=BoxedVector(low=(0.0, 0.0), high=(1.0, 2.0)),
        length=2,
        relation=dpv.Relation.REPLACE_ONE,
    ),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_situations_hold_all_neighbors(schema: Schema) -> None:
    """Neighbors that the schema itself draws, in both orders, satisfy the facts of a situation."""
    rng = np.random.default_rng(0)
    found = list(situations(plain_schema(schema)))
    for _ in range(40):
        pair = schema.draw_pair(rng)
        for left, right in ((pair.left, pair.right), (pair.right, pair.left)):
            a, b = ([Fraction(float(x)) for x in np.ravel(side)] for side in (left, right))
            assert any(_lies(a, b, situation) for situation in found), (left, right)


def _lies(a: list[Fraction], b: list[Fraction], situation: Any) -> bool:  # noqa: ANN401
    left, right, facts, _ = situation
    if (len(a), len(b)) != (len(left), len(right)):
        return False
    known: dict[str, Fraction] = {"": Fraction(1)}
    for side, data in ((left, a), (right, b)):
        for form, value in zip(side, data, strict=True):
            open_names = [n for n in form if n not in known]
            if open_names:
                rest = sum((c * known[n] for n, c in form.items() if n in known), Fraction(0))
                known[open_names[0]] = (value - rest) / form[open_names[0]]
            elif sum(c * known[n] for n, c in form.items()) != value:
                return False
    for name in {n for fact, _ in facts for n in fact if n.startswith("a")}:
        known[name] = abs(known["d" + name[1:]])
    slack = Fraction(1, 10**9)
    return all(sum(c * known[n] for n, c in fact.items()) >= -slack for fact, _ in facts)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_neighbors_are_those_of_the_schema(schema: Schema) -> None:
    rng = np.random.default_rng(1)
    plain = plain_schema(schema)
    for _ in range(20):
        form: Any = schema.draw_pair(rng).form
        rows = form if isinstance(form, tuple) else (form.left, form.right)
        told = [plain_rows(side) for side in rows]
        exact = not isinstance(schema, Answers) or schema.norm == math.inf  # else rounded: beyond
        if exact:
            assert all(allowed(plain, side) for side in told)
            assert list(pairs(plain, told)) == [(0, 1), (1, 0)]


# Numbers and probabilities.


@given(st.fractions(-40, 40, max_denominator=50))
def test_bounds_of_exponentials(r: Fraction) -> None:
    low, high = exp_bounds(r, 80)
    with mpmath.workdps(60):
        true = mpmath.exp(mpmath.mpf(r.numerator) / r.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert true <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low <= high / 2**70


@given(st.fractions(0, 1, max_denominator=90), st.integers(1, 12))
def test_bounds_of_roots(ratio: Fraction, m: int) -> None:
    low, high = root_bounds(ratio, m, 80)
    assert low**m <= ratio < high**m
    assert high - low <= Fraction(1, 2**80)


@given(st.fractions(-9, 9, max_denominator=30))
def test_bounds_of_the_normal_distribution(x: Fraction) -> None:
    low, high = normal(x)
    with mpmath.workdps(160):
        true = mpmath.ncdf(mpmath.mpf(x.numerator) / x.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert true <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low < Fraction(1, 10**50)


LAWS = {
    **{f"g{i}": NoiseLaw("geometric", ExactNumber.of(Fraction(1, 2))) for i in range(3)},
    **{f"l{i}": NoiseLaw("laplace", ExactNumber.of(Fraction(2))) for i in range(3)},
    **{f"e{i}": NoiseLaw("exponential", ExactNumber.of(Fraction(1, 3))) for i in range(3)},
}


@st.composite
def systems(draw: st.DrawFn) -> list[tuple[dict[str, int], int]]:
    letter = draw(st.sampled_from("gle"))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        first, second = draw(st.permutations(range(3)))[:2]
        row = {f"{letter}{first}": draw(st.sampled_from((1, -1)))}
        if draw(st.booleans()):
            row[f"{letter}{second}"] = draw(st.sampled_from((1, -1)))
        rows.append((row, draw(st.integers(-2, 3))))
    return rows


@settings(max_examples=40)
@given(systems())
def test_search_and_checker_count_the_same(rows: list[tuple[dict[str, int], int]]) -> None:
    tests = [
        Inequality(
            tuple(sorted((n, Fraction(c)) for n, c in row.items())), ExactNumber.of(c), strict=False
        )
        for row, c in rows
    ]
    unit = ClaimUnit({"unit": "one", "ratio": None, "epsilon": "1", "delta": "0"})
    forms = [{**{n: Fraction(c) for n, c in row.items()}, "": Fraction(c0)} for row, c0 in rows]
    facts = [({n: c for n, c in form.items() if c}, False) for form in forms]
    try:
        found = Masses(LAWS, EpsilonUnit())(tests)
        how = BoxRecipes(plain_laws(LAWS), unit).recipe(facts)
    except NotUnderstood:
        return
    again = CheckedMasses(plain_laws(LAWS), unit).probability(facts, json.loads(json.dumps(how)))
    assert unit.sign(again - Quotient.read(found.plain())) == 0


def test_masses_by_hand() -> None:
    """P(G₀ ≥ G₁) = 2/3 for ratio 1/2; P(L₀ ≥ L₁) = 1/2; three in one order: 1/6."""

    def found(*rows: dict[str, int]) -> Fraction | None:
        tests = [
            Inequality(
                tuple(sorted((n, Fraction(c)) for n, c in row.items())),
                ExactNumber.of(0),
                strict=False,
            )
            for row in rows
        ]
        return Masses(LAWS, EpsilonUnit())(tests).fraction()

    assert found({"g0": 1, "g1": -1}) == Fraction(2, 3)
    assert found({"l0": 1, "l1": -1}) == Fraction(1, 2)
    assert found({"l0": 1, "l1": -1}, {"l1": 1, "l2": -1}) == Fraction(1, 6)
    assert all(found({"l0": a}, {"l1": b}) == Fraction(1, 4) for a, b in product((1, -1), repeat=2))
