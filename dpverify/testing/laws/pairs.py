"""Laws of every pair: profile, trade-off curve, Rényi divergences and tests agree."""

import math
from itertools import pairwise

from flint import arb

from dpverify.balls import ball
from dpverify.pairs import FinitePair, Pair
from dpverify.testing.laws.law import Law, require

_EPSILONS = (0.0, 0.01, 0.3, 1.0, 2.5, 7.0)
_DELTAS = (1.0, 0.5, 0.1, 1e-3, 1e-6)
_FALSE_ALARMS = (0.0, 0.02, 0.25, 0.6, 1.0)
_ORDERS = (1.0, 1.5, 2.0, 8.0, math.inf)
_SEARCH = 45  # steps of a ternary search, each of which leaves two thirds
_SHARP = 1e-6  # how close it comes, far within what a wrong formula would miss


def profile_falls(pair: Pair) -> None:
    for small, large in pairwise(_EPSILONS):
        low, high = pair.delta_bracket(large), pair.delta_bracket(small)
        require(low.lower <= high.upper, FALLS, pair, f"δ({large}) = {low} > δ({small}) = {high}")


def profile_is_convex(pair: Pair) -> None:
    for low, middle, high in zip(_EPSILONS, _EPSILONS[1:], _EPSILONS[2:], strict=False):
        start, inside, end = (ball(e).exp() for e in (low, middle, high))
        weight = (end - inside) / (end - start)
        chord = weight * ball(pair.delta(low)) + (1 - weight) * ball(pair.delta(high))
        above = bool(ball(pair.delta_bracket(middle).lower) > chord)
        require(not above, CONVEX, pair, f"δ({middle}) lies above the chord")


def inverse_inverts(pair: Pair) -> None:
    for delta in _DELTAS:
        epsilon = pair.epsilon_bracket(delta).upper
        if epsilon < math.inf:
            found = pair.delta_bracket(epsilon)
            require(found.lower <= delta, INVERSE, pair, f"δ({epsilon}) = {found} > {delta}")
        else:
            finite = delta > pair.singular_mass and pair.max_loss < math.inf
            require(not finite, INVERSE, pair, f"ε({delta}) = ∞ though all losses are finite")


def trade_off_is_a_curve(pair: Pair) -> None:
    curve = [pair.trade_off(a) for a in _FALSE_ALARMS]
    for a, miss in zip(_FALSE_ALARMS, curve, strict=True):
        require(miss <= 1.0 - a, CURVE, pair, f"at {a} a test misses {miss}, worse than a coin")
    for (a, first), (b, second) in pairwise(zip(_FALSE_ALARMS, curve, strict=True)):
        require(second <= first, CURVE, pair, f"it rises from {first} at {a} to {second} at {b}")


def trade_off_meets_the_profile(pair: Pair) -> None:
    """δ(ε) is the largest 1 − f(α) − e^ε·α over α, and is attained."""
    for epsilon in _EPSILONS[1:4:2]:
        delta = pair.delta_bracket(epsilon)
        found = max(_highest(pair, epsilon), 0.0)
        require(found <= delta.upper + _SHARP, AGREE, pair, f"{found} > δ({epsilon}) = {delta}")
        require(found >= delta.lower - _SHARP, AGREE, pair, f"{found} < δ({epsilon}) = {delta}")


def _highest(pair: Pair, epsilon: float) -> float:
    """The maximum of α ↦ 1 − f(α) − e^ε·α, which is concave, by ternary search."""

    def gain(alpha: float) -> float:
        return 1.0 - pair.trade_off(alpha) - math.exp(epsilon) * alpha

    low, high = 0.0, 1.0
    best = max(gain(low), gain(high))
    for _ in range(_SEARCH):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        at_left, at_right = gain(left), gain(right)
        best = max(best, at_left, at_right)
        low, high = (left, high) if at_left < at_right else (low, right)
    return best


def renyi_grows(pair: Pair) -> None:
    values = [pair.renyi(order) for order in _ORDERS]
    for (a, first), (b, second) in pairwise(zip(_ORDERS, values, strict=True)):
        below = math.nextafter(first, 0.0) <= second
        require(below, RENYI, pair, f"{first} at order {a}, {second} at order {b}")


def reversal_mirrors(pair: Pair) -> None:
    """Σ(q − t·p)₊ = 1 − t + t·Σ(p − q/t)₊."""
    for epsilon in _EPSILONS[1:5]:
        mirrored = pair.reversed.profile_ball(ball(epsilon))
        growth: arb = ball(epsilon).exp()
        expected = 1 - growth + growth * pair.profile_ball(-ball(epsilon))
        require(mirrored.overlaps(expected), REVERSED, pair, f"at ε = {epsilon}")


def tests_post_process(pair: Pair) -> None:
    """A test's outcome is post-processing, so it is no easier to distinguish than the pair."""
    for alpha in _FALSE_ALARMS[1:4]:
        miss = min(math.nextafter(pair.trade_off(alpha), 2.0), 1.0)
        outcome = FinitePair(left=[1.0 - miss, miss], right=[alpha, 1.0 - alpha])
        for epsilon in _EPSILONS:
            seen = outcome.delta_bracket(epsilon).lower
            # 1 − miss is rounded too, by one unit in the last place at most.
            limit = pair.delta(epsilon) + 2.0**-52
            require(seen <= limit, POST, pair, f"a test at {alpha} shows δ({epsilon}) ≥ {seen}")


FALLS = "the profile falls in ε"
CONVEX = "the profile is convex in e^ε"
INVERSE = "ε(δ) inverts δ(ε)"
CURVE = "the trade-off curve falls and lies below that of a coin"
AGREE = "profile and trade-off curve are dual"
RENYI = "Rényi divergence grows with its order"
REVERSED = "the reversed pair has the mirrored profile"
POST = "post-processing never helps"

PAIR_LAWS = (
    Law(FALLS, profile_falls),
    Law(CONVEX, profile_is_convex),
    Law(INVERSE, inverse_inverts),
    Law(CURVE, trade_off_is_a_curve),
    Law(AGREE, trade_off_meets_the_profile),
    Law(RENYI, renyi_grows),
    Law(REVERSED, reversal_mirrors),
    Law(POST, tests_post_process),
)
