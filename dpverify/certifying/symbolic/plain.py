"""Trees, laws and claims as JSON holds them: rationals as texts."""

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
from dpverify.certifying.symbolic.schemas import Schema, rational, schema_to_dict
from dpverify.certifying.symbolic.symbols import Symbolic


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
    """ε as a multiple of the unit."""
    multiple = epsilon.multiple()
    if multiple is None:  # pragma: no cover  # `unit_of` makes multiples only
        raise NotUnderstood("epsilon is not a multiple of the unit")
    kind = "every" if unit.every else "one" if unit.ratio is None else "log"
    ratio = None if unit.ratio is None else str(unit.ratio)
    return {"unit": kind, "ratio": ratio, "epsilon": str(multiple), "delta": str(delta)}


def plain_schema(schema: Schema) -> Any:  # noqa: ANN401
    """The schema with its numbers as rationals."""
    return _rationals(schema_to_dict(schema))


def _rationals(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        kept = {"values", "dimension", "length"}
        return {k: v if k in kept else _rationals(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rationals(part) for part in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(rational(value))
    return value


def _output(output: Any) -> Any:  # noqa: ANN401
    if isinstance(output, tuple) and output and output[0] == "value":
        return ["value", plain_form(output[1])]
    if isinstance(output, tuple):
        return [_output(part) for part in output]
    return str(output) if isinstance(output, Fraction) else output
