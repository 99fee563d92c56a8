"""Translated noise that gives the same output on a neighbor bounds the privacy loss.

Let f be the density of the noise n, and let o(n) and o′(n) be the outputs on two neighbors. Split
the noise space into the paths A of the program on the left, which are countably many, as a path is a list of branches. On A, translate by s_A. Suppose that
o′(n + s_A) = o(n) for n in A, and that the images A + s_A are disjoint for different translations;
a translation is one-to-one, so they are disjoint for equal ones too. Then for every event E,
P(o ∈ E) = Σ_A ∫_A 1[o(n) ∈ E]·f(n) dn ≤ Σ_A e^c·∫_A 1[o′(n + s_A) ∈ E]·f(n + s_A) dn, since
f(n) ≤ e^c·f(n + s) with c = Σ|sᵢ|/bᵢ; and the images are disjoint, so the sum of integrals is at
most e^c·P(o′ ∈ E). Sums over whole noise are the same.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.certifying.checking.forms import Invalid, impossible
from dpverify.theorems import ALIGNMENT, Step
from proofs.support.checks import VACUOUS, at_most, equal, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def a_translation_costs_its_length(factor: int = 1) -> Step:
    """|n + s| − |n| ≤ |s|, in each order of 0, n and n + s; so f(n)/f(n + s) ≤ e^(|s|/b)."""
    n, s = sp.symbols("n s", nonnegative=True)
    cases = (
        (n, n + s, s),  # both on the right, moved to the right
        (n + s, n, s),  # moved to the left, not over 0
        (n, s, n + s),  # from −n over 0 to s
    )
    holds = every(
        nonnegative(factor * length - (end - start), (n, s)) for start, end, length in cases
    )
    return Step("a translation costs its length", holds, "all n and s, by symmetry")


def one_sided_noise_pays_too(slope: int = 1) -> Step:
    """e^(−n/b) = e^(s/b)·e^(−(n+s)/b) for s ≥ 0, where n + s stays in the support; as for q^n."""
    n, s, b = sp.symbols("n s b", positive=True)
    holds = same(sp.exp(-n / b), sp.exp(slope * s / b) * sp.exp(-(n + s) / b))
    q = sp.symbols("q", positive=True)
    holds &= same(q**n, q ** (-slope * s) * q ** (n + s))
    return Step("one-sided noise", holds, "all n, s ≥ 0, b, q")


def disjoint_images_add_up(*, overlapping: bool = False) -> Step:
    """Paths that partition {0..5}, moved in all ways that keep the images apart: masses ≤ 1.

    Without that, two paths may be moved onto the same noise, and the sum exceeds what is there.
    """
    law = [Fraction(1, 2 ** (k + 1)) for k in range(40)]
    held, count, broken = VACUOUS, 0, False
    for cut in range(1, 6):
        for first, second in product(range(4), repeat=2):
            left, right = {k + first for k in range(cut)}, {k + second for k in range(cut, 6)}
            total = sum(law[k] for k in left) + sum(law[k] for k in right)
            union = sum(law[k] for k in left | right)
            if left & right:
                broken |= total > union
                if not overlapping:
                    continue
            held &= at_most(total, union)
            count += 1
    return Step("disjoint images", held & provided(broken), f"{count} pairs of translations")


def multipliers_show_contradictions(*, wrong: str | None = None) -> Step:
    """x ≥ 1, y ≥ x + 1, −y > −2 has no solution: 1·(x−1) + 1·(y−x−1) + 1·(2−y) = 0 but > 0.

    Farkas: Σλᵢ·aᵢ = constant ≤ 0 with λ ≥ 0 and a strict row of positive weight cannot hold. The
    checker refuses multipliers that are negative, do not cancel, or leave something positive.
    """
    facts = [
        ({"x": Fraction(1), "": Fraction(-1)}, False),
        ({"y": Fraction(1), "x": Fraction(-1), "": Fraction(-1)}, False),
        ({"y": Fraction(-1), "": Fraction(2)}, wrong != "not strict"),
    ]
    good = {"0": "1", "1": "1", "2": "-1" if wrong == "negative" else "1"}
    refused = 0
    for bad in ({"0": "1"}, {"0": "1", "1": "1"}, {"0": "1", "1": "1", "2": "-1"}):
        try:
            impossible(facts, bad)
        except Invalid:
            refused += 1
    try:
        impossible(facts, good)
        holds = equal(refused, 3)
    except Invalid:
        holds = equal(refused, None)
    return Step("multipliers", holds, "one contradiction, three wrong multipliers")


PROOF = Proof(
    theorem=ALIGNMENT,
    clauses=(
        Clause(
            (
                "Let a program draw independent noises: Laplace noise, ∝ e^(−|n|/bᵢ) on the reals or on "
                "whole numbers, or exponential or geometric noise, ∝ e^(−n/bᵢ) for n ≥ 0. If on every "
                "one of countably many paths the noise, translated by an s that is fixed on the path, with sᵢ ≥ 0 where noise is "
                "one-sided and whole sᵢ where it is whole, gives the same output on a neighbor, and "
                "different translations never meet, then P(E) ≤ e^c·Q(E) for every event E, where c is "
                "the largest Σ|sᵢ|/bᵢ."
            ),
            by=(a_translation_costs_its_length, one_sided_noise_pays_too, disjoint_images_add_up),
            argued=(
                "the change of variables n ↦ n + s, path by path, and that integrals over disjoint images add "
                "up to at most the whole"
            ),
        ),
    ),
    library=(multipliers_show_contradictions,),
    mutations={
        "a translation costs nothing": lambda: a_translation_costs_its_length(factor=0),
        "one-sided noise pays twice": lambda: one_sided_noise_pays_too(slope=2),
        "images may meet": lambda: disjoint_images_add_up(overlapping=True),
        "a negative multiplier": lambda: multipliers_show_contradictions(wrong="negative"),
        "no strict row": lambda: multipliers_show_contradictions(wrong="not strict"),
    },
)
