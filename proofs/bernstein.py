"""The sign of a polynomial on (0, 1) by its Bernstein coefficients: one check covers every ε.

With x = e^(−ε/c), all ε > 0 are all x in (0, 1). p(x) = Σ b_k·C(n, k)·x^k·(1−x)^(n−k), and the basis
is ≥ 0 and sums to 1, so p lies between its least and its largest b_k. The substitution x = z/(1+z)
turns the b_k into the coefficients b_k·C(n, k) of a polynomial in z > 0, times (1+z)^(−n): one change
of sign means one positive zero, by Descartes. de Casteljau's averages are the coefficients on halves.
"""

from fractions import Fraction
from itertools import pairwise, product

import sympy as sp
from flint import fmpq_poly

from dpverify.certifying.checking.forms import Invalid
from dpverify.certifying.checking.numbers import polynomial_sign
from dpverify.certifying.symbolic.exact import bernstein, halves, sign_on_unit_interval
from dpverify.theorems import BERNSTEIN, Step
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

_X = sp.symbols("x")


def _value(coefficients: list[sp.Expr], x: sp.Expr) -> sp.Expr:
    n = len(coefficients) - 1
    return sum(
        b * sp.binomial(n, k) * x**k * (1 - x) ** (n - k) for k, b in enumerate(coefficients)
    )


def the_library_changes_the_basis(extra: int = 0) -> Step:
    """Σ b_k·C(n, k)·x^k·(1−x)^(n−k) = Σ a_i·x^i for the library's b, on each power up to 5."""
    holds, count = VACUOUS, 0
    for n in range(1, 6):
        for i in range(n + 1):
            powers = [Fraction(int(k == i) + extra * (k == 0)) for k in range(n + 1)]
            made = [sp.Rational(b.numerator, b.denominator) for b in bernstein(powers)]
            holds &= same(_value(made, _X), _X**i)
            count += 1
    return Step("change of basis", holds, f"{count} monomials; linear in them")


def the_basis_is_a_partition(power: int = 0) -> Step:
    """Σ C(n, k)·x^k·(1−x)^(n−k) = 1, and each term is ≥ 0 on [0, 1]: p is an average of the b_k."""
    holds = every(
        same(_value([sp.Integer(1)] * (n + 1), _X), (1 + power * _X)) for n in range(1, 7)
    )
    return Step("an average", holds, "n = 1..6, all x")


def halves_are_halves(scale: int = 2) -> Step:
    """The library's left half at x is p(x/2) and its right half is p((1+x)/2), for cubics."""
    holds, count = VACUOUS, 0
    for given in product((Fraction(-1), Fraction(2)), repeat=4):
        whole = [sp.Rational(b.numerator, b.denominator) for b in given]
        parts = [
            [sp.Rational(b.numerator, b.denominator) for b in part] for part in halves(list(given))
        ]
        holds &= same(_value(parts[0], _X), _value(whole, _X / scale))
        holds &= same(_value(parts[1], _X), _value(whole, (1 + _X) / scale))
        count += 1
        if not holds.holds:
            break
    return Step("halves", holds, f"{count} cubics, all x")


def halves_of_every_degree(share: int = 2) -> Step:
    """With E: b_k ↦ b_(k+1), p(x) = (1 − x + x·E)^n b₀ and the averages are ((1+E)/2)^k b₀; 1 − x + x·(1+E)/2 = 1 − x/2 + (x/2)·E.

    So Σ C(n, k)·x^k·(1−x)^(n−k)·((1+E)/2)^k b₀ = p(x/2) for every n; the right half is the left half of the mirror image.
    """
    shift = sp.Symbol("E")
    holds = same(1 - _X + _X * (1 + shift) / share, 1 - _X / 2 + _X / 2 * shift)
    return Step("halves, any degree", holds, "all x, all n")


def one_change_is_one_zero(changes: int = 1) -> Step:
    """x = z/(1+z): p·(1+z)^n = Σ b_k·C(n, k)·z^k, whose positive zeros Descartes counts.

    All b in {−1, 0, 1}^5 with that many changes of sign have as many zeros in (0, 1), by Sturm.
    """
    holds, count = VACUOUS, 0
    for given in product((-1, 0, 1), repeat=5):
        signs = [b for b in given if b]
        if sum(a != b for a, b in pairwise(signs)) != changes:
            continue
        poly = sp.Poly(sp.expand(_value([sp.Integer(b) for b in given], _X)), _X)
        inside = poly.count_roots(0, 1) - (poly.eval(0) == 0) - (poly.eval(1) == 0)
        holds &= equal(int(inside), 1)
        count += 1
    return Step("one change, one zero", holds, f"{count} polynomials of degree ≤ 4")


def both_implementations_agree(factor: int = 1) -> Step:
    """The search's and the checker's signs are those of the values, on all small quartics."""
    holds, count = VACUOUS, 0
    for given in product((-2, 0, 1, 3), repeat=5):
        if not any(given):
            continue
        values = (  # 97⁴ times the quartic at k/97
            factor * sum(c * k**i * 97 ** (4 - i) for i, c in enumerate(given))
            for k in range(1, 97)
        )
        at = {(v > 0) - (v < 0) for v in values} - {0}
        sign = sign_on_unit_interval(fmpq_poly(list(given)))
        try:
            checked: int | None = polynomial_sign([Fraction(c) for c in given])
        except Invalid:
            checked = None
        # A change between two points may be missed by the points, never by the signs.
        holds &= equal(at, {sign}) if sign is not None else at_most(len(at), 2)
        holds &= equal(sign if checked is None else checked, sign)
        unsigned = sign is None and len(at) < 2
        holds &= at_most(int(unsigned), int(_changes_between(given)) if unsigned else 0)
        count += 1
        if not holds.holds:
            break
    return Step("both implementations", holds, f"{count} quartics")


def _changes_between(given: tuple[int, ...]) -> bool:
    poly = sp.Poly(list(reversed(given)), _X)
    return bool(poly.count_roots(0, 1))


PROOF = Proof(
    theorem=BERNSTEIN,
    clauses=(
        Clause(
            "A polynomial whose Bernstein coefficients on an interval are all ≥ 0 is ≥ 0 there;",
            by=(the_basis_is_a_partition, the_library_changes_the_basis),
            argued="that the basis is ≥ 0 on [0, 1] and sums to 1 for every degree, as (x + (1−x))^n does",
        ),
        Clause(
            "one change of sign among them means exactly one zero inside;",
            by=(one_change_is_one_zero,),
            argued="Descartes’ rule of signs for Σ b_k·C(n, k)·z^k, x = z/(1+z)",
        ),
        Clause(
            "and the coefficients on both halves follow by averaging.",
            by=(halves_are_halves, halves_of_every_degree),
            argued="the binomial theorem for the shift operator, and that the right half is the left half of the mirror image",
        ),
    ),
    library=(both_implementations_agree,),
    cites=("Descartes' rule of signs",),
    mutations={
        "a constant too many": lambda: the_library_changes_the_basis(extra=1),
        "a basis that sums to 1 + x": lambda: the_basis_is_a_partition(power=1),
        "averages of thirds": lambda: halves_of_every_degree(share=3),
        "thirds for halves": lambda: halves_are_halves(scale=3),
        "two changes, one zero": lambda: one_change_is_one_zero(changes=2),
        "the opposite sign": lambda: both_implementations_agree(factor=-1),
    },
)
