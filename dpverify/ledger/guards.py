"""Wrap mechanisms, estimators and functions so that they are charged before they run.

A guard charges first. If the budget does not allow it, the code does not run; if the code fails,
nothing is given back, since it may have shown something before it failed.
"""

import copy
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
    """Wrap an object so that it charges `ledger` before it runs; see `Ledger.guard`."""
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
    """Whether an estimator's method of this name gets data to learn from."""
    return name in {"fit", "partial_fit"} or name.startswith("fit_")


def _before_fit(ledger: "Ledger", charge: Requested | None, options: dict[str, Any]) -> Before:
    """Charge the cost of a fit: the declared budget, unless `charge` says otherwise."""

    def before(thing: Any, *_: object) -> None:  # noqa: ANN401
        ledger.spend(_declared(thing) if charge is None else charge, **options)

    return before


def _before_sample(ledger: "Ledger", charge: Requested | None, options: dict[str, Any]) -> Before:
    """Charge every draw."""
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
    """The guarantee of a fit, from declarations alone; no data are seen."""
    budget, relation = getattr(estimator, "budget", None), getattr(estimator, "relation", None)
    if budget is None or relation is None:
        name = type(estimator).__name__
        raise InvalidParameter(
            f"budget={budget!r}, relation={relation!r} of {name} must be declared, or charge given "
            "to the guard"
        )
    return Claim(budget, Relation.parse(relation), EXACT_PROFILE, (DECLARED,))


def is_guarded(thing: object) -> bool:
    """Whether calling this already charges a ledger."""
    return hasattr(type(thing), _MARK)


def _wrapped(thing: Any, is_charged: Callable[[str], bool], before: Before) -> Any:  # noqa: ANN401
    """A class whose methods charge first; for an instance, a copy of it in such a class.

    A wrapper around the instance would not do: its own methods would call each other past it.
    """
    if isinstance(thing, type):
        return _subclass(thing, is_charged, before)
    kind = _subclass(type(thing), is_charged, before)
    own = getattr(thing, "__dict__", {})
    for name in filter(is_charged, {*dir(thing), "fit", "partial_fit", "sample"}):
        is_method = callable(getattr(kind, name, None)) and name not in own
        if callable(getattr(thing, name, None)) and not is_method:
            raise InvalidParameter(f"{name} of {thing!r} must be a method of its class")
    double = copy.copy(thing)
    try:
        object.__setattr__(double, "__class__", kind)
    except TypeError:
        raise InvalidParameter(
            f"thing={thing!r} must be of a class written in Python; guard a function that calls it"
        ) from None
    return double


_MARK = "_charges_a_ledger"
_RUNNING: ContextVar[frozenset[tuple[int, Before, str]]] = ContextVar(
    "_RUNNING", default=frozenset()
)
"""Guarded instances inside charged methods: other ways to fit that these use are paid.

The same method once more is not: a callback may call it, with other data.
"""


def _subclass(kind: type, is_charged: Callable[[str], bool], before: Before) -> type:
    """A subclass whose methods charge first."""
    names = [name for name in dir(kind) if is_charged(name) and callable(getattr(kind, name))]
    methods = {name: _method(kind, name, before) for name in names}
    told = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__slots__": (), _MARK: True}
    return type(kind.__name__, (kind,), {**methods, **told})


def _method(kind: type, name: str, before: Before) -> Any:  # noqa: ANN401  # a function or descriptor
    """A method that charges first; class methods charge what the class declares."""
    found = inspect.getattr_static(kind, name)
    if isinstance(found, classmethod):
        return classmethod(_charging_first(found.__func__, before))
    if isinstance(found, staticmethod):
        plain = found.__func__

        @functools.wraps(plain)
        def of_class(_: type, *args: Any, **named: Any) -> Any:  # noqa: ANN401
            return plain(*args, **named)

        return classmethod(_charging_first(of_class, before))
    return _charging_first(getattr(kind, name), before)


def _charging_first(original: Callable[..., Any], before: Before) -> Callable[..., Any]:
    @functools.wraps(original)
    def charging_first(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        return _charged(original, before, self, args, named)

    return charging_first


def _charged(
    original: Callable[..., Any],
    before: Before,
    thing: Any,  # noqa: ANN401
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:  # noqa: ANN401
    """Charge and run a method; a call within one that is already charged costs nothing more."""
    running, this = _RUNNING.get(), (id(thing), before, original.__name__)
    is_paid = this not in running and any(one[:2] == this[:2] for one in running)
    if not is_paid:
        before(thing, functools.partial(original, thing), args, named)
    token = _RUNNING.set(running | {this})
    try:
        return original(thing, *args, **named)
    finally:
        _RUNNING.reset(token)
