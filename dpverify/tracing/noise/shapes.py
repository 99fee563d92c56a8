"""Shapes of noisy values: numbers as arrays and back, concatenation, conversion to numbers."""

# ruff: noqa: ANN401  # operands are whatever the user has

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.numbers import NoisyNumber, is_plain
from dpverify.tracing.recording.events import (
    Factor,
    only_noise,
)
from dpverify.tracing.recording.laws import TracedLaw
from dpverify.tracing.recording.places import Place, here

SHAPED, BOUNDED = TracedLaw("shaped"), TracedLaw("bounded")
SETTLING = 3  # the level of `eager` at which nothing more is added to a form
COMPARING = 4  # the level at which a form becomes a number before it is compared


def is_noisy(value: Any) -> bool:
    kind = type(value)
    return kind is NoisyNumber or kind is NoisyArray


def as_array(value: Any) -> "NoisyArray":
    """A noisy number as an array without axes."""
    if type(value) is NoisyArray:
        return value
    value = value.worked_out()
    many = type(value.idx) is not int
    return NoisyArray(
        value.journal,
        np.asarray(value.offset),
        np.asarray(value.idx),
        np.asarray(value.coef),
        value.touches,
        many=many,
        whole=value.whole,
    )


def as_number(array: Any) -> Any:
    """An array without axes as a noisy number."""
    if type(array) is NoisyArray and array.shape == ():
        return array.mapped(lambda a: a)
    return array


def plain(value: Any, place: Place) -> Any:
    """The value with every form replaced by its numbers, also inside lists and tuples."""
    if is_noisy(value):
        return value.realize(place)
    if type(value) in {list, tuple} and any(holds_noise(part) for part in value):
        return type(value)(plain(part, place) for part in value)
    return value


def holds_noise(value: Any) -> bool:
    return is_noisy(value) or (type(value) in {list, tuple} and any(map(holds_noise, value)))


def stored(result: Any, out: Any) -> Any:
    """The result, written into `out` if given; a tuple `out` has one array per result."""
    if out is None:
        return result
    if type(out) is tuple and len(out) > 1:
        pairs = zip(result, out, strict=True)
        return tuple(one if target is None else stored(one, target) for one, target in pairs)
    target = out[0] if type(out) is tuple else out
    if target is None:
        return result
    if type(target) is NoisyArray:
        target.overwrite(result, here(3))
    else:
        np.copyto(target, plain(result, here(3)), casting="unsafe")
    return target


def eager(form: Any, factors: Any = ()) -> bool:
    """Whether a form becomes a number before it is multiplied.

    Data times a noisy value is post-processing of the value; times a constant it is the same value
    in another unit. A replay that meets a factor which differs is repeated at level 1, where forms
    with something added to them become numbers first; and at level 2, where noise alone does so
    when it meets an array, as if it were public: the start of a descent, a random projection. At
    level 3 they become numbers also before anything more is added to them: the weights of a descent
    from which the next gradient is computed. At level 4 they do so before they are compared: a
    noisy bound that data are clipped to.
    """
    level = form.journal.eager
    if not level:
        return False
    if not _is_bare(form):
        return True
    return bool(level == 2 and any(isinstance(x, np.ndarray) and x.ndim for x in factors))


def settled(form: Any) -> bool:
    """Whether a form becomes a number before anything is added to it."""
    level = form.journal.eager
    if level == COMPARING:
        return is_known(form)
    return bool(level == SETTLING and not _is_bare(form))


def _is_bare(form: Any) -> bool:
    """Whether nothing, or zero, was added to the noise, as in `rng.laplace(0, scale)`."""
    return only_noise(
        tuple(
            (place, added)
            for place, added in form.touches
            if type(added) not in {int, float} or added != 0
        )
    )


def is_known(form: Any) -> bool:
    """Whether the single draw of a noisy number was released before, so the number is known."""
    return type(form.idx) is int and bool(form.journal.draws.used.item(form.idx))


def is_raw(value: Any) -> bool:
    """Whether neither data nor a constant was added to the noise yet."""
    return is_noisy(value) and only_noise(value.touches)


def reshaped(func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> Any:
    """A function of raw noise and plain numbers: new noise of an unknown law.

    NotImplemented where something else is among the arguments, or no array of floats comes out.
    At level 2 of `eager`, noise that meets an array is public, and what comes out are numbers.
    """
    noisy = [x for x in args if is_noisy(x)]
    if not noisy or not all(map(is_raw, noisy)) or any(map(holds_noise, kwargs.values())):
        return NotImplemented
    if any(not is_noisy(x) and not is_plain(x) and x is not None for x in args):
        return NotImplemented
    result = func(*[plain(x, place) for x in args], **kwargs)
    if not is_plain(result) or np.asarray(result).dtype.kind != "f":
        return result
    journal = noisy[0].journal
    others = [x for x in (*args, *kwargs.values()) if not is_noisy(x)]
    if journal.eager == 2 and any(type(x) is not str and np.ndim(x) for x in others):
        return result
    bounded = func is np.clip and _cut_off(args, kwargs)
    given = [None if is_noisy(x) else x for x in args], kwargs
    return wrapped(journal, BOUNDED if bounded else SHAPED, result, place, given)


def _cut_off(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether np.clip has a finite bound for every element."""
    low, high = (*args[1:3], None, None)[:2]
    low = kwargs.get("a_min", kwargs.get("min", low))
    high = kwargs.get("a_max", kwargs.get("max", high))
    return any(b is not None and bool(np.all(np.isfinite(b))) for b in (low, high))


def wrapped(journal: Any, law: TracedLaw, result: Any, place: Place, given: Any = ()) -> Any:
    """Numbers computed from raw noise and from what else is `given`, as new noise.

    Its law bears the digest of the numbers and of what was given. In a replay, the raw noise is
    that of the recording; so if data had a part in it, the replay meets noise of another law.
    """
    text = repr((spelled(result), spelled(given))).encode()
    digest = int.from_bytes(hashlib.blake2b(text, digest_size=6).digest())
    start = journal.shaped(TracedLaw(law.name, float(digest)), result, place)
    touches = ((place, Factor(1.0)),)
    if np.ndim(result) == 0:
        return NoisyNumber(journal, 0.0, start, 1.0, touches)
    idx = np.arange(start, start + np.size(result)).reshape(np.shape(result))
    return NoisyArray(journal, np.zeros(np.shape(result)), idx, np.asarray(1.0), touches)


def spelled(value: Any) -> Any:
    """A value as complete text, where repr would leave out digits or elements."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(spelled, value))
    if isinstance(value, dict):
        return {repr(name): spelled(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return (value.shape, spelled(value.tolist()))
    return getattr(value, "__qualname__", None) or repr(value)


def with_terms(form: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    _, idx, coef = form.full()
    return (idx, coef) if form.many else (idx[..., None], coef[..., None])


def broadcast(form: Any, shape: tuple[int, ...]) -> Any:
    if form.shape == shape:
        return form
    offset, idx, coef = form.full()
    tail = idx.shape[-1:] if form.many else ()
    if form.many:
        pad = (1,) * (len(shape) - form.ndim)
        idx, coef = (x.reshape(pad + x.shape) for x in (idx, coef))
    return NoisyArray(
        form.journal,
        np.broadcast_to(offset, shape),
        np.broadcast_to(idx, shape + tail),
        np.broadcast_to(coef, shape + tail),
        form.touches,
        many=form.many,
        whole=form.whole,
    )


def gathered(values: Any) -> Any:
    """A list of plain and noisy numbers, or of rows of them, as one noisy array."""
    rows = [gathered(v) if type(v) in {list, tuple} else v for v in values]
    rows = [r.worked_out() if type(r) is NoisyNumber else r for r in rows]
    journal = next(_journals(rows))
    if any(type(r) is NoisyArray or (not is_noisy(r) and np.ndim(r)) for r in rows):
        return joined(rows, 0, stack=True)
    simple = all(not is_noisy(r) or type(r.idx) is int for r in rows)
    if not simple:
        return joined([as_array(r) if is_noisy(r) else np.asarray(r) for r in rows], 0, stack=True)
    offset = np.array([r.offset if is_noisy(r) else r for r in rows], dtype=np.float64)
    idx = np.array([r.idx if is_noisy(r) else 0 for r in rows], dtype=np.intp)
    coef = np.array([r.coef if is_noisy(r) else 0.0 for r in rows], dtype=np.float64)
    return NoisyArray(journal, offset, idx, coef, _all_touches(rows))


def _journals(values: Any) -> Any:
    for v in values:
        if is_noisy(v):
            yield v.journal
        elif type(v) in {list, tuple}:
            yield from _journals(v)


def _all_touches(rows: Any) -> Any:
    """The lines that touched the parts, and what each added, by index in the list."""
    by_place: dict[Place, list[Any]] = {}
    for i, row in enumerate(rows):
        for place, addend in getattr(row, "touches", ()) if is_noisy(row) else ():
            if not isinstance(addend, Factor):
                by_place.setdefault(place, []).append((i, np.asarray(addend).tolist()))
    return tuple((place, np.asarray(hash(repr(added)))) for place, added in by_place.items())


def joined(parts: Any, axis: int, *, stack: bool) -> Any:
    """Concatenated arrays, some of them noisy."""
    journal = next(_journals(parts))
    arrays: list[Any] = [as_array(p) if is_noisy(p) else np.asarray(p) for p in parts]
    most = max(a.idx.shape[-1] if is_noisy(a) and a.many else 1 for a in arrays)
    many = most > 1 or any(is_noisy(a) and a.many for a in arrays)
    put = np.stack if stack else np.concatenate
    offsets, draws, factors = [], [], []
    for a in arrays:
        if is_noisy(a):
            offset, _, _ = a.full()
            idx, coef = with_terms(a)
            gap = [(0, 0)] * (idx.ndim - 1) + [(0, most - idx.shape[-1])]
            # A term with factor 0 stands for nothing; any draw will do.
            idx, coef = np.pad(idx, gap, mode="edge"), np.pad(coef, gap)
        else:
            offset = a
            idx = np.zeros((*a.shape, most), dtype=np.intp)
            coef = np.zeros((*a.shape, most))
        offsets.append(np.asarray(offset, dtype=np.float64))
        draws.append(idx)
        factors.append(coef)
    at = axis if axis >= 0 else axis - 1
    idx, coef = put(draws, axis=at), put(factors, axis=at)
    if not many:
        idx, coef = idx[..., 0], coef[..., 0]
    return NoisyArray(journal, put(offsets, axis=axis), idx, coef, _all_touches(parts), many=many)


def shape_of(value: Any) -> tuple[int, ...]:
    if is_noisy(value):
        return as_array(value).shape
    return np.shape(value)
