"""A filter that adds up μ² keeps μ-GDP, whatever is asked.

By induction on the rounds left: once b is left of μ², all that follows is dominated by N(√b, 1)
against N(0, 1). A part that is √c-GDP runs, c ≤ b, and whatever it answers, what follows is
dominated by the Gaussian of b − c: the same one for every answer. Adaptive domination bounds the
two together by the product of the Gaussians of c and of b − c, which is that of b: no more is lost
than the part itself takes, which is why this filter is exact. (Randomized response has no such
property: two of them are no third one, and what is left after a request depends on the answer.)

Leaks besides: what is (ε, δ)-DP leaks all with chance δ, by a coin that does not look at the data,
or else is ε-DP. With r the rest of L that is left after a leak of chance d, and f the profile of
the rest of the interaction if nothing leaks, d + (1 − d)·(r + (1 − r)·f) ≤ (d + r) + (1 − d − r)·f.
"""

import math
from fractions import Fraction

import sympy as sp

from dpverify.guarantees import ApproxDP
from dpverify.ledger import Filter
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair
from dpverify.theorems import GAUSSIAN_COMPOSITION, GAUSSIAN_FILTER, Evidence, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.form import Proof
from proofs.support.interactions import Game, below_exp, by_filter, response
from proofs.support.symbolic import nonnegative, same

_BUDGETS = ((1.0, 1e-6), (0.1, 1e-3), (5.0, 1e-12), (0.0, 0.25))


def the_rest_is_gaussian(power: int = 2) -> Step:
    """The loss of N(√c, 1) and N(√(b−c), 1) together is that of N(√b, 1), at x = (√c·x₁ + √(b−c)·x₂)/√b."""
    x1, x2 = sp.symbols("x1 x2", real=True)
    c, rest = sp.symbols("c rest", positive=True)
    b = c + rest
    one, two = sp.sqrt(c) * x1 - c / 2, sp.sqrt(rest) * x2 - rest / 2
    x = (sp.sqrt(c) * x1 + sp.sqrt(rest) * x2) / sp.sqrt(b)
    holds = same(one + two, sp.sqrt(b) * x - sp.sqrt(b) ** power / 2)
    holds &= same((c + rest) / b, 1)  # the variance of x
    return Step("what is left", Evidence.SYMBOLIC, holds, "all c, b − c > 0")


def leaks_add_up(sign: int = 1) -> Step:
    """(d + r) + (1 − d − r)·f − d − (1 − d)·(r + (1 − r)·f) = d·r·(1 − f) ≥ 0."""
    d, r, f, room = sp.symbols("d r f room", nonnegative=True)
    gap = (d + r) + (1 - d - r) * f - d - (1 - d) * (r + (1 - r) * f)
    holds = same(gap, sign * d * r * (1 - f))
    holds &= nonnegative(sp.expand(sign * d * r * room), (d, r, room))
    return Step("leaks add up", Evidence.SYMBOLIC, holds, "all d, r, f in [0, 1]")


def the_limit_is_the_last_float(steps: int = 0) -> Step:
    """`Filter.scheme`: μ² is within (ε, δ), and the next float is not, by `GaussianPair.delta_bracket`."""
    holds = True
    for epsilon, delta in _BUDGETS:
        guard = Filter(ApproxDP(epsilon, delta), Relation.ADD_REMOVE, by="gaussian")
        limit = float(dict(guard.scheme.limits)["squared_mu"])  # type: ignore[union-attr]  # it is known
        for _ in range(steps):
            limit = math.nextafter(limit, math.inf)
        beyond = math.nextafter(limit, math.inf)
        holds &= GaussianPair(Fraction(limit)).delta(epsilon) <= delta
        holds &= GaussianPair(Fraction(beyond)).delta_bracket(epsilon).upper > delta
    return Step("`Filter`", Evidence.CERTIFIED, holds, f"{len(_BUDGETS)} budgets")


def the_best_adversary(times: int = 1) -> Step:
    """`Filter(by="gaussian")`, with leaks: `Game.best_gain` ≤ δ for four rounds."""
    menu = (
        response(Fraction(5, 4)),
        response(Fraction(2)),
        response(Fraction(3), Fraction(1, 4)),
        FinitePair.leaky_response(Fraction(9, 8), Fraction(1, 128)),
    )
    holds, count = True, 0
    for epsilon, delta in ((0.5, 1 / 16), (0.25, 1 / 8), (1.0, 1 / 64)):
        allowed = ApproxDP(epsilon * times, delta)

        def make(allowed: ApproxDP = allowed) -> Filter:
            return Filter(allowed, Relation.ADD_REMOVE, by="gaussian", leak_share=0.25)

        gain = Game(menu, by_filter(menu, make), 4).best_gain(below_exp(epsilon))
        holds &= gain <= Fraction(delta)
        count += 1
    return Step("the best adversary", Evidence.EXACT, holds, f"{count} budgets, four rounds")


PROOF = Proof(
    theorem=GAUSSIAN_FILTER,
    steps=(
        the_rest_is_gaussian,
        leaks_add_up,
        the_limit_is_the_last_float,
        the_best_adversary,
    ),
    uses=(GAUSSIAN_COMPOSITION, ADAPTIVE_DOMINATION),
    mutations={
        "μ for μ²": lambda: the_rest_is_gaussian(power=1),
        "the other sign": lambda: leaks_add_up(sign=-1),
        "two floats more": lambda: the_limit_is_the_last_float(steps=2),
        "four times the budget": lambda: the_best_adversary(times=4),
    },
)
