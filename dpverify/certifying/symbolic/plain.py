"""Trees, laws and claims in the form of JSON, with rationals as texts."""

import math
from fractions import Fraction
from typing import Any

from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import (
    Clamp,
    Draw,
    Inequality,
    Leaf,
    NoiseLaw,
    ReleaseNode,
    Tree,
)
from dpverify.certifying.symbolic.schemas import (
    listed_records,
    plain_rows,
    rational,
    sizes_of,
    slots,
)
from dpverify.certifying.symbolic.symbols import Symbolic
from dpverify.neighbors import Relation
from dpverify.schema import Answers, Category, Labeled, Records, Schema, Table, Vector


def plain_tree(tree: Tree) -> Any:  # noqa: ANN401
    if isinstance(tree, Leaf):
        return {"output": _output(tree.output)}
    if isinstance(tree, Draw):
        weights = [weight.plain() for weight in tree.weights]
        return {"draw": weights, "then": [plain_tree(child) for child in tree.children]}
    if isinstance(tree, ReleaseNode):
        return {
            "release": tree.name,
            "form": plain_form(tree.expression),
            "scale": str(abs(tree.coefficient)),
            "law": {"kind": tree.law.kind, "parameter": tree.law.parameter.plain()},
            "then": plain_tree(tree.then),
        }
    if isinstance(tree, Clamp):
        return {
            "clamp": tree.name,
            "operation": tree.operation,
            "form": plain_form(tree.expression),
            "constant": str(tree.constant),
            "then": plain_tree(tree.then),
        }
    test = tree.yes_if
    return {
        "test": plain_form(test),
        "strict": test.strict,
        "where": tree.where,
        "yes": plain_tree(tree.yes),
        "no": plain_tree(tree.no),
    }


def plain_form(value: Inequality | Symbolic) -> dict[str, str]:
    constant = value.constant.fraction()
    if constant is None:
        raise NotUnderstood("data or noise meet a constant that is not rational")
    made = {name: str(c) for name, c in value.coefficients}
    return made | ({"": str(constant)} if constant else {})


def plain_laws(laws: dict[str, NoiseLaw]) -> dict[str, Any]:
    return {n: {"kind": law.kind, "parameter": law.parameter.plain()} for n, law in laws.items()}


def plain_claim(unit: EpsilonUnit, epsilon: ExactNumber, delta: Fraction) -> dict[str, Any]:
    """A claim with ε as a multiple of the unit."""
    multiple = epsilon.multiple()
    if multiple is None:  # pragma: no cover  # `unit_of` makes multiples only
        raise NotUnderstood("epsilon is not a multiple of the unit")
    kind = "every" if unit.every else "one" if unit.ratio is None else "log"
    ratio = None if unit.ratio is None else str(unit.ratio)
    return {"unit": kind, "ratio": ratio, "epsilon": str(multiple), "delta": str(delta)}


def plain_schema(schema: Schema) -> dict[str, Any]:
    """A schema in the checker's form: slots of numbers or a list of records, and the neighbors.

    Answers are records of one number each, all of which move.
    """
    if isinstance(schema, Answers):
        ends = [None if math.isinf(end) else _text(end) for end in (schema.low, schema.high)]
        return {
            "relation": "move",
            "sizes": sizes_of(schema),
            "slots": [[*ends, schema.integer]],
            "values": None,
            "ball": None,
            "ordered": True,
            "reach": _text(schema.sensitivity),
            "norm": _norm(schema.norm),
            "monotone": schema.monotone,
            "records": None if schema.relation is None else Relation.parse(schema.relation).value,
        }
    if not isinstance(schema, Records):
        raise NotUnderstood(f"a schema of the class {type(schema).__name__} is not understood")
    domain = schema.record
    listed = isinstance(domain, (Category, Labeled, Table))
    ball = None
    if isinstance(domain, Vector):
        ball = {"norm": _norm(domain.norm), "radius": _text(domain.radius)}
    ends_of = [] if listed else slots(schema, 1)
    return {
        "relation": schema.relation.value,
        "sizes": sizes_of(schema),
        "slots": None if listed else [[_text(s.low), _text(s.high), s.whole] for s in ends_of],
        "values": plain_rows(tuple(listed_records(domain))) if listed else None,
        "ball": ball,
        "ordered": schema.ordered,
    }


def _text(value: float | Fraction | None) -> str | None:
    return None if value is None else str(rational(value) if isinstance(value, float) else value)


def _norm(norm: float) -> str:
    return "inf" if math.isinf(norm) else str(int(norm))


def _output(output: Any) -> Any:  # noqa: ANN401
    if isinstance(output, tuple) and output and output[0] == "value":
        return ["value", plain_form(output[1])]
    if isinstance(output, tuple):
        return [_output(part) for part in output]
    return str(output) if isinstance(output, Fraction) else output
