"""Many calls of `mechanism(data, rng)` in one go, each as if it were the only one.

Every call gets a generator of its own and a copy of the data, so a mechanism that copies the
generator, changes its data, or returns the same buffer every time, still gives independent draws.
What it raises is its output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

from dpverify.auditing.attacks.proposals import Draws
from dpverify.auditing.sampling.copies import copier, detached
from dpverify.auditing.sampling.outputs import Raised

_WORDS = 4  # of 64 bits, which make the state of a PCG64


class _Words(ISpawnableSeedSequence):
    """Seed material that was drawn beforehand.

    Ten times as fast as hashing a seed for every call, and as independent: the words of
    different calls are independent draws of the block's generator.
    """

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:  # noqa: ANN401
        if n_words == _WORDS and dtype == np.uint64:
            return self.words
        return self._hashed().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        if not hasattr(self, "_parent"):
            self._parent = self._hashed()  # a parent counts its children
        return self._parent.spawn(n_children)

    def _hashed(self) -> np.random.SeedSequence:
        return np.random.SeedSequence([int(word) for word in self.words])


@dataclass(frozen=True, slots=True)
class Calls:
    """A callable as something that an audit can sample from in blocks."""

    mechanism: Callable[..., object]

    def sample(self, data: object, size: int, *, rng: np.random.Generator) -> list[object]:
        fresh = copier(data)
        words = rng.integers(0, 2**64, size=(size, _WORDS), dtype=np.uint64)
        return [self._call(fresh(), _bits(row)) for row in words]

    def _call(self, data: object, bits: np.random.BitGenerator) -> object:
        try:
            return detached(self.mechanism(data, np.random.Generator(bits)))
        except Exception as error:  # noqa: BLE001  # what a mechanism raises is one of its outputs
            return Raised(type(error).__name__, str(error))


def _bits(words: NDArray[np.uint64]) -> np.random.PCG64:
    seed: Any = _Words(words)  # numpy takes any seed sequence, whatever its types say
    return np.random.PCG64(seed)


def silence(first: Draws) -> str | None:
    """In words, that no call on either side returned anything; None if one did."""
    sides = (first.left, first.right)
    if not all("output" in side.texts for side in sides):
        return None
    kinds = np.unique(np.concatenate([side.text("output") for side in sides]))
    if len(kinds) > 1:
        return None
    if kinds[0] == "None":
        return "returned None"
    if not str(kinds[0]).startswith("raises "):
        return None
    message = first.left.text("message of output")[0]
    return f"raised {str(kinds[0]).removeprefix('raises ')}: {message}"
