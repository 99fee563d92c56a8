"""A very long sum by its low frequencies: that the others vanish, and what is charged for rounding those that are kept.

*Left out.* With D the difference of two independent losses, |ŵ(θ)|² = Σ wᵢwⱼ·cos(θ(i−j)) ≤ W² − θ²·D₂/2 + θ⁴·D₄/24, a quadratic in θ² that is at most m² between
its roots. Beyond the second one, finitely many values decide: |ŵ|² + D₂·t²/2 is convex in t, so between two of them |ŵ|² is at most the larger and D₂·h²/8.

*Kept*, in units of 2^-53. Elementary functions are taken to be right to 4 units in the last place, so to 8, relative. An angle 2π·(m/n) has the roundings of a
quotient, of a product and of π. So a root of unity, whose whole turns were taken off exactly, is off by 2.4·2π + 8; and e^(−iφ) − 1 = −2·sin²(φ/2) − i·sin φ,
for φ of any size, by 25·|φ|: an error of the angle moves both parts by no more than itself, and |sin φ| and 2·sin²(φ/2) are at most |φ|. Sums over a block
of B nodes and over r blocks add B + r more, and few for products. The power (1 + z)^k goes through its logarithm, as in numerical-rounding, with 0.4 for 1/4.

*Summed up.* Σ e^(−(d − iθ)j) over j < c is (1 − e^(−dc + iθc))/(1 − e^(−d + iθ)). Of the numerator, of modulus at most 2, the exponential is off by 8 and what its
exponent is rounded, x·e^(−x) ≤ 1/e, the root by 24. The denominator (1 − e^(−d))·cos θ + 2·sin²(θ/2) − i·e^(−d)·sin θ has no cancellation for θ ≤ π/3, and an
error of d or θ moves it by no more than twice itself, relatively. The factor e^(−a) is that of an ε between two nodes. A quotient of complex numbers is off by at most 10 units [Smith, CACM 5, 1962, as numpy does it].

Constants are derived to first order in 2^-53, and what is charged has room for the rest. The error of a logarithm, which is large after very many losses, is not
taken as its first order: the library charges its exponential, less one.
"""

import math
from fractions import Fraction

import numpy as np
import sympy as sp
from flint import acb, arb, ctx

from dpverify.accounting.numerical import spectrum
from dpverify.accounting.numerical.spectrum import LowFrequencies, Spectrum
from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.fourier_rounding import FOURIER_ROUNDING
from proofs.numerical_rounding import NUMERICAL_ROUNDING, powers_through_logarithms
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

LOW_FREQUENCIES = Theorem(
    name="low-frequencies",
    statement=(
        "Masses w on whole numbers, of total W and with Dₙ = Σ wᵢwⱼ(i−j)ⁿ, have |ŵ(θ)|² ≤ W² − θ²·D₂/2 + θ⁴·D₄/24, which is at most m² between its "
        "roots; and between frequencies h apart |ŵ|² exceeds its larger value there by at most h²·D₂/8. Computed in binary64 with functions that are "
        "right to 4 units in the last place, and to first order in 2^-53, a root of unity whose whole turns were taken off is off by at most 64 units of "
        "2^-53, e^(−90/k) by 128, relative; Σ w·(e^(−iθm) − 1) over r blocks of B nodes by (64 + 4·(B + r))·θ·Σ w·|m|; (1 + z)^k through its logarithm, for |z| ≤ 2/5, by "
        "64·(1 + k·|z|), relative; and a sum over frequencies of rolled values v times e^(−a)·Σ e^(−(d − iθ)j), for a ≥ 0 and θ ≤ π/3, by 128 and their number, relative to "
        "Σ 2·|v|/|1 − e^(−d + iθ)|, where the term of θ = 0 is |v|·Σ e^(−dj)."
    ),
    source="derived here, for sums of millions of losses",
    proof="proofs/low_frequencies.py",
)
_OWN = 8  # units that a function right to 4 units in the last place is off by, relative


def _angle() -> arb:
    """Units, relative, that 2π·(m/n) is off by: a quotient, a product and π itself."""
    own = abs(ball(math.pi) / arb.pi() - 1) * arb(2) ** 53
    return 2 + own


def cosine_below_its_polynomial(last: int = 24) -> Step:
    """cos t ≤ 1 − t²/2 + t⁴/24: the difference begins with four zeros, and 1 − cos t ≥ 0 follows."""
    t = sp.symbols("t", real=True)
    excess = 1 - t**2 / 2 + t**4 / last - sp.cos(t)
    holds = every(equal(sp.diff(excess, t, n).subs(t, 0), 0) for n in range(4))
    holds &= same(sp.diff(excess, t, 4), 1 - sp.cos(t))
    return Step("frequencies", holds, "all losses and frequencies")


def high_frequencies_vanish(share: int = 1) -> Step:
    """`LowFrequencies`: |ŵ|ᵏ ≤ e^−90 at every frequency that it leaves out."""
    length, times = 2001, 5000
    laws = _LAWS
    holds = VACUOUS
    with ctx.workprec(128):
        for masses in laws:
            convolver = LowFrequencies(length)
            convolver.add(np.array(masses), 0, times)
            kept = len(convolver.result().masses.values) // share
            for frequency in range(kept, length // 2 + 1):
                turns = [
                    acb(ball(-2 * frequency * i) / length).exp_pi_i() for i in range(len(masses))
                ]
                value = sum((m * turn for m, turn in zip(masses, turns, strict=True)), acb(0))
                holds &= at_most(abs(value), (ball(-90) / times).exp())
    return Step("`LowFrequencies`", holds, f"{times} runs of {len(laws)} distributions")


def between_the_roots(last: int = 24) -> Step:
    """x²·F/24 − x·S/2 + lack = (F/24)·(x − x₁)·(x − x₂) with x₁ = 2·lack/(S/2 + r), x₂ = 12·(S/2 + r)/F, r² = S²/4 − lack·F/6; ≤ 0 between."""
    root, more, fourth, x = sp.symbols("r more F x", positive=True)
    half = root + more  # S/2 > r, as lack > 0
    lack = (half**2 - root**2) * 6 / fourth
    first, second = 2 * lack / (half + root), 12 * (half + root) / fourth
    quartic = x**2 * fourth / last - x * half + lack
    holds = same(quartic, fourth / 24 * (x - first) * (x - second))
    u, v = sp.symbols("u v", positive=True)
    inside = (u * first + v * second) / (u + v)
    holds &= nonnegative(-quartic.subs(x, inside), (root, more, fourth, u, v))
    return Step("between the roots", holds, "all moments")


def between_two_values(eight: int = 8) -> Step:
    """D·h²/8 − D·t(h − t)/2 = (D/2)·(h/2 − t)² ≥ 0: what a second derivative of at least −D lifts a function above its chord."""
    bend, h, t = sp.symbols("D h t", positive=True)
    holds = same(bend * h**2 / eight - bend * t * (h - t) / 2, bend / 2 * (h / 2 - t) ** 2)
    # |ŵ|² has the second derivative −Σ ww(i−j)²·cos, at least −D₂: here of three masses.
    theta, p, q, s = sp.symbols("theta p q s", positive=True)
    square = (
        p**2
        + q**2
        + s**2
        + 2 * (p * q * sp.cos(theta) + q * s * sp.cos(2 * theta) + p * s * sp.cos(3 * theta))
    )
    second = 2 * (
        p * q * sp.cos(theta) + 4 * q * s * sp.cos(2 * theta) + 9 * p * s * sp.cos(3 * theta)
    )
    holds &= same(sp.diff(square, theta, 2), -second)
    return Step("between two values", holds, "all h, t, D")


def roots_of_unity(charged: int = 64) -> Step:
    """2π times what the angle is off by, and a cosine and a sine: at most 24 units, of the 64 that are charged."""
    with ctx.workprec(128):
        off = _angle() * 2 * arb.pi() + _OWN
        holds = at_most(off, charged) & equal(Fraction(spectrum._ANGLE_ROUNDINGS), 64)  # noqa: SLF001  # what is charged
    return Step("roots of unity", holds, "all angles below a turn")


def negligible_moduli(charged: int = 128) -> Step:
    """e^(−90/k): the rounded exponent, at most 90 units, the exponential and a product; and W² − m² by 16, for W ≤ 7/5 and m ≤ 1."""
    with ctx.workprec(128):
        holds = at_most(arb(90) + _OWN + 1, charged)
        holds &= at_most(3 * ball(Fraction(49, 25)) + 2 + 2, 16)
        holds &= equal(Fraction(spectrum._MODULUS_ROUNDINGS), 128)  # noqa: SLF001  # what is charged
    return Step("negligible moduli", holds, "all k ≥ 1")


def less_one(charged: int = 64) -> Step:
    """sin φ by (a + 8)·|φ|, 2·sin²(φ/2) by 2·(a/2 + 8)·|φ| and two roundings, with a for the angle; 25·|φ| together."""
    with ctx.workprec(128):
        sine = _angle() + _OWN
        # d(2·sin²(φ/2)) = sin φ·dφ; two functions of |sin| ≤ 1 each, 2·sin² ≤ |φ|; the square is rounded.
        square = _angle() + 2 * _OWN + 1
        off = (sine**2 + square**2).sqrt()
        # A product with e^(−iθaB) − 1, a sum of two, and the sum with what is there.
        holds = at_most(off + arb(5).sqrt() + 3, charged)
    return Step("e^(−iφ) − 1", holds, "all angles")


def two_sines_are_short(power: int = 1) -> Step:
    """|φ| − sin φ ≥ 0 and |φ| − 2·sin²(φ/2) ≥ 0 from their slopes 1 − cos φ and 1 − sin φ; 2·sin²(φ/2) = 1 − cos φ."""
    phi = sp.Symbol("phi", positive=True)
    square = 2 * sp.sin(phi / 2) ** 2
    holds = same(sp.diff(phi**power - sp.sin(phi), phi), 1 - sp.cos(phi))
    holds &= same(square, 1 - sp.cos(phi), by=sp.trigsimp)
    holds &= same(sp.diff(phi - (1 - sp.cos(phi)), phi), 1 - sp.sin(phi))
    return Step("two sines", holds, "all φ > 0")


def blocks_of_nodes(four: int = 4) -> Step:
    """Sums over B nodes and r blocks add at most B + r units and the row sums B: 64 + 4·(B + r) has room for all of them."""
    block, rows = sp.symbols("B r", nonnegative=True)
    needed = 64 + 2 * block + rows  # 64: what `less_one` charges for a single node, at most
    holds = nonnegative(64 + four * (block + rows) - needed, (block, rows))
    return Step("blocks", holds, "all B, r")


def powers_around_one(ulps: int = 4) -> Step:
    """(1 + z)^k through its logarithm for |z| ≤ 2/5: the step of numerical-rounding, against the 64 that are charged here."""
    return powers_through_logarithms(ulps, Fraction(2, 5), spectrum._LOGARITHM_ROUNDINGS)  # noqa: SLF001


def quotients(charged: int = 10) -> Step:
    """Smith's quotient: r = d/c, |r| ≤ 1, and (a + br, b − ar)/(c + dr): 3·√2 for the numerators, 3 for c + dr, a reciprocal and a product."""
    r = sp.Symbol("r", real=True)
    # (1 + |r|)² ≤ 2·(1 + r²): the sums of moduli over the true numerators, whose square is (1 + r²)·|a + ib|².
    holds = same(2 * (1 + r**2) - (1 + r) ** 2, (1 - r) ** 2)
    with ctx.workprec(128):
        holds &= at_most(3 * arb(2).sqrt() + 3 + 2, charged)
    return Step("quotients", holds, "all complex numbers, to first order")


def geometric_sums(charged: int = 128) -> Step:
    """Numerator 41/2 of its bound 2, denominator 27, quotient 10, two more roots with their products, d, and e^(−a): at most 128."""
    with ctx.workprec(128):
        root, product = _angle() * 2 * arb.pi() + _OWN, arb(5).sqrt()
        end = (
            arb(-1).exp() * 2 + _OWN + root + 1
        )  # e^(−x), its rounded exponent and decay, the root, a product
        numerator = (end + 2) / 2
        sine, cosine = (
            _OWN + _angle(),
            _OWN + _angle() * arb.pi() / arb(3).sqrt(),
        )  # θ·tan θ for θ ≤ π/3
        real = (_OWN + cosine + 1).max(2 * sine + 1) + 1
        imaginary = _OWN + sine + 1
        denominator = (
            real.max(imaginary) + 2
        )  # and that of the decay: d·e^(−d)/((1 − e^(−d))·cos θ) ≤ 2
        rolled, rest = root + product, root + 2 * product + 3
        ahead = 2 * arb(-1).exp() + _OWN + 2  # e^(−a), for an ε between two nodes, and a difference
        holds = at_most(numerator + denominator + 10 + rolled + rest + ahead, charged)
        holds &= equal(Fraction(2 * spectrum._ANGLE_ROUNDINGS), 128)  # noqa: SLF001  # what is charged
    return Step("geometric sums", holds, "all d ≥ 0, all θ ≤ π/3")


_LAWS = ([0.25, 0.5, 0.25], [0.5, 0.25, 0.125, 0.125], [0.875, 0.0, 0.0, 0.0625, 0.0625])


def _transform(masses: list[float], first: int, frequency: int, length: int) -> acb:
    """Σ w·e^(−2πi·f·m/n), on balls."""
    total = acb(0)
    for index, mass in enumerate(masses):
        total += mass * acb(ball(Fraction(-2 * frequency * (first + index), length))).exp_pi_i()
    return total


def powers_are_within_their_error(share: float = 1.0) -> Step:
    """`LowFrequencies`: what it keeps of 5000 and 10⁹ losses against powers on balls, in ℓ2, within the error it states."""
    holds, count = VACUOUS, 0
    with ctx.workprec(192):
        for masses in _LAWS:
            for length, times in ((2001, 5000), (1_000_003, 10**9)):
                convolver = LowFrequencies(length)
                convolver.add(np.array(masses), -7, times)
                found = convolver.result()
                square = arb(0)
                for frequency, value in enumerate(found.masses.values.tolist()):
                    off = _transform(masses, -7, frequency, length) ** times
                    off -= acb(ball(value.real), ball(value.imag))
                    square += (1 if frequency == 0 else 2) * abs(off) ** 2
                holds &= at_most((square / length).sqrt(), ball(found.error) * share)
                count += 1
    return Step("`LowFrequencies`, kept", holds, f"{count} powers")


def sums_are_within_their_rounding(share: float = 1.0) -> Step:
    """`Spectrum.rolled` and `.decayed` against sums on balls, from any index, for decays from 0 to 1."""
    holds, count = VACUOUS, 0
    rng = np.random.default_rng(5)
    with ctx.workprec(192):
        for length, kept in ((97, 9), (1_000_003, 60)):
            values = np.exp(-rng.random(kept) * 3 + 2j * math.pi * rng.random(kept))
            values[0] = 1.0
            for decay, first, back in (
                (0.0, 5, 3),
                (1e-9, length // 3, -8),
                (1e-3, 0, length),
                (1.0, length - 2, 1),
            ):
                found = Spectrum(length, values).rolled(back)
                exact = _decayed(values.tolist(), length, back + first, length - first, decay)
                error = abs(exact - ball(found.decayed(first, decay)))
                holds &= at_most(error, ball(found.rounding(decay)) * share)
                count += 1
    return Step("`Spectrum.decayed`", holds, f"{count} sums")


def _decayed(values: list[complex], length: int, first: int, count: int, decay: float) -> arb:
    """Σ over `count` indices from `first` of mass·e^(−decay·j), on balls."""
    total = arb(0)
    for frequency, value in enumerate(values):
        turn = acb(ball(Fraction(2 * frequency, length))).exp_pi_i()
        ratio = turn * (-ball(decay)).exp()
        same_mass = frequency == 0 and decay == 0.0
        geometric = acb(count) if same_mass else (1 - ratio**count) / (1 - ratio)
        term = acb(ball(value.real), ball(value.imag)) * turn**first * geometric
        total += (1 if frequency == 0 else 2) * term.real
    return total / length


PROOF = Proof(
    theorem=LOW_FREQUENCIES,
    clauses=(
        Clause(
            "Masses w on whole numbers, of total W and with Dₙ = Σ wᵢwⱼ(i−j)ⁿ, have |ŵ(θ)|² ≤ W² − θ²·D₂/2 + θ⁴·D₄/24, which is at most m² between its roots;",
            by=(cosine_below_its_polynomial, between_the_roots, high_frequencies_vanish),
            argued="that |ŵ|² is the sum of wᵢwⱼ·cos(θ(i−j)); that a function whose fourth derivative is not negative and that begins with four zeros is not negative",
        ),
        Clause(
            "and between frequencies h apart |ŵ|² exceeds its larger value there by at most h²·D₂/8.",
            by=(between_two_values, high_frequencies_vanish),
            argued="that |ŵ|² + D₂·t²/2 is convex, so below its chord; that cosines are at most 1",
        ),
        Clause(
            "Computed in binary64 with functions that are right to 4 units in the last place, and to first order in 2^-53, a root of unity whose whole turns were taken off is off by at most 64 units of 2^-53, e^(−90/k) by 128, relative;",
            by=(roots_of_unity, negligible_moduli),
            argued="that an error of the angle moves a point on the circle by no more than itself; that |d e^(−x)| is e^(−x)·|dx|",
        ),
        Clause(
            "Σ w·(e^(−iθm) − 1) over r blocks of B nodes by (64 + 4·(B + r))·θ·Σ w·|m|;",
            by=(less_one, two_sines_are_short, blocks_of_nodes, powers_are_within_their_error),
            argued=(
                "that a sum of n terms is off by at most n − 1 units of their moduli, in any order; that |w·e^(−iθb)| sums to no more than w; that the error of "
                "what is in a block is multiplied by |e^(−iθaB)| = 1"
            ),
        ),
        Clause(
            "(1 + z)^k through its logarithm, for |z| ≤ 2/5, by 64·(1 + k·|z|), relative;",
            by=(powers_around_one, powers_are_within_their_error),
            argued="the argument of numerical-rounding, with 2/5 for 1/4",
        ),
        Clause(
            "and a sum over frequencies of rolled values v times e^(−a)·Σ e^(−(d − iθ)j), for a ≥ 0 and θ ≤ π/3, by 128 and their number, relative to Σ 2·|v|/|1 − e^(−d + iθ)|, where the term of θ = 0 is |v|·Σ e^(−dj).",
            by=(quotients, geometric_sums, sums_are_within_their_rounding),
            argued="that relative errors of factors add up, to first order; that the real part of the denominator is a sum of two numbers that are not negative",
        ),
    ),
    uses=(FOURIER_ROUNDING, NUMERICAL_ROUNDING),
    mutations={
        "half of the last term": lambda: cosine_below_its_polynomial(last=48),
        "half of the frequencies": lambda: high_frequencies_vanish(share=2),
        "x²·F/12": lambda: between_the_roots(last=12),
        "h²·D/16": lambda: between_two_values(eight=16),
        "16 units for a root": lambda: roots_of_unity(charged=16),
        "64 units for e^(−90/k)": lambda: negligible_moduli(charged=64),
        "16 units for e^(−iφ) − 1": lambda: less_one(charged=16),
        "φ²": lambda: two_sines_are_short(power=2),
        "one unit a node": lambda: blocks_of_nodes(four=1),
        "functions right to 16 units": lambda: powers_around_one(ulps=16),
        "4 units for a quotient": lambda: quotients(charged=4),
        "64 units for a sum": lambda: geometric_sums(charged=64),
        "a hundred-thousandth of the error": lambda: powers_are_within_their_error(1e-5),
        "a ten-thousandth of the rounding": lambda: sums_are_within_their_rounding(1e-4),
    },
)
