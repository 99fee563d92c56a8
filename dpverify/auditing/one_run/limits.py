"""P-values and lower bounds on ε and μ from the number of right guesses after one run.

Bounds on the chance of so many right guesses are true one by one, so a claim that implies many
(ε, δ) is held to whichever of them bounds best, or to all together (`guess_mixture`), at no cost.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.auditing.one_run.guessing import Guessed, float_slopes, float_tails, guess_tail
from dpverify.auditing.one_run.mixture import MOST_GUESSES, best_mixture
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP

_GRID = 48  # values of ε at which a claim's profile is held against the guesses
_AROUND = np.linspace(-0.8, 0.9, 12)  # of the best of them, for all together
_DECIDED, _HOPELESS = 1e-6, 0.5  # p-values beyond which a sharper one decides nothing
_STEP_BACK = 1e-9  # by which floats may have missed the exact root, relatively


def one_run_epsilon(
    *, guesses: int, correct: int, canaries: int, delta: float = 0.0, level: float
) -> float:
    """L ≥ 0 with P(L > ε) ≤ level, if the training is (ε, δ)-DP and `guesses` was fixed before.

    The worst case grows with ε, so everything below L is rejected with it.

    >>> round(one_run_epsilon(guesses=100, correct=93, canaries=10_000, delta=1e-5, level=0.05), 3)
    1.918
    """
    guessed = Guessed(guesses=guesses, correct=correct, canaries=canaries)
    check_between("delta", delta, 0.0, 1.0)
    _check_level(level)
    low, high = 0.0, 1.0
    if correct == 0 or float_tails(guessed, low, delta) > level:
        return 0.0
    while float_tails(guessed, high, delta) <= level:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (
            (middle, high) if float_tails(guessed, middle, delta) <= level else (low, middle)
        )
    return _certified(low, lambda e: guess_tail(guessed, epsilon=e, delta=delta) <= level)


def one_run_mu(*, guesses: int, correct: int, canaries: int, level: float) -> float:
    """L ≥ 0 with P(L > μ) ≤ level, if the training is μ-GDP and `guesses` was fixed before.

    μ-GDP is rejected if one of the (ε, δ) that it implies is. The ε that serves best may be chosen
    by looking: at each, the largest δ that the guesses reject is that of a certain μ.

    >>> round(one_run_mu(guesses=100, correct=93, canaries=10_000, level=0.05), 3)
    0.571
    """
    guessed = Guessed(guesses=guesses, correct=correct, canaries=canaries)
    pure = one_run_epsilon(guesses=guesses, correct=correct, canaries=canaries, level=level)
    if pure == 0.0:
        return 0.0
    epsilons = np.linspace(0.0, pure, 4 * _GRID + 1)[:-1]
    tails, slopes = float_tails(guessed, epsilons, 0.0), float_slopes(guessed, epsilons)
    with np.errstate(divide="ignore"):
        deltas = np.clip((level - tails) / slopes, 0.0, 0.999)
    mus = _gaussian_mu(epsilons, deltas)
    best = int(np.argmax(mus))
    epsilon = float(epsilons[best])

    def rejected(mu: float) -> bool:
        delta = claimed_delta(GaussianDP(mu=mu), epsilon)
        return guess_tail(guessed, epsilon=epsilon, delta=delta) <= level

    single = _certified(float(mus[best]), rejected)
    return max(single, _mixed_mu(guessed, epsilon, single, level))


def _mixed_mu(guessed: Guessed, epsilon: float, mu: float, level: float) -> float:
    """The same by all points around ε together: the weights that are best for `mu` reject more."""
    if mu == 0.0 or guessed.guesses > MOST_GUESSES:
        return 0.0
    epsilons = np.unique(np.maximum(epsilon + _AROUND, 0.0))

    def profile(at: float) -> Floats:
        return _gaussian_profile(np.full_like(epsilons, at), epsilons)

    mixture = best_mixture(guessed, epsilons, profile(1.02 * mu))
    if mixture is None:
        return 0.0
    room = level - mixture.base(guessed)
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2.0
        affordable = mixture.price(guessed, profile(middle)) <= room
        low, high = (middle, high) if affordable else (low, middle)

    def rejected(at: float) -> bool:
        exact = [claimed_delta(GaussianDP(mu=at), e) for e in epsilons.tolist()]
        return mixture.price(guessed, np.array(exact)) <= room

    return _certified(low, rejected)


def one_run_p_value(guessed: Guessed, claim: AuditClaim) -> float:
    """A bound on the chance of so many right guesses under the claim, as small as we can prove.

    >>> found = Guessed(guesses=200, correct=187, canaries=10_000)
    >>> one_run_p_value(found, GaussianDP(mu=0.67)) < 0.05
    True
    """
    if guessed.correct == 0:
        return 1.0
    match claim:
        case PureDP(epsilon=epsilon):
            return guess_tail(guessed, epsilon=epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return guess_tail(guessed, epsilon=epsilon, delta=delta)
        case ProfileClaim(points=points):
            epsilons = np.array([e for e, _ in points if math.isfinite(e)])
            if not epsilons.size:
                return 1.0
            rough = np.array([d for e, d in points if math.isfinite(e)])
        case _:
            # Beyond the odds that were seen no point helps: there the binomial part alone is large.
            seen = math.log((guessed.correct + 1.0) / (guessed.guesses - guessed.correct + 1.0))
            epsilons = np.linspace(0.0, max(seen, 0.1) + 1.0, _GRID)
            rough = _rough_profile(claim, epsilons)
    best = float(epsilons[int(np.argmin(float_tails(guessed, epsilons, rough)))])
    single = guess_tail(guessed, epsilon=best, delta=claimed_delta(claim, best))
    if not _DECIDED < single < _HOPELESS or guessed.guesses > MOST_GUESSES:
        return single
    around = np.unique(np.maximum(best + _AROUND, 0.0))
    deltas = _upper_profile(claim, around)
    mixture = best_mixture(guessed, around, deltas)
    return single if mixture is None else min(single, mixture.bound(guessed, deltas))


def _upper_profile(claim: AuditClaim, epsilon: Floats) -> Floats:
    """Upper bounds of a claim's profile: exact, or for Rényi bounds the quick ones of CKS20."""
    match claim:
        case ZeroConcentratedDP() | RenyiDP():
            return np.minimum(_rough_profile(claim, epsilon) * (1.0 + 1e-9) + 1e-300, 1.0)
        case _:
            return np.array([claimed_delta(claim, e) for e in epsilon.tolist()])


def _rough_profile(claim: GaussianDP | ZeroConcentratedDP | RenyiDP, epsilon: Floats) -> Floats:
    """A claim's profile in floats, for choosing where to ask for the exact one.

    For Rényi bounds γ of order α, e^((α−1)(γ−ε))·(1 − 1/α)^α/(α − 1). [CKS20 v4 Prop. 12]
    """
    match claim:
        case GaussianDP(mu=mu):
            return _gaussian_profile(np.full_like(epsilon, min(max(mu, 1e-9), 1e3)), epsilon)
        case ZeroConcentratedDP(rho=rho):
            orders = 1.0 + np.geomspace(1e-3, 1e4, 200)[:, None]
            divergences = orders * min(rho, 1e9)
        case RenyiDP(order=order, epsilon=divergence):
            orders = np.array([[min(order, 1e9)]])
            divergences = np.full_like(orders, min(divergence, 1e9))
    logs = (orders - 1) * (divergences - epsilon) + orders * np.log1p(-1 / orders)
    rough: Floats = np.exp(np.minimum((logs - np.log(orders - 1)).min(axis=0), 0.0))
    return rough


def _gaussian_profile(mu: Floats, epsilon: Floats) -> Floats:
    tail = np.exp(epsilon + scipy.special.log_ndtr(-mu / 2 - epsilon / mu))
    profile: Floats = scipy.special.ndtr(mu / 2 - epsilon / mu) - tail
    return np.maximum(profile, 0.0)


def _gaussian_mu(epsilon: Floats, delta: Floats) -> Floats:
    """The μ whose profile has this δ at ε, in floats, by bisection."""
    low, high = np.zeros_like(delta), np.full_like(delta, 64.0)
    for _ in range(60):
        mu = (low + high) / 2.0
        below = _gaussian_profile(mu, epsilon) <= delta
        low, high = np.where(below, mu, low), np.where(below, high, mu)
    return low


def _certified(value: float, rejected: Callable[[float], bool]) -> float:
    """`value`, lowered until exact arithmetic confirms that it is rejected."""
    step = _STEP_BACK
    while value > 0.0 and not rejected(value):
        value = max(value * (1.0 - step) - 1e-12, 0.0)
        step *= 4.0
    return value


def _check_level(level: object) -> None:
    check_between("level", level, 0.0, 1.0)
    if level in {0, 1}:
        raise InvalidParameter(f"level={level!r} must lie strictly between 0 and 1")
