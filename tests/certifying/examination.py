"""What a checker must accept and refuse; it is taken as a module, so that mutants sit it too."""

import copy
import importlib
import json
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

from dpverify.certifying import checking
from tests.certifying.alterations import altered, count
from tests.certifying.number_tables import number_tables
from tests.certifying.small import INDUCED, SMALL, certificate
from tests.certifying.test_hand_made import false_files, true_files
from tests.certifying.touched import TOUCHED

Json: TypeAlias = Any
EXPONENTIALS = {
    "1": "2.71828182845904523536028747135266249775724709369995957496696762772407663035354",
    "-3": "0.0497870683678639429793424156500617766316995921884232155676277276060606677301995",
    "7/2": "33.1154519586923137506532493503886162924717282264779409888609484065998278590988",
    "-2/5": "0.670320046035639300744432925147826071936980925210812199888910331625894175120353",
}  # by mpmath, as are these
NORMAL = {
    "0": "0.5",
    "1": "0.84134474606854294858523254563203792247791296672660439098739445024299144198720482950",
    "-2": "0.0227501319481792072002826371665334374717762237016784339836660001304762903527757483",
    "5": "0.9999997133484281208060883262476671253546461455769863881104269145072010652412300779360"
    "0663614691168344",
}
DELTA = "0.126936737506643945800829624757766880415080650112001322330655754367341910424546321761"
_SLOW = ("clipped", "geometric max", "clipped for every epsilon")
_PAPERS_OF_EACH = 12


def examine(checker: ModuleType) -> None:
    """Raise if the checker is not the one that we know."""
    tables(checker)
    for name in sorted(SMALL | INDUCED, key=_SLOW.__contains__):
        read = copy.deepcopy(_certificate(name))
        assert checker.verify(read) == read["verdict"], name
    for read, verdict in papers():
        assert verdict_of(checker, read) == verdict, read


_certificate = cache(certificate)


def verdict_of(checker: Any, read: Json) -> str | None:  # noqa: ANN401
    try:
        verdict: str = checker.verify(read)
    except checker.Invalid:
        return None
    return verdict


@cache
def papers() -> list[tuple[Json, str | None]]:
    """Files made by hand and altered certificates, with what the true checker says of them."""
    made = [json.loads(json.dumps(read)) for read in (*false_files(), *true_files())]
    for change, _ in TOUCHED:
        made.append(certificate("any sparse vector"))
        change(made[-1])
    for name in SMALL | INDUCED:
        if name not in _SLOW:
            read = certificate(name)
            step = max(1, count(read) // _PAPERS_OF_EACH)
            made += [paper for _, paper in altered(read, len(name) % step, step)]
    return [(read, verdict_of(checking, read)) for read in made]


def tables(checker: ModuleType) -> None:  # noqa: C901, PLR0915  # one after the other
    """Single functions, at values that one knows."""
    part = {
        name: importlib.import_module(f"{checker.__name__}.{name}")
        for name in ("forms", "neighbors", "normal", "numbers", "masses", "exactly")
    }
    F = Fraction  # noqa: N806
    tight, impossible = part["forms"].tight, part["forms"].impossible
    assert part["forms"].form({"x": "0", "y": "1"}) == {"y": F(1)}
    assert [part["forms"].count(n, 5, "") for n in (0, 5)] == [0, 5]
    for no_count in (-1, 6, True, "1", None):
        try:
            part["forms"].count(no_count, 5, "")
        except checker.Invalid:
            continue
        raise AssertionError(no_count)
    x, y = {"x": F(1)}, {"y": F(1)}
    assert tight(({"x": F(2), "": F(-3)}, True), {"x"}) == ({"x": F(1), "": F(-2)}, False)
    assert tight(({"x": F(2), "": F(-3)}, False), {"x"}) == ({"x": F(1), "": F(-2)}, False)
    assert tight(({"x": F(1), "": F(-3)}, True), {"x"}) == ({"x": F(1), "": F(-4)}, False)
    assert tight(({"x": F(1, 2), "y": F(3, 4)}, False), {"x", "y"})[0] == {"x": F(2), "y": F(3)}
    assert tight((x | y, True), {"x"}) == (x | y, True)
    for facts, factors, works in (
        ([(x, False), ({"x": F(-1), "": F(-1)}, False)], {"0": "1", "1": "1"}, True),
        ([(x, False), ({"x": F(-1)}, False)], {"0": "1", "1": "1"}, False),
        ([(x, True), ({"x": F(-1)}, False)], {"0": "1", "1": "1"}, True),
        ([(x, False), ({"x": F(-1)}, False), ({}, True)], {"0": "1", "1": "1", "2": "0"}, False),
        ([(x, False), ({"": F(1)}, False)], {"1": "-1"}, False),
        ([(x, False), ({"": F(-1)}, False)], {"-1": "1"}, False),
        ([(x, False), ({"": F(-1)}, False)], {"0": "1", "1": "1"}, False),
        ([(x, False), ({"": F(-1)}, False)], {"1": "1"}, True),
        ([(x, False), ({"": F(-1)}, False)], {"0": "0", "1": "1"}, True),
    ):
        try:
            impossible(facts, factors)
            assert works
        except checker.Invalid:
            assert not works
    numbers, normal = part["numbers"], part["normal"]
    assert numbers.exp_bounds(F(0), 100)[0] <= 1 <= numbers.exp_bounds(F(0), 100)[1]
    for r, told in EXPONENTIALS.items():
        for bits in (64, 100, 200):
            low, high = numbers.exp_bounds(F(r), bits)
            assert low < F(told) < high
            assert high - low < F(told) / 2 ** (bits - 2)
    for ratio, m in ((F(1, 2), 2), (F(1, 9), 2), (F(3, 7), 5), (F(1), 3), (F(1, 3), 1)):
        low, high = numbers.root_bounds(ratio, m, 70)
        assert low**m <= ratio < high**m
        assert high - low == F(1, 2**70)
    for x0, told in NORMAL.items():
        low, high = normal.normal(F(x0))
        assert low <= F(told) <= high
        assert 0 < high - low < F(1, 10**50)
    assert normal.normal(F(41))[1] == 1 > normal.normal(F(41))[0] > 1 - F(1, 10**200)
    assert 0 < normal.gaussian_delta(F(1), F(1)) - F(DELTA) < F(1, 10**50)
    sign = numbers.polynomial_sign
    assert sign([F(1), F(-2), F(1)]) == 1
    assert sign([F(-1), F(4), F(-4)]) == -1
    assert sign([F(1), F(-2), F(2)]) == 1
    assert sign([F(0), F(-1), F(1)]) == -1
    for wrong in ([F(1), F(-2)], [F(-1), F(3)], [F(1), F(-5), F(5)]):
        try:
            sign(wrong)
        except checker.Invalid:
            continue
        raise AssertionError(wrong)
    number_tables(checker, part["numbers"])
    data(part["neighbors"])
    symbols(part["neighbors"])
    no_data(checker, part["neighbors"])
    outputs(part["exactly"])
    refuses(checker, lambda: part["exactly"].filled(["int", {"a": 1}], iter(()), []))
    boxes(checker, part["masses"], part["numbers"])


def data(neighbors: Any) -> None:  # noqa: ANN401
    """Who is a neighbor of whom."""
    pairs, allowed, datasets = neighbors.pairs, neighbors.allowed, neighbors.datasets
    base = {"ordered": True, "ball": None, "values": None, "sizes": [0, 2]}
    move = base | {"relation": "move", "sizes": [2, 2], "slots": [["0", "2", True]]}
    near = {
        ("inf", False): 49 - 9, ("1", False): 2 * 12, ("2", False): 2 * 12,
        ("inf", True): 2 * (12 + 4), ("1", True): 24,
    }  # fmt: skip
    for (norm, monotone), number in near.items():
        schema = move | {"reach": "1", "norm": norm, "monotone": monotone}
        assert len(list(pairs(schema, datasets(schema)))) == number
    bits = base | {"relation": "add-remove", "slots": None, "values": [0, 1]}
    assert len(datasets(bits)) == 7
    assert len(list(pairs(bits, datasets(bits)))) == 2 * (2 + 6)
    loose = bits | {"ordered": False}
    assert len(list(pairs(loose, [[0, 1], [1, 0], [0], [1]]))) == 8
    replace = bits | {"relation": "replace-one", "sizes": [2, 2]}
    assert len(list(pairs(replace, datasets(replace)))) == 8
    assert len(list(pairs(replace | {"ordered": False}, [[0, 1], [1, 1], [1, 0], [0, 0]]))) == 10
    assert allowed(bits, [0, 1])
    assert not allowed(bits, [0, 2])
    assert not allowed(bits, [0, 0, 0])
    slots = base | {"relation": "replace-one", "slots": [["0", "1", False], [None, None, True]]}
    assert allowed(slots, [["1/2", 3]])
    assert allowed(slots, [[0, -3], [1, 0]])
    for rows in ([["3/2", 3]], [["-1/2", 3]], [["1/2", "1/2"]], [["1/2"]], [[1, 1, 1]]):
        assert not allowed(slots, rows)
    for norm, inside, outside in (("1", ["1", "-1"], ["3/2", "1"]), ("2", ["1", "1"], ["2", "1/9"]),
                                  ("inf", ["2", "2"], ["2", "9/4"])):  # fmt: skip
        ball = slots | {"ball": {"norm": norm, "radius": "2"}, "slots": [[None, None, False]] * 2}
        assert allowed(ball, [inside])
        assert not allowed(ball, [outside])
    found = list(neighbors.situations(slots | {"sizes": [1, 2]}))
    assert [(len(a), len(b)) for a, b, _, _ in found] == [(2, 2), (4, 4), (4, 4)]
    assert [len(facts) for _, _, facts, _ in found] == [4, 6, 6]
    added = list(neighbors.situations(slots | {"sizes": [0, 2], "relation": "add-remove"}))
    assert [(len(a), len(b)) for a, b, _, _ in added] == [(0, 2), (2, 0)] + [(2, 4), (4, 2)] * 2
    for norm, monotone, counts in (("inf", False, [8]), ("1", False, [13]), ("2", True, [10, 10])):
        schema = move | {
            "reach": "1",
            "norm": norm,
            "monotone": monotone,
            "slots": [["0", None, True]],
        }
        found = list(neighbors.situations(schema))
        assert [len(facts) - 2 for _, _, facts, _ in found] == [c - 2 for c in counts]
        assert all({"x0", "x1", "d0", "d1"} <= whole for _, _, _, whole in found)


def symbols(neighbors: Any) -> None:  # noqa: ANN401
    """Neighbors in symbols, word for word."""
    x, y, d = ([{f"{a}{i}": 1} for i in range(2)] for a in "xyd")
    real = {"ordered": True, "ball": None, "values": None, "slots": [["0", None, False]]}
    one = real | {"relation": "replace-one", "sizes": [2, 2]}
    told = [(left, right, whole) for left, right, _, whole in neighbors.situations(one)]
    assert told == [(x, [x[0] | d[0], x[1]], set()), (x, [x[0], x[1] | d[1]], set())]
    added = list(neighbors.situations(real | {"relation": "add-remove", "sizes": [1, 2]}))
    assert [(a, b) for a, b, _, _ in added] == [
        (x[:1], [y[0], x[0]]), ([y[0], x[0]], x[:1]), (x[:1], [x[0], y[0]]), ([x[0], y[0]], x[:1])
    ]  # fmt: skip
    move = real | {"relation": "move", "sizes": [2, 2], "reach": "3", "norm": "inf"}
    (every,) = neighbors.situations(move | {"monotone": False})
    assert every[:2] == (x, [a | b for a, b in zip(x, d, strict=True)])
    spans = [f for a in d for f in (a | {"": 3}, {n: -c for n, c in a.items()} | {"": 3})]
    assert [f for f, _ in every[2][-4:]] == spans
    up, down = neighbors.situations(move | {"monotone": True})
    assert [f for f, _ in up[2][-2:]] == d
    assert [f for f, _ in down[2][-2:]] == [{n: -c for n, c in a.items()} for a in d]
    (total,) = neighbors.situations(move | {"monotone": False, "norm": "1"})
    assert [f for f, _ in total[2][-5:]] == [
        {"": 3, "a0": -1, "a1": -1},
        *({f"a{i}": 1, f"d{i}": s} for i in range(2) for s in (1, -1)),
    ]
    pairs = neighbors.pairs
    assert not list(pairs(one | {"sizes": [1, 1]}, [["1/2"], ["2/4"]]))
    words = one | {"slots": None, "values": ["a", "b"], "sizes": [1, 1]}
    assert list(pairs(words, [["a"], ["b"]])) == [(0, 1), (1, 0)]
    wide = one | {"slots": [["0", "1", True]] * 2, "sizes": [1, 1]}
    assert list(pairs(wide, [[[0, 1]], [[1, 0]]])) == [(0, 1), (1, 0)]


def no_data(checker: ModuleType, neighbors: Any) -> None:  # noqa: ANN401
    """Schemas of nothing, or of more than can be listed."""
    few, many = ["1", "0"], ["0", "1", "1"]
    assert not neighbors.added(few, many, ordered=True)
    assert neighbors.added(few, many, ordered=False)
    base: Json = {"ordered": True, "ball": None, "values": None, "sizes": [1, 1], "slots": None}
    base |= {"relation": "move", "reach": "1", "norm": "inf", "monotone": False}
    unit: Json = ["0", "1", True]
    change: Json
    slots: Json
    for change in ({"relation": "other"}, {"sizes": [2, 1]}, {"sizes": [0, 201]}):
        refuses(checker, lambda c=change: neighbors.sizes(base | c))
    for slots in ([], [unit] * 201, [["1", "0", True]]):
        refuses(checker, lambda s=slots: neighbors.slots(base | {"slots": s}))
    for change in ({"reach": "0"}, {"reach": "-1"}, {"norm": "3"}):
        refuses(checker, lambda c=change: neighbors.reaches(base | c, 1))
    for change in (
        {"values": [0, 1, 2], "sizes": [8, 8]},
        {"values": ["0", "1/2", "0"]},
        *({"slots": [slot]} for slot in (["0", "3000", True], ["0", "1", False])),
        *({"slots": [slot]} for slot in ([None, "1", True], ["0", None, True])),
        {"slots": [["0", "99", True]] * 2},
    ):
        refuses(checker, lambda c=change: neighbors.datasets(base | c))
    for answer in (1, 0, None, "true"):
        refuses(checker, lambda a=answer: neighbors.flag(a))
    refuses(checker, lambda: list(neighbors.situations(base | {"ordered": False, "slots": [unit]})))
    refuses(checker, lambda: neighbors.allowed(base | {"ball": 0, "slots": [unit]}, [1]))
    for radius in ("-1", "-1/2"):
        refuses(checker, lambda r=radius: neighbors.reached(r, "2"))
    reached = [
        neighbors.reached(r, n) for r, n in (("3", "2"), ("3", "1"), ("0", "1"), ("1/2", "inf"))
    ]
    assert reached == [9, 3, 0, Fraction(1, 2)]
    refuses(checker, lambda: neighbors.size([Fraction(1)], "3"))
    refuses(checker, lambda: neighbors.moved([0], [0, 1], base))
    assert neighbors.size([Fraction(2), Fraction(-1)], "1") == 3
    assert neighbors.moved([1, 0], [0, 0], base | {"monotone": True})
    ends = ([{"x": 1, "": -1}, {"x": -1, "": 2}], (Fraction(1), Fraction(2), False))
    assert neighbors.within({"x": Fraction(1)}, ends[1]) == [(f, False) for f in ends[0]]
    for norm, monotone in (("1", False), ("2", True), ("inf", True)):
        told = neighbors.reaches(base | {"norm": norm, "monotone": monotone}, 2)
        assert not any(strict for facts in told for _, strict in facts)
    for slots, rows in (
        ([unit, ["0", "0", True]], [[[0, 0]], [[1, 0]]]),
        ([["1", "2", True]], [[1], [2]]),
        ([["-1", "0", True]], [[-1], [0]]),
    ):
        assert neighbors.datasets(base | {"slots": slots}) == rows


def outputs(exactly: Any) -> None:  # noqa: ANN401
    """Numbers that are told, and patterns of them."""
    assert exactly.number_of(["float", "inf"]) is None
    assert exactly.number_of(["float", "-0.0"]) == exactly.number_of(["bool", False]) == {"": 0}
    assert exactly.matched(["float", "inf"], ["number", "inf"]) == []
    assert exactly.between({"n0": Fraction(1)}, ["any"]) == []
    assert not exactly.exactly(["list", ["atleast", "0"], ["none"]])
    assert exactly.exactly(["list", ["none"], ["number", "1/2"], ["text", "a"]])


ONE = {"unit": "one", "ratio": None, "epsilon": "1", "delta": "0"}


def number(*num: str) -> Json:
    """A polynomial in e^(−u)."""
    return {"num": list(num), "den": ["1"], "root": 1, "power": 0}


LAWS = {
    "n0": {"kind": "laplace", "parameter": number("1")},
    "n1": {"kind": "laplace", "parameter": number("2")},
    "n2": {"kind": "exponential", "parameter": number("1")},
    "n3": {"kind": "geometric", "parameter": number("0", "1")},
    "n4": {"kind": "geometric", "parameter": number("0", "1")},
    "n5": {"kind": "geometric", "parameter": number("1/2")},
}


def least(**form: Fraction | int) -> tuple[dict[str, Fraction], bool]:
    """The fact that a form is at least 0; `c` is its constant."""
    return {name.strip("c"): Fraction(x) for name, x in form.items() if x}, False


def boxes(checker: ModuleType, masses: Any, numbers: Any) -> None:  # noqa: ANN401
    """Probabilities by hand, q = e^(−1); and boxes that are none."""
    unit, of, q = numbers.ClaimUnit(ONE), numbers.Quotient.of, numbers.Quotient.of(1, -1)
    half, up, gone = Fraction(1, 2), ["n0", 0, None], {"differences": [["n3", "n4"]]}
    facts: Json
    how: Json
    two = [least(n0=1), least(n0=-1, c=1)]
    flat = [*two, least(n1=1, n0=2, c=-2)], {"box": [["n1", 2, None], ["n0", 0, 1]]}
    for facts, how, expected in (
        (*flat, of(half * half, -1)),
        ([least(n0=1, c=-1)], {"box": [up]}, of(half, -1)),
        ([least(n0=-half)], {"box": [up]}, of(half)),
        ([least(n1=1), least(n1=-2, c=3)], {"box": [["n1", 0, 1]]},
         of(half) - of(half, Fraction(-3, 4))),
        ([least(n2=1, c=-1)], {"box": [["n2", 0, None]]}, q),
        ([least(n3=1, c=-3)], {"box": [["n3", 0, None]]}, q * q),
        ([least(n3=-1, c=2)], {"box": [["n3", 1, 0]]}, of(1) - q * q),
        ([least(n3=1, n4=-1, c=-1)], gone | {"box": [["n3-n4", 0, None]]}, q / (of(1) + q)),
        ([least(n0=1), least(n1=1, n0=-1)], {"box": [["n1", 1, None], up]}, of(Fraction(1, 6))),
        ([least(n0=1), least(n1=1)],
         {"apart": [{"noises": ["n1"], "box": [["n1", 0, None]]}], "box": [up]}, of(half * half)),
        ([least(n0=1), least(n0=-1, c=1), least(n1=1, n0=half, c=-half)],
         {"box": [["n1", 2, None], ["n0", 0, 1]]}, of(1, Fraction(-1, 4)) * (of(half * half))
         * (of(1) - of(1, Fraction(-3, 4))) * of(Fraction(4, 3))),
        ([least(n3=-1, c=3), least(n3=1, n4=1, c=-5)], {"box": [["n4", 1, None], ["n3", 2, 0]]},
         of(3) * (of(1) - q) * q * q * q),
        ([least(n3=1, c=-1)],
         {"split": {"n3": "1", "": "-2"}, "yes": {"box": [["n3", 2, None]]},
          "no": {"box": [["n3", 0, 2]]}}, of(1)),
        ([least(n0=1), least(n0=-1, c=1)],
         {"drop": 1, "all": {"box": [up]}, "but": {"box": [["n0", 1, None]]}},
         of(half) - of(half, -1)),
        ([least(n0=1), least(n0=-1, c=-1)], {"impossible": {"0": "1", "1": "1"}}, of(0)),
    ):  # fmt: skip
        found = masses.BoxMasses(LAWS, unit).probability(facts, how)
        assert unit.sign(found - expected) == 0, (facts, how)
    for facts, how in (
        ([least(n3=1, n5=-1)], {"differences": [["n3", "n5"]], "box": [["n3-n5", 0, None]]}),
        ([least(n0=1, n1=-1)], {"differences": [["n0", "n1"]], "box": [["n0-n1", 0, None]]}),
        ([least(n3=1)], {"differences": [["n3", "n3"]], "box": [["n3-n3", 0, None]]}),
        ([least(n3=1, n4=-2)], gone | {"box": [["n3-n4", 0, None]]}),
        ([least(n0=1), least(n1=1, n0=-1)], {"apart": [{"noises": ["n0"], "box": [up]}]}),
        ([least(n0=1, n1=-1)], {"box": [up]}),
        ([least(n3=2, n4=-1)], {"box": [["n3", 0, None], ["n4", 2, None]]}),
        ([least(n3=1, n2=-1)], {"box": [["n3", 0, None], ["n2", 1, None]]}),
        ([least(n3=2, n4=-1, c=-1)], {"box": [["n3", 0, None], ["n4", 2, None]]}),
        ([least(n3=1, n2=-1, c=-1)], {"box": [["n3", 0, None], ["n2", 1, None]]}),
        ([least(n0=1, n1=-1), least(n1=-1)], {"box": [["n1", 1, None], up]}),
        ([*two, least(n1=1, n0=-1)], {"box": [["n0", 0, 2], ["n1", 2, None]]}),
        (two, {"box": [["n0", 1, 1]]}),
        ([least(n0=1, c=-2), least(n0=-1, c=1)], {"box": [["n0", 0, 1]]}),
        ([least(n0=1, c=-1), least(n0=-1, c=half)], {"box": [["n0", 0, 1]]}),
        ([least(n0=1), least(n1=1)], {"box": [up]}),
        ([least(n0=1), ({}, True)], {"box": [up]}),
        ([*two, least(n0=-1, c=half)], {"box": [["n0", 0, 1]]}),
        ([least(n2=-1, c=-1)], {"box": [["n2", 0, None]]}),
        ([least(n0=1, c=1)], {"box": [up]}),
        ([least(n0=1)], {"box": [up, up]}),
        ([least(n0=1), least(n0=half)], {"box": [["n0", 0, 1]]}),
        (two, {"impossible": {"0": "1", "1": "1"}}),
    ):
        refuses(checker, lambda f=facts, h=how: masses.BoxMasses(LAWS, unit).probability(f, h))
    every = numbers.ClaimUnit(ONE | {"unit": "every"})
    scaled = {n: law | {"parameter": law["parameter"] | {"power": -1}} for n, law in LAWS.items()}
    real = {name: scaled[name] for name in ("n0", "n1")}
    refuses(checker, lambda: masses.BoxMasses(real, every).probability(*flat))
    for law in (
        {"kind": "gaussian", "parameter": number("1")},
        *({"kind": "geometric", "parameter": number(p)} for p in ("0", "1", "2", "-1/2")),
    ):
        refuses(checker, lambda law=law: masses.BoxMasses({"n0": law}, unit))


def refuses(checker: ModuleType, action: Any) -> None:  # noqa: ANN401
    try:
        action()
    except (checker.Invalid, KeyError, ValueError):
        return
    raise AssertionError("not refused")
