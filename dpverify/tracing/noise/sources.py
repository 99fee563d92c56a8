"""Every source of noise that code may use without being handed it, while a trace runs.

`np.random.*`, `random.*`, `secrets`, generators that the mechanism makes itself, the mechanisms of
this library, of OpenDP and of diffprivlib. Names are replaced in their modules, and in the modules
of the mechanism where they were imported by name, and put back afterwards.
"""

# ruff: noqa: ANN401, A002  # stand-ins for functions of other libraries

import json
import random
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.tracing.noise.generator import OTHER, RecordingGenerator, TracedBits
from dpverify.tracing.noise.libraries import FOLLOWED, library_patches
from dpverify.tracing.noise.numbers import MATH
from dpverify.tracing.noise.seeds import check_seed_is_secret, told
from dpverify.tracing.noise.shapes import as_array, gathered, holds_noise, is_noisy, plain
from dpverify.tracing.noise.tensors import torch_patches
from dpverify.tracing.recording.journal import CURRENT
from dpverify.tracing.recording.laws import NORMAL
from dpverify.tracing.recording.places import here, is_inside

Patch = tuple[Any, str, Any]

_PYTHON_RANDOM = random.Random  # Python's own, whatever stands in its place during a run
_PYTHON_GLOBAL: Any = random.getstate.__self__  # type: ignore[attr-defined]
_GLOBAL: Any = np.random.mtrand._rand  # noqa: SLF001  # behind np.random.*


def current() -> Any:
    """The journal of the run that is being traced, if any."""
    return CURRENT.get()


class Legacy(RecordingGenerator):
    """The names of `np.random` and of `RandomState` that a Generator does not have."""

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
        self.tape = None
        self.at = 0

    @property
    def journal(self) -> Any:
        return CURRENT.get()

    @journal.setter
    def journal(self, value: Any) -> None:
        """The journal is that of the run, always."""

    def __getattribute__(self, name: str) -> Any:
        if CURRENT.get() is None and not name.startswith("_") and name not in {"tape", "at"}:
            return getattr(_RAND, name)  # another thread, which is not being traced
        return super().__getattribute__(name)


_RAND = np.random.mtrand._rand  # noqa: SLF001  # numpy's own


def _seeded(journal: Any, seed: Any) -> Any:
    """Remember a seed: one that is the same in every run makes noise that anyone can repeat.

    Returns the draws of the generator that had the same seed before, which this one repeats.
    """
    if seed is None:
        return None
    place = here(3)
    seed = seed.realize(place) if is_noisy(seed) else seed
    known = _seed_name(seed)
    journal.seeds.append((place, known))
    check_seed_is_secret(journal, seed, place)
    return journal.tapes.setdefault(known, [])


def _seed_name(seed: Any) -> str:
    return repr(int(seed)) if isinstance(seed, (int, np.integer)) else told(seed)


def seeded_again(journal: Any, seed: Any) -> None:
    """A generator that is there already gets a seed: what it repeats then is not followed."""
    seed = seed.realize(here(3)) if is_noisy(seed) else seed
    if seed is not None and _seed_name(seed) in journal.tapes:
        journal.puzzle(here(3), "a generator is seeded twice alike: its noise repeats")
    _seeded(journal, seed)


class _Instances(type):
    """A class that all generators are instances of, and that knows traced bits."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _GENERATOR)

    def __call__(cls, bits: Any) -> Any:
        if isinstance(bits, TracedBits):
            return bits.owner
        journal = current()
        if journal is not None:
            journal.puzzle(here(2), "a generator of its own is used: its noise is not seen")
        return _GENERATOR(bits)


class _Generator(metaclass=_Instances):
    """Stands for `np.random.Generator` while a trace runs."""


_GENERATOR = np.random.Generator


class PythonRandom:
    """`random.Random`, on the journal."""

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
        count = len(range(low, high, step))
        drawn = self.generator.integers(count)
        return low + step * drawn if low or step != 1 else drawn

    def randint(self, a: int, b: int) -> Any:
        return self.generator.integers(a, b, endpoint=True)

    def randbelow(self, exclusive_upper_bound: int) -> Any:
        return self.generator.integers(exclusive_upper_bound)

    def getrandbits(self, k: int) -> Any:
        return self.generator.integers(1 << k)

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


def _default_rng() -> Callable[..., Any]:
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
        made = RecordingGenerator(journal)
        return made if tape is None else made.on_tape(tape)

    return default_rng


class _States(type):
    """A class that all RandomStates are instances of, old and traced ones."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_RANDOM_STATE, Legacy))

    def __call__(cls, seed: Any = None) -> Any:
        journal = current()
        if journal is None:
            return _RANDOM_STATE(seed)
        made = Legacy(journal)
        made.tape = _seeded(journal, seed)
        return made


class _RandomState(metaclass=_States):
    """Stands for `np.random.RandomState` while a trace runs."""


_RANDOM_STATE = np.random.RandomState


def _python_random() -> type:
    class Made(PythonRandom):
        def __new__(cls, x: Any = None) -> Any:
            return object.__new__(cls) if current() is not None else _PYTHON_RANDOM(x)

        def __init__(self, x: Any = None) -> None:
            journal = current()
            super().__init__(Legacy(journal))
            self.generator.tape = _seeded(journal, x)

    return Made


def _collecting(original: Callable[..., Any], *, copies: bool = False) -> Callable[..., Any]:
    """np.array and its like: a list of noisy numbers becomes a noisy array."""

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


def _plain_for_json(original: Callable[..., Any]) -> Callable[..., Any]:
    def default(self: Any, o: Any) -> Any:
        return plain(o, here(2)) if is_noisy(o) else original(self, o)

    return default


_LEGACY = (
    *("laplace", "normal", "standard_normal", "gumbel", "logistic", "standard_cauchy"),
    *("exponential", "standard_exponential", "uniform", "random", "geometric", "binomial"),
    *("multivariate_normal", "choice", "permutation", "shuffle", "rand", "randn", "randint"),
    *("random_sample", "ranf", "sample", "seed", "random_integers", "get_state", "set_state"),
    *OTHER,
)
_PYTHON = (
    *("random", "uniform", "gauss", "normalvariate", "expovariate", "randrange", "randint"),
    *("getrandbits", "choice", "choices", "sample", "shuffle", "seed"),
    *("betavariate", "gammavariate", "lognormvariate", "paretovariate", "triangular"),
    *("vonmisesvariate", "weibullvariate", "randbytes", "getstate", "setstate"),
)


@dataclass(slots=True)
class _Held:
    """A name that is replaced: what stood there before, and how many runs need the stand-in."""

    holder: Any
    name: str
    original: Any
    runs: int = 0


_HELD: dict[tuple[int, str], _Held] = {}
_LOCK = threading.RLock()


def _of_run(module: Any, name: str, which: int) -> Patch:
    """A function of np.random, random or secrets, on the journal of the run if there is one."""
    original = getattr(module, name)

    def either(*args: Any, **options: Any) -> Any:
        journal = CURRENT.get()
        if journal is None:
            return original(*args, **options)
        if journal.ambient is None:
            legacy = Legacy(journal)
            journal.ambient = (legacy, PythonRandom(legacy))
        return getattr(journal.ambient[which], name)(*args, **options)

    either.__name__ = name
    return module, name, either


def _in_runs_only(holder: Any, name: str, stand_in: Any) -> Patch:
    """A stand-in that is passed over in threads which are not being traced."""
    original = getattr(holder, name)
    draws = callable(stand_in) and not isinstance(stand_in, (type, Ambient))
    if not draws or holder in {np, json.JSONEncoder}:  # the latter act on noise alone
        return holder, name, stand_in

    def either(*args: Any, **options: Any) -> Any:
        return (original if CURRENT.get() is None else stand_in)(*args, **options)

    either.__name__ = name
    return holder, name, either


@dataclass(frozen=True, slots=True)
class _Replaced:
    """The stand-ins by holder, and which function each of them stands for, by identity."""

    holders: tuple[tuple[Any, dict[str, Any]], ...]
    by_original: dict[int, Any]
    by_stand_in: dict[int, Any]


@lru_cache(maxsize=4)
def _replaced(loaded: tuple[str, ...]) -> _Replaced:
    """What is replaced while a run is traced, given which libraries are loaded."""
    found = (*_drawing(), *(_in_runs_only(*patch) for patch in _patches(loaded)))
    plain = [patch for patch in found if not isinstance(patch[0], type)]
    holders: dict[int, tuple[Any, dict[str, Any]]] = {}
    for holder, name, stand_in in found:
        holders.setdefault(id(holder), (holder, {}))[1][name] = stand_in
    return _Replaced(
        tuple(holders.values()),
        {id(getattr(holder, name)): stand_in for holder, name, stand_in in plain},
        {id(stand_in): getattr(holder, name) for holder, name, stand_in in plain},
    )


def _drawing() -> list[Patch]:
    """The functions that draw from a generator which nobody handed to the code."""
    legacy = [_of_run(np.random, name, 0) for name in _LEGACY if hasattr(np.random, name)]
    python = [_of_run(random, name, 1) for name in _PYTHON]
    return legacy + python + [_of_run(secrets, n, 1) for n in ("randbelow", "choice", "randbits")]


def _patches(loaded: tuple[str, ...]) -> list[Patch]:
    del loaded
    made = _python_random()
    found: list[Patch] = [
        (np.random, "default_rng", _default_rng()),
        (np.random, "RandomState", _RandomState),
        (np.random.mtrand, "_rand", Ambient()),
        (np.random, "Generator", _Generator),
        *((random, name, made) for name in ("Random", "SystemRandom")),
        (secrets, "SystemRandom", made),
    ]
    found.append((np, "array", _collecting(np.array, copies=True)))
    found += [(np, name, _collecting(getattr(np, name))) for name in ("asarray", "asanyarray")]
    encode = json.JSONEncoder.default
    found.append((json.JSONEncoder, "default", _plain_for_json(encode)))
    found += MATH
    return found + library_patches() + torch_patches()


_IMPORTED: set[str] = set()
"""Modules that were imported in a run and took a stand-in by name: from then on they are known."""


def _aliases(known: dict[int, Any], modules: list[Any]) -> list[Patch]:
    """The same functions where a module imported them by name."""
    if not _HELD:
        modules = [m for m in modules if not known.keys().isdisjoint(map(id, vars(m).values()))]
    return [
        (module, name, known.get(id(value), value))
        for module in modules
        for name, value in list(vars(module).items())
        if (id(value) in known or (id(module), name) in _HELD) and not name.startswith("__")
    ]


def _give_back(known: dict[int, Any], names: set[str]) -> None:
    """The originals, to modules that were imported while stand-ins were in place."""
    for module_name in names:
        module = sys.modules.get(module_name)
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in known and not name.startswith("__"):
                setattr(module, name, known[id(value)])
                _IMPORTED.add(module_name)


@contextmanager
def installed(journal: Any, mechanism: object) -> Iterator[None]:
    """The stand-ins in place, for the time of one run."""
    modules = (getattr(mechanism, "__module__", None), type(mechanism).__module__, *_IMPORTED)
    with _LOCK:
        replaced = _SHARED.enter()
        found = [sys.modules[n] for n in {*modules} if n in sys.modules and n not in _NEVER]
        taken = _put(_aliases(replaced.by_original, found))
        before = len(sys.modules)
        token = CURRENT.set(journal)
    try:
        yield
    finally:
        with _LOCK:
            CURRENT.reset(token)
            journal.closed = True
            _take_away(taken)
            if len(sys.modules) != before:
                _give_back(replaced.by_stand_in, set(list(sys.modules)[before:]))
            _SHARED.leave()


class _Shared:
    """The stand-ins that all runs share: the first run puts them, the last one takes them away."""

    def __init__(self) -> None:
        self.runs = 0
        self.replaced: Any = None
        self.before: list[list[Any]] = []

    def enter(self) -> _Replaced:
        if not self.runs:
            loaded = tuple(name for name in FOLLOWED if name in sys.modules)
            self.replaced = _replaced(loaded)
            self.before = []
            for holder, stand_ins in self.replaced.holders:
                held = vars(holder)
                self.before.append([held.get(name, _MISSING) for name in stand_ins])
                if isinstance(holder, type):
                    for name, stand_in in stand_ins.items():
                        setattr(holder, name, stand_in)
                else:
                    held.update(stand_ins)
        self.runs += 1
        found: _Replaced = self.replaced
        return found

    def leave(self) -> None:
        self.runs -= 1
        if not self.runs:
            for (holder, names), before in zip(self.replaced.holders, self.before, strict=True):
                if isinstance(holder, type) or _MISSING in before:
                    for name, original in zip(names, before, strict=True):
                        _restore(holder, name, original)
                else:
                    vars(holder).update(zip(names, before, strict=True))


_SHARED = _Shared()


def _put(aliases: list[Patch]) -> list[_Held]:
    """Stand-ins in modules that imported a function by name, where no other run put them yet."""
    taken = []
    for holder, name, stand_in in aliases:
        key = (id(holder), name)
        if key not in _HELD:
            _HELD[key] = _Held(holder, name, _raw(holder, name))
            setattr(holder, name, stand_in)
        _HELD[key].runs += 1
        taken.append(_HELD[key])
    return taken


def _take_away(taken: list[_Held]) -> None:
    """The originals, where no other run needs the stand-in any more."""
    for held in taken:
        held.runs -= 1
        if not held.runs:
            del _HELD[id(held.holder), held.name]
            _restore(held.holder, held.name, held.original)


def _restore(holder: Any, name: str, original: Any) -> None:
    if original is _MISSING:
        delattr(holder, name)
    else:
        setattr(holder, name, original)


_NEVER = {"builtins", "functools", "numpy", "random"}


_MISSING = object()


def _raw(holder: Any, name: str) -> Any:
    return vars(holder).get(name, _MISSING)
