"""Pairs under test, the search they belong to, and the passes that spend draws on them.

A `Search` knows the mechanism, the claim, all pairs tried and the draws used so far. A `Pass` is
one way to go on: to look at new pairs, to judge the worst, to simplify a refuted one. The loop is
in the base class, and a pass supplies its step.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

from dpverify.auditing.attacks.draws import Draws, joined_draws
from dpverify.auditing.sampling.copies import copier, detached
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.sampling.journal import Chapter, Journal
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.processes import OutOfTime
from dpverify.auditing.sampling.reading import raised
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.search.quick import Outcome
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Refuted
from dpverify.fingerprint import digest
from dpverify.schema import Candidate

_WORDS = 4  # of 64 bits, which make the state of a PCG64


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What was learned of a pair without draws, from calls whose noise was recorded.

    `loss` is what the noise lost at most; `kept` says that this is within the claim, `refuted`
    that the claim is exactly false on the pair, as ε is at least `epsilon_lower`; `lines` name the
    code that loses. If neither, only draws can tell.
    """

    kept: bool
    refuted: bool
    loss: float
    calls: int
    epsilon_lower: float = 0.0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTrial:
    """A pair, the draws on it so far, and by how much it seems to break the claim.

    `found` is the refutation, if there is one; `hint` is what was known without draws. `broken`
    says what a vectorized mechanism raised on the pair: draws are then made one by one, so that an
    exception is an output like any other.
    """

    candidate: Candidate
    sampler: Sampler
    seen: Draws | None = None
    score: float = -math.inf
    broken: str = ""
    found: Outcome | Refuted | Hint | None = None
    hint: Hint | None = None

    @property
    def size(self) -> int:
        return 0 if self.seen is None else self.seen.left.size

    @property
    def length(self) -> int:
        """How many characters the pair takes when printed; shorter is simpler."""
        return len(repr((self.candidate.left, self.candidate.right)))

    @property
    def only_raises(self) -> bool:
        """Whether every call on this pair raises, on either side."""
        if not self.broken or self.seen is None:
            return False
        texts = [side.text(WHOLE) for side in (self.seen.left, self.seen.right)]
        return all(bool(np.char.startswith(side, "raises ").all()) for side in texts)

    def drawn(self, size: int) -> "PairTrial":
        """The trial with `size` draws a side, or as many as time allows."""
        if self.size >= size:
            return self
        parts: list[Draws] = [] if self.seen is None else [self.seen]
        try:
            parts.extend(Draws(*part) for part in self.sampler.pairs(self.size, size))
        except OutOfTime:
            pass  # a slow pair is known by what it has
        except Exception as error:
            if not self.sampler.vectorized:
                raise
            kept = self.sampler.journal
            singly = replace(
                self.sampler,
                mechanism=OneByOne(self.sampler.mechanism),
                journal=None if kept is None else kept.chapter("one by one"),
            )
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {cause}"
            return replace(self, sampler=singly, seen=None, broken=reason).drawn(size)
        return replace(self, seen=joined_draws(parts)) if parts else self

    def within(self, seconds: float) -> "PairTrial":
        """The trial with a time limit of so many seconds on its draws."""
        end = time.time() + seconds
        until = end if self.sampler.until is None else min(self.sampler.until, end)
        return replace(self, sampler=replace(self.sampler, until=until))


class Search:
    """A search for the pair on which a mechanism exceeds a claim most.

    `points` are what the claim implies; `level` is for the whole search; `drawing` are options of
    the samplers. Equal seeds give equal searches.
    """

    def __init__(  # noqa: PLR0913  # what is tested, against what, and how hard
        self,
        mechanism: Target,
        points: Sequence[Point],
        *,
        level: float,
        samples: int,
        seed: int,
        journal: Journal | None = None,
        **drawing: Any,  # noqa: ANN401  # timeout, executor, until
    ) -> None:
        self.mechanism = mechanism
        self.points = tuple(points)
        self.level = level
        self.samples = samples
        self.seed = seed
        self.journal = journal
        self.drawing = drawing
        self.until: float | None = drawing.get("until")
        self.tried: dict[Hashable, PairTrial] = {}
        self.used = 0

    def trial(self, candidate: Candidate, seed: int) -> PairTrial:
        """Begin a trial of a pair, with its own seed."""
        sampler = Sampler(
            mechanism=self.mechanism,
            left=candidate.left,
            right=candidate.right,
            seed=seed,
            journal=self.chapter(candidate, seed),
            **self.drawing,
        )
        return PairTrial(candidate=candidate, sampler=sampler)

    def chapter(self, candidate: Candidate, seed: int) -> Chapter | None:
        """Where the draws from a pair are stored, if they are."""
        if self.journal is None:
            return None
        names = (digest("dataset", data) for data in (candidate.left, candidate.right))
        return self.journal.chapter(" ".join((*names, str(seed))))


class Pass(ABC):
    """One way of spending draws: subclasses supply the step, the loop is here."""

    def __init__(self, search: Search) -> None:
        self.search = search

    def run(self) -> None:
        """Repeat the step until there is nothing more to try."""
        while self.step():
            pass

    @abstractmethod
    def step(self) -> bool:
        """Try one thing; return whether there may be another."""


def derived(seed: int, *key: int) -> int:
    """An independent seed for one part of a search."""
    words = np.random.SeedSequence(seed, spawn_key=key).generate_state(2, np.uint64)
    return int(words[0])


class OneByOne:
    """A vectorized mechanism called one draw at a time, so that an exception is an output."""

    def __init__(self, mechanism: Target) -> None:
        self.mechanism = mechanism

    def __call__(self, data: object, rng: np.random.Generator) -> object:
        return self.mechanism.sample(data, 1, rng=rng)[0]


class _Words(ISpawnableSeedSequence):
    """A seed sequence whose words were drawn in advance.

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
    """A plain callable in the form that a search draws from in blocks.

    Every call gets a generator of its own and a copy of the data, so a mechanism that copies the
    generator, changes its data, or returns the same buffer every time, still gives independent
    draws. What it raises is its output.
    """

    mechanism: Callable[..., object]

    def sample(self, data: object, size: int, *, rng: np.random.Generator) -> list[object]:
        fresh = copier(data)
        words = rng.integers(0, 2**64, size=(size, _WORDS), dtype=np.uint64)
        return [self._call(fresh(), _bits(row)) for row in words]

    def _call(self, data: object, bits: np.random.BitGenerator) -> object:
        try:
            return detached(self.mechanism(data, np.random.Generator(bits)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # what it raises is an output
            return raised(error)


def _bits(words: NDArray[np.uint64]) -> np.random.PCG64:
    seed: Any = _Words(words)  # numpy takes any seed sequence, whatever its types say
    return np.random.PCG64(seed)
