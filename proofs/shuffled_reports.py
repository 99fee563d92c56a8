"""Shuffled reports: one of n users hides among clones.

Let the user in question hold x or x′, and R₀, R₁ be the laws of that report; all use one ε₀-DP randomizer, so every other report has a law Rᵢ ≥ e^(−ε₀)·R₀ and
≥ e^(−ε₀)·R₁, so Rᵢ = ½e^(−ε₀)·R₀ + ½e^(−ε₀)·R₁ + (1 − e^(−ε₀))·rest. Draw which part each report comes from, and reveal the reports of
the rests: what is left to tell apart are C + 1 reports in random order, C of them R₀ or R₁ by fair coins, and one R₀, or
R₁ in the other world. R₀ and R₁ come from randomized response with ε₀ by one kernel, applied to each bit; a fair coin
stays one under randomized response. So everything is a function of the number of bits of either kind.

More clones hide more: a further fair bit is added by whoever likes to.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import comb

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.pairs.bounds.shuffling import shuffled
from dpverify.theorems import BLACKWELL, SHUFFLED_REPORTS, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, dominated
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import same

_RATIO = Fraction(2)  # e^ε₀
_TRUTH = _RATIO / (1 + _RATIO)


def _clones(others: int, chance: Fraction) -> FinitePair:
    """Counts of bits with a binomial number of clones: P and Q of (A + Δ, C + 1 − A − Δ)."""
    left: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    right: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for clones in range(others + 1):
        many = comb(others, clones) * chance**clones * (1 - chance) ** (others - clones)
        for zeros in range(clones + 1):
            mass = many * comb(clones, zeros) / Fraction(2) ** clones
            for own, law in ((1, (_TRUTH, 1 - _TRUTH)), (0, (1 - _TRUTH, _TRUTH))):
                left[zeros + own, clones - zeros + 1 - own] += mass * law[0]
                right[zeros + own, clones - zeros + 1 - own] += mass * law[1]
    keys = sorted(left)
    return FinitePair(left=[left[key] for key in keys], right=[right[key] for key in keys])


def _shuffle(laws: list[tuple[Fraction, ...]]) -> dict[tuple[int, ...], Fraction]:
    """The law of the sorted reports."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for outcome in product(*(range(len(law)) for law in laws)):
        mass = Fraction(1)
        for law, report in zip(laws, outcome, strict=True):
            mass *= law[report]
        found[tuple(sorted(outcome))] += mass
    return found


def every_randomizer_hides_among_clones(chance: Fraction = 1 / _RATIO) -> Step:
    """All randomizers of three inputs and three reports with denominator 5, e^ε₀ = 2, three users."""
    laws = [law for law in rational_laws(3, 5) if all(law)]

    def close(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool:
        pairs = zip(one, other, strict=True)
        return all(a <= _RATIO * b and b <= _RATIO * a for a, b in pairs)

    bound, holds, count = _clones(2, chance), VACUOUS, 0
    for zero, one, other in product(laws, repeat=3):
        if zero == one or not (close(zero, one) and close(zero, other) and close(one, other)):
            continue
        left, right = _shuffle([zero, other, other]), _shuffle([one, other, other])
        keys = sorted(set(left) | set(right))
        pair = FinitePair(left=[left[k] for k in keys], right=[right[k] for k in keys])
        holds &= dominated(bound, pair)
        count += 1
    # And bits: randomized response, where all others hold the same one.
    bits = [(_TRUTH, 1 - _TRUTH), (1 - _TRUTH, _TRUTH)]
    left, right = (_shuffle([bits[own], bits[0], bits[0]]) for own in (0, 1))
    pair = FinitePair(left=[left[k] for k in sorted(left)], right=[right[k] for k in sorted(left)])
    holds &= dominated(bound, pair)
    return Step("clones", holds & below(5, count), f"{count} randomizers and bits")


def the_ratio_has_this_form(shift: int = 0) -> Step:
    """P/Q at a zeros and b ones: (p·a + (1−p)·b)/((1−p)·a + p·b), as C(c, a−1)/C(c, a) = a/b, c = a + b − 1."""
    a, b, p = sp.symbols("a b p", positive=True)
    before = a / (b + shift)  # C(c, a−1)/C(c, a)
    left, right = p * before + (1 - p), (1 - p) * before + p
    holds = same(left / right, (p * a + (1 - p) * b) / ((1 - p) * a + p * b))
    return Step("ratio", holds, "all counts")


def more_clones_hide_more(*, exchanged: bool = False) -> Step:
    """`dominates` for c clones against c + 1, c up to 6."""
    holds, count = VACUOUS, 0
    for clones in range(7):
        few, many = _clones(clones, Fraction(1)), _clones(clones + 1, Fraction(1))
        strong, weak = (many, few) if exchanged else (few, many)
        holds &= dominated(strong, weak)
        count += 1
    return Step("more clones", holds, f"{count} numbers of clones")


def the_library_bounds_the_counts(factor: float = 1.0) -> Step:
    """`shuffled` with e^ε₀ rounded, six users, against the rationals: not below by more than 1e-9 of it, and within 2%."""
    epsilon = 0.6931471805599453
    exact, holds, count = _clones(5, 1 / _RATIO), VACUOUS, 0
    upper = shuffled(epsilon, 6).upper  # type: ignore[attr-defined]
    for at in (0.0, 0.1, 0.3):
        truth = exact.delta_bracket(at)
        holds &= at_most(truth.lower * (1 - 1e-9), factor * upper.delta(at)) & at_most(
            factor * upper.delta(at), truth.upper * 1.02
        )
        count += 1
    return Step("`shuffled`", holds, f"{count} points")


PROOF = Proof(
    theorem=SHUFFLED_REPORTS,
    clauses=(
        Clause(
            (
                "One of n shuffled reports, all by one ε₀-DP randomizer, is dominated by (A + Δ, C + 1 − A − "
                "Δ) against the same with 1 − Δ, where C ~ Bin(n−1, e^(−ε₀)), A ~ Bin(C, ½) and Δ = 1 with "
                "probability e^ε₀/(1 + e^ε₀)."
            ),
            by=(
                every_randomizer_hides_among_clones,
                the_ratio_has_this_form,
                more_clones_hide_more,
            ),
            argued=(
                "that every other report is a mixture of R₀, R₁ and a rest, which may be revealed, and a fair "
                "bit stays fair under randomized response"
            ),
        ),
    ),
    library=(the_library_bounds_the_counts,),
    uses=(BLACKWELL, POST_PROCESSING),
    mutations={
        "everyone is a clone": lambda: every_randomizer_hides_among_clones(chance=Fraction(1)),
        "one more": lambda: the_ratio_has_this_form(shift=1),
        "fewer clones hide more": lambda: more_clones_hide_more(exchanged=True),
        "half of it": lambda: the_library_bounds_the_counts(factor=0.5),
    },
)
