"""The events of a run that a replay must repeat, and the differences that a replay finds.

A *form* is offset + Σ coef·z: a value that waits for its noise. `idx` says which draws it uses;
with one draw an element `idx` and `coef` have the shape of the offset, with more of them one axis
more. A run records when a form becomes a plain number (`Value`), when it is compared with a plain
number and no more than the outcome is used (`Bits`), when the largest of several is chosen
(`Select`), when an outcome is drawn by its probability (`Pick`), and when another library's
mechanism is called (`Call`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.pairs.base import Pair
from dpverify.tracing.recording.laws import TracedLaw
from dpverify.tracing.recording.places import Located, Place

Touch = tuple[Place, Any]
"""A line that added something to a form, and what it added; or a `Factor` that it multiplied by."""


@dataclass(slots=True)
class Factor:
    """What a line multiplied a form by."""

    by: Any


def only_noise(touches: tuple[Touch, ...]) -> bool:
    """Whether neither data nor a constant was ever added to a form."""
    for _, addend in touches:  # noqa: SIM110  # asked of every number: a loop is faster
        if type(addend) is not Factor:
            return False
    return True


@dataclass(slots=True)
class Value:
    """A form became the numbers `values`; `raw` if it was nothing but noise."""

    place: Place
    touches: tuple[Touch, ...]
    offset: Any
    idx: Any
    coef: Any
    values: Any
    fresh: Any
    raw: bool
    final: bool


@dataclass(slots=True)
class Bits:
    """A form with one draw per element was compared with plain numbers; `gap` is the difference."""

    place: Place
    touches: tuple[Touch, ...]
    offset: Any
    idx: Any
    coef: Any
    outcome: Any
    raised: Any
    window: Any


@dataclass(slots=True)
class Select:
    """The index of the largest of offset + coef·z, for fresh noise of one law and scale."""

    place: Place
    touches: tuple[Touch, ...]
    offset: Any
    idx: Any
    coef: Any
    outcome: int


@dataclass(slots=True)
class Pick:
    """An outcome drawn from finitely many, or with parameters that must agree.

    `key` names the law and the parameters that must be equal; `weights` may differ. `sample` draws
    another outcome.
    """

    place: Place
    key: tuple[Any, ...]
    weights: NDArray[np.float64] | None
    outcome: Any
    sample: Callable[[np.random.Generator], Any] | None = None


@dataclass(slots=True)
class Call:
    """A mechanism of another library returned `output` for `given`."""

    place: Place
    name: str
    given: Any
    output: Any


Event = Value | Bits | Select | Pick | Call
CAST = "cast"
"""The law of a `Pick` that draws nothing: noise was given another type of floats."""


def is_settled(event: Event) -> bool:
    """Whether an event told the code nothing: a number of the output itself, or no draw."""
    if isinstance(event, Pick):
        return bool(event.key[0] == CAST)
    return isinstance(event, Value) and event.final


@dataclass(slots=True)
class Move:
    """A shift of noise by which both runs release the same numbers.

    `shift` is by how much the values differ, in their own unit; `slack` what rounding may account
    for in sums of very many floats. `exact` says that the law of what was released is that of these
    shifts, not only bounded by it. `windows` are the ends between which comparisons left the noise,
    where there were any.
    """

    event: int
    place: Place
    law: TracedLaw
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    scale_other: NDArray[np.float64]
    z: NDArray[np.float64]
    z_other: NDArray[np.float64]
    slack: NDArray[np.float64]
    values: NDArray[np.float64]
    flat: NDArray[np.intp]
    exact: bool = True
    windows: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


@dataclass(slots=True)
class Coin:
    """A comparison whose probability differs: P(outcome) on the left and on the right.

    `flipped` if the replay took the other outcome, so that the output stays the same.
    """

    event: int
    place: Place
    law: TracedLaw
    window: tuple[float, float]
    cut: float
    up: bool
    window_other: tuple[float, float]
    cut_other: float
    up_other: bool
    flipped: bool
    flat: int
    draw: int


@dataclass(slots=True)
class Odds:
    """An outcome that has different probabilities on the two sides."""

    event: int
    place: Place
    name: str
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    outcome: int


@dataclass(slots=True)
class LargestOf:
    """The index of a noisy maximum over scores (in units of the noise) that differ."""

    event: int
    place: Place
    law: TracedLaw
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    scale: float
    outcome: int


BY_CLAIM = "by its claim:"
BESIDE_DATA = "noisy numbers that the code saw meet data here, in a way that is not followed"


@dataclass(slots=True)
class Paid:
    """A library's mechanism was called with differing data; its own claim gives the cost."""

    event: int
    place: Place
    name: str
    above: Pair
    below: Pair
    exact: bool
    shift: float
    scale: float


Difference = Move | Coin | Odds | LargestOf | Paid


@dataclass(frozen=True, slots=True)
class Leak(Located):
    """A difference that noise does not hide: every noisy value was the same.

    `kind` is one of "output", "control flow", "shape", "scale", "parameter", "reuse", "seed",
    "exception".
    """

    kind: str
    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True, slots=True)
class Puzzle(Located):
    """A use of noise or of the generator that a trace cannot follow, in one sentence."""

    place: Place
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"
