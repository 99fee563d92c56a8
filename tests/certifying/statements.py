"""Whether what a certificate states is true, found out without the checker: by counting on a grid.

A noise is taken to be one of finitely many values, so that every run of a tree is counted: whole
noise up to a cap, real noise in the middle of cells. Data are all of a finite schema, else corners
and some points in between. Claims are compared with a tolerance for the cells; what is stated in
the tests is either just true or false by far more.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import norm

Json: TypeAlias = Any
_CELL, _REACH, _CAP = 0.25, 18.0, 70
_SLACK = 0.03
_EVERY = (0.3, 1.0, 2.0)  # ε at which a claim for every ε is looked at
Law: TypeAlias = dict[str, float]


def is_true(read: Json) -> bool:
    """Whether the claim holds for all neighbors, as far as the grid tells."""
    return all(
        _kept(read, left, right, unit)
        for unit in _units(read["claim"])
        for left, right in _neighbors(read)
    )


def is_false_there(read: Json) -> bool:
    """Whether the two datasets of a counterexample are neighbors, and break the claim."""
    left, right = (_flat(rows) for rows in read["datasets"])
    schema = read["schema"]
    inside = all(_inside(schema, rows) for rows in read["datasets"])
    near = inside and _adjacent(schema, read["datasets"][0], read["datasets"][1], left, right)
    return near and any(
        not _kept(read, _Side(left, read["trees"][0]), _Side(right, read["trees"][1]), unit)
        for unit in _units(read["claim"])
    )


def _units(claim: Json) -> list[float]:
    if claim["unit"] == "every":
        return list(_EVERY)
    return [math.log(Fraction(claim["ratio"])) if claim["unit"] == "log" else 1.0]


class _Side:
    def __init__(self, data: list[float], tree: Json) -> None:
        self.data, self.tree = data, tree


def _flat(rows: Json) -> list[float]:
    return [float(Fraction(x)) for row in rows for x in (row if isinstance(row, list) else [row])]


def _neighbors(read: Json) -> Iterator[tuple[_Side, _Side]]:
    schema = read["schema"]
    sets = list(_datasets(schema))
    listed = read["method"] == "exact" or "datasets" in read
    for (i, a), (j, b) in product(enumerate(sets), repeat=2):
        if i != j and _adjacent(schema, a, b, _flat(a), _flat(b)):
            keys = (i, j) if listed else (len(_flat(a)), len(_flat(b)))
            trees = [read["trees"][k if isinstance(read["trees"], list) else str(k)] for k in keys]
            yield _Side(_flat(a), trees[0]), _Side(_flat(b), trees[1])


def _datasets(schema: Json) -> Iterator[list[Any]]:
    if schema["slots"] is None:
        values = schema["values"]
    else:
        cells = [_points(schema, *slot) for slot in schema["slots"]]
        values = [list(row) if len(row) > 1 else row[0] for row in product(*cells)]
    for n in range(schema["sizes"][0], schema["sizes"][1] + 1):
        yield from (list(rows) for rows in product(values, repeat=n))


def _points(schema: Json, low: str | None, high: str | None, whole: bool) -> list[Any]:  # noqa: FBT001
    if whole and low is not None and high is not None:
        return list(range(math.ceil(Fraction(low)), math.floor(Fraction(high)) + 1))
    if low is None or high is None:  # around 0, as far as two neighbors are apart
        step = Fraction(schema["reach"])
        return [str(k * step) for k in (-1, 0, 1, 2)]
    a, b = Fraction(low), Fraction(high)
    return [str(a), str((a + b) / 2), str(b)] if a < b else [str(a)]


def _inside(schema: Json, rows: Json) -> bool:
    if not schema["sizes"][0] <= len(rows) <= schema["sizes"][1]:
        return False
    if schema["slots"] is None:
        return all(row in schema["values"] for row in rows)
    for row in rows:
        numbers = [Fraction(x) for x in (row if isinstance(row, list) else [row])]
        if len(numbers) != len(schema["slots"]):
            return False
        for x, (low, high, whole) in zip(numbers, schema["slots"], strict=True):
            if (low is not None and x < Fraction(low)) or (high is not None and x > Fraction(high)):
                return False
            if whole and x.denominator > 1:
                return False
        if schema["ball"]:
            length = np.linalg.norm([float(x) for x in numbers], float(schema["ball"]["norm"]))
            if length > float(Fraction(schema["ball"]["radius"])) * (1 + 1e-12):
                return False
    return True


def _adjacent(schema: Json, a: Json, b: Json, left: list[float], right: list[float]) -> bool:
    if schema["relation"] == "move":
        moves = np.subtract(right, left)
        if schema["monotone"] and moves.min() < 0 < moves.max():
            return False
        most = float(Fraction(schema["reach"])) * (1 + 1e-12)
        return bool(np.linalg.norm(moves, float(schema["norm"])) <= most)
    if schema["relation"] == "add-remove":
        few, many = sorted((a, b), key=len)
        return any(few == many[:i] + many[i + 1 :] for i in range(len(many)))
    return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) <= 1


# The claim.


def _kept(read: Json, left: _Side, right: _Side, unit: float) -> bool:
    claim = read["claim"]
    if claim.get("kind", "pure") not in {"pure", "approx"} or "sums" in read["method"]:
        return _gaussian_kept(read, left, right)
    if read["method"] == "gaussian event":
        return _gaussian_kept(read, left, right)
    p, q = (_law(read, side, unit) for side in (left, right))
    factor, delta = (
        math.exp(float(Fraction(claim["epsilon"])) * unit),
        float(Fraction(claim["delta"])),
    )
    if delta == 0:
        return all(mass <= factor * q.get(o, 0.0) * (1 + _SLACK) + 1e-7 for o, mass in p.items())
    return sum(max(0.0, mass - factor * q.get(o, 0.0)) for o, mass in p.items()) <= delta + 1e-7


def _gaussian_kept(read: Json, left: _Side, right: _Side) -> bool:
    """Straight lines: μ² is Σ(distance/σ)² of what is released."""
    square, claim = _distance(read, left, right), read["claim"]
    kind, room = claim["kind"], 1 + 1e-9
    if kind in {"gaussian", "zcdp"}:
        most = (
            float(Fraction(claim["mu"])) ** 2
            if kind == "gaussian"
            else 2 * float(Fraction(claim["rho"]))
        )
        return square <= most * room
    if kind == "renyi":
        return (
            square * float(Fraction(claim["order"])) / 2 <= float(Fraction(claim["epsilon"])) * room
        )
    epsilon, mu = float(Fraction(claim["epsilon"])), math.sqrt(square)
    if mu == 0:
        return True
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return bool(delta <= float(Fraction(claim["delta"])) * room)


def _distance(read: Json, left: _Side, right: _Side) -> float:
    """Σ(distance/σ)²; infinite where outputs differ."""
    if read["method"] == "gaussian event":
        forms = [side.tree["output"][1][1] for side in (left, right)]
        names = sorted({n for f in forms for n in f if n})
        spread = [[Fraction(f.get(n, 0)) * _width(read["laws"][n]) for n in names] for f in forms]
        gap = float(Fraction(forms[0].get("", 0)) - Fraction(forms[1].get("", 0)))
        if spread[0] != spread[1]:
            return math.inf
        return gap**2 / float(sum(s * s for s in spread[0]))
    total, states = (
        0.0,
        [(side.tree, {f"x{i}": x for i, x in enumerate(side.data)}) for side in (left, right)],
    )
    while True:
        for k, (at, known) in enumerate(states):
            tree = at
            while "clamp" in tree:
                inner, c = _value(tree["form"], known), float(Fraction(tree["constant"]))
                choose = min if tree["operation"] == "min" else max
                known[tree["clamp"]] = choose(inner, c)
                tree = tree["then"]
            states[k] = tree, known
        (a, left_known), (b, right_known) = states
        if "output" in a or "output" in b:
            return total if a.get("output") == b.get("output") else math.inf
        if a["law"] != b["law"] or a["scale"] != b["scale"]:
            return math.inf
        gap = _value(a["form"], left_known) - _value(b["form"], right_known)
        total += (gap / float(Fraction(a["scale"]) * _width(a["law"]))) ** 2
        left_known[a["release"]] = right_known[b["release"]] = 0.0
        states = [(a["then"], left_known), (b["then"], right_known)]


def _width(law: Json) -> Fraction:
    number = law["parameter"]
    return Fraction(number["num"][0]) / Fraction(number["den"][0])


def _value(form: Json, known: dict[str, Any]) -> Any:  # noqa: ANN401
    return sum((float(Fraction(c)) * (known[n] if n else 1.0) for n, c in form.items()), 0.0)


# Distributions of outputs, on the grid.


def _law(read: Json, side: _Side, unit: float) -> Law:
    names = sorted(read["laws"])
    cell = _CELL if len(names) > 1 else _CELL / 4
    laws = [read["laws"][n] for n in names]
    grids = [_grid(law["kind"], _number(law["parameter"], unit), cell) for law in laws]
    mesh = np.meshgrid(*(values for values, _ in grids), indexing="ij") if names else []
    mass = np.ones(()) if not names else np.array(1.0)
    for i, (_, weights) in enumerate(grids):
        shape = [1] * len(grids)
        shape[i] = len(weights)
        mass = mass * weights.reshape(shape)
    known: dict[str, Any] = dict(zip(names, mesh, strict=True))
    known |= {f"x{i}": x for i, x in enumerate(side.data)}
    known["whole"] = {n for n in names if read["laws"][n]["kind"] == "geometric"}
    found: Law = {}
    _run(side.tree, known, mass, unit, found)
    return found


def _run(tree: Json, known: dict[str, Any], mass: Any, unit: float, found: Law) -> None:  # noqa: ANN401
    if "output" in tree:
        _add(tree["output"], known, mass, found)
    elif "draw" in tree:
        for weight, then in zip(tree["draw"], tree["then"], strict=True):
            _run(then, known, mass * _number(weight, unit), unit, found)
    else:
        value = _value(tree["test"], known)
        holds = value > 1e-9 if tree["strict"] else value >= -1e-9
        _run(tree["yes"], known, mass * holds, unit, found)
        _run(tree["no"], known, mass * ~np.asarray(holds), unit, found)


def _add(output: Json, known: dict[str, Any], mass: Any, found: Law) -> None:  # noqa: ANN401
    """Real outputs in bins of one cell, as far as some mass reaches; whole ones as they are."""
    values: list[Any] = []
    shape = _blank(output, known, values)
    bins = [
        np.rint(v) if whole else np.clip(np.floor(np.asarray(v) / _CELL + 1e-6), -24, 24)
        for v, whole in values
    ]
    code = sum((b + 100) * 256**k for k, b in enumerate(bins)) + 0 * mass
    weights = np.broadcast_to(mass, np.shape(code)).ravel()
    totals = np.bincount(np.ravel(code).astype(int), weights=weights)
    for k in np.flatnonzero(totals):
        numbers = [int(k) // 256**i % 256 - 100 for i in range(len(bins))]
        told = shape.format(
            *(str(n) if w else f"bin {n}" for n, (_, w) in zip(numbers, values, strict=True))
        )
        found[told] = found.get(told, 0.0) + float(totals[k])


def _blank(output: Json, known: dict[str, Any], values: list[Any]) -> str:
    """The output with a gap for each form, which is told with whether it is whole."""
    if isinstance(output, list) and output[:1] == ["value"]:
        whole = all(n in known["whole"] for n in output[1] if n)
        values.append((_value(output[1], known), whole))
        return "{}"
    if isinstance(output, list):
        number = output[:1] == ["float"] and [*map(type, output)] == [str, str]
        parts = output[1:] if number else [_blank(part, known, values) for part in output]
        return f"[{', '.join(['float', *parts] if number else parts)}]"
    return output if output == "float" else repr(output)


@cache
def _grid(kind: str, parameter: float, cell: float) -> tuple[Any, Any]:
    if kind == "geometric":
        k = np.arange(1, _CAP)
        return k.astype(float), (1 - parameter) * parameter ** (k - 1)
    edges = np.arange(0.0 if kind == "exponential" else -_REACH, _REACH + cell / 2, cell)
    if kind == "laplace":
        tail = np.where(
            edges < 0, 0.5 * np.exp(edges / parameter), 1 - 0.5 * np.exp(-edges / parameter)
        )
    else:
        tail = 1 - np.exp(-edges / parameter)
    return (edges[:-1] + edges[1:]) / 2, np.diff(tail)


def _number(plain: Json, unit: float) -> float:
    x = math.exp(-unit / plain["root"])
    top, bottom = (
        sum(float(Fraction(c)) * x**i for i, c in enumerate(plain[k])) for k in ("num", "den")
    )
    return float(top / bottom * unit ** plain["power"])
