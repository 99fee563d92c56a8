"""Views of noisy arrays: writing to one shows in the others, as in numpy."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.noise.numbers import NoisyNumber, touched
from dpverify.tracing.recording.places import Place

# A module that imports this one; the package puts it here when all are loaded.
shapes: Any = None


class Viewed:
    """An array that may be a view of another, or have views itself.

    A view has a `root`, the array that it looks at, and `change`, which makes its elements from
    those of the root; a root knows its `views`.
    """

    __slots__ = ("__weakref__", "change", "root", "views")

    root: Any
    change: Any
    views: Any

    def linked(self: Any, made: Any, change: Callable[[NDArray[Any]], Any]) -> Any:
        """The array as a view of this one, or of this one's base."""
        if type(made) is not type(self) or made is self:
            return made
        root, before = self.root, self.change
        if root is None:
            root, made.change = self, change
        else:
            made.change = lambda a: change(before(a))
        made.root = root
        if root.views is None:
            root.views = WeakValueDictionary()
        root.views[id(made)] = made
        return made

    def hold(self: Any, other: Any) -> None:
        """Take over the contents of another array of the same shape."""
        self.offset, self.idx, self.coef = other.offset, other.idx, other.coef
        self.touches, self.many, self.whole = other.touches, other.many, other.whole

    def overwrite(self: Any, value: Any, place: Place, key: Any = ...) -> None:
        """Write to these elements, so that every view of them sees it."""
        root = self if self.root is None else self.root
        if key is ... and root is self:
            self.hold(self._as_held(value, place))
        elif root is self:
            self.assign(key, value, place)
        else:
            at = self.change(np.arange(root.size).reshape(root.shape))[key]
            spots = np.unravel_index(np.asarray(at), root.shape)
            root.assign(spots, value, place)
        for view in [] if root.views is None else list(root.views.values()):
            view.hold(root.copy().mapped(view.change))

    def _as_held(self: Any, value: Any, place: Place) -> Any:
        """A value as an array of this shape and type: a form, or numbers without noise."""
        if type(value) in {type(self), NoisyNumber}:
            form = shapes.broadcast(shapes.as_array(value), self.shape)
            if self.whole and not form.whole:
                raise TypeError("cannot cast from float64 to int64 in place")
            return type(self)(
                *(form.journal, form.offset, form.idx, form.coef, form.touches),
                many=form.many,
                whole=self.whole,
            )
        numbers = np.asarray(shapes.plain(value, place))
        if self.whole and numbers.dtype.kind == "f":
            numbers = numbers.astype(np.int64)
        return type(self)(
            self.journal,
            np.array(np.broadcast_to(numbers, self.shape)),
            self.idx[..., 0] if self.many else self.idx,
            np.zeros(self.shape),
            ((place, numbers),),
            whole=self.whole,
        )

    def assign(self: Any, key: Any, value: Any, place: Place) -> None:
        """Write to some elements of a base array."""
        offset, idx, coef = (np.array(part) for part in self.full())
        kind = np.int64 if self.whole else np.float64
        offset, coef = offset.astype(kind), coef.astype(np.float64)
        noisy = type(value) in {type(self), NoisyNumber}
        simple = noisy and not getattr(value, "many", False)
        simple = simple and (type(value) is type(self) or type(value.idx) is int)
        if simple and not self.many and (value.whole or not self.whole):
            offset[key], idx[key], coef[key] = value.offset, value.idx, value.coef
            self.touches = (*self.touches, *value.touches)
        else:
            if self.many:
                self.journal.puzzle(place, "part of a sum of noise is overwritten")
            numbers = shapes.plain(value, place)
            offset[key] = numbers
            coef[key] = 0.0
            self.touches = touched(self.touches, place, numbers)
        self.offset, self.idx, self.coef = offset, idx, coef
