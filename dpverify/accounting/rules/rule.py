"""The interface of composition rules: bounds on ε at δ and on δ at ε, by a theorem."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from dpverify.accounting.parts import Parts
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import Bracket
from dpverify.pairs.base import Pair
from dpverify.theorems import Theorem

Answer: TypeAlias = float | Bracket | None
"""An upper bound; or both ends, where the rule is exact for these parts; or: nothing to say."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: ε at this δ, or δ at this ε; `tolerance` is the width asked for."""

    unknown: Literal["epsilon", "delta"]
    at: float
    tolerance: float = 1e-3

    def of(self, pair: Pair) -> Bracket:
        """The answer for one run of a pair, in the worse of its two directions."""
        sides = (pair,) if pair.reversed == pair else (pair, pair.reversed)
        if self.unknown == "epsilon":
            return worse(side.epsilon_bracket(self.at) for side in sides)
        return worse(side.delta_bracket(self.at) for side in sides)

    def is_met(self, found: Bracket) -> bool:
        """Whether a bracket is as narrow as asked for; relative if it is for δ."""
        share = 1.0 if self.unknown == "epsilon" else found.upper
        return found.width <= self.tolerance * share


class Rule(ABC):
    """A composition rule. To add one, write a subclass and hand an instance to `dpv.register`."""

    name: str
    theorem: Theorem

    def __new__(cls, *_: object, **__: object) -> Self:
        """Raise if a subclass does not define everything that a rule must have."""
        if missing := sorted(cls.__abstractmethods__):
            raise InvalidParameter(f"rule={cls.__name__} must define {', '.join(missing)}")
        return super().__new__(cls)

    @abstractmethod
    def supports(self, parts: Parts) -> bool:
        """Whether the theorem applies to these parts."""

    @abstractmethod
    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:
        """The smallest ε at δ that the theorem gives; None if it gives none at this δ."""

    @abstractmethod
    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:
        """The smallest δ at ε that the theorem gives; None if it gives none at this ε."""

    def answer(self, parts: Parts, question: Question) -> Answer:
        """The rule's answer to a question; None if it has none."""
        return answer_of(self, parts, question)


def check_rule(rule: Rule) -> None:
    """Raise if a rule's name is empty or its theorem is not a `Theorem`."""
    kind, name, theorem = type(rule).__name__, rule.name, rule.theorem
    if not isinstance(name, str) or not name:
        raise InvalidParameter(f"{kind}.name={name!r} must be a text that is not empty")
    if not isinstance(theorem, Theorem):
        raise InvalidParameter(f"{kind}.theorem={theorem!r} must be a Theorem of dpverify.theorems")


def answer_of(rule: Rule, parts: Parts, question: Question) -> Answer:
    """The rule's answer, or None; raise for anything but a number or Bracket."""
    if not rule.supports(parts):
        return None
    ask = rule.epsilon if question.unknown == "epsilon" else rule.delta
    try:
        found = ask(parts, question.at, question.tolerance)
    except NotSupported:
        return None
    if found is None or isinstance(found, Bracket):
        return found
    try:
        upper = float(found)
    except (TypeError, ValueError):
        upper = -1.0
    if not upper >= 0.0:
        raise InvalidParameter(
            f"rule={rule.name!r} answered {found!r}: it must be a number of at least 0, a Bracket "
            "or None"
        )
    return upper


def worse(brackets: Iterable[Bracket]) -> Bracket:
    """A bracket around the larger of two bracketed numbers."""
    found = list(brackets)
    assumes = tuple(dict.fromkeys(text for bracket in found for text in bracket.assumes))
    lower, upper = max(b.lower for b in found), max(b.upper for b in found)
    return Bracket(lower, upper, found[0].theorem, assumes)
