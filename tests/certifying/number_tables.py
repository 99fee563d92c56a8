"""The checker's numbers at values that one knows: products, quotients, signs, and their limits."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import ModuleType
from typing import Any

from dpverify.certifying.checking.numbers import exp_bounds

F = Fraction
CLAIM: dict[str, Any] = {"unit": "one", "ratio": None, "epsilon": "1", "delta": "0"}
LOG = CLAIM | {"unit": "log", "ratio": "2"}
EVERY = CLAIM | {"unit": "every"}


def plain(num: list[str], den: list[str] | None = None, root: int = 1, power: int = 0) -> Any:  # noqa: ANN401
    return {"num": num, "den": den or ["1"], "root": root, "power": power}


def refused(checker: ModuleType, action: Callable[..., Any], *given: Any) -> bool:  # noqa: ANN401
    try:
        action(*given)
    except checker.Invalid:
        return True
    return False


def number_tables(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    """Raise if a number is not what it must be."""
    arithmetic(checker, numbers)
    reading(checker, numbers)
    bounds(checker, numbers)
    polynomials(checker, numbers)
    claims(checker, numbers)
    signs(checker, numbers)
    excesses(numbers)


def arithmetic(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    times, made = numbers.times, numbers.Quotient
    one, x = {F(0): F(1)}, {F(-1): F(1)}
    assert times({F(0): F(1), F(1): F(1)}, {F(0): F(1), F(1): F(-1)}) == {F(0): F(1), F(2): F(-1)}
    assert times({F(1): F(3)}, {F(2): F(5)}, {F(-4): F(1, 3)}) == {F(-1): F(5)}
    assert times(one) == one
    long = {F(i): F(1) for i in range(1000)}
    assert len(times(long, one)) == 1000
    assert refused(checker, lambda: times({F(i): F(1) for i in range(1001)}, one))
    assert times({F(0): F(1, 2**99_999)}, one)
    assert refused(checker, lambda: times({F(0): F(1, 2**100_000)}, one))
    assert made.of(0).num == {}
    assert made.of(2, 3).num == {F(3): F(2)}
    assert made.of(2).den == ()
    half = made({F(0): F(1), F(1): F(2)}, (((F(0), F(1)), (F(1), F(1))),))
    third = made({F(0): F(1)}, (((F(0), F(1)), (F(2), F(1))),))
    assert ((half * third).num, (half * third).den) == (half.num, (*half.den, *third.den))
    assert (half / made.of(2, 5)).num == {F(-5): F(1, 2), F(-4): F(1)}
    assert (half / made.of(2, 5)).den == half.den
    assert (half / third).num == {F(0): F(1), F(1): F(2), F(2): F(1), F(3): F(2)}
    assert (half / third).den == half.den
    assert (third / half).num == {F(0): F(1), F(1): F(1)}
    assert (third / half).den == (*third.den, ((F(0), F(1)), (F(1), F(2))))
    assert refused(checker, lambda: half / made({}))
    assert (half + half).num == {F(0): F(2), F(1): F(4)}
    assert (half + half).den == half.den
    assert (half - half).num == {}
    both = half + third
    assert both.num == {F(0): F(2), F(1): F(3), F(2): F(1), F(3): F(2)}
    assert sorted(both.den) == sorted([*half.den, *third.den])
    assert (half * half + half).den == half.den * 2
    assert (half + half * half).num == {F(0): F(2), F(1): F(7), F(2): F(6)}
    assert made(x).power(F(3)).num == {F(-3): F(1)}
    assert made(x).power(F(0)).num == one
    assert made(x).power(F(-2)).num == {F(2): F(1)}
    assert made(x).power(F(-1)).num == {F(1): F(1)}
    assert made({}).power(F(0)).num == one
    assert made(x).power(F(1)).num == x
    assert made(x).power(F(1000)).num == {F(-1000): F(1)}
    for n in (F(1, 2), F(1001), F(-1001)):
        assert refused(checker, made(x).power, n)


def reading(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    read = numbers.Quotient.read
    found = read(plain(["1", "2"], ["0", "3"], root=2))
    assert (found.num, found.den) == ({F(1, 2): F(1, 3), F(0): F(2, 3)}, ())
    found = read(plain(["1", "0", "2"], ["1", "3"]))
    assert found.num == {F(0): F(1), F(-2): F(2)}
    assert found.den == (((F(-1), F(3)), (F(0), F(1))),)
    many = ["1"] * 1000
    assert len(read(plain(many)).num) == 1000
    assert read(plain(["0", "1"], root=1000)).num == {F(-1, 1000): F(1)}
    assert len(read(plain(["1"], many)).den[0]) == 1000
    for wrong in (
        plain([*many, "1"]), plain(["1"], [*many, "1"]), plain(["1"], ["0"]), plain(["1"], power=1),
        plain(["1"], power=-1), plain(["1"], root=0), plain(["1"], root=1001), plain(["1.5"]),
        plain(["1"], root=-1),
    ):  # fmt: skip
        assert refused(checker, read, wrong)


def bounds(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    for r in (F(0), F(1, 1000), F(1), F(-1), F(5, 3), F(-7), F(40), F(-300)):
        low, high = numbers.exp_bounds(r, 80)
        true = exp_bounds(r, 300)
        assert low <= true[0] <= true[1] <= high
        assert (high - low) * 2**80 <= max(true[1], 1 / true[0])
    for whole in (1, 2, 3, 4, 7, 8, 15, 16, 100):  # e^r for whole r, by products of e alone
        e = exp_bounds(F(1), 600)
        low, high = numbers.exp_bounds(F(whole), 100)
        assert low <= e[0] ** whole <= e[1] ** whole <= high
        low, high = numbers.exp_bounds(F(-whole), 100)
        assert low <= 1 / e[1] ** whole <= 1 / e[0] ** whole <= high
    numbers.exp_bounds(F(65_535), 8)
    assert refused(checker, lambda: numbers.exp_bounds(F(65_536), 8))
    assert refused(checker, lambda: numbers.exp_bounds(F(-65_536), 8))
    assert numbers.root_bounds(F(1, 4), 2, 10) == (F(1, 2), F(1, 2) + F(1, 2**10))
    assert numbers.root_bounds(F(1, 2**200), 3, 64) == (F(0), F(1, 2**64))
    for m, k in product((1, 2, 3), range(64)):
        low, high = numbers.root_bounds(F(k, 64), m, 5)
        assert low**m <= F(k, 64) < high**m
        assert high - low == F(1, 32)


def polynomials(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    """Parabolas that just do, or do not, reach 0 at a point, whole and times x + 1 or 2 − x."""
    for at in (F(1, 10), F(3, 10), F(1, 2), F(2, 3), F(9, 10)):
        for lift in (F(1, 1000), F(-1, 1000)):
            parabola = [at * at + lift, -2 * at, F(1)]
            for factor in ([F(1)], [F(1), F(1)], [F(2), F(-1)]):
                made = [F(0)] * (len(factor) + 2)
                for (i, a), (j, b) in product(enumerate(parabola), enumerate(factor)):
                    made[i + j] += a * b
                for sign in (1, -1):
                    signed = [sign * c for c in made]
                    if lift > 0:
                        assert numbers.polynomial_sign(signed) == sign
                    else:
                        assert refused(checker, numbers.polynomial_sign, signed)


def claims(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    unit = numbers.ClaimUnit
    for right in (
        CLAIM | {"epsilon": "0"}, CLAIM | {"delta": "1"}, CLAIM | {"delta": "0"},
        LOG | {"ratio": "3/2"}, EVERY,
    ):  # fmt: skip
        found = unit(right)
        assert (found.kind, found.epsilon) == (right["unit"], F(right["epsilon"]))
        assert (found.ratio, found.delta) == (F(right["ratio"] or 1), F(right["delta"]))
    for change in (
        {"epsilon": "-1"}, {"delta": "-1/2"}, {"delta": "3/2"}, {"unit": "two"},
        {"unit": "log", "ratio": "1"}, {"unit": "log", "ratio": "1/2"}, {"unit": "log"},
    ):  # fmt: skip
        assert refused(checker, unit, CLAIM | change)

    def rate(claim: Any, kind: str, parameter: Any) -> Any:  # noqa: ANN401
        return unit(claim).rate({"kind": kind, "parameter": parameter})

    assert rate(CLAIM, "laplace", plain(["2"], ["3"])) == F(3, 2)
    assert rate(LOG, "laplace", plain(["2"], ["3"], power=-1)) == F(3, 2)
    assert rate(EVERY, "exponential", plain(["1/2"], power=-1)) == 2
    assert rate(EVERY, "geometric", plain(["0", "1"], root=2)) == F(1, 2)
    assert rate(CLAIM, "geometric", plain(["0", "0", "0", "1"], root=1000)) == F(3, 1000)
    for claim, kind, parameter in (
        *((CLAIM, "laplace", plain(n, d)) for n, d in ((["0"], ["1"]), (["-1"], ["1"]))),
        *((CLAIM, "laplace", plain(n, d)) for n, d in ((["1"], ["-1"]), (["1"], ["0"]))),
        *((CLAIM, "laplace", plain(n, d)) for n, d in ((["1", "1"], ["1"]), (["1"], ["1", "1"]))),
        (CLAIM, "laplace", plain(["1"], power=-1)), (LOG, "laplace", plain(["1"])),
        (EVERY, "laplace", plain(["1"])), (CLAIM, "laplace", plain(["1"], root=0)),
        (CLAIM, "laplace", plain(["1"], root=1001)), (CLAIM, "geometric", plain(["1"])),
        (CLAIM, "geometric", plain(["0", "1", "1"])),
        (CLAIM, "geometric", plain(["0", "2"])), (CLAIM, "geometric", plain(["1", "1"])),
        (CLAIM, "geometric", plain(["0", "1"], ["2"])),
        (CLAIM, "geometric", plain(["0", "1"], ["1", "0"])),
        (CLAIM, "geometric", plain(["0", "1"], power=1)),
        (CLAIM, "geometric", plain([*["0"] * 1000, "1"])),
    ):  # fmt: skip
        assert refused(checker, rate, claim, kind, parameter)
    assert rate(CLAIM, "geometric", plain([*["0"] * 998, "1"])) == 998
    draw = json.dumps([plain(["1/3"]), plain(["2/3", "-1/2"]), plain(["0", "1/2"])])
    one = unit(CLAIM)
    assert next(w.num for w in one.weights(draw)) == {F(0): F(1, 3)}
    assert one.weights(draw) is one.weights(draw)
    for wrong in (["1/2", "1/3"], ["1/2", "2/3"], ["3/2", "-1/2"]):
        text = json.dumps([plain([w]) for w in wrong])
        assert refused(checker, one.weights, text)
    assert unit(CLAIM).weights(json.dumps([plain(["1"]), plain(["0"])]))


def signs(checker: ModuleType, numbers: Any) -> None:  # noqa: ANN401
    made, unit = numbers.Quotient, numbers.ClaimUnit
    one, log, every = unit(CLAIM), unit(LOG), unit(EVERY)
    near = exp_bounds(F(-1), 200)
    q = made.of(1, -1)
    for claim, number, sign in (
        (one, made({}), 0), (one, made.of(3), 1), (one, made.of(-3, 5), -1),
        *((one, (q - made.of(near[0])) * made.of(c), 1) for c in (F(1), F(1, 2), F(3))),
        *((one, (q - made.of(near[1])) * made.of(c), -1) for c in (F(1), F(1, 2), F(3))),
        *((one, (made.of(near[i]) - q) * made.of(F(1, 2)), 2 * i - 1) for i in (0, 1)),
        (one, made.of(1, F(1, 2)) - made.of(F(1649, 1000)), -1),
        (one, made.of(1, F(1, 2)) - made.of(F(1648, 1000)), 1),
        (one, (q - made.of(1)) / (q - made.of(F(1, 3))), -1),
        (one, (q - made.of(1)) / (q - made.of(F(1, 2))), 1),
        (one, made.of(1, -1000) - made.of(1), -1),
        (log, q - made.of(F(1, 2)), 0), (log, q - made.of(F(1, 3)), 1),
        (log, made.of(1, F(1, 2)) - made.of(F(1415, 1000)), -1),
        (log, made.of(1, F(1, 2)) - made.of(F(1414, 1000)), 1),
        (log, made.of(1, F(3, 2)) - made.of(F(2828, 1000)), 1),
        (log, made.of(1, F(3, 2)) - made.of(F(2829, 1000)), -1),
        (log, made.of(2, -3) - made.of(F(1, 4)), 0),
        (log, made.of(2, F(-3, 2)) - made.of(1, F(-1, 2)) + q - made.of(F(1, 2)), 0),
        (unit(LOG | {"ratio": "4"}), made.of(2 + F(1, 2**63), F(-1, 2)) - made.of(1), 1),
        (log, made.of(1, F(1, 256)) - made.of(1), 1),
        (log, made.of(1, 1000) - made.of(1), 1),
        (every, q - made.of(1), -1), (every, made.of(1, 1) - made.of(1), 1),
        (every, made.of(1) - q * made.of(2) + q * q, 1),
        (every, (made.of(1) - q) / (made.of(1) + q), 1),
        (every, made.of(1) - made.of(1, -40), 1),
        (every, made.of(1, F(1, 3)) - made.of(1, F(1, 2)), -1),
    ):  # fmt: skip
        assert claim.sign(number) == sign, number.num
    for claim, number in (
        (one, made.of(1) - made.of(1, -1001)),
        (log, made.of(1, F(1, 257)) - made.of(1)),
        (log, made.of(1, 1001) - made.of(1)),
        (log, made.of(1) / (q - made.of(F(1, 2)) + made({}))),
        (every, q - made.of(F(1, 2))),
        (unit(LOG | {"ratio": "4"}), made.of(1, F(-1, 2)) - made.of(F(1, 2))),  # it is 0
        (unit(LOG | {"ratio": "4"}), made.of(F(1, 2)) - made.of(1, F(-1, 2))),
        (every, (q - made.of(F(1, 3))) * (q - made.of(F(1, 3)))),
    ):
        assert refused(checker, claim.sign, number), number.num
    assert one.powered(2, 4, 60)[0] <= exp_bounds(F(-1, 2), 99)[0] <= one.powered(2, 4, 60)[1]
    low, high = log.powered(3, 2, 60)
    assert low**2 <= F(1, 8) <= high**2
    assert high - low == F(1, 2**60)


def excesses(numbers: Any) -> None:  # noqa: ANN401
    """P = (1/2, 1/2), Q = (1/4, 3/4) and e^ε = 3/2: P exceeds by 1/2 − 3/8 = 1/8, Q by nothing."""
    made = numbers.Quotient.of
    p, q = ({"a": made(F(x)), "b": made(1 - F(x))} for x in ("1/2", "1/4"))
    claim = LOG | {"ratio": "3/2"}
    for delta, left, right in (("0", True, False), ("1/8", False, False), ("1/9", True, False)):
        unit = numbers.ClaimUnit(claim | {"delta": delta})
        assert (unit.exceeds(p, q), unit.exceeds(q, p)) == (left, right)
    alone = {"c": made(1)}
    assert numbers.ClaimUnit(claim | {"delta": "1/2"}).exceeds(p, alone)
    assert not numbers.ClaimUnit(claim | {"delta": "1"}).exceeds(p, alone)
    assert not numbers.ClaimUnit(claim | {"epsilon": "2"}).exceeds(p, q)  # e^ε = 9/4
    spread = {"a": made(F(3, 5)), "b": made(F(2, 5))}, {"a": made(F(1, 5)), "b": made(F(4, 5))}
    assert numbers.ClaimUnit(claim | {"delta": "1/5"}).exceeds(*spread)  # 3/5 − 3/10
    assert not numbers.ClaimUnit(claim | {"delta": "3/10"}).exceeds(*spread)
