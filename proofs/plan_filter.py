"""A plan fixed in advance costs what its product costs, in whatever order and up to whatever end.

By induction on what is left of the plan: all that follows is dominated by the product of the pairs
that are left. If nothing runs, the trivial pair is dominated by any. Else one of the pairs runs, and
whatever it answers, what follows is dominated by the product of the others, the same for every
answer; by adaptive domination both together are dominated by the product of all. A reserve of μ² is
the Gaussian filter beside it: a part of c leaves the Gaussian of μ² − c, for every answer.
"""

from fractions import Fraction
from functools import cache
from math import inf

from dpverify.accounting.accountant import Accountant
from dpverify.errors import NotSupported
from dpverify.guarantees import ApproxDP
from dpverify.ledger import Filter
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import GAUSSIAN_FILTER, PLAN_FILTER, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, answered, at_most, dominated, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.interactions import Game, by_filter, response, static_masses

_MENU = (
    response(Fraction(2)),
    response(Fraction(2), Fraction(1, 4)),
    response(Fraction(4), Fraction(1, 8)),
)
_PLANNED = (2, 1, 1)


def what_is_left_after_a_request(left_out: int = 0) -> Step:
    """One pair ⊗ the others is dominated by the plan, and a part of the plan by the whole, by `dominates`."""
    pairs = list(_MENU[left_out:])
    plan = pairs[0]
    for other in pairs[1:]:
        plan = plan.product(other)
    holds = VACUOUS
    for first, one in enumerate(_MENU):
        made = one
        for place, other in enumerate(_MENU):
            if place != first:
                made = made.product(other)
        holds &= dominated(plan, made)
        holds &= dominated(plan, one)
    trivial = FinitePair(left=[Fraction(1)], right=[Fraction(1)])
    holds &= dominated(plan, trivial)
    return Step("one request", holds, "a plan of three pairs")


def the_best_adversary(extra: int = 0) -> Step:
    """`Filter(plan=…)`: `Game.best_gain` is at most the profile of the product, at x = 1, 3/2, 2, 3, 5."""
    plan = Accountant(relation=Relation.ADD_REMOVE)
    for pair, times in zip(_MENU, _PLANNED, strict=True):
        plan = plan.compose(pair, times=times + extra)
    budget = ApproxDP(epsilon=20.0, delta=1e-9)
    decide = by_filter(_MENU, lambda: Filter(budget, Relation.ADD_REMOVE, plan=plan))
    game = Game(_MENU, decide, 5)
    masses = static_masses(_MENU, _PLANNED)
    holds = VACUOUS
    for x in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5)):
        profile = sum(p * max(1 - x * ratio, Fraction(0)) for ratio, p in masses.items())
        holds &= at_most(game.best_gain(x), profile)
    return Step("the best adversary", holds, "a plan of four parts, five rounds")


def the_reserve_is_spent_in_pieces(sigma: float = 2.0) -> Step:
    """`Filter(plan=Gaussian(σ = 1))`: four of σ = 2 fit, a fifth of any σ does not; others are refused."""
    plan = Accountant(relation=Relation.ADD_REMOVE).compose(Gaussian(sigma=1.0))
    guard = Filter(ApproxDP(epsilon=6.0, delta=1e-3), Relation.ADD_REMOVE, plan=plan)
    holds = every(answered(guard.request(Gaussian(sigma=sigma))) for _ in range(4))
    holds &= answered(not guard.request(Gaussian(sigma=1e6))) & equal(
        guard.remaining(Gaussian), inf
    )
    return Step("the reserve", holds & answered(_refused()), "one plan")


@cache
def _refused() -> bool:
    """Whether a request that is not in a plan is refused with an exception."""
    plan = Accountant(relation=Relation.ADD_REMOVE).compose(_MENU[0])
    guard = Filter(ApproxDP(epsilon=1.0, delta=0.1), Relation.ADD_REMOVE, plan=plan)
    try:
        guard.request(_MENU[1])
    except NotSupported:
        return True
    return False


PROOF = Proof(
    theorem=PLAN_FILTER,
    clauses=(
        Clause(
            (
                "If each next part is one of a list of pairs fixed in advance, each taken at most once, or a "
                "μᵢ-GDP part with Σμᵢ² at most a reserve μ² fixed in advance, in an order and up to an end "
                "chosen from the answers so far, then all answers together are dominated by the product of "
                "the list and one Gaussian of μ²;"
            ),
            by=(what_is_left_after_a_request, the_best_adversary),
            argued="induction on what is left of the list; gaussian-filter for the reserve beside it",
        ),
        Clause(
            "so (ε, δ)-DP with δ its profile at ε.",
            argued="that what a pair dominates has a profile nowhere above the pair's (adaptive-domination)",
        ),
    ),
    library=(the_reserve_is_spent_in_pieces,),
    uses=(ADAPTIVE_DOMINATION, GAUSSIAN_FILTER),
    mutations={
        "the first pair forgotten": lambda: what_is_left_after_a_request(left_out=1),
        "each once more": lambda: the_best_adversary(extra=1),
        "σ = 1.9": lambda: the_reserve_is_spent_in_pieces(sigma=1.9),
    },
)
