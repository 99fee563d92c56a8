"""The odometer's ε holds at every stopping time.

Let m_i be the largest moment of order α of the i-th part, e^((α−1)·γ_i). Given everything before it,
E_P[(a/b)^(α−1)] ≤ m_i for its masses a, b, whatever was chosen: so e^((α−1)·(L − G)), with L the loss and
G = Σγ_i, never grows in the mean, and at any stopping time its mean under P is at most 1. With
c = (1 − 1/α)^(α−1)/α, (1 − e^(−y))₊ ≤ c·e^((α−1)·y) for every y: at y = L − ε, and with ε so chosen that
c·e^((α−1)·(G − ε)) = w·δ,

    E_P[(1 − e^(ε − L))₊] ≤ w·δ·E_P[e^((α−1)·(L − G))] ≤ w·δ.

The least of several such ε: the ends at which the j-th is least add up to at most w_j·δ.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import sympy as sp

from dpverify.ledger import Odometer
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import RENYI_ODOMETER, Step
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.interactions import Counts, Game, below_exp, response
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import same

_MENU = (
    response(Fraction(3, 2)),
    response(Fraction(8), Fraction(1, 16)),
    response(Fraction(3), Fraction(1, 4)),
)


def the_constant(power: int = 1) -> Step:
    """e^(−(α−1)·y)·(1 − e^(−y)) is largest at e^(−y) = 1 − 1/α, where it is c."""
    order, u = sp.symbols("alpha u", positive=True)  # u = e^(−y)
    value = u ** (order - 1) * (1 - u)
    at = 1 - 1 / order
    slope = sp.diff(value, u)
    # The slope is u^(α−2)·((α−1) − α·u): positive below 1 − 1/α, negative above.
    holds = same(slope / u ** (order - 2), (order - 1) - order**power * u)
    holds &= same(sp.simplify(value.subs(u, at)), at ** (order - 1) / order)
    return Step("the constant", holds, "all orders α > 1")


def the_formula(sign: int = 1) -> Step:
    """c·e^((α−1)·(G − ε)) = w·δ at ε = G + ln(1 − 1/α) − ln(α·w·δ)/(α−1)."""
    order, total, shared = sp.symbols("alpha G d", positive=True)
    epsilon = total + sp.log(1 - 1 / order) - sign * sp.log(order * shared) / (order - 1)
    log_c = (order - 1) * sp.log(1 - 1 / order) - sp.log(order)
    left = log_c + (order - 1) * (total - epsilon)
    holds = same(left, sp.log(shared), by=lambda e: sp.expand_log(sp.simplify(e)))
    return Step("the formula", holds, "all α > 1, G, w·δ > 0")


def no_growth_in_the_mean(factor: Fraction = Fraction(1)) -> Step:
    """E_P[(p/q)/Πm_i] ≤ 1 at order 2 at the end of trees of two rounds that may stop after one."""
    pairs = [pair for pair in rational_pairs(2, 4) if not pair.likelihood.singular][::3]
    holds, count = VACUOUS, 0
    for first, one, two in product(pairs, repeat=3):
        options: tuple[FinitePair | None, ...] = (one, two, None)
        for chosen in product(options, repeat=2):
            total = Fraction(0)
            for (p, q), after in zip(first.masses(), chosen, strict=True):
                ends = [(Fraction(1), Fraction(1))] if after is None else list(after.masses())
                charged = _moment(first) * (1 if after is None else _moment(after))
                total += sum(p * a * (p * a) / (q * b) / charged for a, b in ends if p * a)
            holds &= at_most(total, factor)
            count += 1
    return Step("no growth", holds, f"{count} trees")


def _moment(pair: FinitePair) -> Fraction:
    return sum((p * p / q for p, q in pair.masses() if p), Fraction(0))


def the_best_adversary(times: int = 1) -> Step:
    """`Odometer`: Σ(p − e^ε·q)₊ ≤ δ at the best of all ends, ε the odometer's at each, four rounds."""
    holds, count = VACUOUS, 0
    for orders, delta in (((4.0,), 1 / 16), ((2.0, 8.0), 1 / 32), ((3.0, 6.0, 16.0), 1 / 64)):
        game = Game(_MENU, lambda _, __: True, 4)
        holds &= at_most(game.best_gain(_ratio_of(orders, delta * times)), Fraction(delta))
        count += 1
    return Step("the best adversary", holds, f"{count} odometers, four rounds")


def _ratio_of(orders: tuple[float, ...], delta: float) -> Callable[[Counts], Fraction]:
    @cache
    def ratio(counts: Counts) -> Fraction:
        meter = Odometer(Relation.ADD_REMOVE, orders=orders)
        for pair, times in zip(_MENU, counts, strict=True):
            if times:
                meter.spend(pair, times=times)
        return below_exp(math.nextafter(meter.epsilon(delta).upper, 0.0))

    return ratio


PROOF = Proof(
    theorem=RENYI_ODOMETER,
    clauses=(
        Clause(
            (
                "Let Gⱼ be the divergences at order αⱼ added up so far and Σwⱼ ≤ 1. With ε the least of Gⱼ + "
                "ln(1 − 1/αⱼ) − ln(αⱼ·wⱼ·δ)/(αⱼ − 1) over j, P(E) ≤ E_Q[e^ε; E] + δ for all events E of the "
                "answers up to any stopping time, whatever was chosen from earlier answers."
            ),
            by=(the_constant, the_formula, no_growth_in_the_mean, the_best_adversary),
            argued=(
                "optional stopping for a non-negative supermartingale; that the ends at which the j-th ε is "
                "least add up to at most wⱼ·δ"
            ),
        ),
    ),
    mutations={
        "α² in the slope": lambda: the_constant(power=2),
        "the other sign": lambda: the_formula(sign=-1),
        "below 1": lambda: no_growth_in_the_mean(factor=Fraction(1, 2)),
        "eight times δ": lambda: the_best_adversary(times=8),
    },
)
