"""Private selection: only the best of a random number of runs is released.

Order the outputs by their score, equal ones by a coin that the output carries. A score that reads the data besides would
tell them: of two outputs by a fair coin, which is 0-DP, it may like the one that is a record's bit. If a run beats y with
probability u under P and v under Q, the best has the densities f′(1−u)·du and f′(1−v)·dv at y. The set of
outputs that beat y is an event, so (u, v) lies below the trade-off curve, and f′(1−v) ≥ r·f′(1−u): f′ rises. So

    A(S) − x·A′(S) ≤ ∫_S f′(1−u)·(du − x·r·dv) for every event S.

f′(1−u) falls in u: it is a mixture of indicators of u ≤ s. For each of them the integral is at most what the s
most likely outcomes under P, counted by likelihood ratio, give (Neyman, Pearson); so all of them are largest at
once when the outcomes come in that order. Each term only grows when a pair is replaced by one that dominates it:
a test of the weaker pair is one of the stronger.

For ε-DP runs v ≤ e^ε·u gives r ≥ e^(−(1+η)ε) for a negative binomial number, and nothing is left from (2+η)·ε on.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, permutations, product

import sympy as sp

from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair
from dpverify.pairs.bounds.runs import NegativeBinomial
from dpverify.pairs.bounds.selection import best_of
from dpverify.theorems import EXACT_PROFILE, PRIVATE_SELECTION, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same

_STOP = Fraction(1, 4)


def the_number_of_runs_has_this_slope(shift: int = 1) -> Step:
    """(d/dx)(1 − (1−γ)x)^(−η) ∝ (γ + (1−γ)u)^(−η−1) at x = 1 − u; for η → 0 that of the logarithm."""
    x, u, stop, shape = sp.symbols("x u gamma eta", positive=True)
    slope = sp.diff((1 - (1 - stop) * x) ** (-shape), x).subs(x, 1 - u)
    target = shape * (1 - stop) * (stop + (1 - stop) * u) ** (-shape - shift)
    holds = same(sp.simplify(slope / target), 1)
    zero = sp.diff(-sp.log(1 - (1 - stop) * x), x).subs(x, 1 - u)
    holds &= same(zero, (1 - stop) / (stop + (1 - stop) * u) ** shift)
    return Step("f′", holds, "all γ, η > 0 and η = 0")


def pure_runs_lose_a_factor(less: int = 0) -> Step:
    """e^ε·(γ + (1−γ)·u) − (γ + (1−γ)·e^ε·u) = γ·(e^ε − 1) ≥ 0: so f′ falls by e^((1+η)ε) at most."""
    more, u, stop = sp.symbols("m u gamma", nonnegative=True)  # e^ε = 1 + m, 1 − γ = 1/(1 + stop)
    share = stop / (1 + stop)
    odds, other = share + u * (1 - share), share + (1 - share) * (1 + more) * u
    holds = nonnegative((1 + more - less * more) * odds - other, (more, u, stop))
    return Step("(2+η)·ε", holds, "all ε ≥ 0, u ≥ 0 and 0 ≤ γ < 1")


def _chance(x: Fraction) -> Fraction:
    """E x^K for the geometric number: γx/(1 − (1−γ)x)."""
    return _STOP * x / (1 - (1 - _STOP) * x)


def _selected(law: Sequence[Fraction]) -> list[Fraction]:
    """The distribution of the best, outputs listed from the best to the worst."""
    tails = [Fraction(0), *accumulate(law)]
    return [_chance(1 - low) - _chance(1 - high) for low, high in pairwise(tails)]


def the_best_is_counted_right(terms: int = 80) -> Step:
    """Σ_k P(K = k)·(F(≤y)^k − F(<y)^k), summed over k up to 80, against f(F(≤y)) − f(F(<y))."""
    holds, count = VACUOUS, 0
    for law in rational_laws(3, 5):
        tails = [Fraction(0), *accumulate(law)]
        for (low, high), closed in zip(pairwise(tails), _selected(law), strict=True):
            plain = sum(
                _STOP * (1 - _STOP) ** (k - 1) * ((1 - low) ** k - (1 - high) ** k)
                for k in range(1, terms)
            )
            holds &= below(abs(plain - closed), Fraction(1, 10**9))
            count += 1
    return Step("counting", holds, f"{count} outputs")


def _bound(pair: FinitePair, ratio: Fraction, steep: Fraction) -> Fraction:
    """Σ (1 − x·r·q/p)₊ times what the outcomes win when the largest ratios come first."""
    ranked = sorted(pair.masses(), key=lambda mass: -(mass[0] / mass[1]) if mass[1] else -(10**9))
    shares = _selected([p for p, _ in ranked])
    total = Fraction(0)
    for (p, q), share in zip(ranked, shares, strict=True):
        if p:
            total += max(1 - ratio / steep * q / p, Fraction(0)) * share
    return total


def _steepness(pair: FinitePair) -> Fraction:
    """The largest f′(1−u)/f′(1−v) = ((γ + (1−γ)v)/(γ + (1−γ)u))² over sets that Q prefers."""
    ranked = sorted(pair.masses(), key=lambda mass: mass[0] / mass[1] if mass[1] else 10**9)
    ends = accumulate(ranked, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=(Fraction(0),) * 2)
    return max(((_STOP + (1 - _STOP) * v) / (_STOP + (1 - _STOP) * u)) ** 2 for u, v in ends)


def _pairs() -> Iterator[FinitePair]:
    laws = rational_laws(3, 4)
    for left, right in product(laws, repeat=2):
        yield FinitePair(left=left, right=right)


def every_order_lies_below_the_bound(share: Fraction = Fraction(1)) -> Step:
    """All pairs of laws on three outcomes with denominator 4, all orders, seven ratios."""
    ratios = [Fraction(k, 2) for k in range(2, 9)]
    holds, count = VACUOUS, 0
    for pair in _pairs():
        if not holds.holds:
            break
        steep = _steepness(pair)
        bounds = {ratio: share * _bound(pair, ratio, steep) for ratio in ratios}
        for order in permutations(pair.masses()):
            left, right = (_selected([mass[side] for mass in order]) for side in (0, 1))
            best = FinitePair(left=left, right=right)
            holds &= every(at_most(best.delta_at_ratio(ratio), bounds[ratio]) for ratio in ratios)
            count += 1
    return Step("every order", holds, f"{count} orders")


def the_library_bounds_randomized_response(factor: float = 1.0) -> Step:
    """`best_of` of randomized response: above two orders in rationals, and 3ε at most."""
    ratio = Fraction(2)
    epsilon = float(ball(ratio).log().mid())
    pair = best_of(
        LeakyResponsePair(ApproxDP(epsilon=epsilon)), NegativeBinomial(1.0, float(_STOP))
    )
    response = FinitePair.leaky_response(ratio, Fraction(0))
    holds, count = at_most(pair.max_loss, 3 * epsilon * 1.001 * factor), 0
    for order in permutations(response.masses()):
        left, right = (_selected([mass[side] for mass in order]) for side in (0, 1))
        truth = FinitePair(left=left, right=right)
        for at in (0.0, 0.5, 1.0):
            holds &= at_most(truth.delta_bracket(at).lower, factor * pair.delta(at))
            count += 1
    return Step("`best_of`", holds, f"{count} points")


PROOF = Proof(
    theorem=PRIVATE_SELECTION,
    clauses=(
        Clause(
            (
                "If only the best, by a score of the output alone, of K independent runs is released, K drawn "
                "beforehand without the data, f is the generating function of K and r the least f′(1−v)/f′(1−u) "
                "over the trade-off curve, then δ(ε) ≤ ∫ f′(1−u)·(1 − e^ε·r/ℓ(u))₊ du, with ℓ the likelihood "
                "ratios in falling order;"
            ),
            by=(
                the_number_of_runs_has_this_slope,
                the_best_is_counted_right,
                every_order_lies_below_the_bound,
            ),
            argued=(
                "that a score of the output alone makes what beats y one event on both sides; that f′(1−u) is a "
                "mixture of indicators of u ≤ s, each largest when outcomes come by "
                "likelihood ratio (Neyman, Pearson)"
            ),
        ),
        Clause(
            "so ε-DP runs stay (2+η)·ε-DP for a negative binomial K of shape η, 3ε-DP for a geometric one.",
            by=(pure_runs_lose_a_factor,),
            argued="that nothing is left of the integral from (2+η)·ε on",
        ),
    ),
    library=(the_library_bounds_randomized_response,),
    uses=(EXACT_PROFILE, POST_PROCESSING),
    mutations={
        "one power more": lambda: the_number_of_runs_has_this_slope(shift=2),
        "no factor": lambda: pure_runs_lose_a_factor(less=1),
        "ten runs": lambda: the_best_is_counted_right(terms=10),
        "half the bound": lambda: every_order_lies_below_the_bound(share=Fraction(1, 2)),
        "half of it": lambda: the_library_bounds_randomized_response(factor=0.5),
    },
)
