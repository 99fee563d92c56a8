"""Leaky randomized response is (ε, δ)-DP, and for no smaller ε or δ.

With r = e^ε ≥ 1: all sixteen events of the four outcomes, in both directions, have an excess of at
most δ over r; the event {0, "U"} has more than δ over every smaller ratio, unless δ = 1.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import log

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair
from dpverify.theorems import LEAKY_RESPONSE, Step
from proofs.leaky_table import LEAKY_TABLE
from proofs.support.checks import VACUOUS, equal, every
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import Expression, nonnegative, same

_ALL = "all ε ≥ 0, all δ in [0, 1]"
_RATIOS = tuple(Fraction(n, 4) for n in (4, 5, 8, 12, 40))
_DELTAS = tuple(Fraction(n, 10) for n in (0, 1, 5, 9, 10))


def table(ratio: Expression, delta: Expression) -> tuple[tuple[Expression, ...], ...]:
    """The two laws over 0, 1, "U", "V", as `FinitePair.leaky_response` has them."""
    lie = (1 - delta) / (1 + ratio)
    truth = lie * ratio
    return (truth, lie, delta, 0), (lie, truth, 0, delta)


def _symbols() -> tuple[Expression, Expression, tuple[Expression, ...]]:
    """r = 1 + t and δ = u/(u + v), for t, u, v ≥ 0: every ε ≥ 0 and every δ in [0, 1]."""
    t, u, v = sp.symbols("t u v", nonnegative=True)
    return 1 + t, u / (u + v), (t, u, v)


def rows_sum_to_one(extra: int = 0) -> Step:
    """(1−δ)·r/(1+r) + (1−δ)/(1+r) + δ = 1."""
    ratio, delta, _ = _symbols()
    left, right = table(ratio, delta)
    holds = every(same(sum(law) + extra * delta, 1) for law in (left, right))
    return Step("both columns sum to 1", holds, _ALL)


def no_event_exceeds_delta(share: Fraction = Fraction(1)) -> Step:
    """δ − (P(E) − r·Q(E)) ≥ 0 and δ − (Q(E) − r·P(E)) ≥ 0 for all sixteen events E."""
    ratio, delta, variables = _symbols()
    holds = VACUOUS
    for event in product((0, 1), repeat=4):
        for one, other in _both(*table(ratio, delta)):
            excess = sum(k * (a - ratio * b) for k, a, b in zip(event, one, other, strict=True))
            holds &= nonnegative(sp.Rational(share) * delta - excess, variables)
    return Step("no event exceeds δ", holds, _ALL)


def _both(
    left: tuple[Expression, ...], right: tuple[Expression, ...]
) -> Iterator[tuple[Expression, ...]]:
    yield left, right
    yield right, left


def smaller_ratios_do_not_suffice(shift: int = 1) -> Step:
    """P{0, U} − r′·Q{0, U} − δ = (1−δ)·(r − r′)/(1 + r): positive for r′ < r and δ < 1."""
    ratio, delta, _ = _symbols()
    smaller = sp.Symbol("r_prime", positive=True)
    left, right = table(ratio, delta)
    excess = left[0] + left[2] - smaller * (right[0] + right[2]) - delta
    holds = same(excess, (1 - delta) * (ratio - smaller) / (shift + ratio))
    return Step("{0, U} attains it", holds, _ALL)


def the_library_has_this_table(factor: Fraction = Fraction(1)) -> Step:
    """`FinitePair.leaky_response(r, δ)`: its entries, `delta_at_ratio(r)` = δ and its inverse."""
    holds, count = VACUOUS, 0
    for ratio, delta in product(_RATIOS, _DELTAS):
        pair = FinitePair.leaky_response(ratio, delta)
        holds &= equal((pair.left, pair.right), table(ratio, delta))
        holds &= equal(pair.delta_at_ratio(ratio), factor * delta)
        if delta < 1:
            holds &= equal(pair.ratio_at_delta(delta), ratio)
        count += 1
    return Step("the library's table", holds, f"{count} rational (e^ε, δ)")


def the_library_has_this_profile(scale: int = 1) -> Step:
    """`LeakyResponsePair.profile_ball` at ln x holds the exact `delta_at_ratio(x)`."""
    holds, count = VACUOUS, 0
    with ctx.workprec(200):
        for ratio, delta in product(_RATIOS[1:], _DELTAS):
            pair = LeakyResponsePair(ApproxDP(epsilon=log(ratio), delta=float(delta)))
            same_epsilon = ball(pair.worst.epsilon).exp()
            for at in (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(50)):
                # Only the table is at stake, so it is evaluated at the float ε that the pair has.
                left, right = table(same_epsilon, ball(pair.worst.delta))
                exact = sum(
                    (max(p - ball(at) * q, ball(0)) for p, q in zip(left, right, strict=True)),
                    ball(0),
                )
                value = pair.profile_ball(ball(at).log())
                holds &= overlaps(value, scale * exact, digits=40)
                count += 1
    return Step("the library's profile", holds, f"{count} points, 40 digits")


PROOF = Proof(
    theorem=LEAKY_RESPONSE,
    clauses=(
        Clause(
            "Leaky randomized response with parameters (ε, δ) is exactly (ε, δ)-DP.",
            by=(rows_sum_to_one, no_event_exceeds_delta, smaller_ratios_do_not_suffice),
            argued="that the four outcomes have sixteen events, and “exactly” means for no smaller ε or δ",
        ),
    ),
    library=(the_library_has_this_table, the_library_has_this_profile),
    uses=(LEAKY_TABLE,),
    mutations={
        "twice the profile": lambda: the_library_has_this_profile(scale=2),
        "excess over 2 + r": lambda: smaller_ratios_do_not_suffice(shift=2),
        "leak twice": lambda: rows_sum_to_one(extra=1),
        "δ/2 suffices": lambda: no_event_exceeds_delta(Fraction(1, 2)),
        "the library leaks 2δ": lambda: the_library_has_this_table(Fraction(2)),
    },
)
