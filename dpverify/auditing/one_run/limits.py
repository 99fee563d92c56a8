"""P-values and lower bounds on ε and μ from the number of right guesses after one run.

Bounds on the chance of so many right guesses are true one by one, so a claim that implies many
(ε, δ) is held to whichever of them bounds best, or to all together (`tiers`), at no cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.auditing.one_run.guessing import Guessed, float_slopes, float_tails, guess_tail
from dpverify.auditing.one_run.tiers import TierBound, Tiers, best_tier_bound
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP

_GRID = 48  # values of ε at which a claim's profile is held against the guesses
_AROUND = np.linspace(-0.8, 0.9, 12)  # of the best of them, for all together
_POINTS = 10  # of a profile, around the odds that tiers of guesses show
_MOST_WRONG = 1_500  # as a penalty: beyond, the program takes longer than it is worth
_ROUNDS = 3  # of the program: the best proof for one μ is nearly that for the next
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
    return _epsilon(guessed, delta, level)


def _epsilon(guessed: Guessed, delta: float, level: float) -> float:
    low, high = 0.0, 1.0
    if guessed.correct == 0 or float_tails(guessed, low, delta) > level:
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
    epsilon, single = _single_mu(guessed, level)
    return max(single, _mixed_mu(guessed, epsilon, single, level))


def _single_mu(guessed: Guessed, level: float) -> tuple[float, float]:
    """The ε at which the guesses reject the largest μ, and that μ."""
    pure = _epsilon(guessed, 0.0, level)
    if pure == 0.0:
        return 0.0, 0.0
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

    return epsilon, _certified(float(mus[best]), rejected)


def _mixed_mu(guessed: Guessed, epsilon: float, mu: float, level: float) -> float:
    """The largest μ rejected by combining several ε around the best one."""
    tiers, wrong = Tiers((guessed.guesses,), (1,)), guessed.guesses - guessed.correct
    if mu == 0.0 or wrong > _MOST_WRONG:
        return 0.0
    epsilons = np.unique(np.maximum(epsilon + _AROUND, 0.0))
    deltas = _gaussian_profile(np.full_like(epsilons, 1.02 * mu), epsilons)
    canaries = guessed.canaries
    proof = best_tier_bound(tiers, wrong, epsilons=epsilons, deltas=deltas, canaries=canaries)
    return 0.0 if proof is None else _proved_mu(proof, canaries, level)


def _proved_mu(proof: TierBound, canaries: int, level: float) -> float:
    """The largest μ that one proof rejects."""
    room, epsilons = level - proof.base(), proof.epsilons

    def affordable(deltas: Floats) -> bool:
        return proof.price(canaries, deltas) <= room

    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2.0
        fits = affordable(_gaussian_profile(np.full_like(epsilons, middle), epsilons))
        low, high = (middle, high) if fits else (low, middle)

    def rejected(mu: float) -> bool:
        exact = [claimed_delta(GaussianDP(mu=mu), e) for e in epsilons.tolist()]
        return affordable(np.array(exact))

    return _certified(low, rejected)


@dataclass(frozen=True, slots=True)
class Tiered:
    """Guesses in tiers: how many of each were wrong, and the number of canaries."""

    tiers: Tiers
    wrong: tuple[int, ...]
    canaries: int

    @property
    def guesses(self) -> int:
        return self.tiers.guesses

    @property
    def correct(self) -> int:
        return self.guessed.correct

    @property
    def guessed(self) -> Guessed:
        """All tiers taken together as one."""
        guesses = self.tiers.guesses
        right = guesses - sum(self.wrong)
        return Guessed(guesses=guesses, correct=right, canaries=self.canaries)

    def proof(self, epsilons: Floats, deltas: Floats) -> TierBound | None:
        penalty = self.tiers.penalty(self.wrong)
        if penalty > _MOST_WRONG or not self.guessed.correct:
            return None
        return best_tier_bound(
            self.tiers, penalty, epsilons=epsilons, deltas=deltas, canaries=self.canaries
        )

    def points(self) -> Floats:
        """Values of ε, around what the penalty suggests, at which to evaluate a profile."""
        worst = self.tiers.penalty(self.tiers.sizes)
        penalty = self.tiers.penalty(self.wrong)
        odds = math.log((worst - penalty + 1.0) / (penalty + 1.0))
        return np.linspace(max(0.4 * odds, 0.0), max(odds + 1.0, 0.5), _POINTS)

    def p_value(self, claim: AuditClaim) -> float:
        """A bound on the chance of so small a penalty under the claim."""
        match claim:
            case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
                epsilons = np.array([epsilon])
                deltas = np.array([0.0 if isinstance(claim, PureDP) else claim.delta])
            case ProfileClaim(points=points):
                finite = [(e, d) for e, d in points if math.isfinite(e)]
                if not finite:
                    return 1.0
                epsilons, deltas = np.array(finite[:: max(1, len(finite) // _POINTS)]).T
            case _:
                epsilons = self.points()
                deltas = _upper_profile(claim, epsilons)
        proof = self.proof(epsilons, deltas)
        return 1.0 if proof is None else proof.bound(self.canaries, deltas)

    def epsilon(self, delta: float, level: float) -> float:
        """L ≥ 0 with P(L > ε) ≤ level, if the training is (ε, δ)-DP and the tiers were fixed."""
        low, high = 0.0, float(self.points()[-1]) + 1.0
        for _ in range(12):
            middle = (low + high) / 2.0
            proof = self.proof(np.array([middle]), np.array([delta]))
            fits = proof is not None and proof.bound(self.canaries, np.array([delta])) <= level
            low, high = (middle, high) if fits else (low, middle)
        return low

    def mu(self, level: float) -> float:
        """L ≥ 0 with P(L > μ) ≤ level, if the training is μ-GDP and the tiers were fixed before."""
        epsilons = self.points()
        best = 0.0
        mu = _single_mu(self.guessed, level)[1] or 0.1 * float(epsilons[-1])
        for _ in range(_ROUNDS):
            proof = self.proof(epsilons, _gaussian_profile(np.full_like(epsilons, mu), epsilons))
            found = 0.0 if proof is None else _proved_mu(proof, self.canaries, level)
            if found <= best + 1e-3:
                return max(found, best)
            best = mu = found
        return best


def one_run_p_value(guessed: Guessed, claim: AuditClaim) -> float:
    """An upper bound on the probability of so many right guesses under the claim.

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
    wrong = guessed.guesses - guessed.correct
    if not _DECIDED < single < _HOPELESS or wrong > _MOST_WRONG:
        return single
    around = np.unique(np.maximum(best + _AROUND, 0.0))
    deltas = _upper_profile(claim, around)
    proof = best_tier_bound(
        Tiers((guessed.guesses,), (1,)),
        wrong,
        epsilons=around,
        deltas=deltas,
        canaries=guessed.canaries,
    )
    return single if proof is None else min(single, proof.bound(guessed.canaries, deltas))


def _upper_profile(claim: AuditClaim, epsilon: Floats) -> Floats:
    """Upper bounds on a claim's profile: exact, or quick ones [CKS20] for Rényi claims."""
    match claim:
        case ZeroConcentratedDP() | RenyiDP():
            return np.minimum(_rough_profile(claim, epsilon) * (1.0 + 1e-9) + 1e-300, 1.0)
        case _:
            return np.array([claimed_delta(claim, e) for e in epsilon.tolist()])


def _rough_profile(claim: GaussianDP | ZeroConcentratedDP | RenyiDP, epsilon: Floats) -> Floats:
    """A claim's profile in floats, to choose where the exact one is computed.

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
    """`value`, lowered until exact arithmetic confirms its rejection."""
    step = _STEP_BACK
    while value > 0.0 and not rejected(value):
        value = max(value * (1.0 - step) - 1e-12, 0.0)
        step *= 4.0
    return value


def _check_level(level: object) -> None:
    check_between("level", level, 0.0, 1.0)
    if level in {0, 1}:
        raise InvalidParameter(f"level={level!r} must lie strictly between 0 and 1")
