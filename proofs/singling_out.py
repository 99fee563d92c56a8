"""Singling out succeeds with probability at most n·T(w).

A predicate p is computed from the output on records X₁, …, Xₙ, drawn independently; it isolates if it holds for exactly
one of them and has weight at most w. Then for some i it holds for Xᵢ, so by a union bound it is enough to show that
"p holds for Xᵢ and has weight at most w" has probability at most T(w) for each i. Without Xᵢ in the data, or with an
independent record in its place, p does not depend on Xᵢ, so this event has probability at most w; with it, by the trade-off
curve for every fixed value of the records and Jensen's inequality (T is concave and never falls), at most T(w).
Without any output, a fixed predicate of weight w isolates with probability n·w·(1−w)^(n−1): one record fits, n − 1 do not.
"""

from fractions import Fraction
from itertools import product

from dpverify.accounting.accountant import Accountant
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import RECONSTRUCTION, SINGLING_OUT, TRADE_OFF, Step
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof

_SIZES = (1, 2, 3, 4)
_WEIGHTS = (Fraction(1, 8), Fraction(1, 3), Fraction(1, 2))


def isolated_by_one_of_them(*, exactly: bool = True) -> Step:
    """Exactly one of n bits is set only if some bit is: the indicator is at most the sum of the bits.

    And for independent bits of weight w it has probability n·w·(1−w)^(n−1).
    """
    holds, count = VACUOUS, 0
    for n, weight in product(_SIZES, _WEIGHTS):
        chance = Fraction(0)
        for bits in product((0, 1), repeat=n):
            isolated = sum(bits) == 1 if exactly else sum(bits) <= 1
            holds &= at_most(int(isolated), sum(bits))
            if isolated:
                chance += weight ** sum(bits) * (1 - weight) ** (n - sum(bits))
        holds &= equal(chance, n * weight * (1 - weight) ** (n - 1))
        count += 1
    return Step("a union bound, and the baseline", holds, f"{count} sizes and weights")


def predicates_from_noisy_answers(scale: Fraction = Fraction(1)) -> Step:
    """n records uniform on m values; the first passes m-ary randomized response, and p is "equals the answer".

    p has weight 1/m; the probability that it isolates is enumerated exactly. n·T(1/m) and the upper end of `singling_out`
    are above it, and the lower end is not above what a fixed predicate achieves.
    """
    holds, count = VACUOUS, 0
    for n, m, ratio in product((1, 2, 3), (2, 3), (Fraction(2), Fraction(9))):
        total = ratio + m - 1
        chance = sum(
            (
                (ratio if answer == data[0] else 1) / total / m**n
                for data in product(range(m), repeat=n)
                for answer in range(m)
                if data.count(answer) == 1
            ),
            Fraction(0),
        )
        # The first record replaced: two laws of the answer. Both are within odds r of each other.
        left = [ratio / total, 1 / total] + [1 / total] * (m - 2)
        right = [1 / total, ratio / total] + [1 / total] * (m - 2)
        pair = FinitePair(left=left, right=right)
        bound = n * (1 - pair.exact_trade_off(Fraction(1, m)))
        risk = Accountant(relation=Relation.REPLACE_ONE).compose(pair).risk
        found = risk.singling_out(n, Fraction(1, m))
        holds &= at_most(chance, scale * bound)
        blind = n * Fraction(1, m) * (1 - Fraction(1, m)) ** (n - 1)
        holds &= at_most(chance / scale, found.upper) & at_most(found.lower, blind)
        count += 1
    return Step("predicates from noisy answers", holds, f"{count} mechanisms")


PROOF = Proof(
    theorem=SINGLING_OUT,
    clauses=(
        Clause(
            (
                "Of n independent records, a predicate of weight at most w that is computed from the output "
                "holds for exactly one with probability at most n·T(w), T as for reconstruction."
            ),
            by=(isolated_by_one_of_them, predicates_from_noisy_answers),
            argued=(
                "the union bound; that without Xᵢ the predicate does not depend on Xᵢ; Jensen’s inequality "
                "for the concave T (reconstruction)"
            ),
        ),
    ),
    mutations={
        "at most one": lambda: isolated_by_one_of_them(exactly=False),
        "a third of the bound": lambda: predicates_from_noisy_answers(Fraction(1, 3)),
    },
    uses=(TRADE_OFF, RECONSTRUCTION),
)
