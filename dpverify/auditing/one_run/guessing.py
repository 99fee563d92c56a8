r"""How many canaries can be guessed right after one run: the exact worst case.

**Setting.** Each of m canaries is put into the data, or left out, by its own fair coin. Training
runs once. From what it released, r canaries are guessed to be in or out; N guesses are right. Let
training be (ε, δ)-DP for adding or removing one canary, E = e^ε, q = E/(1 + E), W ~ Bin(r, q).

**Theorem.** For 1 ≤ v ≤ r, with β = P(W ≥ v),

.. math:: P(N ≥ v) ≤ β + mδ·\frac{β(1-β)}{v·P(W = v)},

and some (ε, δ)-DP mechanism attains it, if it is at most 1. [proofs/one_run.py]

*Proof.* Let U₀, …, U₍r₋₁₎ lie in [0, λ], and C be the number of right guesses other than the one of
canary i. As C does not depend on coin i, the event or test U_C/λ "and canary i is guessed rightly"
under one value of the coin is "… guessed wrongly" under the other; so (ε, δ)-DP gives
E[U_C; i right] ≤ E·E[U_C; i wrong] + λδ. Summed over i: E[N·U₍N₋₁₎ − E·(r−N)·U_N] ≤ λmδ. Now choose
U by k·U₍k₋₁₎ − E·(r−k)·U_k = 1[k ≥ v] − β, the Stein equation of W; its solution is
(k+1)·P(W=k+1)·U_k = β·P(W ≤ k) for k < v and (1−β)·P(W > k) beyond, largest at k = v−1. ∎

With δ = 0 this is the binomial bound of Steinke, Nasr and Jagielski (NeurIPS 2023, arXiv
2305.08846, Thm 5.2). With δ > 0 it sharpens theirs where that holds, which is where it is at most
1/2; for few right guesses theirs is below the truth. [proofs/published/one_run_p_value.py]
"""

from dataclasses import dataclass

import numpy as np
import scipy
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, check_between, check_count
from dpverify.guarantees import ApproxDP

_HOPELESS = 0.999  # a tail beyond which 1 is as good a bound, and faster


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessed:
    """The number of canaries, of guesses, and of right guesses."""

    guesses: int
    correct: int
    canaries: int

    def __post_init__(self) -> None:
        check_count("canaries", self.canaries)
        check_count("guesses", self.guesses)
        if self.guesses > self.canaries:
            raise InvalidParameter(
                f"guesses={self.guesses!r} must not exceed canaries={self.canaries!r}"
            )
        if isinstance(self.correct, bool) or int(self.correct) != self.correct:
            raise InvalidParameter(f"correct={self.correct!r} must be a whole number")
        check_between("correct", self.correct, 0, self.guesses)


def guess_tail(guessed: Guessed, *, epsilon: float, delta: float = 0.0) -> float:
    """The largest probability of so many right guesses under (ε, δ)-DP, rounded up.

    Three of three under odds 3 : 1, without a leak:

    >>> from math import log
    >>> round(guess_tail(Guessed(guesses=3, correct=3, canaries=3), epsilon=log(3)), 6)
    0.421875
    """
    claim = ApproxDP(epsilon=epsilon, delta=delta)
    if guessed.correct == 0 or claim.delta == 1 or float_tails(guessed, epsilon, 0.0) > _HOPELESS:
        return 1.0
    r, v = int(guessed.guesses), int(guessed.correct)

    def formula() -> arb:
        q = 1 / (1 + (-ball(epsilon)).exp())
        beta = q.beta_lower(v, r - v + 1, regularized=True)
        if delta == 0:
            return beta
        choose = arb(r + 1).lgamma() - arb(v + 1).lgamma() - arb(r - v + 1).lgamma()
        mass = (choose - v * (-ball(epsilon)).exp().log1p()).exp() * (1 - q) ** (r - v)
        return beta * (1 + guessed.canaries * ball(delta) * (1 - beta) / (v * mass))

    return min(enclose(formula, ulps=4)[1], 1.0)


def float_tails(guessed: Guessed, epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    """`guess_tail` in floats, for searching only."""
    epsilons = np.asarray(epsilon, dtype=np.float64)
    q = 1.0 / (1.0 + np.exp(-epsilons))
    beta = scipy.special.betainc(guessed.correct, guessed.guesses - guessed.correct + 1.0, q)
    deltas = np.asarray(delta, dtype=np.float64)
    extra = np.where(deltas > 0.0, deltas * float_slopes(guessed, epsilons), 0.0)
    result: Floats = np.where(beta > _HOPELESS, 1.0, np.minimum(beta + extra, 1.0))
    return result


def float_slopes(guessed: Guessed, epsilon: ArrayLike) -> Floats:
    """m·β(1−β)/(v·P(W = v)), how fast the tail grows with δ, in floats."""
    r, v = guessed.guesses, guessed.correct
    epsilons = np.minimum(np.asarray(epsilon, dtype=np.float64), 700.0)  # beyond, q is 1 in floats
    q = 1.0 / (1.0 + np.exp(-epsilons))
    beta = scipy.special.betainc(v, r - v + 1.0, q)
    log_mass = (
        scipy.special.gammaln(r + 1)
        - scipy.special.gammaln(v + 1)
        - scipy.special.gammaln(r - v + 1)
    )
    log_mass = log_mass - v * np.log1p(np.exp(-epsilons)) - (r - v) * np.logaddexp(0.0, epsilons)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = np.exp(np.log(beta) - log_mass)
        # Where the tail underflows, the geometric series that bounds it.
        series = (v + 1.0) / (v + 1.0 - (r - v) * np.exp(epsilons))
        result: Floats = guessed.canaries * np.where(beta > 1e-290, ratio, series) / v
    # Finite, so that no leak at all stays none.
    return np.where(beta > _HOPELESS, 1e300, result * (1.0 - np.minimum(beta, _HOPELESS)))
