"""Events: sets of outputs that print in words, save as JSON, and can be tested on fresh outputs.

An event is a statement about features of an output (see `outputs`). It never depends on the
sample that it is judged on.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dpverify.arrays import Floats, Mask
from dpverify.auditing.sampling.features import added
from dpverify.auditing.sampling.outputs import MISSING, Outputs
from dpverify.auditing.sampling.spelling import FAILED
from dpverify.plain import fields_of, tagged, untagged

_AT_ONCE = 256  # numbers that are added
_SHOWN = 6  # values or features that are named in words before "… more"


class _Event(ABC):
    """What all events share: a failure that the caller does not count is in none of them."""

    __slots__ = ()
    kind: ClassVar[str]

    @abstractmethod
    def holds(self, outputs: Outputs) -> Mask:
        """Whether each output satisfies the statement."""

    def happens(self, outputs: Outputs) -> Mask:
        """Whether each output is in the event."""
        return self.holds(outputs) & ~outputs.set_aside

    def to_dict(self) -> dict[str, Any]:
        """The event as a dictionary for JSON."""
        return tagged(self, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Between(_Event):
    """low ≤ feature ≤ high; an end may be infinite. False where there is no such number.

    >>> print(Between(feature="output", high=0.37))
    output ≤ 0.37
    """

    kind: ClassVar[str] = "between"
    feature: str
    low: float = -math.inf
    high: float = math.inf

    def holds(self, outputs: Outputs) -> Mask:
        values = outputs.column(self.feature)
        if self.low == -math.inf:
            return values <= self.high
        if self.high == math.inf:
            return values >= self.low
        return (values >= self.low) & (values <= self.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.feature} = {self.low!r}"
        if self.low == -math.inf:
            return (
                f"{self.feature} ≤ {self.high!r}"
                if self.high < math.inf
                else f"{self.feature} is a number"
            )
        if self.high == math.inf:
            return f"{self.feature} ≥ {self.low!r}"
        return f"{self.low!r} ≤ {self.feature} ≤ {self.high!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(_Event):
    """The canonical text of the output, or of a part of it, is one of those listed.

    >>> print(OneOf(feature="output", texts=("3",)))
    output = 3
    """

    kind: ClassVar[str] = "one-of"
    feature: str
    texts: tuple[str, ...]

    def holds(self, outputs: Outputs) -> Mask:
        return outputs.is_one_of(self.feature, self.texts)

    def __str__(self) -> str:
        if len(self.texts) == 1:
            only = self.texts[0]
            if only == MISSING:
                return f"there is no {self.feature}"
            verb = " " if only.startswith(FAILED) else " = "
            return f"{self.feature}{verb}{only}"
        return f"{self.feature} in {{{_listed(self.texts)}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(_Event):
    """bound ≤ Σ weight·feature ≤ high; a feature that is missing counts as 0.

    With a modulus, what it leaves of the sum counts instead.
    """

    kind: ClassVar[str] = "linear"
    features: tuple[str, ...]
    weights: tuple[float, ...]
    bound: float
    high: float = math.inf
    modulus: float | None = None

    def score(self, outputs: Outputs) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            total = self._sum(outputs, lambda rows: rows)
            odd = np.flatnonzero(~np.isfinite(total))
            if odd.size:
                total[odd] = self._sum(outputs.pick(odd), _filled)
            return total if self.modulus is None else np.mod(total, self.modulus)

    def _sum(self, outputs: Outputs, filled: Callable[[Floats], Floats]) -> Floats:
        """Add one number after the other: in another order the sum would depend on the block."""
        total = np.zeros(outputs.size)
        for start in range(0, len(self.features), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            weights = np.array(self.weights[some])[:, None]
            total = added(total, weights * filled(outputs.rows(self.features[some])))
        return total

    def negated(self) -> "Linear":
        """The score with its sign changed; its bound must still be chosen."""
        return Linear(features=self.features, weights=tuple(-w for w in self.weights), bound=0.0)

    def holds(self, outputs: Outputs) -> Mask:
        score = self.score(outputs)
        return (score >= self.bound) & (score <= self.high)

    def __str__(self) -> str:
        terms = [f"{w:+.4g}·{name}" for w, name in zip(self.weights, self.features, strict=True)]
        rest = "" if self.modulus is None else f" mod {self.modulus:g}"
        told = f"{_listed(terms, ' ')}{rest}"
        if self.high == math.inf:
            return f"{told} ≥ {self.bound:.6g}"
        return f"{self.bound:.6g} ≤ {told} ≤ {self.high:.6g}"


@dataclass(frozen=True, slots=True)
class Tree:
    """A regression tree as parallel lists; node i is a leaf where left[i] = 0."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    missing_left: tuple[bool, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def score(self, rows: Floats) -> Floats:
        feature, threshold = np.array(self.feature), np.array(self.threshold)
        missing_left = np.array(self.missing_left)
        left, right = np.array(self.left), np.array(self.right)
        nodes = np.zeros(len(rows), np.int64)
        while True:
            inner = np.flatnonzero(left[nodes] > 0)
            if not inner.size:
                return np.array(self.value)[nodes]
            at = nodes[inner]
            values = rows[inner, feature[at]]
            go_left = np.where(np.isnan(values), missing_left[at], values <= threshold[at])
            nodes[inner] = np.where(go_left, left[at], right[at])


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees(_Event):
    """The sum of trees over features ≥ bound: what a boosted classifier learned."""

    kind: ClassVar[str] = "trees"
    features: tuple[str, ...]
    trees: tuple[Tree, ...]
    bound: float

    def score(self, outputs: Outputs) -> Floats:
        rows = np.column_stack([outputs.column(name) for name in self.features])
        total = np.zeros(outputs.size)
        for tree in self.trees:
            total += tree.score(rows)
        return total

    def negated(self) -> "Trees":
        """The score with its sign changed; its bound must still be chosen."""
        trees = tuple(replace(tree, value=tuple(-v for v in tree.value)) for tree in self.trees)
        return Trees(features=self.features, trees=trees, bound=0.0)

    def holds(self, outputs: Outputs) -> Mask:
        return self.score(outputs) >= self.bound

    def __str__(self) -> str:
        score = f"score of {len(self.trees)} boosted trees over {_listed(self.features)}"
        return f"{score} ≥ {self.bound:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """The event as a dictionary for JSON; trees are lists of lists."""
        told = [fields_of(tree) for tree in self.trees]
        for tree in told:
            tree["missing_left"] = [int(to_left) for to_left in tree["missing_left"]]
        trees = [list(tree.values()) for tree in told]
        return tagged(replace(self, trees=()), self.kind) | {"trees": trees}


Event: TypeAlias = Between | OneOf | Linear | Trees
_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in (Between, OneOf, Linear, Trees)}


def event_from_dict(told: dict[str, Any]) -> Event:
    """The event that was saved by `to_dict`."""
    return untagged(told, _KINDS)


def _filled(rows: Floats) -> Floats:
    filled: Floats = np.nan_to_num(rows, posinf=1e9, neginf=-1e9)
    return filled


def _listed(items: tuple[str, ...] | list[str], separator: str = ", ") -> str:
    shown = separator.join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown}{separator}… {len(items) - _SHOWN} more"
