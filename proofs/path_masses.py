"""Probabilities of paths, leaf by leaf.

Noises that satisfy inequalities in one or two of them each form a graph; if it has no circle, take
a leaf t with its neighbor v. The density of t is a sum of c·t^j·base^t on pieces, and t runs from
the largest of its lower bounds to the least of its upper bounds, each affine in v: between the
points where bounds cross, these are two of them. The sum or integral of t^j·base^t has the
primitive A(t)·base^t with a polynomial A, so what is left is a function of v of the same form, and
v has one leaf less. The checker needs less: a certificate cuts the noises by P(A) = P(A and B) +
P(A and not B) into boxes, in which n_i = b_i(n_{i+1}, …) ± t_i with 0 ≤ t_i ≤ end_i. This map has
determinant ±1 and, where the bounds b_i are whole, is one-to-one from whole t to whole n; the density
is a product of base^t, so that the sum or integral is a product. The steps show the primitives, that
a difference of geometric noises is two-sided, the sums over a box, and that two implementations, the
search's and the checker's, agree with direct sums.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.certifying.checking.masses import BoxMasses as CheckedMasses
from dpverify.certifying.checking.masses import integrated, summed
from dpverify.certifying.checking.numbers import ClaimUnit as CheckedUnit
from dpverify.certifying.checking.numbers import Quotient
from dpverify.certifying.searching.boxes import BoxRecipes
from dpverify.certifying.searching.lines import NumberLine
from dpverify.certifying.searching.masses import Masses
from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.plain import plain_laws
from dpverify.certifying.symbolic.running import Inequality, NoiseLaw
from dpverify.theorems import PATH_MASSES, Step
from proofs.support.checks import VACUOUS, at_most, equal, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def primitives_of_sums(shift: int = 0) -> Step:
    """A(t)·B^t − A(t−1)·B^(t−1) = t^j·B^t for the library's A, B = 2/3 and 1, j = 0..4."""
    t = sp.symbols("t")
    line, holds, count = NumberLine(EpsilonUnit(), whole=True), VACUOUS, 0
    for base, j in product((Fraction(2, 3), Fraction(1)), range(5)):
        found = [c.fraction() for c in line._primitive(j, ExactNumber.of(base))]  # noqa: SLF001
        a = sum(sp.Rational(c.numerator, c.denominator) * t**i for i, c in enumerate(found) if c)
        b = sp.Rational(base.numerator, base.denominator)
        holds &= same(a - a.subs(t, t - 1) / b, t**j + shift)
        count += 1
    return Step("primitives of sums", holds, f"{count} pairs of base and power")


def primitives_of_integrals(shift: int = 0) -> Step:
    """d/dt A(t)·e^(λt) = t^j·e^(λt) for the library's A, λ = −3/2 and 0, j = 0..4."""
    t = sp.symbols("t")
    line, holds, count = NumberLine(EpsilonUnit(), whole=False), VACUOUS, 0
    for rate, j in product((Fraction(-3, 2), Fraction(0)), range(5)):
        found = [c.fraction() for c in line._primitive(j, rate)]  # noqa: SLF001
        a = sum(sp.Rational(c.numerator, c.denominator) * t**i for i, c in enumerate(found) if c)
        r = sp.Rational(rate.numerator, rate.denominator)
        holds &= same(sp.diff(a, t) + r * a, t**j + shift)
        count += 1
    return Step("primitives", holds, f"{count} pairs of rate and power")


def a_difference_is_two_sided(power: int = 1) -> Step:
    """Σ_k (1−q)²·q^(k−1)·q^(k+w−1) over k ≥ 1 is (1−q)/(1+q)·q^w for w ≥ 0."""
    q = sp.symbols("q", positive=True)
    w = sp.symbols("w", nonnegative=True, integer=True)
    ratio = q**2  # of consecutive terms; the first is (1−q)²·q^w
    total = (1 - q) ** 2 * q**w / (1 - ratio)
    holds = same(total, (1 - q) / (1 + q) * q ** (power * w))
    return Step("difference of geometric noises", holds, "all q and w ≥ 0")


_ONE = CheckedUnit({"unit": "one", "ratio": None, "epsilon": "1", "delta": "0"})


def _rational(number: Quotient) -> Fraction:
    """The value of a number without exponentials."""
    value = number.num.get(Fraction(0), Fraction(0))
    for factor in number.den:
        value /= dict(factor)[Fraction(0)]
    return value


def sums_over_a_box(shift: int = 0) -> Step:
    """The checker's Σ z^t for t = 0..k and to infinity, against direct sums, z = 1/3, 1 and 2."""
    holds, count = VACUOUS, 0
    for z, k in product((Fraction(1, 3), Fraction(1), Fraction(2)), range(4)):
        found = _rational(summed(Quotient.of(z), Fraction(k), _ONE))
        holds &= equal(found, sum(z**t for t in range(k + 1 + shift)))
        count += 1
    z = Fraction(1, 3)
    rest = z ** (4 + shift) * _rational(summed(Quotient.of(z), None, _ONE))
    holds &= equal(
        sum(z**t for t in range(4)) + rest, _rational(summed(Quotient.of(z), None, _ONE))
    )
    return Step("sums over a box", holds, f"{count} sums and their limit")


def integrals_over_a_box(factor: int = 1) -> Step:
    """The checker's ∫ e^(rt) dt from 0 to an end, against sympy's, r = −3/2, 0 and 2."""
    t = sp.symbols("t")
    holds, count = VACUOUS, 0
    for r, end in product((Fraction(-3, 2), Fraction(0), Fraction(2)), (1, 4)):
        found = integrated(r, Fraction(end), _ONE)
        value = sum(sp.Rational(c) * sp.exp(sp.Rational(e)) for e, c in found.num.items())
        holds &= same(value, factor * sp.integrate(sp.exp(sp.Rational(r) * t), (t, 0, end)))
        count += 1
    holds &= equal(_rational(integrated(Fraction(-3, 2), None, _ONE)), Fraction(2, 3))
    return Step("integrals over a box", holds, f"{count} integrals and a limit")


def whole_boxes_are_filled_once(step: int = 1) -> Step:
    """n₁ = 2·n₂ + 1 + t₁, n₂ = 3 − t₂: the whole t of a box hit each whole n once, and no other."""
    box = [(t1, t2) for t1 in range(5) for t2 in range(4)]
    images = {(2 * (3 - t2) + 1 + step * t1, 3 - t2) for t1, t2 in box}
    inside = {
        (a, b)
        for a in range(-20, 40)
        for b in range(-20, 40)
        if 0 <= a - 2 * b - 1 <= 4 and 0 <= b <= 3
    }
    holds = equal(images, inside) & equal(len(images), len(box))
    return Step("whole boxes", holds, f"{len(box)} points")


def both_implementations_count(offset: int = 0) -> Step:
    """P(t₁ ≥ t₀ + c and t₂ ≤ t₁) for geometric noise of ratio 1/2, 1/3, against direct sums."""
    ratios = {"n0": Fraction(1, 2), "n1": Fraction(1, 3), "n2": Fraction(1, 2)}
    laws = {name: NoiseLaw("geometric", ExactNumber.of(q)) for name, q in ratios.items()}
    masses, holds, count = Masses(laws, EpsilonUnit()), VACUOUS, 0
    for c in range(-2, 3):
        rows = [{"n1": Fraction(1), "n0": Fraction(-1), "": Fraction(-c)}]
        rows.append({"n1": Fraction(1), "n2": Fraction(-1)})
        found = masses(
            Inequality(
                tuple(sorted((n, x) for n, x in row.items() if n)),
                ExactNumber.of(row.get("", Fraction(0))),
                strict=False,
            )
            for row in rows
        )
        facts = [({n: x for n, x in row.items() if x}, False) for row in rows]
        how = BoxRecipes(plain_laws(laws), _ONE).recipe(facts)
        checked = _rational(CheckedMasses(plain_laws(laws), _ONE).probability(facts, how))
        # P(t₂ ≤ k) = 1 − 2^(−k), P(t₀ ≤ m) = 1 − 2^(−m); all but 3^(−60) of t₁ is below 60.
        low = sum(
            (
                Fraction(2, 3) * Fraction(1, 3) ** (k - 1) * (1 - Fraction(1, 2) ** k)
                * (1 - Fraction(1, 2) ** max(k - c - offset, 0))
                for k in range(1, 60)
            ),
            Fraction(0),
        )  # fmt: skip
        value = found.fraction()
        holds &= (
            equal(value, checked)
            & provided(value is not None)
            & at_most(low, value)
            & at_most(value, low + Fraction(1, 3**59))
        )
        count += 1
    return Step("two implementations", holds, f"{count} pairs of inequalities")


PROOF = Proof(
    theorem=PATH_MASSES,
    clauses=(
        Clause(
            (
                "The probability that independent Laplace, exponential or geometric noises satisfy linear "
                "inequalities in one or two of them each, without a circle, is summed out leaf by leaf, with "
                "pieces of t^j·base^t;"
            ),
            by=(
                primitives_of_sums,
                primitives_of_integrals,
                a_difference_is_two_sided,
                both_implementations_count,
            ),
            argued="that a graph without a circle has a leaf, and what is left of its neighbor has the same form",
        ),
        Clause(
            (
                "and where they are a box, each noise from a bound in those after it to infinity or a fixed "
                "end, it is a product of geometric sums and integrals."
            ),
            by=(sums_over_a_box, integrals_over_a_box, whole_boxes_are_filled_once),
            argued="that a triangular map with ±1 on its diagonal keeps volume and whole points",
        ),
    ),
    mutations={
        "sums of something else": lambda: primitives_of_sums(shift=1),
        "integrals of something else": lambda: primitives_of_integrals(shift=1),
        "a faster decay": lambda: a_difference_is_two_sided(power=2),
        "one term too many": lambda: sums_over_a_box(shift=1),
        "twice the integral": lambda: integrals_over_a_box(factor=2),
        "every other point": lambda: whole_boxes_are_filled_once(step=2),
        "an inequality off by one": lambda: both_implementations_count(offset=1),
    },
)
