"""k leaky responses are the worst composition of k parts that are (ε, δ)-DP.

At most: by the simulation lemma every part, whatever came before it, has a profile nowhere above
leaky response's, and adaptive domination makes that a statement about the product. At least: leaky
responses are (ε, δ)-DP themselves. What remains is the product's profile: given no leak, an
outcome with j zeros has the ratio r^(2j−k), and j is binomial on both sides.
"""

from itertools import product

import sympy as sp
from flint import arb, ctx

from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.theorems import LEAKY_RESPONSE, OPTIMAL_COMPOSITION, SIMULATION_LEMMA, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.leaky_response import table
from proofs.support.checks import VACUOUS, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def ratio_of_an_outcome(steps: int = 2) -> Step:
    """p^j·(1−p)^(k−j) / ((1−p)^j·p^(k−j)) = r^(2j−k) for p = r/(1+r)."""
    r, j, k = sp.symbols("r j k", positive=True)
    p, lie = r / (1 + r), 1 / (1 + r)
    ratio = (p / lie) ** j * (lie / p) ** (k - j)
    holds = same(sp.powsimp(sp.expand_power_base(sp.simplify(ratio))), r ** (steps * j - k))
    return Step("ratio of an outcome", holds, "all j ≤ k, all r > 0")


def no_leak_factors(power: int = 1) -> Step:
    """One response, given no leak: masses r/(1+r) and 1/(1+r), and no leak has 1 − δ on both sides."""
    r, d = sp.symbols("r delta", positive=True)
    left, right = table(r, d)
    holds = same(left[0] / (left[0] + left[1]), r**power / (1 + r**power))
    holds &= same(left[0] + left[1], 1 - d) & same(right[0] + right[1], 1 - d)
    return Step("given no leak", holds, "all r > 0, δ in [0, 1)")


def brute_force(parts: list[ApproxDP], epsilon: float) -> arb:
    """Σ (P − e^ε·Q)₊ over all sequences of outcomes, on balls."""
    total = arb(0)
    tables = [
        list(zip(*table(ball(part.epsilon).exp(), ball(part.delta)), strict=True)) for part in parts
    ]
    for outcome in product(*tables):
        p, q = arb(1), ball(epsilon).exp()
        for a, b in outcome:
            p, q = p * a, q * b
        total += (p - q).max(arb(0))
    return total


def the_library_has_the_exact_profile(less: int = 0) -> Step:
    """`OptimalComposition.delta` against the sum over all 4^k sequences of outcomes."""
    holds, count = VACUOUS, 0
    with ctx.workprec(256):
        for epsilon, delta, k in ((0.5, 0.0, 5), (1.0, 0.01, 4), (0.25, 0.3, 3), (2.0, 1e-9, 5)):
            part = ApproxDP(epsilon=epsilon, delta=delta)
            for at in (0.0, 0.3, 1.1, 2.6):
                bracket = OptimalComposition(part, k).delta(at)
                exact = brute_force([part] * (k - less), at)
                holds &= at_most(ball(bracket.lower), exact) & at_most(exact, ball(bracket.upper))
                holds &= provided(bracket.width <= 2.0**-50 * bracket.upper)
                count += 1
    return Step("`OptimalComposition`", holds, f"{count} values of δ, 15 digits")


PROOF = Proof(
    theorem=OPTIMAL_COMPOSITION,
    clauses=(
        Clause(
            (
                "Among all adaptive compositions of k parts that are (ε, δ)-DP, k leaky randomized responses "
                "have the largest profile."
            ),
            by=(ratio_of_an_outcome, no_leak_factors),
            argued=(
                "that parts are at worst leaky responses (simulation-lemma), which compose to their product "
                "(adaptive-domination), and are (ε, δ)-DP themselves"
            ),
        ),
    ),
    library=(the_library_has_the_exact_profile,),
    uses=(SIMULATION_LEMMA, LEAKY_RESPONSE, ADAPTIVE_DOMINATION),
    mutations={
        "odds r²": lambda: no_leak_factors(power=2),
        "ratio r^(3j−k)": lambda: ratio_of_an_outcome(steps=3),
        "k − 1 rounds": lambda: the_library_has_the_exact_profile(less=1),
    },
)
