"""The rounding error of a Fourier transform of mixed radix, pass by pass.

A transform of length n = r₁·r₂·… is computed in passes. A pass multiplies by twiddle factors, which leaves every length as it is,
and applies the transform of length r to groups of r numbers, which multiplies lengths by √r. So a relative error in ℓ2 that a
pass adds is neither raised nor lowered by later ones, and the errors add up, to first order; what is of second order is below a
millionth of it, as all errors together are below 2^-40.

*One butterfly.* Follow every operation: a number is Σ aⱼ·xⱼ over the real and imaginary parts xⱼ of the inputs, with an error of at
most Σ eⱼ·|xⱼ| units. A sum of two has the coefficients of both, and adds a rounding of |a|; a product with a constant adds two, its
own and that of the constant. In the end the errors are at most E·|x|, and ‖E‖₂ ≤ √(‖E‖₁·‖E‖∞), over √r. *Twiddle factors* are
products of two entries of a table, in doubles, so not right to a unit: samples are off by 2.5, and 8 units are allowed. A
complex product is off by at most √5 units [Brent, Percival, Zimmermann, Math. Comp. 76, 2007]: √5 + 8.

Passes of real transforms do the same sums on half of the numbers, the other half being conjugates; that of radix 4 has a product
with √½ more, for which its share has room, as it uses less than two thirds of it.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import cos, log2, pi, sin

import numpy as np
from flint import acb, arb, ctx
from scipy.fft import next_fast_len, rfft

from dpverify.accounting.numerical.convolution import TRANSFORM_ROUNDINGS, window_length
from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most, below, equal, provided
from proofs.support.form import Clause, Proof

FOURIER_ROUNDING = Theorem(
    name="fourier-rounding",
    statement=(
        "A Fourier transform whose length n is a product of 2, 3, 4 and 5, computed in passes of these radices in binary64 with "
        "butterflies whose constants are off by at most one unit of 2^-53 and twiddle factors that are off by at most 8, is off by "
        "at most 12·log2(n) units in ℓ2, relative to the result."
    ),
    source="after Higham, Accuracy and Stability of Numerical Algorithms, 2002, Thm 24.2, for radix 2",
    proof="proofs/fourier_rounding.py",
)

TWIDDLE_UNITS = 8

# cos and sin of 2π·k/3 and 2π·k/5, in absolute value, rounded up.
_SIN_3 = Fraction(86603, 100000)
_COS_5 = (Fraction(30902, 100000), Fraction(80902, 100000))
_SIN_5 = (Fraction(95106, 100000), Fraction(58779, 100000))


@dataclass(frozen=True)
class Tracked:
    """|value| ≤ Σ size·|x| and |error| ≤ Σ error·|x| units, over all real inputs x."""

    size: tuple[Fraction, ...]
    error: tuple[Fraction, ...]

    def __add__(self, other: "Tracked") -> "Tracked":
        size = tuple(a + b for a, b in zip(self.size, other.size, strict=True))
        pairs = zip(self.error, other.error, size, strict=True)
        return Tracked(size, tuple(a + b + rounding for a, b, rounding in pairs))

    def times(self, constant: Fraction) -> "Tracked":
        """A product with a constant that is itself rounded: two roundings."""
        size = tuple(constant * a for a in self.size)
        pairs = zip(self.error, size, strict=True)
        return Tracked(size, tuple(constant * e + 2 * a for e, a in pairs))


Complex = tuple[Tracked, Tracked]


def _inputs(radix: int) -> list[Complex]:
    def unit(place: int) -> Tracked:
        return Tracked(
            tuple(Fraction(i == place) for i in range(2 * radix)), (Fraction(0),) * (2 * radix)
        )

    return [(unit(2 * k), unit(2 * k + 1)) for k in range(radix)]


def _plus(one: Complex, other: Complex) -> Complex:
    return one[0] + other[0], one[1] + other[1]


def _scaled(value: Complex, constant: Fraction) -> Complex:
    return value[0].times(constant), value[1].times(constant)


def butterfly(radix: int) -> list[Complex]:
    """The sums of one butterfly; signs do not matter to bounds of absolute values."""
    x = _inputs(radix)
    if radix == 2:
        return [_plus(x[0], x[1])] * 2
    if radix == 4:
        even, odd = _plus(x[0], x[2]), _plus(x[1], x[3])
        turned = _plus(even, (odd[1], odd[0]))  # ±i times a number exchanges its parts
        return [_plus(even, odd), turned] * 2
    if radix == 3:
        both = _plus(x[1], x[2])
        middle = _plus(x[0], _scaled(both, Fraction(1, 2)))
        across = _scaled((both[1], both[0]), _SIN_3)
        return [_plus(x[0], both), _plus(middle, across), _plus(middle, across)]
    outer, inner = _plus(x[1], x[4]), _plus(x[2], x[3])
    found = [_plus(_plus(x[0], outer), inner)]
    for a, b in ((0, 1), (1, 0)):
        along = _plus(_plus(x[0], _scaled(outer, _COS_5[a])), _scaled(inner, _COS_5[b]))
        crossed = [(value[1], value[0]) for value in (outer, inner)]
        across = _plus(_scaled(crossed[0], _SIN_5[a]), _scaled(crossed[1], _SIN_5[b]))
        found += [_plus(along, across)] * 2
    return found


def squared_cost(radix: int) -> Fraction:
    """A bound on ‖E‖₂²/r, in squared units."""
    rows = [part.error for value in butterfly(radix) for part in value]
    widest = max(sum(row, Fraction(0)) for row in rows)
    tallest = max(sum(column, Fraction(0)) for column in zip(*rows, strict=True))
    return widest * tallest / radix


def each_pass_keeps_to_its_share(share: Fraction = Fraction(1)) -> Step:
    """‖E‖₂/√r + √5 + 8 ≤ 12·log2(r)·(1 − 10^-6), for r = 2, 3, 4 and 5."""
    holds = VACUOUS
    with ctx.workprec(128):
        for radix in (2, 3, 4, 5):
            cost = ball(squared_cost(radix)).sqrt() + arb(5).sqrt() + TWIDDLE_UNITS
            allowed = ball(share * Fraction(TRANSFORM_ROUNDINGS)) * arb(radix).log() / arb(2).log()
            holds &= at_most(cost, allowed * (1 - arb(10) ** -6))
    return Step("one pass", holds, "radices 2, 3, 4, 5")


def constants_are_rounded_up(less: Fraction = Fraction(0)) -> Step:
    """sin(2π/3), cos and sin of 2π/5 and 4π/5, in absolute value, are below the rationals used."""
    holds = VACUOUS
    with ctx.workprec(128):
        for used, k, n, wave in (
            (_SIN_3, 1, 3, arb.sin),
            (_COS_5[0], 1, 5, arb.cos),
            (_COS_5[1], 2, 5, arb.cos),
            (_SIN_5[0], 1, 5, arb.sin),
            (_SIN_5[1], 2, 5, arb.sin),
        ):
            holds &= below(abs(wave(2 * arb.pi() * k / n)), ball(used - less))
    return Step("constants", holds, "five of them")


def twiddles_are_products_of_two(units: int = TWIDDLE_UNITS) -> Step:
    """e^(2πik/n) as pocketfft makes it, e^(2πi·l/n)·e^(2πi·h/n) with k = l + h, in doubles: 300 k of each of three lengths."""
    rng, holds, count = np.random.default_rng(7), VACUOUS, 0
    with ctx.workprec(128):
        for length in (2**20, 5**8, 2**4 * 3**4 * 5**4):
            block = 1 << (
                length.bit_length() // 2
            )  # the low part's table; the high part has the rest
            for k in rng.integers(0, length // 4, size=300).tolist():
                (a, b), (c, d) = _entry(k % block, length), _entry(k - k % block, length)
                made = acb(ball(a * c - b * d), ball(a * d + b * c))
                gap = made - (acb(0, 2) * arb.pi() * k / length).exp()
                holds &= below(abs(gap), units * arb(2) ** -53)
                count += 1
    return Step("twiddle factors", holds, f"{count} of three lengths, by a copy of the rule")


def _entry(place: int, length: int) -> tuple[float, float]:
    """Cosine and sine of 2π·place/length up to π/2, from angles of at most π/4."""
    angle, eighths = 0.25 * pi / length, 8 * place
    if eighths < length:
        return cos(eighths * angle), sin(eighths * angle)
    return sin((2 * length - eighths) * angle), cos((2 * length - eighths) * angle)


def the_library_uses_such_lengths(largest: int = 5) -> Step:
    """`window_length` gives products of 2, 3 and 5, and not less than asked."""
    holds, count = VACUOUS, 0
    for asked in (17, 1_009, 10_007, 99_991, 1_000_003):
        length = window_length(asked)
        rest = length
        for factor in (2, 3, 5)[: 3 if largest >= 5 else 2]:
            while rest % factor == 0:
                rest //= factor
        holds &= equal(rest, 1) & at_most(asked, length)
        holds &= provided(length == next_fast_len(asked, real=True))
        count += 1
    return Step("`window_length`", holds, f"{count} lengths")


def sampled_frequencies_are_exact_enough(roundings: float = TRANSFORM_ROUNDINGS) -> Step:
    """`rfft` at 12 frequencies of six lengths against sums in ball arithmetic: off by less than 12·log2(n) units of ‖x‖₂.

    The bound is on the ℓ2 norm of all n errors over √n·‖x‖₂; each error here, over ‖x‖₂, is held against it as it stands.
    """
    rng, holds, count = np.random.default_rng(5), VACUOUS, 0
    with ctx.workprec(128):
        for length in (16, 60, 125, 243, 360, 1000):
            values = rng.exponential(size=length) ** 3
            found = rfft(values)
            norm = sum((ball(v) ** 2 for v in values.tolist()), arb(0)).sqrt()
            unit = ball(roundings * log2(length)) * arb(2) ** -53
            for k in rng.integers(0, length // 2 + 1, size=12).tolist():
                total = acb(0)
                for j, value in enumerate(values.tolist()):
                    total += ball(value) * (acb(0, -2) * arb.pi() * (j * k % length) / length).exp()
                gap = acb(ball(float(found[k].real)), ball(float(found[k].imag))) - total
                holds &= below(abs(gap), unit * norm * arb(length).sqrt())
                count += 1
    return Step("`rfft`", holds, f"{count} frequencies of six lengths")


PROOF = Proof(
    theorem=FOURIER_ROUNDING,
    clauses=(
        Clause(
            FOURIER_ROUNDING.statement,
            by=(
                each_pass_keeps_to_its_share,
                constants_are_rounded_up,
                sampled_frequencies_are_exact_enough,
            ),
            argued=(
                "that a pass multiplies lengths by √r, so that relative errors of passes add up, and shares of 12·log2(r) make 12·log2(n); "
                "that ‖E‖₂ ≤ √(‖E‖₁·‖E‖∞); that terms of second order are below a millionth of the rest"
            ),
        ),
    ),
    library=(twiddles_are_products_of_two, the_library_uses_such_lengths),
    cites=(
        (
            "scipy's real transforms of lengths 2^a·3^b·5^c are made of passes of radix 2, 3, 4 and 5, in which constants are right to a "
            "unit and twiddle factors, each a product of two entries of a table, to 8: pocketfft, by M. Reinecke"
        ),
        "a complex product is off by at most √5 units: Brent, Percival, Zimmermann, Math. Comp. 76, 2007",
    ),
    mutations={
        "4·log2(n) units": lambda: each_pass_keeps_to_its_share(Fraction(1, 3)),
        "constants rounded down": lambda: constants_are_rounded_up(Fraction(1, 50_000)),
        "twiddle factors right to a unit": lambda: twiddles_are_products_of_two(units=1),
        "lengths without a factor 5": lambda: the_library_uses_such_lengths(largest=3),
        "a thousandth of a unit": lambda: sampled_frequencies_are_exact_enough(1e-3),
    },
)
