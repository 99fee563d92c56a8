"""One change each of the proof that sparse vector is private for any number of answers."""

from collections.abc import Callable
from typing import Any


def _tells(form: dict[str, str], *more: str) -> list[Any]:
    """The output of a run that ends with a number."""
    return ["return", ["float", ["value", form, *more]]]


def _begins_with_a_number(read: Any) -> None:  # noqa: ANN401
    """A threshold without noise, which is said to move with the data for nothing."""
    read["nodes"][0] |= {"symbols": 1}
    read["nodes"][0]["tree"]["output"][2] = ["state", ["value", {"s0": "1"}]]
    first = read["proof"][0][0]
    first["gaps"] = [{"": "1"}]
    first["steps"][0] |= {"shift": {}, "bounds": {}}


TOUCHED: list[tuple[Callable[[Any], object], str]] = [
    (lambda e: e["claim"].update(epsilon="1/2"), "more than ε is spent"),
    (lambda e: e["schema"].update(reach="2"), ""),
    (lambda e: e["schema"].update(sizes=[1, 3]), "the data are not of any length"),
    (lambda e: e["laws"]["n0"]["parameter"].update(num=["1"]), ""),
    (lambda e: e["laws"]["n0"].update(kind="gaussian"), "no translation of finite cost"),
    (lambda e: e["proof"][0].pop(), ""),
    (lambda e: e["proof"][0][1].update(gaps=[{"s0": "1"}]), "another one"),
    (lambda e: e["proof"][0][1].update(gaps=[]), "malformed"),
    (lambda e: e["proof"][0][1].update(gaps=[{"": "2"}]), ""),
    (lambda e: e["proof"][0][1].update(budget={"": "1"}), ""),
    (lambda e: e["proof"][0][1]["steps"].pop(), ""),
    (
        lambda e: e["proof"][0][0]["steps"][0].update(shift={"n0": {"n0": "1"}}),
        "depend on noise",
    ),
    (lambda e: e["proof"][0][0]["steps"][0].update(shift={}), ""),
    (
        lambda e: e["nodes"][1]["bodies"].append(e["nodes"][1]["bodies"][0]),
        "a record is missing",
    ),
    (lambda e: e.update(proof=[]), ""),
    (lambda e: e.pop("untyped"), "malformed"),
    (lambda e: e["nodes"][1]["exit"].update(output=_tells({"D0": "1"})), "knows more"),
    (lambda e: e["nodes"][1]["exit"].update(output=_tells({"s9": "1"})), "knows more"),
    (lambda e: e["nodes"][1]["exit"].update(output=["value", {"s0": "1"}]), "the runs part"),
    (lambda e: e["laws"].update(p0=e["laws"]["n0"]), "another name"),
    (lambda e: e["nodes"][1].update(loop=None), "a loop without a number"),
    (lambda e: e["nodes"][1].update(loop=True), "a loop without a number"),
    (lambda e: e["nodes"][1]["exit"].update(output=_tells({"x0": "1"})), "knows more"),
    (lambda e: e["nodes"][0].update(tree={"output": _tells({"x0": "1"})}), "knows more"),
    (lambda e: e["nodes"][1]["exit"].update(output=_tells({}, "A")), "in a number"),
    (lambda e: e["nodes"][0]["tree"]["output"].append("A"), "no such step"),
    (lambda e: e["proof"][0].append(e["proof"][0][0]), "a place is missing"),
    (lambda e: e["schema"].update(ordered=False), "without an order"),
    (lambda e: e["schema"].update(relation="other"), "unknown relation"),
    (lambda e: e["schema"].update(norm="3"), "unknown norm"),
    (lambda e: e["schema"].update(reach="0"), "no neighbors"),
    (lambda e: e["schema"].update(slots=[[None, None, False]] * 2), "no neighbors"),
    (
        lambda e: e["proof"][0][0]["steps"][0]["shift"]["n0"].update(x0="0"),
        "depend on noise",
    ),
    (lambda e: e["proof"][0][1]["steps"][1].update(tests=[{}]), "no contradiction"),
    (lambda e: e["proof"][0][1]["steps"][1].update(impossible={}), "no contradiction"),
    (lambda e: e["nodes"][0]["tree"]["output"].__setitem__(2, ["state"]), "malformed"),
    (lambda e: (e["proof"][0][1]["steps"].pop(), e["proof"][0].pop()), "malformed"),
    (
        lambda e: e["proof"][0][1]["steps"].__setitem__(0, {"impossible": {"5": "1"}}),
        "no contradiction",
    ),
    (_begins_with_a_number, "begins without numbers"),
]
"""With what the checker says of it; nothing in particular where that may be many things."""
