"""The simulation lemma, in both directions; the construction is that of `pairs/simulation.py`.

With r = e^ε and masses p, q of one outcome, M = min(p, q), keep P₁ = min(p, r·q) = M + (r−1)·d and
Q₁ = min(q, r·p) = M + (r−1)·e. One of d, e is 0 and both lie in [0, M]. What is cut off P has mass
Σ(p − r·q)₊ ≤ δ, likewise for Q. Shrinking all d (or all e) by one factor in [0, 1] makes Σd = Σe
without leaving [0, M], and P₁ and Q₁ then have one mass m ≥ 1 − δ. The rows

    F(0) = (M + r·d − e)/m,  F(1) = (M + r·e − d)/m,
    F("U") = (P − (1−δ)·P₁/m)/δ,  F("V") = (Q − (1−δ)·Q₁/m)/δ

are laws, and the table of leaky response, applied to them, gives P and Q. Everything is pointwise
and holds for densities as it does for masses. Conversely a kernel cannot add to a profile.
"""

from fractions import Fraction
from math import log

import sympy as sp

from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, NotIndistinguishable, simulate
from dpverify.theorems import LEAKY_RESPONSE, SIMULATION_LEMMA, Step
from proofs.leaky_response import table
from proofs.post_processing import POST_PROCESSING
from proofs.renyi_from_profile import RENYI_FROM_PROFILE
from proofs.support.checks import VACUOUS, at_most, below, equal, provided
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same

_ALL = "all masses, all r > 1, all δ in [0, 1)"


def kept_masses(step: int = 1) -> Step:
    """For p ≥ q: min(p, r·q) = q + (r−1)·d with 0 ≤ d ≤ q, d = (p−q)/(r−1), or q if p > r·q."""
    t, share, rest, gap = sp.symbols("t share rest gap", nonnegative=True)
    r, q = 1 + t, share + rest  # q in two parts, so that d = share lies in [0, q]
    within = q + t * share  # p, somewhere in [q, r·q]
    holds = same((within - q) / (r - step), share) & nonnegative(r * q - within, (t, share, rest))
    beyond = r * q + gap  # p > r·q: kept up to r·q, which is d = q
    holds &= same(q + (r - step) * q, r * q) & same(beyond - (q + (r - step) * q), gap)
    # The other law keeps all of q, as q ≤ r·p.
    holds &= nonnegative(r * within - q, (t, share, rest))
    return Step("kept masses", holds, _ALL)


def rows_are_nonnegative(slope: int = 1) -> Step:
    """M + r·d − e ≥ 0 and M + r·e − d ≥ 0 for 0 ≤ d, e ≤ M."""
    d, rest_d, e, rest_e, t = sp.symbols("d rest_d e rest_e t", nonnegative=True)
    r = 1 + t
    first = (e + rest_e) + r * d - slope * e  # M = e + rest_e
    second = (d + rest_d) + r * e - slope * d  # M = d + rest_d
    holds = nonnegative(first, (d, e, rest_e, t)) & nonnegative(second, (d, e, rest_d, t))
    return Step("F(0) and F(1) are non-negative", holds, _ALL)


def rows_have_sum_one(step: int = 1) -> Step:
    """Σ(M + r·d − e) = ΣM + (r−1)·Σd = m if Σd = Σe; and P − (1−δ)·P₁/m sums to δ."""
    total, moved, r, delta = sp.symbols("M D r delta", positive=True)
    mass = total + (r - step) * moved
    answers = same((total + r * moved - moved) / mass, 1)
    leaks = same((1 - (1 - delta) * mass / mass) / delta, 1)
    return Step("rows sum to 1", answers & leaks, _ALL)


def leaks_are_nonnegative(least: int = 1) -> Step:
    """p − (1−δ)·P₁/m ≥ 0, as P₁ ≤ p and m ≥ 1 − δ."""
    kept, cut, delta_odds, room = sp.symbols("kept cut u room", nonnegative=True)
    unleaked = 1 / (1 + delta_odds)  # 1 − δ
    mass = least * unleaked + room
    holds = nonnegative((kept + cut) - unleaked * kept / mass, (kept, cut, delta_odds, room))
    return Step('F("U") and F("V") are non-negative', holds, _ALL)


def the_table_gives_both_laws(twist: int = 0) -> Step:
    """δ·F("U") + (1−δ)·(r·F(0) + F(1))/(1+r) = p, and the same for q with V."""
    common, d, e, mass, p, q = sp.symbols("M d e m p q", positive=True)
    r, delta = sp.symbols("r delta", positive=True)
    kept_left, kept_right = common + (r - 1) * d, common + (r - 1) * e
    rows = (
        (common + (r + twist) * d - e) / mass,
        (common + r * e - d) / mass,
        (p - (1 - delta) * kept_left / mass) / delta,
        (q - (1 - delta) * kept_right / mass) / delta,
    )
    made = [sum(w * row for w, row in zip(law, rows, strict=True)) for law in table(r, delta)]
    holds = same(made[0], p) & same(made[1], q)
    return Step("F(U) = P and F(V) = Q", holds, _ALL)


def the_library_finds_the_kernel(share: Fraction = Fraction(1)) -> Step:
    """`simulate` returns a kernel with residual 0 if `delta_at_ratio` ≤ δ both ways, and refuses otherwise.

    The refusal's event has exactly the excess that it names.
    """
    holds, made, refused = VACUOUS, 0, 0
    for pair in rational_pairs(3, 4):
        if not holds.holds:
            break
        for ratio, delta in ((1, 0), (2, 0), (1, Fraction(1, 4)), (3, Fraction(1, 2)), (2, 1)):
            worst = max(side.delta_at_ratio(Fraction(ratio)) for side in (pair, pair.reversed))
            guarantee = ApproxDP(epsilon=log(ratio), delta=float(delta))
            try:
                kernel = simulate(pair.left, pair.right, guarantee)
            except NotIndistinguishable as refusal:
                refused += 1
                holds &= below(share * delta, worst) & equal(refusal.excess, worst - delta)
                holds &= equal(_excess(pair, refusal, Fraction(ratio)) - delta, refusal.excess)
            else:
                made += 1
                laws = all(sum(row) == 1 and min(row) >= 0 for row in kernel.matrix.tolist())
                holds &= at_most(worst, share * delta) & provided(laws) & equal(kernel.residual, 0)
    holds &= below(100, made) & below(100, refused)
    return Step("`simulate`", holds, f"{made} kernels, {refused} refusals")


def _excess(pair: FinitePair, refusal: NotIndistinguishable, ratio: Fraction) -> Fraction:
    side = pair if refusal.direction == "left" else pair.reversed
    masses = list(side.masses())
    chosen = [masses[index] for index in refusal.event if isinstance(index, int)]
    return sum((p - ratio * q for p, q in chosen), Fraction(0))


PROOF = Proof(
    theorem=SIMULATION_LEMMA,
    clauses=(
        Clause(
            (
                "Two distributions are (ε, δ)-indistinguishable if and only if one kernel maps the two distributions of leaky randomized response to them;"
            ),
            by=(
                kept_masses,
                rows_are_nonnegative,
                rows_have_sum_one,
                leaks_are_nonnegative,
                the_table_gives_both_laws,
                the_library_finds_the_kernel,
            ),
            argued=(
                "that all d, or all e, may be shrunk by one factor until Σd = Σe; that pointwise identities of masses are those of densities; the converse is post-processing"
            ),
        ),
        Clause(
            "so of all that is (ε, δ)-DP this has the largest profile, the largest (ε′, δ′), and the largest Rényi divergences.",
            by=(the_library_finds_the_kernel,),
            argued="post-processing, and that divergences grow with profiles (renyi-from-profile)",
        ),
    ),
    uses=(POST_PROCESSING, LEAKY_RESPONSE, RENYI_FROM_PROFILE),
    mutations={
        "mass M + (r−2)·D": lambda: rows_have_sum_one(step=2),
        "r − 2 instead of r − 1": lambda: kept_masses(step=2),
        "F(0) with r + 1": lambda: the_table_gives_both_laws(twist=1),
        "F(0) with 2e": lambda: rows_are_nonnegative(slope=2),
        "mass may fall below 1 − δ": lambda: leaks_are_nonnegative(least=0),
        "δ/2 suffices": lambda: the_library_finds_the_kernel(Fraction(1, 2)),
    },
)
