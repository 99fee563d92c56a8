"""Auditing in one run: guesses in tiers, the surest of which weigh most, and guesses chosen as it goes.

Coins S uniform on {in, out}^m; the release is (ε_j, δ_j)-DP in each coin, E_j = e^(ε_j).

*Tiers.* Which r_t canaries are guessed in tier t, and how, is a function of the release. Fix coins s, a canary i and j.
h = (u_tj(Z_i)/λ_j)·1[i is guessed, in tier t, rightly] is a function of the release with values in [0, 1], where Z_i, the
penalty of the other guesses, does not look at coin i. So its mean under s is at most E_j times its mean under s with coin
i turned, plus δ_j; turning makes "rightly" into "wrongly". Averaged over s: E[u_tj(Z_i); right] ≤ E_j·E[u_tj(Z_i); wrong]
+ λ_j·δ_j. If i is right then Z_i = Z, else Z_i = Z − w_t. Summed over i and j: E[Σ_t (r_t−d_t)·U_t(Z) − d_t·V_t(Z−w_t)] ≤
mΣ λ_j·δ_j. Step 1 writes the bracket with a_t = (U_t(z) + V_t(z−w_t))/w_t, step 2 bounds it by the largest a_t. Step 3
makes mechanisms and compares their tails with the bounds that any u gives.

*As it goes.* A stake u changes the capital by u or −E·u; it is a function of the release and of coins shown before, so not
of coin i. Step 4: within [0, x] a stake is at most x/(1+E). Then as above, and Markov's inequality. Step 5 plays games.
"""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import sympy as sp

from dpverify.auditing.one_run.as_it_goes import Played
from dpverify.auditing.one_run.tiers import TierBound, Tiers, best_tier_bound
from dpverify.guarantees import ApproxDP
from dpverify.theorems import ONE_RUN_TIERS, Step
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

Law = dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction]
_SIZES, _WEIGHTS = (1, 2), (2, 1)
_RATIOS = (1, 2, 5)


def rearranged(weight: int = 1) -> Step:
    """(r−d)·U − d·V = r·U − (w·d)·(U + V)/w, for each tier."""
    r, d, u, v, w = sp.symbols("r d U V w", positive=True)
    holds = same((r - d) * u - d * v, r * u - weight * (w * d) * (u + v) / w)
    return Step("rearranged", holds, "all r, d, U, V, w")


def largest_share(sign: int = 1) -> Step:
    """(x + y)·a − x·(a − s) − y·(a − t) ≥ 0: what adds up to z, weighed by a_t, is at most z times the largest a_t."""
    x, y, s, t, a = sp.symbols("x y s t a", nonnegative=True)
    gap = sp.expand((x + y) * a - x * (a - sign * s) - y * (a - sign * t))
    return Step("the largest share", nonnegative(gap, [x, y, s, t, a]), "two tiers, all numbers")


def law(coins: tuple[int, ...], chances: dict[tuple[int, int], Fraction]) -> Law:
    """Three canaries, the first listed is tier one: signs guessed, with chances by wrong guesses in each tier."""
    found: Law = {}
    for first in range(3):
        listed = (first, *(i for i in range(3) if i != first))
        for signs in product((-1, 1), repeat=3):
            wrong = [int(signs[i] != coins[i]) for i in listed]
            found[listed, signs] = chances[wrong[0], wrong[1] + wrong[2]]
    return found


def mechanisms() -> list[tuple[Law, tuple[Fraction, ...]]]:
    """Laws for the coins (1, 1, 1), with the δ at E = 1, 2 and 5 over all turns of one coin, both ways."""
    states = list(product(range(2), range(3)))
    patterns = {(a, b): 3 * (1, 2, 1)[b] for a, b in states}
    made = []
    for weights in (*product((1, 6), repeat=len(states)), (200, 1, 1, 1, 1, 1)):
        total = sum(patterns[s] * w for s, w in zip(states, weights, strict=True))
        chances = {s: Fraction(w, total) for s, w in zip(states, weights, strict=True)}
        base = law((1, 1, 1), chances)
        turned = [law(c, chances) for c in set(permutations((1, 1, -1)))]
        deltas = tuple(
            max(
                sum((max(p[t] - e * q[t], Fraction(0)) for t in p), Fraction(0))
                for other in turned
                for p, q in ((base, other), (other, base))
            )
            for e in _RATIOS
        )
        made.append((base, deltas))
    return made


def tails_of_mechanisms(price: float = 1.0) -> Step:
    """P(Z ≤ c) of each against `TierBound` of drawn u, and of those that the program finds."""
    holds, count = VACUOUS, 0
    tiers, epsilons = Tiers(_SIZES, _WEIGHTS), np.log(np.array(_RATIOS, dtype=np.float64))
    drawn = np.random.default_rng(1).random((2, 2, 3, 5)) * 0.3
    for number, (base, exact) in enumerate(mechanisms()):
        deltas = np.array([float(d) for d in exact]) * price
        for c in range(4):
            tail = sum((p for t, p in base.items() if _penalty(t) <= c), Fraction(0))
            tables = [TierBound(tiers, c, epsilons, u) for u in drawn]
            if number % 8 == 0:
                best = best_tier_bound(tiers, c, epsilons=epsilons, deltas=deltas, canaries=3)
                tables += [] if best is None else [best]
            for table in tables:
                holds &= at_most(tail, table.bound(3, deltas) + 1e-12)
                count += 1
    return Step("tails of mechanisms", holds, f"{count} bounds")


def _penalty(release: tuple[tuple[int, ...], tuple[int, ...]]) -> int:
    listed, signs = release
    weights = (_WEIGHTS[0], _WEIGHTS[1], _WEIGHTS[1])
    return sum(w for w, i in zip(weights, listed, strict=True) if signs[i] == -1)


def largest_stake(share: int = 1) -> Step:
    """At K = x·E/(1+E) both limits are x/(1+E); below it K/E is smaller, above it x − K is."""
    x, e, s = sp.symbols("x E s", positive=True)
    middle, most = x * e / (1 + e), share * x / (1 + e)
    holds = (
        same(middle / e, most)
        & same(x - middle, most)
        & nonnegative(sp.expand((most - (middle - s) / e) * e), [s])
        & nonnegative(sp.expand(sp.simplify(most - (x - middle - s))), [s])
    )
    return Step("the largest stake", holds, "all x, E")


def games_of_mechanisms(leak: float = 1.0) -> Step:
    """`Played.p_value` on every release of each mechanism, in the order of its tiers: P(p ≤ level) ≤ level."""
    holds, count = VACUOUS, 0
    for base, exact in mechanisms():
        for ratio, delta in zip(_RATIOS, exact, strict=True):
            claim = ApproxDP(epsilon=float(np.log(ratio)), delta=min(1.0, leak * float(delta)))
            for level in (0.25, 0.5, 0.75, 0.9):
                refuted = Fraction(0)
                for (listed, signs), chance in base.items():
                    played = Played(tuple(signs[i] == 1 for i in listed), 3)
                    if played.p_value(claim, level) <= level:
                        refuted += chance
                holds &= at_most(refuted, level)
                count += 1
    return Step("games of mechanisms", holds, f"{count} games")


PROOF = Proof(
    theorem=ONE_RUN_TIERS,
    clauses=(
        Clause(
            ONE_RUN_TIERS.statement.split(" and if guesses are made")[0],
            by=(rearranged, largest_share),
            argued=(
                "averaging over the coins: turning coin i leaves the penalty of the other guesses alone and "
                "exchanges right and wrong; that what holds for two tiers holds for several; and that a tier "
                "with w_t > z has no wrong guess"
            ),
        ),
        Clause(
            "and if guesses are made"
            + ONE_RUN_TIERS.statement.split(" and if guesses are made")[1],
            by=(largest_stake,),
            argued="averaging over the coins, as a stake on canary i does not look at coin i; and Markov’s inequality",
        ),
    ),
    library=(tails_of_mechanisms, games_of_mechanisms),
    mutations={
        "twice the share": lambda: rearranged(weight=2),
        "the smallest share": lambda: largest_share(sign=-1),
        "bound without its price": lambda: tails_of_mechanisms(price=0.0),
        "twice the stake": lambda: largest_stake(share=2),
        "games without a leak": lambda: games_of_mechanisms(leak=0.0),
    },
)
