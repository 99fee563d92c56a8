"""A pair of neighboring datasets to try, and what every schema can do."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Two neighboring datasets as the mechanism takes them, and why they are worth trying.

    `form` is how the schema keeps the pair: equal for equal pairs, and what it changes.
    """

    left: Any = field(compare=False)
    right: Any = field(compare=False)
    pattern: str = field(compare=False)
    form: Hashable

    @property
    def changed_pattern(self) -> str:
        """The name of a pattern that this pair, with changes, came from."""
        return self.pattern.removesuffix(", changed") + ", changed"


class Schema(Protocol):
    """What data a mechanism takes, when two datasets are neighbors, and which to try first.

    All that is made here is neighboring by construction and different. The order of a pair does
    not matter: audits look both ways.
    """

    @property
    def relation(self) -> Relation | None: ...

    def check(self, data: object, name: str = "data") -> None:
        """Raise unless `data` is a dataset of this schema."""

    def check_neighbors(self, left: object, right: object) -> None:
        """Raise unless the two are datasets of this schema, different and neighboring."""

    def draw(self, rng: np.random.Generator) -> Any:  # noqa: ANN401
        """A dataset at random."""

    def draw_pair(self, rng: np.random.Generator) -> Candidate: ...

    def patterns(self) -> Iterator[Candidate]:
        """Pairs on which mechanisms are known to fail, the most telling first."""

    def mutate(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """A pair that differs a little from this one."""

    def paired(self, left: object, right: object) -> Candidate:
        """Two given neighbors as a pair; raise unless they are such."""

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        """Pairs with fewer records or simpler values, the boldest first."""


def check_schema(schema: object) -> None:
    """Raise unless it says what data look like."""
    if not hasattr(schema, "patterns"):
        raise InvalidParameter(
            f"schema={schema!r} must say what data look like: Records or Answers of dpverify.schema"
        )
