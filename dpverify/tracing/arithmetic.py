"""numpy on noisy values: what is linear stays a form, everything else gets numbers."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing import noise as forms
from dpverify.tracing.events import Factor, only_noise, rescaled
from dpverify.tracing.laws import Law
from dpverify.tracing.places import Place, here

SHAPED, BOUNDED = Law("shaped"), Law("bounded")
_BOUNDING = {np.clip, np.tanh, np.sin, np.cos}
_MOST_TERMS = 4_000_000  # beyond, a sum of draws is realized part by part


def is_noisy(value: Any) -> bool:
    kind = type(value)
    return kind is forms.NoisyNumber or kind is forms.NoisyArray


def as_array(value: Any) -> "forms.NoisyArray":
    """A noisy number as an array without axes."""
    if type(value) is forms.NoisyArray:
        return value
    many = type(value.idx) is not int
    return forms.NoisyArray(
        value.journal,
        np.asarray(value.offset),
        np.asarray(value.idx),
        np.asarray(value.coef),
        value.touches,
        many=many,
        whole=value.whole,
    )


def _as_number(array: Any) -> Any:
    """An array without axes as a noisy number."""
    if type(array) is forms.NoisyArray and array.shape == ():
        return array.mapped(lambda a: a)
    return array


def plain(value: Any, place: Place) -> Any:
    """The value with every form in it realized; lists and tuples are looked into."""
    if is_noisy(value):
        return value.realize(place)
    if type(value) in {list, tuple} and any(holds_noise(part) for part in value):
        return type(value)(plain(part, place) for part in value)
    return value


def holds_noise(value: Any) -> bool:
    return is_noisy(value) or (type(value) in {list, tuple} and any(map(holds_noise, value)))


def stored(result: Any, out: Any) -> Any:
    target = out[0] if type(out) is tuple else out
    if target is None:
        return result
    if is_noisy(target):
        made = as_array(result) if is_noisy(result) else None
        if made is None:
            raise TypeError("a noisy array cannot be the output of this operation")
        for name in ("offset", "idx", "coef", "touches", "many", "whole"):
            setattr(target, name, getattr(made, name))
        return target
    np.copyto(target, plain(result, here(3)), casting="unsafe")
    return target


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    place = here(3)
    out = options.pop("out", None)
    if method == "__call__" and not (set(options) - {"dtype", "casting"}):
        handler = _LINEAR.get(ufunc)
        if ufunc in _PRODUCTS and any(is_noisy(x) and eager(x) for x in inputs):
            handler = None
        if handler is not None:
            found = handler(inputs, place)
            if found is not NotImplemented:
                return stored(_as_number(found), out)
    if method == "reduce" and ufunc is np.add and type(inputs[0]) is forms.NoisyArray:
        return stored(summed(inputs[0], options.get("axis", 0)), out)
    if method == "__call__" and out is None:
        made = reshaped(lambda *x: ufunc(*x, **options), inputs, {}, place)
        if made is not NotImplemented:
            return made
    numbers = [plain(x, place) for x in inputs]
    result = getattr(ufunc, method)(*numbers, **options)
    return stored(result, out)


_PRODUCTS = {np.multiply, np.true_divide, np.matmul}


def eager(form: Any) -> bool:
    """Whether a form with data in it becomes a number before it is multiplied.

    Data times a noisy value is post-processing of the value; times a constant it is the same value
    in another unit. A replay that meets a factor which differs is repeated with this switched on.
    """
    return bool(form.journal.eager and not only_noise(form.touches))


def is_raw(value: Any) -> bool:
    """Noise that no data and no constant was added to yet."""
    return is_noisy(value) and only_noise(value.touches)


def reshaped(func: Any, args: Any, kwargs: dict[str, Any], place: Place) -> Any:
    """A function of raw noise alone and of plain numbers: noise again, of a law not known.

    NotImplemented where something else is among the arguments, or no array of floats comes out.
    """
    noisy = [x for x in args if is_noisy(x)]
    if not noisy or not all(map(is_raw, noisy)) or any(map(holds_noise, kwargs.values())):
        return NotImplemented
    if any(not is_noisy(x) and not forms.is_plain(x) and x is not None for x in args):
        return NotImplemented
    result = func(*[plain(x, place) for x in args], **kwargs)
    if not forms.is_plain(result) or np.asarray(result).dtype.kind != "f":
        return result
    law = BOUNDED if func in _BOUNDING else SHAPED
    return wrapped(noisy[0].journal, law, result, place)


def wrapped(journal: Any, law: Law, result: Any, place: Place) -> Any:
    start = journal.shaped(law, result, place)
    if np.ndim(result) == 0:
        return forms.NoisyNumber(journal, 0.0, start, 1.0)
    idx = np.arange(start, start + np.size(result)).reshape(np.shape(result))
    return forms.NoisyArray(journal, np.zeros(np.shape(result)), idx, np.asarray(1.0))


def _sides(inputs: Any) -> tuple[Any, Any] | None:
    """Both operands as forms or plain arrays; None if one of them is neither."""
    found: list[Any] = []
    for x in inputs:
        if is_noisy(x):
            found.append(as_array(x))
        elif type(x) in {list, tuple}:
            found.append(gathered(x) if holds_noise(x) else np.asarray(x))
        else:
            found.append(x)
        if not (is_noisy(found[-1]) or forms.is_plain(found[-1])):
            return None
    return found[0], found[1]


def _add(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    return NotImplemented if sides is None else _sum_of(sides[0], sides[1], 1, place)


def _subtract(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None:
        return NotImplemented
    one, two = sides
    if is_noisy(one):
        return _sum_of(one, two, -1, place)
    return _sum_of(_scaled(two, -1), one, 1, place)


def _sum_of(one: Any, two: Any, sign: int, place: Place) -> Any:
    if not is_noisy(one):
        one, two = two, one
    shape = np.broadcast_shapes(one.shape, _shape(two))
    wide = _broadcast(one, shape)
    if not is_noisy(two):
        addend = two if sign > 0 else -np.asarray(two)
        whole = one.whole and np.asarray(two).dtype.kind in "iub"
        return forms.NoisyArray(
            one.journal,
            wide.offset + addend,
            wide.idx,
            wide.coef,
            forms.touched(one.touches, place, addend),
            many=wide.many,
            whole=whole,
        )
    other = _broadcast(two, shape)
    parts = [_with_terms(wide), _with_terms(other)]
    return forms.NoisyArray(
        one.journal,
        np.asarray(wide.offset) + sign * np.asarray(other.offset),
        np.concatenate([parts[0][0], parts[1][0]], axis=-1),
        np.concatenate([parts[0][1], sign * parts[1][1]], axis=-1),
        (*one.touches, *rescaled(two.touches, sign)),
        many=True,
        whole=one.whole and two.whole,
    )


def _with_terms(form: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    _, idx, coef = form.full()
    return (idx, coef) if form.many else (idx[..., None], coef[..., None])


def _broadcast(form: Any, shape: tuple[int, ...]) -> Any:
    if form.shape == shape:
        return form
    offset, idx, coef = form.full()
    tail = idx.shape[-1:] if form.many else ()
    if form.many:
        pad = (1,) * (len(shape) - form.ndim)
        idx, coef = (x.reshape(pad + x.shape) for x in (idx, coef))
    return forms.NoisyArray(
        form.journal,
        np.broadcast_to(offset, shape),
        np.broadcast_to(idx, shape + tail),
        np.broadcast_to(coef, shape + tail),
        form.touches,
        many=form.many,
        whole=form.whole,
    )


def _scaled(form: Any, factor: Any) -> Any:
    """The form times a plain number or array."""
    shape = np.broadcast_shapes(form.shape, np.shape(factor))
    wide = _broadcast(form, shape)
    times = np.asarray(factor)
    if times.dtype.kind == "b":
        times = times.astype(np.int64)
    coef = np.asarray(wide.coef)
    if wide.many and times.ndim:
        _, _, coef = wide.full()
        terms = np.broadcast_to(times, shape)[..., None]
    else:
        terms = times
    return forms.NoisyArray(
        form.journal,
        np.asarray(wide.offset) * times,
        wide.idx,
        coef * terms,
        rescaled(form.touches, times if times.ndim else times[()]),
        many=wide.many,
        whole=form.whole and times.dtype.kind in "iu",
    )


def _multiply(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or (is_noisy(sides[0]) and is_noisy(sides[1])):
        return NotImplemented
    one, two = sides if is_noisy(sides[0]) else sides[::-1]
    return _noted(_scaled(one, two), place, two)


def _noted(form: Any, place: Place, by: Any) -> Any:
    form.touches = (*form.touches, (place, Factor(by)))
    return form


def _divide(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or is_noisy(sides[1]) or np.any(np.asarray(sides[1]) == 0):
        return NotImplemented
    by = 1.0 / np.asarray(sides[1], dtype=np.float64)
    return _noted(_scaled(sides[0], by), place, by)


def _negative(inputs: Any, place: Place) -> Any:
    del place
    return _scaled(as_array(inputs[0]), -1)


def _positive(inputs: Any, place: Place) -> Any:
    del place
    return inputs[0]


def _matmul(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or (is_noisy(sides[0]) and is_noisy(sides[1])):
        return NotImplemented
    one, two = sides
    if is_noisy(one):
        form, matrix = one, np.asarray(two)
        if form.ndim == 1 and matrix.ndim == 1:
            return summed(_scaled(form, matrix), None)
        if form.ndim == 1 and matrix.ndim == 2:
            return _matmul((matrix.T, form), place)
        if matrix.ndim not in {1, 2} or form.ndim != 2:
            return NotImplemented
        return _matmul((matrix.T, form.T), place).T if matrix.ndim == 2 else _rows(form, matrix)
    matrix, form = np.asarray(one), two
    if matrix.ndim == 1 and form.ndim == 1:
        return summed(_scaled(form, matrix), None)
    if matrix.ndim == 1 and form.ndim == 2:
        return _rows(form.T, matrix)
    if matrix.ndim != 2 or form.ndim not in {1, 2} or matrix.size * form.size > _MOST_TERMS:
        return NotImplemented
    if form.ndim == 1:
        return summed(_scaled(form, matrix), 1)
    wide = forms.NoisyArray.mapped(form, lambda a: a[None, :, :])
    return summed(_scaled(wide, matrix[:, :, None]), 1)


def _rows(form: Any, vector: NDArray[Any]) -> Any:
    return summed(_scaled(form, vector), 1)


def summed(form: Any, axis: Any) -> Any:
    """The form summed over axes: the draws of the summed elements become terms of one."""
    offset, _, _ = form.full()
    idx, coef = _with_terms(form)
    axes = tuple(range(form.ndim)) if axis is None else axis if type(axis) is tuple else (axis,)
    axes = tuple(a % form.ndim for a in axes)
    kept = [a for a in range(form.ndim) if a not in axes]
    order = (*kept, *axes, form.ndim)
    shape = tuple(form.shape[a] for a in kept)
    made = forms.NoisyArray(
        form.journal,
        offset.sum(axis=axes),
        idx.transpose(order).reshape(*shape, -1),
        coef.transpose(order).reshape(*shape, -1),
        tuple(
            (p, a if isinstance(a, Factor) else _addend_sum(a, form.shape, axes))
            for p, a in form.touches
        ),
        many=True,
        whole=form.whole,
    )
    return _as_number(made)


def _addend_sum(addend: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    try:
        return np.broadcast_to(np.asarray(addend), shape).sum(axis=axes)
    except ValueError:
        return addend


def _comparison(op: str) -> Callable[[Any, Place], Any]:
    opposite = {
        "greater": "less",
        "less": "greater",
        "greater_equal": "less_equal",
        "less_equal": "greater_equal",
    }

    def compared(inputs: Any, place: Place) -> Any:
        sides = _sides(inputs)
        if sides is None or (is_noisy(sides[0]) and is_noisy(sides[1])):
            return NotImplemented
        one, two = sides
        used = op
        if not is_noisy(one):
            one, two, used = two, one, opposite[op]
        laws = one.journal.draws.names_of(one.idx) if one.size else []
        gap = _sum_of(one, two, -1, place)
        offset, idx, coef = gap.full()
        usable = not one.many and not any(law.is_discrete for law in laws)
        if not usable or np.any(coef == 0) or not np.all(np.isfinite(offset)):
            return NotImplemented
        return one.journal.compare(used, offset, idx, coef, one.touches, place)

    return compared


_LINEAR: dict[np.ufunc, Callable[[Any, Place], Any]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.negative: _negative,
    np.positive: _positive,
    np.matmul: _matmul,
    np.greater: _comparison("greater"),
    np.greater_equal: _comparison("greater_equal"),
    np.less: _comparison("less"),
    np.less_equal: _comparison("less_equal"),
}


def choose(form: Any, axis: Any, sign: int, place: Place) -> Any:
    """The index of the largest: only it is used, so only it is recorded where that is sound."""
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


def gathered(values: Any) -> Any:
    """A list of plain and noisy numbers, or of rows of them, as one noisy array."""
    rows = [gathered(v) if type(v) in {list, tuple} else v for v in values]
    journal = next(_journals(rows))
    if any(type(r) is forms.NoisyArray or (not is_noisy(r) and np.ndim(r)) for r in rows):
        return joined(rows, 0, stack=True)
    simple = all(not is_noisy(r) or type(r.idx) is int for r in rows)
    if not simple:
        return joined([as_array(r) if is_noisy(r) else np.asarray(r) for r in rows], 0, stack=True)
    offset = np.array([r.offset if is_noisy(r) else r for r in rows], dtype=np.float64)
    idx = np.array([r.idx if is_noisy(r) else 0 for r in rows], dtype=np.intp)
    coef = np.array([r.coef if is_noisy(r) else 0.0 for r in rows], dtype=np.float64)
    return forms.NoisyArray(journal, offset, idx, coef, _all_touches(rows))


def _journals(values: Any) -> Any:
    for v in values:
        if is_noisy(v):
            yield v.journal
        elif type(v) in {list, tuple}:
            yield from _journals(v)


def _all_touches(rows: Any) -> Any:
    """Lines that touched the parts; what each added, by place in the list."""
    by_place: dict[Place, list[Any]] = {}
    for i, row in enumerate(rows):
        for place, addend in getattr(row, "touches", ()) if is_noisy(row) else ():
            if not isinstance(addend, Factor):
                by_place.setdefault(place, []).append((i, np.asarray(addend).tolist()))
    return tuple((place, np.asarray(hash(repr(added)))) for place, added in by_place.items())


def joined(parts: Any, axis: int, *, stack: bool) -> Any:
    """Arrays, some of them noisy, put together."""
    journal = next(_journals(parts))
    arrays: list[Any] = [as_array(p) if is_noisy(p) else np.asarray(p) for p in parts]
    most = max(a.idx.shape[-1] if is_noisy(a) and a.many else 1 for a in arrays)
    many = most > 1 or any(is_noisy(a) and a.many for a in arrays)
    put = np.stack if stack else np.concatenate
    offsets, draws, factors = [], [], []
    for a in arrays:
        if is_noisy(a):
            offset, _, _ = a.full()
            idx, coef = _with_terms(a)
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
    return forms.NoisyArray(
        journal, put(offsets, axis=axis), idx, coef, _all_touches(parts), many=many
    )


def apply_function(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    handler = _FUNCTIONS.get(func)
    place = here(3)
    if handler is not None:
        found = handler(place, *args, **kwargs)
        if found is not NotImplemented:
            return found
    out = kwargs.pop("out", None)
    if out is None:
        made = reshaped(func, args, kwargs, place)
        if made is not NotImplemented:
            return made
    numbers = [plain(x, place) for x in args]
    named = {name: plain(x, place) for name, x in kwargs.items()}
    result = func(*numbers, **named)
    return result if out is None else stored(result, out)


def _change(func: Any) -> Callable[..., Any]:
    def handler(place: Place, a: Any, *args: Any, **kwargs: Any) -> Any:
        del place
        if not is_noisy(a):
            return NotImplemented
        return as_array(a).mapped(lambda x: func(x, *args, **kwargs))

    return handler


def _np_sum(place: Place, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    del place, dtype
    return stored(summed(as_array(a), axis), out) if is_noisy(a) else NotImplemented


def _np_mean(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    del place
    return NotImplemented if kwargs or not is_noisy(a) else as_array(a).mean(axis)


def _np_cumsum(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    if kwargs or not is_noisy(a):
        return NotImplemented
    form = as_array(a)
    if form.ndim != 1 or axis not in {None, 0, -1} or form.size**2 > _MOST_TERMS:
        return NotImplemented
    return _matmul((np.tri(form.size), form), place)


def _np_dot(place: Place, a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if any(is_noisy(x) and eager(x) for x in (a, b)):
        return NotImplemented
    shapes = [_shape(x) for x in (a, b)]
    return _multiply((a, b), place) if () in shapes else _as_number(_matmul((a, b), place))


def _shape(value: Any) -> tuple[int, ...]:
    if is_noisy(value):
        return as_array(value).shape
    return np.shape(value)


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
            parts.append(_broadcast(v, shape).full())
        else:
            zero = np.zeros(shape, dtype=np.intp)
            parts.append((np.broadcast_to(v, shape), zero, np.zeros(shape)))
    offset, idx, coef = (np.where(condition, a, b) for a, b in zip(*parts, strict=True))
    touches = tuple(t for v in noisy for t in v.touches)
    return forms.NoisyArray(noisy[0].journal, offset, idx, coef, touches)


def _np_argmax(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return NotImplemented if kwargs or not is_noisy(a) else choose(as_array(a), axis, 1, place)


def _np_argmin(place: Place, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return NotImplemented if kwargs or not is_noisy(a) else choose(as_array(a), axis, -1, place)


def _masked(func: Any) -> Callable[..., Any]:
    def handler(place: Place, m: Any, k: int = 0) -> Any:
        del place
        if type(m) is not forms.NoisyArray:
            return NotImplemented
        return _scaled(m, func(np.ones(m.shape), k))

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
    np.shape: lambda _place, a: a.shape if type(a) is forms.NoisyArray else (),
    np.ndim: lambda _place, a: a.ndim if type(a) is forms.NoisyArray else 0,
    np.size: lambda _place, a, _axis=None: a.size if type(a) is forms.NoisyArray else 1,
    **{
        func: _change(func)
        for func in (
            *(np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.broadcast_to),
            *(np.atleast_1d, np.atleast_2d, np.tile, np.repeat, np.flip, np.roll, np.copy),
            *(np.swapaxes, np.moveaxis, np.take, np.diag, np.rot90, np.fliplr, np.flipud),
        )
    },
}
