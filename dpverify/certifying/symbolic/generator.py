"""The generator that a mechanism gets in a symbolic run: its draws are symbols or outcomes."""

import math
from fractions import Fraction
from itertools import permutations
from math import comb
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.exact import ONE, ZERO, ExactNumber
from dpverify.certifying.symbolic.running import NoiseLaw, SymbolicRun
from dpverify.certifying.symbolic.symbols import PER_RECORD, Symbolic, Uniform, number, refuse

_MOST_OUTCOMES = 720
_MOST_PERMUTED = 6  # of which there are 720 orders
_CLOSE = Fraction(1, 10**8)  # how far from 1 NumPy lets probabilities sum


class SymbolicGenerator:
    """Draws as `numpy.random.Generator` does, but symbols; refuses what it cannot represent."""

    def __init__(self, run: SymbolicRun) -> None:
        self._run = run

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:  # noqa: ANN401
        return self._around("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:  # noqa: ANN401
        return self._around("gaussian", loc, scale, size)

    def standard_normal(self, size: Any = None, **more: Any) -> Any:  # noqa: ANN401
        check_plain("standard_normal", more)
        return self._around("gaussian", 0, 1, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:  # noqa: ANN401
        return self._around("exponential", 0, scale, size)

    def standard_exponential(self, size: Any = None, **more: Any) -> Any:  # noqa: ANN401
        check_plain("standard_exponential", more)
        return self._around("exponential", 0, 1, size)

    def geometric(self, p: Any, size: Any = None) -> Any:  # noqa: ANN401
        return _shaped(
            size, p, lambda q: self._symbol("geometric", self._ratio(ONE - _constant(q, "p")))
        )

    def _ratio(self, ratio: ExactNumber) -> ExactNumber:
        """A rational ratio as a power of e^(−u), if u = ln ρ and it is one."""
        plain, root = ratio.fraction(), self._run.unit.ratio
        if plain is None or root is None or not 0 < plain < 1:
            return ratio
        power = round(-math.log(plain) / math.log(root))
        return ExactNumber.exponential(-power) if root**-power == plain else ratio

    def random(self, size: Any = None, **more: Any) -> Any:  # noqa: ANN401
        check_plain("random", more)
        return _shaped(size, 0, lambda _: Uniform(self._run, self._run.uniform()))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:  # noqa: ANN401
        if (
            isinstance(low, (int, float))
            and low == 0
            and isinstance(high, (int, float))
            and high == 1
        ):
            return self.random(size)
        raise refuse("rng.uniform is understood on [0, 1] only")

    def integers(
        self,
        low: Any,  # noqa: ANN401
        high: Any = None,  # noqa: ANN401
        size: Any = None,  # noqa: ANN401
        dtype: Any = np.int64,  # noqa: ANN401
        endpoint: bool = False,  # noqa: FBT001, FBT002
    ) -> Any:  # noqa: ANN401
        check_plain("integers", {} if dtype is np.int64 else {"dtype": dtype})
        first, last = (0, low) if high is None else (low, high)
        if not isinstance(first, (int, np.integer)) or not isinstance(last, (int, np.integer)):
            raise refuse("rng.integers is understood between whole numbers only")
        first, last = int(first), int(last) + bool(endpoint)
        return _shaped(size, 0, lambda _: np.int64(first + self._fork([ONE] * (last - first))))

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:  # noqa: ANN401
        trials, chance = int(n), _constant(p, "p")
        weights = [
            chance**k * (ONE - chance) ** (trials - k) * comb(trials, k) for k in range(trials + 1)
        ]
        return _shaped(size, 0, lambda _: self._fork(weights))

    def choice(  # noqa: PLR0917, PLR0913
        self,
        a: Any,  # noqa: ANN401
        size: Any = None,  # noqa: ANN401
        replace: bool = True,  # noqa: FBT001, FBT002
        p: Any = None,  # noqa: ANN401
        axis: int = 0,
        shuffle: bool = True,  # noqa: FBT001, FBT002
    ) -> Any:  # noqa: ANN401
        del shuffle
        if axis:
            raise refuse("rng.choice is understood along the first axis only")
        options = _options(a)
        weights = [ONE] * len(options) if p is None else [_constant(x, "p") for x in p]
        if p is not None:
            self._check_weights(weights, len(options))
        if not replace:
            raise refuse("rng.choice without replacement is not understood")
        found = _shaped(size, 0, lambda _: _copied(options[self._fork(weights)]))
        drawn = size is not None and not any(isinstance(x, Symbolic) for x in options)
        return found.astype(np.asarray(options).dtype) if drawn else found

    def _check_weights(self, weights: list[ExactNumber], count: int) -> None:
        """Raise for weights that NumPy does not accept as probabilities."""
        off = sum(weights, ZERO) - ONE
        if len(weights) != count or (off and self._run.unit.sign(off * off - _CLOSE * _CLOSE) > 0):
            raise refuse("the p of rng.choice are no probabilities, one for each option")

    def permutation(self, x: Any, axis: int = 0) -> Any:  # noqa: ANN401
        if axis or np.ndim(x) > 1:
            raise refuse("rng.permutation is understood of simple lists only")
        if isinstance(x, (int, np.integer)):
            return np.array(self._order(int(x)), np.int64)
        items = _as_numpy(x)
        return items[self._order(len(items))]

    def _order(self, count: int) -> list[int]:
        if count > _MOST_PERMUTED:
            raise refuse(f"there are too many permutations of {count} items")
        orders = list(permutations(range(count)))
        return list(orders[self._fork([ONE] * len(orders))])

    def shuffle(self, x: Any) -> None:  # noqa: ANN401
        x[:] = [x[i] for i in self._order(len(x))]

    def _fork(self, weights: list[ExactNumber]) -> int:
        if not weights:
            raise refuse("it draws from nothing")
        if len(weights) > _MOST_OUTCOMES:
            raise refuse(f"a draw has more than {_MOST_OUTCOMES} outcomes")
        return self._run.draw(tuple(weights))

    def _around(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:  # noqa: ANN401
        def one(pair: tuple[Any, Any]) -> Any:  # noqa: ANN401
            center, spread = pair
            if isinstance(spread, Symbolic) and spread.key() == _per_record(spread).key():
                noise = self._symbol(kind, ExactNumber.of(spread.coefficients[0][1]))
                return noise.per_record(Fraction(1)) + center
            parameter = _constant(spread, "scale")
            if not parameter:
                _check_sign(spread)
                return self._centered(center)
            noise = self._symbol(kind, parameter)
            plain = isinstance(center, (int, float)) and center == 0
            return noise if plain else noise + center

        shapes = np.broadcast_shapes(np.shape(loc), np.shape(scale))
        if size is None and not shapes:
            return one((loc, scale))
        wanted = shapes if size is None else size
        locs, scales = (np.broadcast_to(np.asarray(v, object), wanted) for v in (loc, scale))
        result = np.empty(locs.shape, object)
        for index in np.ndindex(locs.shape):
            result[index] = one((locs[index], scales[index]))
        return result

    def _centered(self, center: Any) -> Any:  # noqa: ANN401
        """Noise of scale 0, which is its center."""
        return _number(center).typed("float")

    def _symbol(self, kind: str, parameter: ExactNumber) -> Symbolic:
        name = self._run.noise(NoiseLaw(kind, parameter))
        return Symbolic.symbol(name, "int" if kind == "geometric" else "float")


def _check_sign(scale: Any) -> None:  # noqa: ANN401
    if isinstance(scale, Symbolic):
        scale.check_zero()
    elif math.copysign(1.0, scale) < 0:
        raise refuse("the scale of a noise is −0.0, at which NumPy raises")


def _copied(chosen: Any) -> Any:  # noqa: ANN401
    """A copy, as NumPy's choice returns copies of a table's rows and never views."""
    return chosen.copy() if isinstance(chosen, np.ndarray) else chosen


def check_plain(name: str, more: dict[str, Any]) -> None:
    """Raise for other types, which round or overflow early, and for arrays to be filled."""
    if more:
        raise refuse(f"rng.{name} is not understood with {', '.join(more)}")


def _as_numpy(items: Any) -> Any:  # noqa: ANN401
    """A list as NumPy takes it: all items of one type, unless there are symbols."""
    if any(isinstance(x, Symbolic) for x in items):
        made = np.empty(len(items), object)
        made[:] = list(items)
        return made
    return np.asarray(items)


def _options(a: Any) -> list[Any]:  # noqa: ANN401
    return list(range(a)) if isinstance(a, (int, np.integer)) else list(_as_numpy(a))


def _per_record(value: Symbolic) -> Symbolic:
    """The part of a number that is a constant divided by the number of records."""
    return Symbolic(
        {n: c for n, c in value.coefficients if n == PER_RECORD and c > 0} or {"": Fraction(1)}
    )


def _number(value: object) -> Symbolic:
    found = number(value)
    if found is None:
        raise refuse(f"it draws around a {type(value).__name__}")
    return found


def _constant(value: object, name: str) -> ExactNumber:
    found = number(value)
    if found is None or not found.is_constant:
        raise refuse(f"the {name} of a draw depends on the data or on noise")
    return found.constant


def _shaped(size: Any, value: Any, draw: Any) -> Any:  # noqa: ANN401
    if size is None:
        return draw(value)
    result = np.empty(size, object)
    for index in np.ndindex(result.shape):
        result[index] = draw(value)
    symbols = any(isinstance(x, (Symbolic, Uniform)) for x in result.ravel())
    return result if symbols or not result.size else np.array(result.tolist())
