"""A filter that adds up Rényi divergences keeps them, at each order; and (ε, δ) over several orders.

One order: by induction on the rounds left, once B is left, the moment Σ p^α·q^(1−α) of all that
follows is at most e^((α−1)·B): a part of divergence c ≤ B takes e^((α−1)·c), and what follows, whatever
the answer, at most e^((α−1)·(B−c)).

Several orders: every way that the interaction can go ends with some order within its limit, though
which one depends on the answers. Let S_j be the ends of which the j-th is the first such order. They are
ends, too, of the interaction that stops before that order's limit is passed, which has a
divergence of at most B_j: so Σ over S_j of (p − x·q)₊ is at most δ/m, and all of them together at
most δ. Without sharing δ the rule is wrong: the adversary lets the answers decide which order it
uses up, and gains at several of them.
"""

from fractions import Fraction
from functools import cache

import sympy as sp

from dpverify.accounting.renyi_conversion import largest_divergence, renyi_epsilon
from dpverify.guarantees import ApproxDP
from dpverify.ledger import Filter
from dpverify.ledger.schemes import Scheme
from dpverify.ledger.subjects import parts_of
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import RENYI_COMPOSITION, RENYI_FILTER, RENYI_TO_APPROX, Step
from proofs.support.checks import at_most, every
from proofs.support.form import Clause, Proof
from proofs.support.interactions import Counts, Game, below_exp, by_filter
from proofs.support.symbolic import same

_BUDGET = ApproxDP(epsilon=1.0, delta=0.01)
_ORDERS = (2.0, 32.0)


def _pair(left: str, right: str) -> FinitePair:
    p, q = Fraction(left), Fraction(right)
    return FinitePair(left=[p, 1 - p], right=[q, 1 - q])


_MENU = (_pair("3/50", "1/20"), _pair("1/45", "1/202"), _pair("7/10", "71/250"))


def what_is_left_after_a_request(slip: int = 0) -> Step:
    """e^((α−1)·c)·e^((α−1)·(B−c)) = e^((α−1)·B)."""
    order, c, limit = sp.symbols("alpha c B", positive=True)
    made = sp.exp((order - 1) * c) * sp.exp((order - 1 + slip) * (limit - c))
    return Step(
        "one request",
        same(sp.powsimp(made / sp.exp((order - 1) * limit)), 1),
        "all orders, all c ≤ B",
    )


def limits_convert(factor: float = 1.0) -> Step:
    """`largest_divergence`: at the order, B implies (ε, δ)-DP, by `renyi_epsilon`."""
    cases = [(2.0, 1.0, 0.01), (32.0, 1.0, 0.01), (8.0, 0.1, 1e-6), (200.0, 3.0, 1e-12)]
    holds = every(
        at_most(
            renyi_epsilon(order, factor * largest_divergence(order, epsilon, delta), delta), epsilon
        )
        for order, epsilon, delta in cases
    )
    return Step("`largest_divergence`", holds, f"{len(cases)} limits")


def the_best_adversary(*, shared: bool = True) -> Step:
    """`Filter(by="renyi", orders=(2, 32))`: `Game.best_gain` ≤ δ; 1.15·δ if δ is not shared."""
    if shared:
        decide = by_filter(
            _MENU, lambda: Filter(_BUDGET, Relation.ADD_REMOVE, by="renyi", orders=_ORDERS)
        )
    else:
        scheme = Scheme("renyi", tuple(map(_unshared, _ORDERS)), Fraction(0), _ORDERS)

        @cache
        def decide(first: int, counts: Counts) -> bool:
            del first
            spent = scheme.start
            for item, times in enumerate(counts):
                if times:
                    (part,) = parts_of(_MENU[item], times=times, relation=Relation.ADD_REMOVE)
                    spent = scheme.after(spent, part)
            return scheme.fits(spent)

    game = Game(_MENU, decide, 3)
    holds = every(
        at_most(game.best_gain(below_exp(_BUDGET.epsilon), exchanged=way), Fraction(_BUDGET.delta))
        for way in (False, True)
    )
    return Step("the best adversary", holds, "one menu, three rounds")


def _unshared(order: float) -> tuple[str, Fraction]:
    return f"renyi:{order!r}", Fraction(
        largest_divergence(order, float(_BUDGET.epsilon), float(_BUDGET.delta))
    )


PROOF = Proof(
    theorem=RENYI_FILTER,
    clauses=(
        Clause(
            (
                "If each next part is chosen from all answers so far with its parameters, and nothing is run "
                "unless at one of m orders αⱼ the divergences still add up to at most Bⱼ, where Bⱼ at αⱼ "
                "implies (ε, δ/m)-DP, then all answers together are (ε, δ)-DP;"
            ),
            by=(what_is_left_after_a_request, the_best_adversary),
            argued=(
                "that the ends at which order j is the first within its limit are ends of the interaction "
                "that stops before its limit is passed"
            ),
        ),
        Clause(
            "with one order they have a divergence of at most B.",
            by=(what_is_left_after_a_request,),
            argued="induction on the rounds that are left",
        ),
    ),
    library=(limits_convert,),
    uses=(RENYI_COMPOSITION, RENYI_TO_APPROX),
    mutations={
        "exponent α": lambda: what_is_left_after_a_request(slip=1),
        "a hundredth more": lambda: limits_convert(factor=1.01),
        "δ not shared among orders": lambda: the_best_adversary(shared=False),
    },
)
