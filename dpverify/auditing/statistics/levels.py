"""How the parts of an audit share its level.

*Refuting.* The claim is refuted by the bets or by the block at the end: `bets` + `block` ≤ level.

*The lower bound.* It speaks from the bets above the claimed ε (`bets`), from those below (`below`),
from the block at the end (`bound`, and `block` if that refutes), or from a fresh block after the
bets refuted (`fresh`). Where the truth is at least the claimed ε, it is exceeded only by an error
of the bets above, the block's bound or the fresh block: `bets` + `bound` + `fresh` ≤ level. Where
it is less, then only by an error of the bets below, or if the claim itself is wrongly refuted, or
by the block's bound; which, as `bound` ≤ `block`, errs only where a test at level `block` would:
`below` + `bets` + `block` ≤ level.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Method: TypeAlias = Literal["both", "anytime", "fixed"]

_SHARES = {
    "both": {"bets": 0.25, "below": 0.125, "block": 0.625, "bound": 0.5, "fresh": 0.25},
    "anytime": {"bets": 0.875, "below": 0.125, "block": 0.0, "bound": 0.0, "fresh": 0.125},
    "fixed": {"bets": 0.0, "below": 0.0, "block": 1.0, "bound": 1.0, "fresh": 0.0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Probabilities of error."""

    whole: float
    bets: float
    below: float
    block: float
    bound: float
    fresh: float

    @classmethod
    def of(cls, level: float, method: Method) -> "Levels":
        shares = {name: level * share for name, share in _SHARES[method].items()}
        return cls(whole=level, **shares)
