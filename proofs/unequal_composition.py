"""The product of unequal leaky responses is the worst composition of unequal parts.

The argument is that of equal parts: simulation lemma and adaptive domination from above, leaky
responses themselves from below. The library compresses the law of the loss where it has too many
outcomes: spreading an outcome over two grid points keeps both masses, so the original is a
post-processing of it; merging outcomes is a post-processing.
"""

import numpy as np
import sympy as sp
from flint import ctx

from dpverify.accounting.rules.unequal import ListedLaw, UnequalComposition
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP, End
from dpverify.theorems import LEAKY_RESPONSE, SIMULATION_LEMMA, UNEQUAL_COMPOSITION, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.optimal_composition import brute_force
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def spreading_keeps_both_masses(sign: int = 1) -> Step:
    """share = (1 − e^(−u))/(1 − e^(−h)) goes up by h − u, the rest down by u: P and Q are kept."""
    low, gap = sp.symbols("low gap", positive=True)  # e^u = 1 + low, e^h = 1 + low + gap
    here, step = 1 + low, 1 + low + gap
    share = (1 - 1 / here) / (1 - 1 / step)
    kept_right = (1 - share) / 1 + share * step ** (-sign)  # Q = P·e^(−loss), from the edge below
    holds = same(kept_right, 1 / here) & nonnegative(share, (low, gap))
    holds &= nonnegative(1 - share, (low, gap))
    return Step("spreading keeps P and Q", holds, "all steps h > 0, all 0 < u < h")


def the_library_has_the_exact_profile(less: int = 0) -> Step:
    """`UnequalComposition.delta` against the sum over all sequences of outcomes."""
    cases = (
        [(0.5, 0.0), (1.0, 0.01), (0.3, 0.0)],
        [(0.1, 0.0), (0.2, 0.0), (0.4, 0.0), (0.8, 0.0), (1.6, 0.0)],
        [(2.0, 0.1), (0.0, 0.05), (0.7, 1e-6), (0.7, 0.0)],
    )
    holds, count = VACUOUS, 0
    with ctx.workprec(256):
        for case in cases:
            parts = [ApproxDP(epsilon=e, delta=d) for e, d in case]
            for at in (0.0, 0.35, 1.3):
                bracket = UnequalComposition(tuple((p, 1) for p in parts)).delta(at)
                exact = brute_force(parts[less:], at)
                holds &= at_most(ball(bracket.lower), exact) & at_most(exact, ball(bracket.upper))
                holds &= provided(bracket.width <= 1e-12 * bracket.upper)
                count += 1
    return Step("`UnequalComposition`", holds, f"{count} values of δ, 12 digits")


def compressed_laws_err_to_their_side(*, swapped: bool = False) -> Step:
    """`ListedLaw.compressed`: spread is above and merged below the exact profile, at 40 losses."""
    losses = np.linspace(-1.7, 2.3, 60)
    masses = np.exp(-((losses - 0.3) ** 2))
    law = ListedLaw(losses, masses / masses.sum())
    upper, lower = (law.compressed(0.31, end).sorted() for end in (End.UPPER, End.LOWER))
    if swapped:
        upper, lower = lower, upper
    holds, apart = VACUOUS, 0
    with ctx.workprec(128):
        for at in np.linspace(-1.0, 2.2, 40).tolist():
            exact = sum(
                (
                    ball(m) * (1 - (ball(at) - ball(x)).exp()).max(ball(0))
                    for m, x in zip(law.masses.tolist(), law.losses.tolist(), strict=True)
                ),
                ball(0),
            )
            high, low = upper.excess(at, End.UPPER), lower.excess(at, End.LOWER)
            holds &= at_most(ball(low), exact) & at_most(exact, ball(high))
            apart += high > 1.0001 * low
    return Step("compression", holds & below(20, apart), "40 losses, one law")


PROOF = Proof(
    theorem=UNEQUAL_COMPOSITION,
    clauses=(
        Clause(
            (
                "Among all adaptive compositions of parts that are (εᵢ, δᵢ)-DP, the product of their leaky "
                "randomized responses has the largest profile."
            ),
            by=(spreading_keeps_both_masses,),
            argued=(
                "that parts are at worst leaky responses (simulation-lemma), which compose to their product "
                "(adaptive-domination), and are (εᵢ, δᵢ)-DP themselves"
            ),
        ),
    ),
    library=(the_library_has_the_exact_profile, compressed_laws_err_to_their_side),
    uses=(SIMULATION_LEMMA, LEAKY_RESPONSE, ADAPTIVE_DOMINATION, POST_PROCESSING),
    mutations={
        "losses the wrong way": lambda: spreading_keeps_both_masses(sign=-1),
        "one part forgotten": lambda: the_library_has_the_exact_profile(less=1),
        "merge above, spread below": lambda: compressed_laws_err_to_their_side(swapped=True),
    },
)
