"""NumPy's ufuncs on noisy values: linear ones keep track of the noise, others give numbers."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.numbers import HUGE, between_whole, is_plain, touched
from dpverify.tracing.noise.shapes import (
    COMPARING,
    as_array,
    as_number,
    broadcast,
    eager,
    gathered,
    holds_noise,
    is_noisy,
    plain,
    reshaped,
    settled,
    shape_of,
    stored,
    with_terms,
)
from dpverify.tracing.recording.events import Factor
from dpverify.tracing.recording.journal import COMPARE, CURRENT
from dpverify.tracing.recording.places import Place, here

MOST_TERMS = 4_000_000  # beyond, a sum of draws is realized part by part


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    place = here(3)
    out = options.pop("out", None)
    if method == "at":
        return _at(ufunc, inputs, place)
    if _is_float(options):
        found = _followed(ufunc, method, inputs, options, place)
        if found is not NotImplemented:
            return stored(found, out)
    options = {name: plain(x, place) for name, x in options.items()}
    if out is not None and "where" in options:
        # What is left out keeps the numbers that are there.
        into = tuple(np.array(plain(x, place)) for x in out)
        numbers = [plain(x, place) for x in inputs]
        return stored(getattr(ufunc, method)(*numbers, **options, out=into), out)
    if method == "__call__":
        made = reshaped(ufunc, inputs, options, place)
        if made is not NotImplemented:
            return stored(made, out)
    numbers = [plain(x, place) for x in inputs]
    return stored(getattr(ufunc, method)(*numbers, **options), out)


def _followed(
    ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any], place: Place
) -> Any:
    """Apply linear ufuncs and comparisons symbolically; NotImplemented for all others."""
    given = options.keys() - {"dtype"}
    if method == "reduce" and ufunc is np.add and type(inputs[0]) is NoisyArray:
        if given - {"axis", "keepdims"}:
            return NotImplemented
        return summed(inputs[0], options.get("axis", 0), keep=bool(options.get("keepdims")))
    if method != "__call__" or given - {"casting"}:
        return NotImplemented
    if ufunc in _PRODUCTS and any(is_noisy(x) and eager(x, inputs) for x in inputs):
        return ufunc(*[plain(x, place) for x in inputs], **options)
    if ufunc in _SUMS and any(is_noisy(x) and settled(x) for x in inputs):
        known = [plain(x, place) if is_noisy(x) and settled(x) else x for x in inputs]
        return ufunc(*known, **options)
    handler = _LINEAR.get(ufunc)
    return NotImplemented if handler is None else as_number(handler(inputs, place))


def _is_float(options: dict[str, Any]) -> bool:
    """Whether no cast to a type other than floats is requested."""
    return options.get("dtype") is None or np.dtype(options["dtype"]) == np.float64


def _at(ufunc: np.ufunc, inputs: Any, place: Place) -> None:
    """In-place changes to elements of an array."""
    target, *others = inputs
    others = [plain(x, place) for x in others]
    if not is_noisy(target):
        ufunc.at(target, *others)
        return
    numbers = np.array(plain(target, place))
    ufunc.at(numbers, *others)
    target.overwrite(numbers, place)


_SUMS = {np.add, np.subtract}
_SHORT = (np.dtype(np.float32), np.dtype(np.float16))
_PRODUCTS = {np.multiply, np.true_divide, np.matmul}


def _sides(inputs: Any) -> tuple[Any, Any] | None:
    """Both operands as forms or plain arrays; None if one is neither."""
    found: list[Any] = []
    for x in inputs:
        if is_noisy(x):
            found.append(as_array(x))
        elif type(x) in {list, tuple}:
            found.append(gathered(x) if holds_noise(x) else np.asarray(x))
        else:
            found.append(x)
            if getattr(x, "dtype", None) in _SHORT:
                CURRENT.get().met(float(np.finfo(x.dtype).eps))
        if not (is_noisy(found[-1]) or is_plain(found[-1])):
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
    return _sum_of(scaled(two, -1), one, 1, place)


def _sum_of(one: Any, two: Any, sign: int, place: Place) -> Any:
    if not is_noisy(one):
        one, two = two, one
    shape = np.broadcast_shapes(one.shape, shape_of(two))
    wide = broadcast(one, shape)
    if not is_noisy(two):
        addend = two if sign > 0 else -np.asarray(two)
        whole = one.whole and np.asarray(two).dtype.kind in "iub"
        return NoisyArray(
            one.journal,
            wide.offset + addend,
            wide.idx,
            wide.coef,
            touched(one.touches, place, addend),
            many=wide.many,
            whole=whole,
        )
    other = broadcast(two, shape)
    parts = [with_terms(wide), with_terms(other)]
    return NoisyArray(
        one.journal,
        np.asarray(wide.offset) + sign * np.asarray(other.offset),
        np.concatenate([parts[0][0], parts[1][0]], axis=-1),
        np.concatenate([parts[0][1], sign * parts[1][1]], axis=-1),
        (*one.touches, *two.touches, (place, Factor(sign))),
        many=True,
        whole=one.whole and two.whole,
    )


def scaled(form: Any, factor: Any) -> Any:
    """The form times a plain number or array."""
    shape = np.broadcast_shapes(form.shape, np.shape(factor))
    wide = broadcast(form, shape)
    times = np.asarray(factor)
    if times.dtype.kind == "b":
        times = times.astype(np.int64)
    coef = np.asarray(wide.coef)
    if wide.many and times.ndim:
        _, _, coef = wide.full()
        terms = np.broadcast_to(times, shape)[..., None]
    else:
        terms = times
    return NoisyArray(
        form.journal,
        np.asarray(wide.offset) * times,
        wide.idx,
        coef * terms,
        form.touches,
        many=wide.many,
        whole=form.whole and times.dtype.kind in "iu",
    )


def multiply(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or (is_noisy(sides[0]) and is_noisy(sides[1])):
        return NotImplemented
    one, two = sides if is_noisy(sides[0]) else sides[::-1]
    return _noted(scaled(one, two), place, two)


def _noted(form: Any, place: Place, by: Any) -> Any:
    form.touches = (*form.touches, (place, Factor(by)))
    return form


def _divide(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or is_noisy(sides[1]) or np.any(np.asarray(sides[1]) == 0):
        return NotImplemented
    by = 1.0 / np.asarray(sides[1], dtype=np.float64)
    return _noted(scaled(sides[0], by), place, by)


def _negative(inputs: Any, place: Place) -> Any:
    del place
    return scaled(as_array(inputs[0]), -1)


def _positive(inputs: Any, place: Place) -> Any:
    del place
    return inputs[0]


def matmul(inputs: Any, place: Place) -> Any:
    found = _product(inputs, place)
    if not is_noisy(found):
        return found
    matrix = next(x for x in inputs if not is_noisy(x))
    return _noted(found, place, matrix)


def _product(inputs: Any, place: Place) -> Any:
    sides = _sides(inputs)
    if sides is None or (is_noisy(sides[0]) and is_noisy(sides[1])):
        return NotImplemented
    one, two = sides
    if is_noisy(one):
        form, matrix = one, np.asarray(two)
        if form.ndim == 1 and matrix.ndim == 1:
            return summed(scaled(form, matrix), None)
        if form.ndim == 1 and matrix.ndim == 2:
            return _product((matrix.T, form), place)
        if matrix.ndim not in {1, 2} or form.ndim != 2:
            return NotImplemented
        return _product((matrix.T, form.T), place).T if matrix.ndim == 2 else _rows(form, matrix)
    matrix, form = np.asarray(one), two
    if matrix.ndim == 1 and form.ndim == 1:
        return summed(scaled(form, matrix), None)
    if matrix.ndim == 1 and form.ndim == 2:
        return _rows(form.T, matrix)
    if matrix.ndim != 2 or form.ndim not in {1, 2} or matrix.size * form.size > MOST_TERMS:
        return NotImplemented
    if form.ndim == 1:
        return summed(scaled(form, matrix), 1)
    wide = NoisyArray.mapped(form, lambda a: a[None, :, :])
    return summed(scaled(wide, matrix[:, :, None]), 1)


def _rows(form: Any, vector: NDArray[Any]) -> Any:
    return summed(scaled(form, vector), 1)


def summed(form: Any, axis: Any, *, keep: bool = False) -> Any:
    """The form summed over axes: the draws of the summed elements become terms of one."""
    offset, _, _ = form.full()
    idx, coef = with_terms(form)
    axes = tuple(range(form.ndim)) if axis is None else axis if type(axis) is tuple else (axis,)
    axes = tuple(a % form.ndim for a in axes)
    kept = [a for a in range(form.ndim) if a not in axes]
    order = (*kept, *axes, form.ndim)
    shape = tuple(form.shape[a] for a in kept)
    made = NoisyArray(
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
    if keep:
        shape = tuple(1 if a in axes else n for a, n in enumerate(form.shape))
        return made.reshape(shape) if shape else as_number(made)
    return as_number(made)


def _addend_sum(addend: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    try:
        return np.broadcast_to(np.asarray(addend), shape).sum(axis=axes)
    except ValueError:
        return addend


def _known(one: NoisyArray, bound: Any) -> Any:
    """A comparison of numbers that are already known; what they are compared with is noted."""
    if not one.many:
        one.journal.bounded(one.offset, one.idx, one.coef, bound)
    return NotImplemented


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
        if not is_plain(two):
            return NotImplemented
        if one.journal.eager == COMPARING:
            return _known(one, two)
        laws = one.journal.draws.names_of(one.idx) if one.size else []
        usable = not one.many and not any(law.is_discrete for law in laws)
        if one.whole and len(laws) == 1 and laws[0].name == "integers" and not one.many:
            fresh = not np.any(one.journal.draws.used[one.idx])
            usable, two = fresh and bool(np.all(np.abs(one.coef) == 1)), between_whole(used, two)
        gap = _sum_of(one, two, -1, place)
        offset, idx, coef = gap.full()
        finite = np.isfinite(offset)
        if not usable or np.any(coef == 0) or not np.all(np.isfinite(coef)):
            return NotImplemented
        if np.all(finite):
            return one.journal.compare(used, offset, idx, coef, one.touches, place)
        # Noise, which is finite, has no say in a comparison with infinity.
        outcome = np.array(COMPARE[used](broadcast(one, offset.shape).full()[0], two))
        if np.any(finite):
            parts = (offset[finite], idx[finite], coef[finite])
            outcome[finite] = one.journal.compare(used, *parts, one.touches, place)
        return outcome

    return compared


def _equality(*, negated: bool) -> Callable[[Any, Place], Any]:
    """Whether whole numbers equal their least or greatest possible value, asked as coins."""

    def compared(inputs: Any, place: Place) -> Any:
        sides = _sides(inputs)
        if sides is None:
            return NotImplemented
        form, other = sides if is_noisy(sides[0]) else sides[::-1]
        op = _end(form, other)
        found = _LINEAR[op]((form, other), place) if op else NotImplemented
        if found is not NotImplemented:
            return np.logical_not(found) if negated else found
        _tie(form, other, place)
        return NotImplemented

    return compared


def _end(form: NoisyArray, number: Any) -> np.ufunc | None:
    """How to ask whether all these coins equal their least or greatest possible value."""
    if not form.size or form.many or not form.whole or is_noisy(number) or np.ndim(number):
        return None
    laws = form.journal.draws.names_of(form.idx)
    offset, _, coef = form.full()
    if len(laws) != 1 or laws[0].name != "integers" or np.any(coef != 1):
        return None
    if np.all(offset == number):
        return np.less_equal
    return np.greater_equal if np.all(offset + laws[0].parameter - 1.0 == number) else None


def _tie(form: NoisyArray, other: Any, place: Place) -> None:
    """Note that whole numbers are tested for equality with others, noisy or not."""
    if not is_noisy(other):
        if not np.all(np.abs(other) < HUGE):
            return
        other = np.asarray(other, dtype=np.float64)
    gap = _sum_of(form, other, -1, place)
    offset, idx, coef = gap.full()
    laws = gap.journal.draws.names_of(idx) if gap.size else []
    if laws and all(law.is_discrete for law in laws) and np.all(np.isfinite(offset)):
        gap.journal.tied(offset, idx, coef, 0.0, place)


def _of_offset(ufunc: np.ufunc) -> Callable[[Any, Place], Any]:
    """np.isfinite and the like: noise is finite, so the answer is that of the offset."""

    def asked(inputs: Any, place: Place) -> Any:
        del place
        offset, _, coef = as_array(inputs[0]).full()
        factors = coef.sum(axis=-1) if coef.ndim > offset.ndim else coef
        return ufunc(offset + 0.0 * factors)

    return asked


_LINEAR: dict[np.ufunc, Callable[[Any, Place], Any]] = {
    **{ufunc: _of_offset(ufunc) for ufunc in (np.isfinite, np.isnan, np.isinf)},
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: multiply,
    np.true_divide: _divide,
    np.negative: _negative,
    np.positive: _positive,
    np.matmul: matmul,
    np.greater: _comparison("greater"),
    np.greater_equal: _comparison("greater_equal"),
    np.less: _comparison("less"),
    np.less_equal: _comparison("less_equal"),
    np.equal: _equality(negated=False),
    np.not_equal: _equality(negated=True),
}
