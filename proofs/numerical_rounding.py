"""The float error of a convolution by Fourier transform: what the numerical accountant charges for rounding.

Masses w of total at most m = e^t have |ŵ| ≤ m at every frequency. Let the computed transform be z = ŵ + e. Then z^k − ŵ^k =
e·Σ z^j·ŵ^(k−1−j), so |z^k − ŵ^k| ≤ k·|e|·(m + |e|)^(k−1); a product of several such powers is off by at most
Σ kᵢ·|eᵢ| times the product of all (mᵢ + |eᵢ|)^kᵢ, one factor exchanged at a time. Summed over the frequencies in ℓ2 and divided
by √n (Parseval), that is the error of the masses; |e| at one frequency is at most its ℓ2 norm, which is √n times what is added
up, and that is the growth. Frequencies that are dropped have a modulus below e^−90 and count in the same way. A power by repeated
squaring takes k − 1 products, counted with the multiplicity with which their errors enter; and the inverse transform is off by
its own share of the result.
"""

from fractions import Fraction

import numpy as np
import sympy as sp
from flint import arb, ctx

from dpverify.accounting.numerical.convolution import (
    LOGARITHM_ROUNDINGS,
    Convolver,
    window_length,
)
from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.fourier_rounding import FOURIER_ROUNDING
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

NUMERICAL_ROUNDING = Theorem(
    name="numerical-rounding",
    statement=(
        "If masses of total at most e^tᵢ, tᵢ ≥ 0, have transforms that are off by errors of ℓ2 norm √n·eᵢ, then the product of their "
        "kᵢ-th powers, transformed back, is off in ℓ2 by at most Σ kᵢ·eᵢ times e^(Σ kᵢ·(tᵢ + √n·eᵢ)), before the products and the "
        "inverse transform are rounded; k − 1 products, errors counted as often as they enter, make a k-th power by repeated "
        "squaring; a k-th power of 1 + z, |z| ≤ 1/4, through its logarithm, with functions that are right to 4 units in the last "
        "place, is off by at most 32·(1 + k·|z|) units of 2^-53, relative, to first order."
    ),
    source="derived here, for the Fourier transforms of the numerical accountant",
    proof="proofs/numerical_rounding.py",
)


def powers_of_what_is_off(shift: int = 1) -> Step:
    """z^k − a^k = (z − a)·Σ z^j·a^(k−1−j), for k = 2 … 8; the sum has k terms."""
    z, a = sp.symbols("z a")
    holds = VACUOUS
    for k in range(2, 9):
        total = sum(z**j * a ** (k - shift - j) for j in range(k))
        holds &= same(z**k - a**k, (z - a) * total, by=sp.expand)
    return Step("powers", holds, "all numbers, k = 2 … 8; the form is that of every k")


def one_factor_at_a_time(sign: int = 1) -> Step:
    """x·y − a·b = (x − a)·y + a·(y − b)."""
    x, y, a, b = sp.symbols("x y a b")
    holds = same(x * y - a * b, (x - a) * y + sign * a * (y - b))
    return Step("products", holds, "all numbers")


def growth_is_an_exponential(scale: int = 1) -> Step:
    """e^t − (1 + t) is 0 at 0 and has the slope e^t − 1 ≥ 0 for t ≥ 0: so (1 + |e|)^k ≤ e^(k·|e|)."""
    t, u = sp.symbols("t u", nonnegative=True)
    gap = sp.exp(t) - (1 + scale * t)
    holds = same(sp.diff(gap, t), sp.exp(t) - 1) & same(gap.subs(t, 0), 0)
    # The slope is the integral of e^u over [0, t], which is positive.
    holds &= same(sp.integrate(sp.exp(u), (u, 0, t)), sp.exp(t) - 1)
    return Step("growth", holds, "all t ≥ 0")


def parseval(power: int = 1) -> Step:
    """Σ|x̂|² = n·Σx² for n = 2, 3 and 4, and numbers of any size."""
    holds = VACUOUS
    for n in (2, 3, 4):
        x = sp.symbols(f"x0:{n}", real=True)
        root = sp.exp(2 * sp.pi * sp.I / n)
        total = sum(
            sp.expand(
                sum(x[j] * root ** (j * k) for j in range(n))
                * sum(x[j] * root ** (-j * k) for j in range(n)),
                complex=True,
            )
            for k in range(n)
        )
        holds &= same(sp.simplify(total), n**power * sum(v**2 for v in x))
    return Step("Parseval", holds, "n = 2, 3, 4, all x; the form is that of every n")


def products_of_repeated_squaring(each: int = 1) -> Step:
    """r(j + k) = r(j) + r(k) + 1 from r(1) = 0 gives r(k) = k − 1: by `_power`'s way to k ≤ 500."""
    holds, count = VACUOUS, 0
    for times in range(1, 501):
        # Of the power 2^i: errors of both factors, and one more; likewise for the result.
        squared, result, rest = 0, None, times
        while rest:
            if rest & 1:
                result = squared if result is None else result + squared + each
            rest >>= 1
            squared = 2 * squared + each
        holds &= equal(result, times - 1)
        count += 1
    return Step("repeated squaring", holds, f"{count} powers")


def roundings_stay_below(short: Fraction = Fraction(0)) -> Step:
    """√5·(k − 1) ≤ 5·k = 2·2.5·k, what the library charges for a power: 25 − 5 > 0 and k ≥ 1."""
    k = sp.Symbol("k", nonnegative=True)  # k + 1 factors
    charged = (5 - sp.Rational(short)) * (k + 1)
    holds = nonnegative(sp.expand(charged**2 - 5 * k**2), (k,))
    return Step("charged for products", holds, "all powers")


def powers_through_logarithms(
    ulps: int = 4,
    radius: Fraction = Fraction(1, 4),
    roundings: float = 2 * LOGARITHM_ROUNDINGS,
) -> Step:
    """Errors of exp(k·(½·log1p(s) + i·arctan2(b, 1 + a))), s = a·(2 + a) + b², z = a + ib, |z| ≤ r, in units.

    s has three roundings at most in each term, 3·(2 + r)·|z|; the slope of log1p is at most 1/(1−r)²; |log1p(s)| is at most
    2·l·|z| with l = ln(1/(1−r))/r, and the angle at most l·|z|, which moves by |z|/(1−r) as 1 + a is rounded. Products with k
    round once. Then exp, cos or sin, their product, and the complex product with what was there.
    """
    with ctx.workprec(128):
        r, own = ball(radius), 2 * arb(ulps)
        most = -(1 - r).log() / r
        modulus = (3 * (2 + r) / (1 - r) ** 2 + own * 2 * most + 2 * most) / 2
        angle = 1 / (1 - r) + own * most + most
        exponent = (modulus**2 + angle**2).sqrt()
        rest = 2 * own + 1 + arb(5).sqrt()
        charged = ball(Fraction(roundings))
        holds = at_most(exponent, charged) & at_most(rest, charged)
    return Step("powers by logarithms", holds, f"all |z| ≤ {radius}, all k")


def the_library_is_within_its_error(share: float = 1.0) -> Step:
    """`Convolver`: the masses of the sum of 2, 7 and 20 copies of two laws against rationals, in ℓ2."""
    holds, count = VACUOUS, 0
    for law in (
        [Fraction(1, 8), Fraction(1, 2), Fraction(3, 8)],
        [Fraction(1, 1024), Fraction(1023, 1024)],
    ):
        for times in (2, 7, 20):
            exact = [Fraction(1)]
            for _ in range(times):
                longer = [Fraction(0)] * (len(exact) + len(law) - 1)
                for i, a in enumerate(exact):
                    for j, b in enumerate(law):
                        longer[i + j] += a * b
                exact = longer
            convolver = Convolver(window_length(len(exact)))
            convolver.add(np.array([float(p) for p in law]), 0, times)
            found = convolver.result()
            gaps = [Fraction(float(m)) for m in found.masses]
            for i, mass in enumerate(exact):
                gaps[i] -= mass
            square = sum((gap**2 for gap in gaps), Fraction(0))
            holds &= at_most(float(square), (share * found.error) ** 2)
            count += 1
    return Step("`Convolver`", holds, f"{count} sums")


PROOF = Proof(
    theorem=NUMERICAL_ROUNDING,
    clauses=(
        Clause(
            (
                "If masses of total at most e^tᵢ, tᵢ ≥ 0, have transforms that are off by errors of ℓ2 norm √n·eᵢ, then the product of their "
                "kᵢ-th powers, transformed back, is off in ℓ2 by at most Σ kᵢ·eᵢ times e^(Σ kᵢ·(tᵢ + √n·eᵢ)), before the products and the "
                "inverse transform are rounded;"
            ),
            by=(powers_of_what_is_off, one_factor_at_a_time, growth_is_an_exponential, parseval),
            argued=(
                "the triangle inequality; that |ŵ| is at most the total mass, and m + |e| ≤ m·(1 + |e|) for m = e^t ≥ 1; that an error at "
                "one frequency is at most the ℓ2 norm of all; the identities for every k and n"
            ),
        ),
        Clause(
            "k − 1 products, errors counted as often as they enter, make a k-th power by repeated squaring;",
            by=(products_of_repeated_squaring, roundings_stay_below),
            argued="that a product of two numbers with small relative errors has their sum, and one rounding, to first order",
        ),
        Clause(
            "a k-th power of 1 + z, |z| ≤ 1/4, through its logarithm, with functions that are right to 4 units in the last place, is off by at most 32·(1 + k·|z|) units of 2^-53, relative, to first order.",
            by=(powers_through_logarithms,),
            argued=(
                "that relative errors of a few units add up, to first order; that |ln(1 + z)| ≤ |z|·ln(1/(1−r))/r for |z| ≤ r, as "
                "its series has it; that a unit in the last place is at most two units of 2^-53, relative"
            ),
        ),
    ),
    library=(the_library_is_within_its_error,),
    uses=(FOURIER_ROUNDING,),
    mutations={
        "one power less": lambda: powers_of_what_is_off(shift=2),
        "the other sign": lambda: one_factor_at_a_time(sign=-1),
        "1 + 2t": lambda: growth_is_an_exponential(scale=2),
        "n² times": lambda: parseval(power=2),
        "two roundings each": lambda: products_of_repeated_squaring(each=2),
        "functions right to 16 units": lambda: powers_through_logarithms(ulps=16),
        "half a unit a factor": lambda: roundings_stay_below(Fraction(9, 2)),
        "a thousandth of the error": lambda: the_library_is_within_its_error(1e-3),
    },
)
