"""Advanced composition: the privacy loss concentrates around its mean.

The proof runs over k leaky randomized responses (`pairs.loss.leaky_loss` is their loss variable).
Two bad events: some response leaks, with probability 1 − Π(1−δᵢ); or none leaks and the loss, a sum
of independent terms ±εᵢ with means εᵢ·tanh(εᵢ/2), exceeds its mean by √(2·ln(1/δ′)·Σεᵢ²), with
probability at most δ′ by Hoeffding's inequality.
"""

import math
from dataclasses import dataclass

from flint import arb

from dpverify.accounting.parts import Parts, leak, spare
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.accounting.rules.stating import bounded, splits
from dpverify.balls import at_most, ball, enclose
from dpverify.errors import as_between, check_nonempty
from dpverify.guarantees import ApproxDP
from dpverify.theorems import ADVANCED_COMPOSITION


@dataclass(frozen=True, slots=True)
class AdvancedComposition:
    """The rule for parts (εᵢ, δᵢ) run kᵢ times, unequal and adaptive. [KOV15 Thm 3.5]

    >>> AdvancedComposition(((ApproxDP(epsilon=0.1), 100),)).epsilon(1e-6)
    5.7561055193357324
    """

    parts: tuple[tuple[ApproxDP, int], ...]

    def __post_init__(self) -> None:
        check_nonempty("parts", self.parts)

    def epsilon(self, delta: float) -> float:
        """ε for a total δ, with the largest δ′ that it leaves: 1 − (1−δ)/Π(1−δᵢ); rounded up."""
        delta = as_between("delta", delta, 0.0, 1.0)
        slack = -math.inf if self._hopeless else spare(delta, self.parts)
        if not slack > 0.0:
            return self._without_slack(delta)
        return enclose(lambda: self._mean() + (-2 * ball(slack).log()).sqrt() * self._root())[1]

    def delta(self, epsilon: float) -> float:
        """δ for a total ε: 1 − (1−δ′)·Π(1−δᵢ) with δ′ = exp(−(ε−mean)²/(2Σεᵢ²)); rounded up."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        if self._hopeless:
            return 1.0
        if epsilon == math.inf:
            return min(enclose(lambda: leak(self.parts))[1], 1.0)

        def formula() -> arb:
            tail = self._tail(epsilon)
            return tail + (1 - tail) * leak(self.parts)

        return min(enclose(formula)[1], 1.0)

    @property
    def _hopeless(self) -> bool:
        return any(math.isinf(part.epsilon) or part.delta == 1 for part, _ in self.parts)

    def _without_slack(self, delta: float) -> float:
        # With δ′ = 0 the root is infinite, except where it is multiplied by Σεᵢ² = 0.
        harmless = all(part.epsilon == 0 for part, _ in self.parts) and not self._hopeless
        enough = at_most(lambda: leak(self.parts), delta)
        return 0.0 if (harmless and enough) or delta == 1 else math.inf

    def _mean(self) -> arb:
        return sum(
            (k * ball(p.epsilon) * (ball(p.epsilon) / 2).tanh() for p, k in self.parts), arb(0)
        )

    def _root(self) -> arb:
        return sum((k * ball(p.epsilon) ** 2 for p, k in self.parts), arb(0)).sqrt()

    def _tail(self, epsilon: float) -> arb:
        excess = (ball(epsilon) - self._mean()).max(arb(0))
        if excess == 0:
            return arb(1)
        return (-((excess / self._root()) ** 2) / 2).exp()


class Advanced(Rule):
    """Concentration of the loss, for each way of stating the parts as (ε, δ) guarantees."""

    name = "advanced"
    theorem = ADVANCED_COMPOSITION

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002  # any part has some (ε, δ)
        return True

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:  # noqa: ARG002
        found = (AdvancedComposition(split).epsilon(delta) for split in splits(parts, delta))
        return min(found, default=None)

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:  # noqa: ARG002
        stated = bounded(parts)
        return None if stated is None else AdvancedComposition(stated).delta(epsilon)
