"""A claim: what an author says of a mechanism, and on what grounds. And what a mechanism is."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpverify.guarantees import Guarantee
from dpverify.neighbors import Relation
from dpverify.theorems import Theorem


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee, the relation it holds under, the theorem it follows from, what it assumes.

    `relation` is None where the mechanism takes a declared sensitivity: the claim then holds for
    whichever relation the sensitivity was computed under.
    """

    guarantee: Guarantee
    relation: Relation | None
    theorem: Theorem
    assumes: tuple[str, ...] = ()


@runtime_checkable
class Mechanism(Protocol):
    """Samples outputs and states a claim.

    `data` is whatever the mechanism takes. For additive noise it is the query's exact answer.
    """

    @property
    def claim(self) -> Claim: ...

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any: ...  # noqa: ANN401
