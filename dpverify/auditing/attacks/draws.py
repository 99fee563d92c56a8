"""Draws on both sides of a pair, and events proposed from them."""

from dataclasses import dataclass
from typing import NewType

from dpverify.auditing.attacks.events import Event
from dpverify.auditing.sampling.outputs import Outputs
from dpverify.auditing.sampling.sampler import Side


@dataclass(frozen=True, slots=True)
class Draws:
    """Outputs on both sides of a pair."""

    left: Outputs
    right: Outputs

    def on(self, side: Side) -> Outputs:
        return self.left if side is Side.LEFT else self.right

    def halves(self) -> tuple["Draws", "Draws"]:
        return self.split(max(self.left.size, self.right.size))

    def split(self, most: int) -> tuple["Draws", "Draws"]:
        """The first half, but no more than `most` draws of it, and the rest."""
        a, b = min(self.left.size // 2, most), min(self.right.size // 2, most)
        first = Draws(self.left.between(0, a), self.right.between(0, b))
        return first, Draws(
            self.left.between(a, self.left.size), self.right.between(b, self.right.size)
        )


Explore = NewType("Explore", Draws)
"""Draws that events may be chosen from."""
Confirm = NewType("Confirm", Draws)
"""Draws that events are judged on, and that nothing was chosen from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An event, the side on which it is thought too likely, and how promising it looks."""

    event: Event
    favors: Side
    merit: float
