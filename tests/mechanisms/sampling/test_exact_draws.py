"""Inversion: float quantiles against balls, balls against mpmath, draws against exact laws."""

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import ArrayLike

from dpverify.mechanisms.sampling.inversion import (
    LARGEST_STEP,
    UNIFORM_BITS,
    Steps,
    nearest_steps,
    whole_steps,
)
from dpverify.mechanisms.sampling.magnitudes import (
    EXPONENTIAL,
    HALF_NORMAL,
    UNIT,
    HalfGeneralizedNormal,
    Magnitude,
)
from dpverify.mechanisms.sampling.uniform import LazyUniform, random_words

Agree = Callable[[ArrayLike, ArrayLike, int], None]

POWERS = (1.0001, 1.1, 1.5, 2.0, 3.0, 4.0, 10.0, 100.0, 1000.0)
LAWS: tuple[Magnitude, ...] = (
    EXPONENTIAL,
    HALF_NORMAL,
    UNIT,
    *(HalfGeneralizedNormal(power) for power in POWERS),
)
by_name = pytest.mark.parametrize("law", LAWS, ids=str)


def trusted_tails(count: int, rng: np.random.Generator) -> np.ndarray:
    """Tail probabilities from 2^-15 to 1, crowded at both ends and in the middle."""
    middle = rng.uniform(2.0**-15, 1.0, count)
    low = 2.0 ** -rng.uniform(0.0, 15.0, count)
    high = 1.0 - 2.0 ** -rng.uniform(1.0, 53.0, count)
    near_half = 0.5 + rng.uniform(-1e-6, 1e-6, count // 4)
    return np.concatenate([middle, low, high, near_half, [2.0**-15, 1.0 - 2.0**-53]])


def tail_by_mpmath(law: Magnitude, x: mp.mpf) -> mp.mpf:
    if isinstance(law, HalfGeneralizedNormal):
        return mp.gammainc(mp.mpf(1) / law.power, x ** mp.mpf(law.power), regularized=True)
    if law == HALF_NORMAL:
        return mp.erfc(x / mp.sqrt(2))
    return mp.exp(-x) if law == EXPONENTIAL else 1 - x


def to_mpmath(value: arb) -> mp.mpf:
    """An exact ball as an mpf, without rounding."""
    mantissa, exponent = value.mid().man_exp()
    return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))


@by_name
def test_float_quantiles_are_256_times_better_than_the_margin(
    law: Magnitude, rng: np.random.Generator
) -> None:
    cheap = law in {EXPONENTIAL, HALF_NORMAL, UNIT}
    points = trusted_tails(600 if cheap else 150, rng)
    with ctx.workprec(160):
        for u, x in zip(points.tolist(), law.quantile(points).tolist(), strict=True):
            exact = law.quantile_ball(arb(u))
            assert abs(exact - x) * 256 < arb(law.margin) * (1 + exact), (u, x)


@by_name
@pytest.mark.parametrize("exponent", [-1, -15, -64, -1000])
def test_quantile_balls_hold_the_quantile(law: Magnitude, exponent: int) -> None:
    """The tail by mpmath is above u at the ball's lower end and below u at its upper end."""
    digits = 1200 if law == UNIT else 200  # 1 − x keeps what x loses
    with mp.workprec(digits + 60), ctx.workprec(digits):
        u = arb(3) * arb(2) ** (exponent - 2)
        ball = law.quantile_ball(u)
        exact = mp.ldexp(mp.mpf(3), exponent - 2)
        widened = to_mpmath(ball.rad()) + mp.ldexp(to_mpmath(ball.mid()), -190)
        assert ball.rad() < arb(2) ** -80
        assert tail_by_mpmath(law, to_mpmath(ball.mid()) - widened) > exact
        assert tail_by_mpmath(law, to_mpmath(ball.mid()) + widened) < exact


@pytest.mark.parametrize("law", [HALF_NORMAL, HalfGeneralizedNormal(1.5)], ids=str)
@pytest.mark.parametrize("exponent", [-1, -20, -5000])
def test_bisection_agrees_with_newton(law: HalfGeneralizedNormal, exponent: int) -> None:
    """Where floats underflow, at 2^-5000, bisection is the only way and must stand alone."""
    with ctx.workprec(256):
        u = arb(2) ** exponent / 3
        bisected, default = law._bisected(u), law.quantile_ball(u)
        assert bisected.overlaps(default)
        assert bisected.rad() < arb(2) ** -60
        assert law.tail(bisected.lower()) > u > law.tail(bisected.upper())


def test_the_deepest_normal_tail_by_another_algorithm() -> None:
    with ctx.workprec(256):
        u = arb(2) ** -5000
        assert HALF_NORMAL.quantile_ball(u).overlaps(arb(2).sqrt() * u.erfcinv())


@by_name
@pytest.mark.parametrize("offset", [0.0, 0.5])
@pytest.mark.parametrize("scale", [0.75, 1000.0, 2.0**24])
def test_balls_and_floats_settle_the_same_digits_alike(
    law: Magnitude, offset: float, scale: float
) -> None:
    """With an endless margin all draws go through balls; the integers must not change."""
    count = 150
    fast = Steps(law=law, scale=scale, offset=offset, margin=law.margin)
    slow = Steps(law=law, scale=scale, offset=offset, margin=math.inf)
    by_floats = fast.draw(count, np.random.default_rng(5))
    by_balls = slow.draw(count, np.random.default_rng(5))
    assert (by_floats[0] == by_balls[0]).all()
    assert (by_floats[1] == by_balls[1]).all()


def test_nearly_all_draws_are_settled_by_floats(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    original = Steps.resolve

    def counted(self: Steps, uniform: LazyUniform, generator: np.random.Generator) -> int:
        calls.append(uniform.numerator)
        return original(self, uniform, generator)

    monkeypatch.setattr(Steps, "resolve", counted)
    nearest_steps(HALF_NORMAL, 2.0**20, (200_000,), rng)
    assert 0 < len(calls) < 100  # 2^-15 of them have small u, and fewer are near a boundary


@pytest.mark.parametrize("scale", [2.0**52, 2.0**200])
@pytest.mark.parametrize("law", [EXPONENTIAL, HALF_NORMAL, HalfGeneralizedNormal(3.0)], ids=str)
def test_resolution_goes_as_far_as_it_must(
    law: Magnitude, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The integer brackets the quantile at 2^-200: Newton's method must be repeated for that."""
    monkeypatch.setattr("dpverify.mechanisms.sampling.inversion.LARGEST_STEP", 1 << 300)
    rule = Steps(law=law, scale=scale, offset=0.0, margin=law.margin)
    uniform = LazyUniform(0x123456789ABCDEF, UNIFORM_BITS)
    step = rule.resolve(uniform, np.random.default_rng(1))
    with mp.workprec(900):
        low = mp.mpf(uniform.numerator) / mp.mpf(2) ** uniform.bits
        high = mp.mpf(uniform.numerator + 1) / mp.mpf(2) ** uniform.bits
        assert tail_by_mpmath(law, mp.mpf(step) / mp.mpf(scale)) >= high
        assert tail_by_mpmath(law, mp.mpf(step + 1) / mp.mpf(scale)) <= low


def test_a_uniform_of_zeros_waits_for_a_one_and_saturates() -> None:
    rule = Steps(law=EXPONENTIAL, scale=1.0, offset=0.0, margin=EXPONENTIAL.margin)
    step = rule.resolve(LazyUniform(0, UNIFORM_BITS), np.random.default_rng(1))
    assert UNIFORM_BITS * math.log(2) - 1 < step < (UNIFORM_BITS + 60) * math.log(2)
    far = Steps(law=EXPONENTIAL, scale=2.0**52, offset=0.0, margin=EXPONENTIAL.margin)
    assert far.resolve(LazyUniform(0, 1 << 40), np.random.default_rng(1)) == LARGEST_STEP


def test_known_digits_stay_and_bound_the_number(rng: np.random.Generator) -> None:
    uniform = LazyUniform(5, 3)
    before = uniform.ball()
    assert before.contains(arb("0.625"))
    assert before.contains(arb("0.75"))
    uniform.append(int(random_words(1, rng)[0]))
    assert before.contains(uniform.ball())
    assert uniform.bits == 67


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("scale", [0.4, 3.0])
@pytest.mark.parametrize(
    "law", [EXPONENTIAL, HALF_NORMAL, HalfGeneralizedNormal(1.5), UNIT], ids=str
)
def test_rounded_draws_have_the_exact_law(
    law: Magnitude, scale: float, rng: np.random.Generator, agree: Agree
) -> None:
    total = 300_000 if law in {EXPONENTIAL, HALF_NORMAL, UNIT} else 50_000
    draws = nearest_steps(law, scale, (total,), rng)
    largest = math.floor(scale + 0.5) if law == UNIT else 5
    edges = [mp.mpf(0), *((k + mp.mpf("0.5")) / mp.mpf(scale) for k in range(largest + 1))]
    edges = [min(edge, mp.mpf(1)) for edge in edges] if law == UNIT else edges
    above = [tail_by_mpmath(law, edge) for edge in edges]
    masses = [float(high - low) for high, low in pairwise(above)]
    expected = [masses[0], *(mass / 2 for mass in masses[1:]), *(mass / 2 for mass in masses[1:])]
    cells = [0, *range(1, largest + 1), *range(-1, -largest - 1, -1)]
    agree([np.count_nonzero(draws == cell) for cell in cells], expected, total)


@pytest.mark.false_alarm(1e-9)
def test_whole_steps_of_exponentials_are_geometric(rng: np.random.Generator, agree: Agree) -> None:
    total, scale = 500_000, 1.0 / math.log(2.0)  # P(K = k) = 2^-(k+1)
    draws = whole_steps(EXPONENTIAL, scale, (total,), rng)
    counts = np.bincount(draws, minlength=64)[:16]
    agree(counts, 0.5 ** np.arange(1, 17), total)


@pytest.mark.parametrize("law", [EXPONENTIAL, HALF_NORMAL], ids=str)
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.0, 2.0**10, 2.0**20, 2.0**31])
def test_log_probabilities_against_mpmath(law: Magnitude, scale: float) -> None:
    assert hasattr(law, "log_rounded_mass")
    spread = [0, 1, 2, 3, 17, int(scale), int(3 * scale), int(30 * scale)]
    steps = np.array([*spread, *(-k for k in spread)])
    with mp.workprec(2000):
        for k, log_mass in zip(steps.tolist(), law.log_rounded_mass(steps, scale), strict=True):
            edge = [abs((abs(k) + side) / mp.mpf(scale)) for side in (mp.mpf(-0.5), mp.mpf(0.5))]
            if k == 0:
                exact = mp.log(1 - tail_by_mpmath(law, edge[1]))
            else:
                exact = mp.log((tail_by_mpmath(law, edge[0]) - tail_by_mpmath(law, edge[1])) / 2)
            assert log_mass == pytest.approx(float(exact), rel=1e-13, abs=1e-13), k
