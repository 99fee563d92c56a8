r"""Guess canaries one after another, each guess chosen (or withheld) by what earlier ones showed.

After each guess its coin is shown. The next canary to guess, and how much to stake on it, may
depend on the release and on all coins shown so far: whoever sees guesses go wrong can abstain.

**Theorem.** Let training be (ε, δ)-DP for adding or removing one of m canaries, E = e^ε and
q = E/(1+E). A capital starts at 1; a stake u ≥ 0 raises it by u if the guess is right and lowers it
by E·u if not. If it stays in [0, x], P(it reaches x) ≤ 1/x + mδ/(1+E). [proofs/one_run_tiers.py]

*Proof.* As the capital K allows it, u ≤ min(K/E, x − K) ≤ x/(1+E). What is staked on canary i, if
anything, is a function of the release and of coins other than i, so (ε, δ)-DP gives
E[u_i; right] ≤ E·E[u_i; wrong] + δ·x/(1+E). Summed over canaries, the last capital has mean at
most 1 + mδ·x/(1+E), and Markov's inequality divides it by x. ∎

The same for the largest capital M on the way: P(M ≥ y) ≤ (1 + mδ·x/(1+E))/y.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Mask
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import AuditClaim
from dpverify.errors import InvalidParameter, check_count
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP

Choice: TypeAlias = tuple[int, bool]  # which canary, and whether it is guessed to be in
Choose: TypeAlias = Callable[[Floats, Mapping[int, bool]], Choice | None]
_RECENT = 50  # guesses, by which the next one is expected to go
_PRIOR = (4.0, 0.1)  # right and wrong guesses as if seen before
_STEPS = 400  # of the grid on which bounds are sought
_MARGIN = 1e-9  # for round-off of a capital over all guesses


@dataclass(frozen=True, slots=True)
class AsItGoes:
    """Guess one canary after another; `choose(scores, shown)` says which, and in or out.

    `shown` has the coins of the canaries guessed so far. None ends it. By default the highest and
    the lowest scores in turn, up to `most` of them. Stakes follow the share of recent guesses that
    were right, and none is made where that is below what the claim allows.

    >>> AsItGoes(most=100)
    AsItGoes(most=100, choose=None)
    """

    most: int
    choose: Choose | None = None

    def __post_init__(self) -> None:
        check_count("most", self.most)
        if self.choose is not None and not callable(self.choose):
            raise InvalidParameter(f"choose={self.choose!r} must be a callable, or None")

    @property
    def guesses(self) -> int:
        return self.most

    def play(self, scores: Floats, order: NDArray[np.int64], included: Mask) -> tuple[bool, ...]:
        """Make the guesses; return which were right, in the order in which they were made."""
        shown: dict[int, bool] = {}
        right: list[bool] = []
        for number in range(self.most):
            if self.choose is None:
                end = number // 2
                canary = int(order[-1 - end] if number % 2 == 0 else order[end])
                chosen: Choice | None = (canary, number % 2 == 0)
            else:
                chosen = self.choose(scores.copy(), dict(shown))
            if chosen is None:
                break
            canary, inside = _checked(chosen, shown, len(included))
            shown[canary] = bool(included[canary])
            right.append(shown[canary] == inside)
        return tuple(right)


def _checked(chosen: Choice, shown: Mapping[int, bool], canaries: int) -> Choice:
    try:
        canary, inside = int(chosen[0]), bool(chosen[1])
    except (TypeError, ValueError, IndexError):
        canary, inside = -1, False
    if not 0 <= canary < canaries or canary in shown:
        raise InvalidParameter(
            f"choose returned {chosen!r}, which must be a canary from 0 to {canaries - 1} that was "
            "not guessed before, and whether it is in; or None"
        )
    return canary, inside


@dataclass(frozen=True, slots=True)
class Played:
    """The guesses in their order, each right or wrong, and the number of canaries."""

    right: tuple[bool, ...]
    canaries: int

    @property
    def correct(self) -> int:
        return sum(self.right)

    @property
    def guesses(self) -> int:
        return len(self.right)

    def p_value(self, claim: AuditClaim, level: float) -> float:
        """The p-value (1 + mδ·x/(1+E))/M, at an ε and for an x that the claim and the level fix."""
        epsilon, delta = self._point(claim, level)
        price = self.canaries * delta / (1.0 + math.exp(epsilon)) * (1.0 + _MARGIN)
        if price >= level / 2.0:
            return 1.0
        goal = (1.0 + 4.0 * _MARGIN) / (level - price)  # reached, it refutes with all margins
        largest = self._largest_capital(math.exp(epsilon), goal)
        return min(1.0, (1.0 + price * goal) / largest * (1.0 + _MARGIN))

    def _point(self, claim: AuditClaim, level: float) -> tuple[float, float]:
        """The ε and δ at which the claim is tested; fixed before any guess."""
        match claim:
            case PureDP(epsilon=epsilon):
                return epsilon, 0.0
            case ApproxDP(epsilon=epsilon, delta=delta):
                return epsilon, delta
            case _:
                low, high = 0.0, 12.0
                for _ in range(7):
                    middle = (low + high) / 2.0
                    price = self.canaries * claimed_delta(claim, middle) / (1.0 + math.exp(middle))
                    low, high = (low, middle) if price <= level / 4.0 else (middle, high)
                return high, claimed_delta(claim, high)

    def _largest_capital(self, odds: float, goal: float) -> float:
        """The largest capital reached, with Kelly stakes on the share of recent right guesses."""
        capital = largest = 1.0
        allowed = odds / (1.0 + odds)
        for number, right in enumerate(self.right):
            recent = self.right[max(0, number - _RECENT) : number]
            expected = (_PRIOR[0] + sum(recent)) / (sum(_PRIOR) + len(recent))
            share = max(expected - allowed, 0.0) / odds * (1.0 + odds)
            stake = min(capital * share, capital / odds * (1 - _MARGIN), goal - capital)
            capital += stake if right else -odds * stake
            largest = max(largest, capital)
        return largest

    def epsilon(self, delta: float, level: float) -> float:
        """The largest ε on a grid such that it and all smaller ones are refuted at `delta`."""
        return self._first_that_stands(
            lambda at: ApproxDP(epsilon=at, delta=delta), level, 8.0 / _STEPS
        )

    def mu(self, level: float) -> float:
        return self._first_that_stands(lambda at: GaussianDP(mu=at), level, 16.0 / _STEPS)

    def _first_that_stands(
        self, claim: Callable[[float], AuditClaim], level: float, step: float
    ) -> float:
        for number in range(1, _STEPS):
            if self.p_value(claim(number * step), level) > level:
                return (number - 1) * step
        return (_STEPS - 1) * step
