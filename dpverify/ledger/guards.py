"""Code that cannot run without being charged: mechanisms, estimators and functions, wrapped.

A guard charges first. If the budget does not allow it, the code does not run; if the code fails,
nothing is given back, since it may have shown something before it failed.
"""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, as_count
from dpverify.ledger.subjects import Requested
from dpverify.neighbors import Relation
from dpverify.theorems import EXACT_PROFILE

if TYPE_CHECKING:
    from dpverify.ledger.ledger import Ledger

_OPTIONS = ("times", "dataset", "label", "user", "ignore_clock")  # of Ledger.spend
DECLARED = "a fit keeps the budget that the estimator was given, as its claim_ says afterwards"
Before: TypeAlias = Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], None]
"""Called with the thing, its method and the arguments, before the method runs."""


def guarded(
    ledger: "Ledger",
    thing: Any,  # noqa: ANN401  # whatever is wrapped
    *,
    charge: Requested | None = None,
    **options: Any,  # noqa: ANN401  # of Ledger.spend
) -> Any:  # noqa: ANN401
    """The thing, made to charge `ledger` before it runs; see `Ledger.guard`."""
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise InvalidParameter(
            f"options={sorted(unknown)} must be among: charge, {', '.join(_OPTIONS)}"
        )
    if any(callable(getattr(thing, method, None)) for method in ("fit", "partial_fit")):
        return _wrapped(thing, _sees_data, _before_fit(ledger, charge, options))
    if callable(getattr(thing, "sample", None)):
        if "size" not in inspect.signature(thing.sample).parameters:
            raise InvalidParameter(
                f"sample of {thing!r} must have a parameter size: the number of draws is charged"
            )
        return _wrapped(thing, "sample".__eq__, _before_sample(ledger, charge, options))
    if not callable(thing) or isinstance(thing, type):
        raise InvalidParameter(
            f"thing={thing!r} must be a function, or have sample(data, size, rng=…) or fit(X, y)"
        )
    priced = charge if charge is not None else getattr(thing, "claim", None)
    if priced is None:
        raise InvalidParameter(
            f"charge=None must say what a call of {getattr(thing, '__name__', thing)!r} costs, as "
            "in @ledger.guard(charge=dpv.Gaussian(sigma=50.0))"
        )

    @functools.wraps(thing)
    def charging_first(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        ledger.spend(priced, **options)
        return thing(*args, **named)

    return charging_first


def _sees_data(name: str) -> bool:
    """Whether an estimator's method of this name is given data to learn from."""
    return name in {"fit", "partial_fit"} or name.startswith("fit_")


def _before_fit(ledger: "Ledger", charge: Requested | None, options: dict[str, Any]) -> Before:
    """Charges what a fit costs, in one go or by parts: the declared budget, unless told."""

    def before(thing: Any, *_: object) -> None:  # noqa: ANN401
        ledger.spend(_declared(thing) if charge is None else charge, **options)

    return before


def _before_sample(ledger: "Ledger", charge: Requested | None, options: dict[str, Any]) -> Before:
    """Charges every draw."""
    times = as_count("times", options.get("times", 1))

    def before(
        thing: Any,  # noqa: ANN401
        call: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        bound = inspect.signature(call).bind(*args, **named)
        bound.apply_defaults()
        draws = as_count("size", bound.arguments["size"]) * times
        ledger.spend(thing if charge is None else charge, **options | {"times": draws})

    return before


def _declared(estimator: Any) -> Requested:  # noqa: ANN401
    """What a fit promises, from what was declared: no data are seen."""
    budget, relation = getattr(estimator, "budget", None), getattr(estimator, "relation", None)
    if budget is None or relation is None:
        name = type(estimator).__name__
        raise InvalidParameter(
            f"budget={budget!r}, relation={relation!r} of {name} must be declared, or charge given "
            "to the guard"
        )
    return Claim(budget, Relation.parse(relation), EXACT_PROFILE, (DECLARED,))


def _wrapped(thing: Any, is_charged: Callable[[str], bool], before: Before) -> Any:  # noqa: ANN401
    if isinstance(thing, type):
        return _subclass(thing, is_charged, before)
    return Guarded(thing, is_charged, before)


class Guarded:
    """An instance of which some methods charge first; all else is the instance's own."""

    def __init__(self, thing: object, is_charged: Callable[[str], bool], before: Before) -> None:
        self._thing, self._is_charged, self._before = thing, is_charged, before

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "_thing":  # of a copy that is being made
            raise AttributeError(name)
        found = getattr(self._thing, name)
        charged = callable(found) and self._is_charged(name)
        if not charged and getattr(found, "__self__", None) is not self._thing:
            return found

        @functools.wraps(found)
        def charging_first(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            if charged:
                self._before(self._thing, found, args, named)
            result = found(*args, **named)
            if result is self._thing:
                return self
            is_copy = isinstance(result, type(self._thing))  # as scikit-learn's clone makes them
            return Guarded(result, self._is_charged, self._before) if is_copy else result

        return charging_first

    def __repr__(self) -> str:
        return f"Guarded({self._thing!r})"


_RUNNING: ContextVar[frozenset[tuple[int, str]]] = ContextVar("_RUNNING", default=frozenset())
"""Instances of guarded classes inside charged methods: other ways to fit that these use are paid.

The same method once more is not: a callback may call it, with other data.
"""


def _subclass(kind: type, is_charged: Callable[[str], bool], before: Before) -> type:
    """The same class, with methods that charge first."""
    names = [name for name in dir(kind) if is_charged(name) and callable(getattr(kind, name))]
    methods = {name: _charging_first(getattr(kind, name), before) for name in names}
    return type(kind.__name__, (kind,), {**methods, "__module__": kind.__module__})


def _charging_first(original: Callable[..., Any], before: Before) -> Callable[..., Any]:
    @functools.wraps(original)
    def charging_first(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        running, this = _RUNNING.get(), (id(self), original.__name__)
        is_paid = this not in running and any(one == id(self) for one, _ in running)
        if not is_paid:
            before(self, functools.partial(original, self), args, named)
        token = _RUNNING.set(running | {this})
        try:
            return original(self, *args, **named)
        finally:
            _RUNNING.reset(token)

    return charging_first
