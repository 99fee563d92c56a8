"""A leak through the bits of floats, looked for apart from outputs as real numbers."""

from dataclasses import dataclass

import numpy as np

from dpverify.auditing.attacks.merit import Bound
from dpverify.auditing.attacks.proposals import Confirm, Draws, Explore, Families, propose
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.binomial import critical, rejects
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Witness, counts_of
from dpverify.claims import AuditClaim

FEWEST_FOR_BITS = 128  # draws a side


@dataclass(frozen=True, slots=True, kw_only=True)
class BitSearch:
    """What is to be refuted through bits, and the probability of erring."""

    point: Point
    claim: AuditClaim
    level: float

    def leak(self, explore: Explore, confirm: Confirm, sampler: Sampler) -> Witness | None:
        """A witness about bits that refutes the claim, or None.

        Whole numbers have no bits to leak, so outputs must have fractions.
        """
        size = min(explore.left.size, confirm.left.size)
        if size < FEWEST_FOR_BITS or not has_fractions(explore):
            return None
        point = self.point
        goal = Bound(delta=point.delta, z=critical(self.level), planned=confirm.left.size)
        found = propose(explore, goal, Families(only_bits=True)).values()
        best = max(found, key=lambda proposal: proposal.merit, default=None)
        if best is None:
            return None
        counts = counts_of(best.event, best.favors, confirm)
        if not rejects(counts, epsilon=point.epsilon, delta=point.delta, level=self.level):
            return None
        return Witness(
            claim=self.claim,
            left=sampler.left,
            right=sampler.right,
            event=best.event,
            favors=best.favors,
            counts=counts,
            delta=point.delta,
            level=self.level,
            seed=sampler.seed,
        )


def has_fractions(draws: Draws) -> bool:
    """Whether outputs hold numbers that are not whole."""
    names = [name for name in draws.left.columns if name.startswith(WHOLE)]
    return any(_fractional(draws.left.column(name)) for name in names)


def _fractional(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    finite = column[np.isfinite(column)]
    return bool(finite.size) and bool((finite != np.floor(finite)).any())
