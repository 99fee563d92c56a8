"""Stand-ins for numpy's and Python's generators, which draw into the journal of the run.

`np.random.*` and `RandomState`, `random.*` and `random.Random`, `default_rng`, and `np.array`,
which makes arrays of noisy numbers.
"""

# ruff: noqa: ANN401, A002  # stand-ins for functions of other libraries

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.tracing.noise.generator import (
    LARGEST,
    RecordingGenerator,
    Tape,
    TracedBits,
    check_seed_is_secret,
    told,
)
from dpverify.tracing.noise.shapes import as_array, gathered, holds_noise, is_noisy, plain
from dpverify.tracing.recording.journal import CURRENT, TraceJournal
from dpverify.tracing.recording.laws import NORMAL
from dpverify.tracing.recording.places import here, is_inside

_PYTHON_RANDOM = random.Random  # Python's own, whatever stands in its place during a run
_PYTHON_GLOBAL: Any = random.getstate.__self__  # type: ignore[attr-defined]
_GLOBAL: Any = np.random.mtrand._rand  # noqa: SLF001  # behind np.random.*


def current() -> Any:
    """The journal of the current traced run, if any."""
    return CURRENT.get()


class Legacy(RecordingGenerator):
    """The names of `np.random` and `RandomState` that a Generator lacks."""

    def rand(self, *shape: int) -> Any:
        return self.random(shape or None)

    def randn(self, *shape: int) -> Any:
        return self.standard_normal(shape or None)

    def random_sample(self, size: Any = None) -> Any:
        return self.random(size)

    ranf = sample = random_sample

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = None) -> Any:
        return self.integers(low, high, size, dtype)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        return self.integers(low, high, size, endpoint=True)

    def seed(self, seed: Any = None) -> None:
        seeded_again(self.journal, seed)

    def get_state(self, *args: Any, **options: Any) -> Any:
        if self.journal is None:
            return _GLOBAL.get_state(*args, **options)
        self.journal.puzzle(here(2), "the generator's state is looked at: its noise may be known")
        return _RANDOM_STATE(0).get_state(*args, **options)

    def set_state(self, state: Any) -> None:
        if self.journal is None:
            _GLOBAL.set_state(state)
        else:
            self.journal.puzzle(here(2), "the generator's state is set: its noise may repeat")


class Ambient(Legacy):
    """Draws into the journal of whichever run is being traced."""

    def __init__(self) -> None:
        np.random.Generator.__init__(self, np.random.PCG64(0))
        self.at = 0

    @property
    def tape(self) -> Tape | None:  # type: ignore[override]  # that of the run
        journal = CURRENT.get()
        return Tape(known=True) if journal is not None and journal.plainly else None

    @property
    def journal(self) -> Any:
        return CURRENT.get()

    @journal.setter
    def journal(self, value: Any) -> None:
        """The journal of the run."""

    def __getattribute__(self, name: str) -> Any:
        if CURRENT.get() is None and not name.startswith("_") and name not in {"tape", "at"}:
            return getattr(_RAND, name)  # another thread, which is not being traced
        return super().__getattribute__(name)


_RAND = np.random.mtrand._rand  # noqa: SLF001  # numpy's own


def _seeded(journal: Any, seed: Any) -> Any:
    """Note a seed: if it is the same in every run, anyone can repeat the noise made from it.

    Returns the draws of the generator that had the same seed before, which this one repeats.
    """
    if seed is None:
        return None
    place = here(3)
    seed = seed.realize(place) if is_noisy(seed) else seed
    known = _seed_name(seed)
    tape = journal.tapes.setdefault(known, Tape(known=journal.plainly))
    tape.known = tape.known or len(journal.seeds) in journal.opened
    journal.seeds.append((place, known))
    check_seed_is_secret(journal, seed, place)
    return tape


def _seed_name(seed: Any) -> str:
    return repr(int(seed)) if isinstance(seed, (int, np.integer)) else told(seed)


def seeded_again(journal: Any, seed: Any) -> None:
    """Reseeding of an existing generator, after which its draws are not followed."""
    seed = seed.realize(here(3)) if is_noisy(seed) else seed
    if seed is not None and _seed_name(seed) in journal.tapes:
        journal.puzzle(here(3), "a generator is seeded twice alike: its noise repeats")
    if seed is not None and _seeded(journal, seed).known:
        journal.puzzle(here(3), "the output tells the seed of this generator")


class _Instances(type):
    """A metaclass for which all generators are instances; it recognizes traced bits."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _GENERATOR)

    def __call__(cls, bits: Any) -> Any:
        if isinstance(bits, TraceJournal):
            return super().__call__(bits)
        if isinstance(bits, TracedBits):
            return bits.owner
        journal = current()
        if journal is not None:
            journal.puzzle(here(2), "a generator of its own is used: its noise is not seen")
        return _GENERATOR(bits)


class AnyGenerator(RecordingGenerator, metaclass=_Instances):
    """Replaces `np.random.Generator` during a trace, also for checks by `type`."""


_GENERATOR = np.random.Generator
for _mine, _original in ((AnyGenerator, _GENERATOR), (TracedBits, np.random.PCG64)):
    for _name in ("__name__", "__qualname__", "__module__"):
        setattr(_mine, _name, getattr(_original, _name))


class PythonRandom:
    """`random.Random` on the journal."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def random(self) -> Any:
        return self.generator.random()

    def uniform(self, a: Any, b: Any) -> Any:
        return self.generator.uniform(a, b)

    def gauss(self, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        return self.generator._draw(NORMAL, mu, sigma, None)  # noqa: SLF001  # of this package

    normalvariate = gauss

    def expovariate(self, lambd: float = 1.0) -> Any:
        return self.generator.exponential(1.0 / lambd)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> Any:
        low, high = (0, start) if stop is None else (start, stop)
        drawn = self.randbelow(max(0, -((low - high) // step)))
        return low + step * drawn if low or step != 1 else drawn

    def randint(self, a: int, b: int) -> Any:
        if b - a >= LARGEST:
            return self.randrange(a, b + 1)
        return self.generator.integers(a, b, endpoint=True)

    def randbelow(self, exclusive_upper_bound: int) -> Any:
        if exclusive_upper_bound > LARGEST:
            return self.generator.large(exclusive_upper_bound)
        return self.generator.integers(exclusive_upper_bound)

    def getrandbits(self, k: int) -> Any:
        return self.randbelow(1 << k)

    randbits = getrandbits

    def choice(self, seq: Any) -> Any:
        return seq[int(self.generator.choice(len(seq)))]

    def choices(
        self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> Any:
        if cum_weights is not None:
            weights = np.diff(np.concatenate([[0.0], np.asarray(cum_weights, dtype=np.float64)]))
        p = None if weights is None else np.asarray(weights, dtype=np.float64) / np.sum(weights)
        if k == 1:
            return [population[int(self.generator.choice(len(population), p=p))]]
        return [population[int(i)] for i in self.generator.choice(len(population), size=k, p=p)]

    def sample(self, population: Any, k: int, **_: Any) -> Any:
        chosen = self.generator.choice(len(population), size=k, replace=False)
        return [population[int(i)] for i in chosen]

    def shuffle(self, x: Any) -> None:
        self.generator.shuffle(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        del version
        seeded_again(self.generator.journal, a)

    def getstate(self) -> Any:
        if self.generator.journal is None:
            return _PYTHON_GLOBAL.getstate()
        return self.generator.get_state()

    def setstate(self, state: Any) -> None:
        if self.generator.journal is None:
            _PYTHON_GLOBAL.setstate(state)
        else:
            self.generator.set_state(state)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(_PYTHON_RANDOM, name):
            raise AttributeError(f"'Random' object has no attribute {name!r}")
        generator = self.generator

        def unknown(*args: Any, **options: Any) -> Any:
            place = here(2)
            generator.journal.puzzle(place, f"random.{name}() is not understood")
            return getattr(_PYTHON_RANDOM(0), name)(*args, **options)

        return unknown


def recording_default_rng() -> Callable[..., Any]:
    def default_rng(seed: Any = None) -> Any:
        journal = current()
        if isinstance(seed, RecordingGenerator):
            return seed
        if isinstance(seed, TracedBits):
            return seed.owner
        if isinstance(seed, (np.random.BitGenerator, _GENERATOR)):
            journal.puzzle(here(2), "a generator of its own is used: its noise is not seen")
            return seed if isinstance(seed, _GENERATOR) else _GENERATOR(seed)
        tape = _seeded(journal, seed)
        made = AnyGenerator(journal)
        return made if tape is None else made.on_tape(tape)

    return default_rng


class _States(type):
    """A metaclass for which all RandomStates are instances, original or traced."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_RANDOM_STATE, Legacy))

    def __call__(cls, seed: Any = None) -> Any:
        journal = current()
        if journal is None:
            return _RANDOM_STATE(seed)
        made, tape = Legacy(journal), _seeded(journal, seed)
        return made if tape is None else made.on_tape(tape)


class AnyRandomState(metaclass=_States):
    """Replaces `np.random.RandomState` during a trace."""


_RANDOM_STATE = np.random.RandomState


def python_random() -> type:
    class Made(PythonRandom):
        def __new__(cls, x: Any = None) -> Any:
            return object.__new__(cls) if current() is not None else _PYTHON_RANDOM(x)

        def __init__(self, x: Any = None) -> None:
            journal = current()
            super().__init__(Legacy(journal))
            tape = _seeded(journal, x)
            if tape is not None:
                self.generator.on_tape(tape)

    return Made


def noted_bytes(original: Callable[..., bytes]) -> Callable[..., bytes]:
    """os.urandom and the like: what is made from their bytes is unknown."""

    def bytes_of_the_system(*args: Any) -> bytes:
        what = "random bytes of the operating system are used: their noise is not seen"
        current().puzzle(here(2), what)
        return original(*args)

    return bytes_of_the_system


def collecting(original: Callable[..., Any], *, copies: bool = False) -> Callable[..., Any]:
    """np.array and the like: a list of noisy numbers becomes a noisy array."""

    def collect(object: Any, *args: Any, **options: Any) -> Any:
        kind = type(object)
        if is_inside(sys._getframe(1).f_code.co_filename):  # noqa: SLF001  # who is asking
            return original(object, *args, **options)
        if (kind is list or kind is tuple) and holds_noise(object) and not args:
            dtype = options.get("dtype")
            if dtype is None or np.dtype(dtype).kind == "f":
                return gathered(object)
        if is_noisy(object) and not args and set(options) <= {"dtype", "copy"}:
            dtype = options.get("dtype")
            if dtype is None or np.dtype(dtype).kind == "f":
                made = as_array(object)
                if dtype is not None and np.dtype(dtype) != made.dtype:
                    return made.astype(dtype)
                return made.copy() if copies and options.get("copy", True) else made
        return original(object, *args, **options)

    return collect


def plain_for_json(original: Callable[..., Any]) -> Callable[..., Any]:
    def default(self: Any, o: Any) -> Any:
        return plain(o, here(2)) if is_noisy(o) else original(self, o)

    return default
