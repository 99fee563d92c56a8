"""Programs as trees: comparisons of linear forms in data and noise, weighted draws, outputs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpverify.certifying.checking.forms import ONE, Fact, Form, Json, form, need, negated, put
from dpverify.certifying.checking.neighbors import datasets, pairs, situations


@dataclass(frozen=True)
class NeighborCase:
    """Two neighbors: a tree for each, the meaning of x0, x1, … and the noise in it, and facts.

    `whole` are the symbols that are whole numbers.
    """

    trees: tuple[Json, Json]
    maps: tuple[dict[str, Form], dict[str, Form]]
    facts: list[Fact]
    whole: set[str]


def noises(read: Json) -> dict[str, Form]:
    """The names of the noises, which must be n0, n1, …, so that none is taken for data."""
    need(all(re.fullmatch("n[0-9]+'*", name) for name in read["laws"]), "a noise has another name")
    return {name: {name: ONE} for name in read["laws"]}


def goals(read: Json) -> Iterator[NeighborCase]:
    """All ways in which neighbors can differ, or all pairs if the datasets are listed."""
    noise = noises(read)
    whole = {name for name, law in read["laws"].items() if law["kind"] == "geometric"}
    if "datasets" in read:
        found = datasets(read["schema"])
        need(found == read["datasets"], "not all datasets")
        for i, j in pairs(read["schema"], found):
            trees = read["trees"][str(i)], read["trees"][str(j)]
            yield NeighborCase(trees, (noise, noise), [], whole)
        return
    for left, right, facts, more in situations(read["schema"]):
        trees = read["trees"][str(len(left))], read["trees"][str(len(right))]
        own, other = ({f"x{i}": x for i, x in enumerate(side)} | noise for side in (left, right))
        yield NeighborCase(trees, (own, other), facts, whole | more)


def placed(read: Json, values: dict[str, Form]) -> Form:
    """A form of a tree in the symbols of the case; it may only use the tree's data and noise."""
    need({*read} <= {*values, ""}, "a tree knows more than its data and noise")
    return put(form(read), values)


def branches(tree: Json, whole: set[str], values: dict[str, Form]) -> list[tuple[str, Fact]]:
    test = placed(tree["test"], values)
    need(tree["strict"] in {True, False}, "strict or not")
    return [("yes", (test, tree["strict"])), ("no", negated(test, whole, strict=tree["strict"]))]


def leaves(tree: Json, whole: set[str], values: dict[str, Form]) -> Iterator[tuple[Any, ...]]:
    """All paths: their facts, their steps ("test", side) or (draw, choice), and the output."""
    if "output" in tree:
        yield (), (), tree["output"]
    elif "draw" in tree:
        key = json.dumps(tree["draw"])
        for i, (_, child) in enumerate(zip(tree["draw"], tree["then"], strict=True)):
            for facts, way, output in leaves(child, whole, values):
                yield facts, ((key, i), *way), output
    else:
        for side, fact in branches(tree, whole, values):
            for facts, way, output in leaves(tree[side], whole, values):
                yield (fact, *facts), (("test", side), *way), output


def drawn(way: Json) -> list[Any]:
    """The draws on a path, each with its choice."""
    return [step for step in way if step[0] != "test"]


NUMBERS = {"int", "float", "bool", "numeric"}


def unknown(output: Json) -> Form | None:
    """The form in an output's number, such as ["float", ["value", form]]; None if there is none.

    A form stands nowhere else.
    """
    parts = output if isinstance(output, list) else []
    if not any(isinstance(part, list) and part[:1] == ["value"] for part in parts):
        return None
    need(output[0] in NUMBERS and len(output) == 2 == len(output[1]), "a form must be in a number")
    return form(output[1][1])


def told(output: Json, values: dict[str, Form]) -> str:
    """An output as a text in the symbols of the case; equal texts mean equal outputs."""
    if unknown(output) is not None:
        terms = sorted((n, str(c)) for n, c in placed(output[1][1], values).items())
        return json.dumps([output[0], ["value", terms]])
    if isinstance(output, list):
        return f"[{', '.join(told(part, values) for part in output)}]"
    check_plain(output)
    return json.dumps(output)


def check_plain(output: Json) -> None:
    """Raise unless outputs are lists of texts, whole numbers, truth values and None."""
    need(output is None or type(output) in {str, int, bool}, "no such output")
