"""NumPy's functions on noisy values: sums, products and choices; others give numbers."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.tracing.noise.arithmetic import MOST_TERMS, matmul, multiply, scaled, summed
from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.shapes import (
    as_array,
    as_number,
    broadcast,
    eager,
    holds_noise,
    is_noisy,
    joined,
    plain,
    reshaped,
    shape_of,
    stored,
)
from dpverify.tracing.recording.meetings import UNDERSTOOD, spelled_out
from dpverify.tracing.recording.places import Place, here


def choose(form: Any, axis: Any, sign: int, place: Place) -> Any:
    """argmax: the index of the largest; only that is released, and recorded where it is sound."""
    if form.ndim == 2 and 1 in form.shape and axis in {1, -1} and form.shape[0] == 1:
        return np.array([choose(form[0], None, sign, place)])
    simple = not form.many and form.ndim == 1 and form.size > 1 and axis in {None, 0, -1}
    if simple:
        offset, idx, coef = form.full()
        draws = form.journal.draws
        laws = draws.names_of(idx)
        scale = float(coef[0]) * sign
        known = laws[0].name in {"gumbel", "exponential", "laplace"} and len(laws) == 1
        # Exponential and Gumbel noise are not symmetric: the theorem is about adding them.
        right = scale > 0 or laws[0].name == "laplace"
        unused = not np.any(draws.used[idx]) and len(np.unique(idx)) == len(idx)
        if known and right and unused and np.all(coef == coef[0]) and scale != 0:
            scores = np.asarray(offset, dtype=np.float64) * sign
            if np.all(np.isfinite(scores)):
                return np.intp(form.journal.select(scores, idx, coef * sign, form.touches, place))
    values = form.realize(place)
    return np.argmax(values, axis) if sign > 0 else np.argmin(values, axis)


def apply_function(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    handler = _FUNCTIONS.get(func)
    place = here(3)
    if func in _WRITING and type(args[0]) is NoisyArray:
        return _written(func, args, kwargs, place)
    if handler is not None:
        found = handler(place, *args, **kwargs)
        if found is not NotImplemented:
            return found
    kwargs = {n: x for n, x in kwargs.items() if x is not None or n not in {"axis", "dtype", "out"}}
    out = kwargs.pop("out", None)
    made = reshaped(func, args, kwargs, place)
    if made is not NotImplemented:
        return stored(made, out)
    _note_others(func, args, kwargs, place)
    numbers = [plain(x, place) for x in args]
    named = {name: plain(x, place) for name, x in kwargs.items()}
    result = func(*numbers, **named)
    return stored(result, out)


def _note_others(func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> None:
    """Note what a function gets besides noise: if it is data, its result is not followed."""
    given = [*args, *kwargs.values()]
    others = [x for x in given if not holds_noise(x)]
    journal = next((x.journal for x in given if is_noisy(x)), None)
    if others and journal is not None and getattr(func, "__name__", "") not in UNDERSTOOD:
        journal.beside.append((place, spelled_out(others)))


def _change(func: Any) -> Callable[..., Any]:
    def handler(place: Place, a: Any, *args: Any, **kwargs: Any) -> Any:
        del place
        if not is_noisy(a):
            return NotImplemented
        return as_array(a).mapped(lambda x: func(x, *args, **kwargs))

    return handler


_WRITING = {np.put, np.place, np.putmask, np.copyto, np.fill_diagonal, np.put_along_axis}


def _written(func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> None:
    """A function that writes to its first argument, which becomes plain numbers."""
    numbers = np.array(plain(args[0], place))
    others = [plain(x, place) for x in args[1:]]
    func(numbers, *others, **{name: plain(x, place) for name, x in kwargs.items()})
    args[0].overwrite(numbers, place)


def _sum_options(dtype: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a sum is requested without casts, masks or initial values."""
    return (dtype is None or np.dtype(dtype) == np.float64) and not kwargs


def _np_sum(  # noqa: PLR0913, PLR0917  # numpy's signature
    place: Place,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,  # noqa: FBT002
    **kwargs: Any,
) -> Any:
    del place
    if not is_noisy(a) or not _sum_options(dtype, kwargs):
        return NotImplemented
    return stored(summed(as_array(a), axis, keep=bool(keepdims)), out)


def _np_mean(  # noqa: PLR0913, PLR0917  # numpy's signature
    place: Place,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,  # noqa: FBT002
    **kwargs: Any,
) -> Any:
    if not is_noisy(a) or not _sum_options(dtype, kwargs):
        return NotImplemented
    form = as_array(a)
    if not form.size:
        return NotImplemented
    total = summed(form, axis, keep=bool(keepdims))
    share = np.size(total) / form.size
    return stored(as_number(multiply((total, share), place)), out)


def _np_cumsum(place: Place, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if not is_noisy(a) or not _sum_options(dtype, {}) or out is not None:
        return NotImplemented
    form = as_array(a)
    if form.ndim != 1 or axis not in {None, 0, -1} or form.size**2 > MOST_TERMS:
        return NotImplemented
    return matmul((np.tri(form.size), form), place)


def _np_dot(place: Place, a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if any(is_noisy(x) and eager(x, (a, b)) for x in (a, b)):
        return np.dot(plain(a, place), plain(b, place))
    shapes = [shape_of(x) for x in (a, b)]
    return multiply((a, b), place) if () in shapes else as_number(matmul((a, b), place))


def _np_concatenate(place: Place, parts: Any, axis: Any = 0, **kwargs: Any) -> Any:
    del place
    return NotImplemented if kwargs or axis is None else joined(list(parts), axis, stack=False)


def _np_stack(place: Place, parts: Any, axis: int = 0, **kwargs: Any) -> Any:
    del place
    return NotImplemented if kwargs else joined(list(parts), axis, stack=True)


def _np_hstack(place: Place, parts: Any, **kwargs: Any) -> Any:
    rows = [as_array(p) if is_noisy(p) else np.asarray(p) for p in parts]
    rows = [p.reshape(1) if not p.shape else p for p in rows]
    return _np_concatenate(place, rows, 0 if rows[0].ndim == 1 else 1, **kwargs)


def _forms_or_arrays(values: Any) -> list[Any]:
    return [as_array(v) if is_noisy(v) else np.asarray(v) for v in values]


def _np_where(place: Place, condition: Any, *values: Any) -> Any:
    if is_noisy(condition) or len(values) != 2:
        return NotImplemented
    one, two = _forms_or_arrays(values)
    shape = np.broadcast_shapes(np.shape(condition), one.shape, two.shape)
    noisy = [v for v in (one, two) if is_noisy(v)]
    if any(v.many for v in noisy):
        return NotImplemented
    del place
    parts = []
    for v in (one, two):
        if is_noisy(v):
            parts.append(broadcast(v, shape).full())
        else:
            zero = np.zeros(shape, dtype=np.intp)
            parts.append((np.broadcast_to(v, shape), zero, np.zeros(shape)))
    offset, idx, coef = (np.where(condition, a, b) for a, b in zip(*parts, strict=True))
    touches = tuple(t for v in noisy for t in v.touches)
    return NoisyArray(noisy[0].journal, offset, idx, coef, touches)


def _np_argmax(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return NotImplemented if kwargs or not is_noisy(a) else choose(as_array(a), axis, 1, place)


def _np_argmin(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return NotImplemented if kwargs or not is_noisy(a) else choose(as_array(a), axis, -1, place)


def _masked(func: Any) -> Callable[..., Any]:
    def handler(place: Place, m: Any, k: int = 0) -> Any:
        del place
        if type(m) is not NoisyArray:
            return NotImplemented
        return scaled(m, func(np.ones(m.shape), k))

    return handler


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.triu: _masked(np.triu),
    np.tril: _masked(np.tril),
    np.sum: _np_sum,
    np.mean: _np_mean,
    np.cumsum: _np_cumsum,
    np.dot: _np_dot,
    np.concatenate: _np_concatenate,
    np.stack: _np_stack,
    np.hstack: _np_hstack,
    np.where: _np_where,
    np.argmax: _np_argmax,
    np.argmin: _np_argmin,
    np.shape: lambda _place, a: a.shape if type(a) is NoisyArray else (),
    np.ndim: lambda _place, a: a.ndim if type(a) is NoisyArray else 0,
    np.size: lambda _place, a, _axis=None: a.size if type(a) is NoisyArray else 1,
    **{
        func: _change(func)
        for func in (
            *(np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.broadcast_to),
            *(np.atleast_1d, np.atleast_2d, np.tile, np.repeat, np.flip, np.roll, np.copy),
            *(
                np.swapaxes,
                np.moveaxis,
                np.take,
                np.diag,
                np.diagonal,
                np.rot90,
                np.fliplr,
                np.flipud,
            ),
        )
    },
}
