"""A numpy Generator whose draws are tracked as noise."""

# ruff: noqa: ANN401, FBT002, PLR0913, PLR0917  # the signatures are numpy's

import hashlib
from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np
import scipy

from dpverify.errors import DPVerifyError
from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.numbers import NoisyNumber
from dpverify.tracing.noise.shapes import is_noisy
from dpverify.tracing.recording.events import Pick, Value
from dpverify.tracing.recording.journal import CURRENT
from dpverify.tracing.recording.laws import (
    CAUCHY,
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    NORMAL,
    UNIFORM,
    TracedLaw,
)
from dpverify.tracing.recording.places import CALLERS, Place, here

_MOST_OUTCOMES = 400
FEW = 2.0**31  # seeds that are drawn from fewer numbers can be tried one by one
_SHORT = 8
LARGEST = 2**63  # whole numbers that numpy draws are below it
OTHER = (
    *("beta", "chisquare", "dirichlet", "f", "gamma", "hypergeometric", "lognormal", "logseries"),
    *("multinomial", "multivariate_hypergeometric", "negative_binomial", "noncentral_chisquare"),
    *("noncentral_f", "pareto", "poisson", "power", "rayleigh", "standard_gamma", "standard_t"),
    *("triangular", "vonmises", "wald", "weibull", "zipf", "bytes"),
)
"""Laws that are recorded by their parameters alone; noise made from them is not understood."""


class _Zero(float):
    """The default location 0 of a draw, to tell it from a 0 that the code passed."""


NO_LOCATION = _Zero(0.0)
_UNUSED = np.random.PCG64(0)  # a generator has to have bits; no method here draws from them
_SIMPLE = {float, int, _Zero}


def told(value: Any) -> str:
    """A parameter as text; different parameters give different texts."""
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind == "O" or array.size <= _SHORT:
            return f"{array.tolist()!r} ({array.dtype})"
        digest = hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest()
        return f"{array.size} numbers {digest} ({array.dtype}, {array.shape})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{told(key)}: {told(part)}' for key, part in value.items())}}}"
    return repr(value)


def check_seed_is_secret(journal: Any, seed: Any, place: Place) -> None:
    """Note a seed drawn from few numbers, as anyone can try them all."""
    entropy = getattr(seed, "entropy", seed)
    numbers = np.ravel(np.asarray(entropy, dtype=object)).tolist()
    whole = [n for n in numbers if isinstance(n, (int, np.integer))]
    if not whole or any(abs(int(n)) >= FEW for n in whole):
        return
    if any(_is_drawn_from_few(journal, event) for event in journal.events):
        journal.puzzle(place, "a seed is drawn from few numbers: its noise takes few values")


def _is_drawn_from_few(journal: Any, event: Any) -> bool:
    if isinstance(event, Pick):
        return event.key[0] in {"choice", "permutation", "binomial"}
    if not isinstance(event, Value) or not np.size(event.idx):
        return False
    laws = journal.draws.names_of(np.atleast_1d(event.idx))
    return any(law.name == "integers" and law.parameter < FEW for law in laws)


class NotTraceable(DPVerifyError):
    """Raised if the mechanism uses its generator in a way that cannot be followed."""

    def __init__(self, what: str, place: Place | None = None) -> None:
        super().__init__(what)
        self.place = place


def _plain(value: Any, place: Place) -> Any:
    return value.realize(place) if is_noisy(value) else value


class TracedBits(np.random.PCG64):
    """The bit generator of a recording generator."""

    def __init__(self, owner: "RecordingGenerator") -> None:
        super().__init__(owner.journal.origin)
        self.owner = owner

    def random_raw(self, *args: Any, **options: Any) -> Any:
        place = here(2)
        self.owner.journal.puzzle(place, "the generator's raw bits are used: noise is not seen")
        return super().random_raw(*args, **options)

    def _noted(self) -> None:
        what = "the generator's state is looked at or set: its noise may be known, or repeat"
        self.owner.journal.puzzle(here(3), what)

    @property
    def state(self) -> Any:
        self._noted()
        return super().state

    @state.setter
    def state(self, value: Any) -> None:
        del value
        self._noted()

    def spawn(self, n_children: int) -> list[Any]:
        """Bit generators of children that draw into the same journal."""
        return [TracedBits(child) for child in self.owner.spawn(n_children)]

    def jumped(self, jumps: int = 1) -> Any:
        self._noted()
        return super().jumped(jumps)

    def advance(self, delta: int) -> Any:
        del delta
        self._noted()
        return self


class Tape(list[tuple[Any, Any, Any]]):
    """What a seeded generator drew; `known` if it was handed out as plain numbers.

    So it is where the output tells the seed, and where a run is told again without forms.
    """

    def __init__(self, *, known: bool = False) -> None:
        super().__init__()
        self.known = known


class RecordingGenerator(np.random.Generator):
    """A stand-in for a Generator, whose draws are forms in the journal of the run."""

    def __init__(self, journal: Any) -> None:
        super().__init__(_UNUSED)
        self.journal = journal
        self.tape: Tape | None = Tape(known=True) if journal.plainly else None
        self.at = 0

    def on_tape(self, tape: Tape) -> "RecordingGenerator":
        """A generator that replays the draws of another one with the same seed."""
        self.tape = tape
        return self

    def _start(self, journal: Any, law: TracedLaw, size: int | None, place: Place) -> int:
        """The number of the first draw: new, or that of a generator with the same seed."""
        tape = self.tape
        if tape is None:
            return int(journal.draw(law, size, place))
        if self._repeats((law, size), journal, place):
            return int(tape[self.at - 1][2])
        start = int(journal.draw(law, size, place))
        tape.append((law, size, start))
        self.at += 1
        return start

    def _repeats(self, what: tuple[Any, Any], journal: Any, place: Place) -> bool:
        """Whether a generator with the same seed made this draw before; if so, step forward."""
        tape = self.tape
        assert tape is not None  # noqa: S101  # asked of generators with a seed only
        if self.at >= len(tape):
            return False
        if tape[self.at][:2] == what:
            self.at += 1
            return True
        journal.puzzle(place, "generators with one seed draw different things from the same bits")
        del tape[self.at :]
        return False

    def _pick(self, key: tuple[Any, ...], weights: Any, sample: Any, place: Place) -> Any:
        """An outcome picked by the journal, or that of a generator with the same seed."""
        journal = self._open(place)
        if self.tape is None:
            return journal.pick(key, weights, sample, place)
        what = (key, told(weights))
        if self._repeats(what, journal, place):
            return self.tape[self.at - 1][2]
        outcome = journal.pick(key, weights, sample, place)
        self.tape.append((*what, outcome))
        self.at += 1
        return outcome

    # Location and scale.

    def _draw(self, law: TracedLaw, loc: Any, scale: Any, size: Any) -> Any:
        caller = _getframe(2)
        known = CALLERS.get((id(caller.f_code), caller.f_lasti))
        place = here(3) if known is None else known[1]
        journal = self.journal
        if journal is not CURRENT.get():
            journal = self._open(place)
        tape = self.tape
        if tape is not None and tape.known:
            return self._told(law, loc, scale, size, place)
        if size is None and type(scale) is float and scale >= 0.0 and type(loc) in _SIMPLE:
            start = (
                journal.draw(law, None, place)
                if tape is None
                else self._start(journal, law, None, place)
            )
            touches: Any = () if loc is NO_LOCATION else ((place, loc),)
            return NoisyNumber(journal, loc + 0.0, start, scale, touches)
        if is_noisy(loc):
            return loc + self._draw(law, NO_LOCATION, scale, size)
        if size is not None and np.ndim(loc) == 0 and loc == 0:
            loc = NO_LOCATION  # as in normal(0, scale, size): a constant that adds nothing
        scale = _plain(scale, place)
        if np.any(np.asarray(scale) < 0):
            raise ValueError("scale < 0")
        if size is None and np.ndim(loc) == 0 and np.ndim(scale) == 0:
            start = self._start(journal, law, None, place)
            touches = () if loc is NO_LOCATION else ((place, loc),)
            return NoisyNumber(journal, loc + 0.0, start, float(scale), touches)
        if size is None:
            shape = np.broadcast_shapes(np.shape(loc), np.shape(scale))
        else:
            shape = tuple(map(int, size)) if np.ndim(size) else (int(size),)
        count = int(np.prod(shape, dtype=np.int64))
        start = self._start(journal, law, count, place)
        idx = np.arange(start, start + count).reshape(shape)
        offset = np.broadcast_to(np.asarray(loc, dtype=np.float64), shape)
        touches = () if loc is NO_LOCATION else ((place, loc),)
        coef = np.asarray(scale, dtype=np.float64)
        return NoisyArray(journal, offset, idx, coef, touches)

    def _told(self, law: TracedLaw, loc: Any, scale: Any, size: Any, place: Place) -> Any:
        """Noise as plain numbers."""
        if np.any(np.asarray(scale) < 0):
            raise ValueError("scale < 0")
        if size is None and (np.ndim(loc) or np.ndim(scale)):
            size = np.broadcast_shapes(np.shape(loc), np.shape(scale))
        shape = () if size is None else tuple(map(int, size)) if np.ndim(size) else (int(size),)
        count = None if size is None else int(np.prod(shape, dtype=np.int64))
        start = self._start(self.journal, law, count, place)
        if count is None:
            known = NoisyNumber(self.journal, 0.0, start, 1.0).realize(place)
        else:
            idx = np.arange(start, start + count).reshape(shape)
            form = NoisyArray(self.journal, np.zeros(shape), idx, np.asarray(1.0))
            known = form.realize(place)
        return loc + scale * known

    def _open(self, place: Place) -> Any:
        now = CURRENT.get()
        if self.journal.closed or (now is not None and now is not self.journal):
            if now is None:
                raise NotTraceable("the generator of a trace that is over was used", place)
            if now.inner:
                return now
            now.puzzle(place, "the generator of an earlier call is used")
            self.journal = now
        return self.journal

    def laplace(self, loc: Any = NO_LOCATION, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw(LAPLACE, loc, scale, size)

    def normal(self, loc: Any = NO_LOCATION, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw(NORMAL, loc, scale, size)

    def standard_normal(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        del dtype
        return self._into(
            out, self._draw(NORMAL, NO_LOCATION, 1.0, size if out is None else np.shape(out))
        )

    def gumbel(self, loc: Any = NO_LOCATION, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw(GUMBEL, loc, scale, size)

    def logistic(self, loc: Any = NO_LOCATION, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw(LOGISTIC, loc, scale, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._draw(CAUCHY, NO_LOCATION, 1.0, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw(EXPONENTIAL, NO_LOCATION, scale, size)

    def standard_exponential(
        self, size: Any = None, dtype: Any = None, method: Any = None, out: Any = None
    ) -> Any:
        del dtype, method
        shape = size if out is None else np.shape(out)
        return self._into(out, self._draw(EXPONENTIAL, NO_LOCATION, 1.0, shape))

    def uniform(self, low: Any = NO_LOCATION, high: Any = 1.0, size: Any = None) -> Any:
        return self._draw(UNIFORM, low, np.subtract(high, low)[()], size)

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        del dtype
        if out is None:
            return self._draw(UNIFORM, NO_LOCATION, 1.0, size)
        return self._into(out, self._draw(UNIFORM, NO_LOCATION, 1.0, np.shape(out)))

    @staticmethod
    def _into(out: Any, drawn: Any) -> Any:
        if out is None:
            return drawn
        np.copyto(out, _plain(drawn, here(3)))
        return out

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, *args: Any, **options: Any
    ) -> Any:
        del args, options
        mean, cov = np.asarray(mean, dtype=np.float64), np.asarray(cov, dtype=np.float64)
        values, vectors = np.linalg.eigh(cov)
        if values.min(initial=0.0) < -1e-8 * max(1.0, abs(values.max(initial=0.0))):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        shape = () if size is None else tuple(size) if np.ndim(size) else (int(size),)
        diagonal = np.all(cov == np.diag(np.diag(cov)))
        if diagonal:
            scale = np.broadcast_to(np.sqrt(np.diag(cov)), (*shape, len(mean)))
            return self._draw(NORMAL, mean, scale, (*shape, len(mean)))
        drawn = self._draw(NORMAL, NO_LOCATION, 1.0, (*shape, len(mean)))
        if shape == ():
            return root @ drawn + mean
        return (drawn.reshape(-1, len(mean)) @ root.T).reshape(*shape, len(mean)) + mean

    # Whole numbers.

    def geometric(self, p: Any, size: Any = None) -> Any:
        place = here(2)
        journal, p = self._open(place), float(_plain(p, place))
        law = TracedLaw("geometric", p)
        return self._whole(journal, law, 0, size, place)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = None, endpoint: Any = False
    ) -> Any:
        place = here(2)
        journal = self._open(place)
        low, high = (_plain(x, place) for x in (low, high))
        if high is None:
            low, high = 0, low
        many = bool(np.ndim(low) or np.ndim(high))
        width = 0 if many else int(high) - int(low) + bool(endpoint)
        if not many and width <= 0:
            raise ValueError("low >= high")
        if many or width > 2**52:
            kind = np.int64 if dtype is None else dtype
            key = ("integers", told(low), told(high), told(size), bool(endpoint), str(dtype))

            def sample(rng: np.random.Generator) -> Any:
                return rng.integers(low, high, size=size, dtype=kind, endpoint=endpoint)

            return self._pick(key, None, sample, place)
        return self._whole(journal, TracedLaw("integers", float(width)), int(low), size, place)

    def large(self, count: int) -> Any:
        """A whole number below `count`, which may exceed numpy's range, as Python allows."""
        size = count.bit_length() // 8 + 9  # what is uneven about the remainder is below 2^-64

        def sample(rng: np.random.Generator) -> int:
            return int.from_bytes(rng.bytes(size), "big") % count

        key = ("integers", told(0), told(count), told(None), False, str(None))
        return self._pick(key, None, sample, here(2))

    def _whole(self, journal: Any, law: TracedLaw, low: int, size: Any, place: Place) -> Any:
        touches = ((place, low),) if low else ()
        known = self.tape is not None and self.tape.known
        if size is None:
            start = self._start(journal, law, None, place)
            number = NoisyNumber(journal, low, start, 1, touches, whole=True)
            return number.realize(place) if known else number
        shape = tuple(map(int, size)) if np.ndim(size) else (int(size),)
        count = int(np.prod(shape, dtype=np.int64))
        start = self._start(journal, law, count, place)
        idx = np.arange(start, start + count).reshape(shape)
        row = NoisyArray(journal, np.full(shape, low), idx, np.asarray(1), touches, whole=True)
        return row.realize(place) if known else row

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        place = here(2)
        n, p = _plain(n, place), _plain(p, place)
        if np.ndim(n) == 0 and n == 1:
            shape = size if size is not None else (np.shape(p) or None)
            won = self._draw(UNIFORM, NO_LOCATION, 1.0, shape) < p
            return won.astype(np.int64) if isinstance(won, np.ndarray) else int(won)
        if np.ndim(n) == 0 and np.ndim(p) == 0 and n <= _MOST_OUTCOMES and size is None:
            weights = _binomial(int(n), float(p))
            if np.all(weights > 0.0) or p in {0, 1}:  # none is too small for a float
                key: tuple[Any, ...] = ("binomial",)
                drawn = self._pick(key, weights, lambda rng: int(rng.binomial(n, p)), place)
                return int(drawn)
        key = ("binomial", told(n), told(p), told(size))
        return self._pick(key, None, lambda rng: rng.binomial(n, p, size), place)

    # Choices.

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,  # noqa: FBT001
    ) -> Any:
        place = here(2)
        journal = self._open(place)
        a, p = _plain(a, place), _plain(p, place)
        whole = np.ndim(a) == 0
        count = int(a) if whole else np.shape(a)[axis]
        weights = None if p is None else np.asarray(p, dtype=np.float64)
        known = weights is not None and (replace or size is None)
        key: tuple[Any, ...] = ("choice", told(size))
        if not known:
            key = (*key, count, bool(replace))
        if weights is not None and not known:
            key = (*key, told(weights))

        def sample(rng: np.random.Generator) -> Any:
            return rng.choice(count, size=size, replace=replace, p=weights, shuffle=shuffle)

        chosen = self._pick(key, weights if known else None, sample, place)
        if np.any(np.asarray(chosen) >= count):
            journal.leak("parameter", place, "one side chooses among more candidates")
            chosen = np.minimum(chosen, count - 1)
        return chosen if whole else np.take(np.asarray(a), chosen, axis=axis)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        place = here(2)
        n, p = _plain(n, place), np.asarray(_plain(pvals, place), dtype=np.float64)
        if np.ndim(n) == 0 and n == 1 and p.ndim == 1 and p.size and size is None:
            weights = np.append(p[:-1], max(0.0, 1.0 - p[:-1].sum()))  # so numpy takes the last
            key: tuple[Any, ...] = ("choice", "multinomial")
            chosen = self._pick(
                key, weights, lambda rng: int(rng.multinomial(1, p).argmax()), place
            )
            return np.eye(max(len(p), chosen + 1), dtype=np.int64)[chosen]
        key = ("multinomial", told(n), told(p), told(size))
        return self._pick(key, None, lambda rng: rng.multinomial(n, p, size), place)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        place = here(2)
        x = _plain(x, place)
        count = int(x) if np.ndim(x) == 0 else np.shape(x)[axis]
        order = self._order(count, place)
        return order if np.ndim(x) == 0 else np.take(np.asarray(x), order, axis=axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        del axis, out
        place = here(2)
        self._open(place).puzzle(place, "permuted() is not understood")
        return self.journal.script.rng.permuted(_plain(x, place))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        place = here(2)
        order = self._order(np.shape(x)[axis] if isinstance(x, np.ndarray) else len(x), place)
        x[:] = np.take(x, order, axis=axis) if isinstance(x, np.ndarray) else [x[i] for i in order]

    def _order(self, count: int, place: Place) -> Any:
        key = ("permutation", count)
        return np.array(self._pick(key, None, lambda rng: rng.permutation(count), place))

    # What a generator can do besides.

    @property
    def bit_generator(self) -> Any:
        """Bits that remember their owner, so that a generator made from them is this one."""
        return TracedBits(self)

    def spawn(self, n_children: int) -> list[Any]:
        """Children that draw into the same journal."""
        return [type(self)(self._open(here(2))) for _ in range(n_children)]

    def __reduce__(self) -> Any:
        place = here(2)
        self.journal.puzzle(place, "the generator is copied or sent to another process")
        raise NotTraceable("the generator is copied or sent to another process", place)

    def __deepcopy__(self, memo: Any = None) -> Any:
        place = here(2)
        self.journal.puzzle(place, "the generator is copied: both would draw the same noise")
        return type(self)(self.journal)

    __copy__ = __deepcopy__


def _binomial(n: int, p: float) -> Any:
    """Probabilities of 0 … n successes, to a relative error of about 1e-13."""
    k = np.arange(n + 1.0)
    ways = (
        scipy.special.gammaln(n + 1.0)
        - scipy.special.gammaln(k + 1.0)
        - scipy.special.gammaln(n - k + 1.0)
    )
    weights = np.exp(ways + scipy.special.xlogy(k, p) + scipy.special.xlog1py(n - k, -p))
    return weights / weights.sum()


def _add_others() -> None:
    def method(name: str) -> Callable[..., Any]:
        def draw(self: RecordingGenerator, *args: Any, **options: Any) -> Any:
            place = here(2)
            args = tuple(_plain(x, place) for x in args)
            options = {key: _plain(x, place) for key, x in options.items()}
            named = (f"{key}={told(x)}" for key, x in sorted(options.items()))
            key = (name, *map(told, args), *named)
            return self._pick(key, None, lambda rng: getattr(rng, name)(*args, **options), place)

        draw.__name__ = name
        return draw

    for name in set(OTHER).difference(vars(RecordingGenerator)):
        setattr(RecordingGenerator, name, method(name))


_add_others()
