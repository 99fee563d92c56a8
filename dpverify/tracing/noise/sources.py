"""Every source of noise that code can use without being given it, replaced during a trace.

`np.random.*`, `random.*`, `secrets`, generators that the mechanism makes itself, the mechanisms of
this library, of OpenDP and of diffprivlib. Names are replaced in their modules, and in the modules
of the mechanism where they were imported by name, and put back afterwards.
"""

# ruff: noqa: ANN401  # stand-ins for functions of other libraries

import json
import os
import random
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.tracing.noise.generator import OTHER
from dpverify.tracing.noise.libraries import FOLLOWED, library_patches
from dpverify.tracing.noise.numbers import MATH
from dpverify.tracing.noise.standins import (
    Ambient,
    AnyGenerator,
    AnyRandomState,
    Legacy,
    PythonRandom,
    collecting,
    noted_bytes,
    plain_for_json,
    python_random,
    recording_default_rng,
)
from dpverify.tracing.noise.tensors import torch_patches
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.journal import CURRENT, Recording
from dpverify.tracing.recording.places import here

Patch = tuple[Any, str, Any]

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


_SYSTEM = ("urandom", "getrandom")
_PROCESSES = "multiprocessing.process"


@dataclass(slots=True)
class _Held:
    """A replaced name: the original, and how many runs need the stand-in."""

    holder: Any
    name: str
    original: Any
    runs: int = 0


_HELD: dict[tuple[int, str], _Held] = {}
_LOCK = threading.RLock()


def _ambient(journal: Any) -> tuple[Legacy, PythonRandom]:
    """The generators behind np.random.* and random.* in a run, made when first used."""
    if None not in journal.ambient:
        legacy = Legacy(journal)
        journal.ambient[None] = (legacy, PythonRandom(legacy))
    found: tuple[Legacy, PythonRandom] = journal.ambient[None]
    return found


def _of_run(module: Any, name: str, which: int) -> Patch:
    """A function of np.random, random or secrets that uses the journal of the current run."""
    original = getattr(module, name)
    key = (which, name)

    def either(*args: Any, **options: Any) -> Any:
        journal = CURRENT.get()
        if journal is None:
            return original(*args, **options)
        known = journal.ambient
        draw = known.get(key) or known.setdefault(key, getattr(_ambient(journal)[which], name))
        return draw(*args, **options)

    either.__name__ = name
    return module, name, either


def _in_runs_only(holder: Any, name: str, stand_in: Any) -> Patch:
    """A stand-in that has no effect in threads that are not traced."""
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
    """The stand-ins by holder, and which original each replaces."""

    holders: tuple[tuple[Any, dict[str, Any]], ...]
    by_original: dict[int, Any]
    by_stand_in: dict[int, Any]


@lru_cache(maxsize=4)
def _replaced(loaded: tuple[str, ...]) -> _Replaced:
    """Everything that is replaced during a traced run, for the libraries that are loaded."""
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
    """The functions that draw from a global generator."""
    legacy = [_of_run(np.random, name, 0) for name in _LEGACY if hasattr(np.random, name)]
    python = [_of_run(random, name, 1) for name in _PYTHON]
    return legacy + python + [_of_run(secrets, n, 1) for n in ("randbelow", "choice", "randbits")]


def _note_process() -> None:
    """Note that another process was started, which has generators of its own."""
    journal = CURRENT.get()
    if journal is not None:
        journal.puzzle(here(2), "a process is started: noise in it is not seen")


def _in_child() -> None:
    """A process forked from a run: it draws ordinary noise, and nobody follows it."""
    if CURRENT.get() is not None:
        alone = Recording(NoiseScript(time.perf_counter_ns() + os.getpid()))
        alone.inner = True
        CURRENT.set(alone)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_process, after_in_child=_in_child)


def _started(original: Any) -> Any:
    def start(self: Any) -> None:
        _note_process()
        original(self)

    return start


def _patches(loaded: tuple[str, ...]) -> list[Patch]:
    made = python_random()
    found: list[Patch] = [
        (np.random, "default_rng", recording_default_rng()),
        (np.random, "RandomState", AnyRandomState),
        (np.random.mtrand, "_rand", Ambient()),
        (np.random, "Generator", AnyGenerator),
        *((random, name, made) for name in ("Random", "SystemRandom")),
        (secrets, "SystemRandom", made),
        *((os, name, noted_bytes(getattr(os, name))) for name in _SYSTEM if hasattr(os, name)),
        (random, "_urandom", noted_bytes(os.urandom)),  # behind what secrets and SystemRandom draw
    ]
    found.append((np, "array", collecting(np.array, copies=True)))
    found += [(np, name, collecting(getattr(np, name))) for name in ("asarray", "asanyarray")]
    encode = json.JSONEncoder.default
    found.append((json.JSONEncoder, "default", plain_for_json(encode)))
    found += MATH
    if _PROCESSES in loaded:
        processes = sys.modules[_PROCESSES].BaseProcess
        found.append((processes, "start", _started(processes.start)))
    return found + library_patches() + torch_patches()


_IMPORTED: dict[str, set[str]] = {}
"""Modules that were imported in a run, and the names at which they took a stand-in.

From then on these names are known; all others, which may be very many, are not looked at again.
"""


def _aliases(known: dict[int, Any], names: set[Any]) -> list[Patch]:
    """Modules that imported the same functions by name."""
    modules = [sys.modules[name] for name in names - _NEVER if name in sys.modules]
    if not _HELD:
        modules = [m for m in modules if not known.keys().isdisjoint(map(id, vars(m).values()))]
    found = [(m, name, value) for m in modules for name, value in list(vars(m).items())]
    for module_name in (_IMPORTED.keys() - names) & sys.modules.keys():
        module = sys.modules[module_name]
        held = vars(module)
        found += [(module, name, held[name]) for name in _IMPORTED[module_name] if name in held]
    return [
        (module, name, known.get(id(value), value))
        for module, name, value in found
        if (id(value) in known or (id(module), name) in _HELD) and not name.startswith("__")
    ]


def _give_back(known: dict[int, Any], names: set[str]) -> None:
    """Restore the originals in modules that were imported while stand-ins were in place."""
    for module_name in names:
        module = sys.modules.get(module_name)
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in known and not name.startswith("__"):
                setattr(module, name, known[id(value)])
                _IMPORTED.setdefault(module_name, set()).add(name)


@contextmanager
def installed(journal: Any, mechanism: object) -> Iterator[None]:
    """Install the stand-ins for the time of one run."""
    modules = {getattr(mechanism, "__module__", None), type(mechanism).__module__}
    with _LOCK:
        replaced = _SHARED.enter()
        taken = _put(_aliases(replaced.by_original, modules))
        before = len(sys.modules)
        token = CURRENT.set(journal)
    try:
        yield
    finally:
        with _LOCK:
            CURRENT.reset(token)
            journal.closed = True
            _take_away(taken)
            journal.imported = len(sys.modules) != before
            if journal.imported:
                _give_back(replaced.by_stand_in, set(list(sys.modules)[before:]))
            _SHARED.leave()


class _Shared:
    """Stand-ins shared by all runs: the first run installs them, the last removes them."""

    def __init__(self) -> None:
        self.runs = 0
        self.replaced: Any = None
        self.before: list[list[Any]] = []

    def enter(self) -> _Replaced:
        if not self.runs:
            loaded = tuple(name for name in (*FOLLOWED, _PROCESSES) if name in sys.modules)
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
    """Install stand-ins in modules that imported a function by name, unless already done."""
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
    """Restore the originals where no other run needs the stand-in."""
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
