"""Recipes in a certificate by which the checker computes each path's probability."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.certifying.checking.exactly import filled, matched
from dpverify.certifying.checking.forms import Fact, Form, form
from dpverify.certifying.checking.numbers import ClaimUnit
from dpverify.certifying.checking.trees import leaves, noises
from dpverify.certifying.searching.boxes import BoxRecipes
from dpverify.certifying.symbolic.reasons import NotUnderstood

_ONE = Fraction(1)


def probabilities(evidence: dict[str, Any], trees: list[Any]) -> list[Any]:
    """Recipes for all outputs of plain trees, or for an event if the evidence has one."""
    boxes, names = BoxRecipes(evidence["laws"], ClaimUnit(evidence["claim"])), noises(evidence)
    whole = {name for name, law in evidence["laws"].items() if law["kind"] == "geometric"}
    event = evidence.get("event")
    return [
        [
            _shown(boxes, list(facts), output, whole)
            if event is None
            else _matched(boxes, list(facts), output, event)
            for facts, _, output in leaves(tree, whole, names)
        ]
        for tree in trees
    ]


def _matched(boxes: BoxRecipes, facts: list[Fact], output: Any, event: Any) -> list[Any]:  # noqa: ANN401
    found = [matched(output, pattern) for pattern in event]
    return [boxes.recipe([*facts, *more]) for more in found if more is not None]


def _shown(boxes: BoxRecipes, facts: list[Fact], output: Any, whole: set[str]) -> list[Any]:  # noqa: ANN401
    made = []
    for numbers in product(*(_span(value, facts, whole) for value in _values(output))):
        more: list[Fact] = []
        filled(output, iter(numbers), more)
        how = boxes.recipe([*facts, *more])
        if "impossible" not in how:
            made.append({"numbers": list(numbers)} | how)
    return made


def _values(output: Any) -> Iterator[Form]:  # noqa: ANN401
    if isinstance(output, list) and output[:1] == ["value"]:
        yield form(output[1])
    elif isinstance(output, list):
        for part in output:
            yield from _values(part)


def _span(value: Form, facts: list[Fact], whole: set[str]) -> range:
    """The whole values of a form between the facts that bound it."""
    names = {n for n in value if n}
    if not names <= whole or any(c.denominator > 1 for c in value.values()):
        raise NotUnderstood("an output is a real number: there are infinitely many")
    lows, highs = list[Fraction](), list[Fraction]()
    for fact in [*(f for f, _ in facts), *({n: _ONE, "": -_ONE} for n in names)]:
        ratios = {fact[n] / value[n] for n in names} if {n for n in fact if n} == names else {0, 1}
        if len(ratios) == 1:
            ratio = Fraction(ratios.pop())
            end = value.get("", Fraction(0)) - fact.get("", Fraction(0)) / ratio
            (lows if ratio > 0 else highs).append(end)
    if not lows or not highs:
        raise NotUnderstood("there are infinitely many outputs")
    return range(math.ceil(max(lows)), math.floor(min(highs)) + 1)
