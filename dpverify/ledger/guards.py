"""Code that cannot run without being charged: mechanisms, estimators and functions, wrapped.

A guard charges first. If the budget does not allow it, the code does not run; if the code fails,
nothing is given back, since it may have shown something before it failed.
"""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, as_count
from dpverify.ledger.subjects import Requested
from dpverify.neighbors import Relation
from dpverify.theorems import EXACT_PROFILE

if TYPE_CHECKING:
    from dpverify.ledger.ledger import Ledger

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
    unknown = set(options) - {"times", "dataset", "label", "user"}
    if unknown:
        raise InvalidParameter(
            f"options={sorted(unknown)} must be among: charge, times, dataset, label, user"
        )
    for method in ("fit", "sample"):
        if callable(getattr(thing, method, None)):
            charging = _before(ledger, method, charge, options)
            if isinstance(thing, type):
                return _subclass(thing, method, charging)
            return Guarded(thing, method, charging)
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


def _before(
    ledger: "Ledger", method: str, charge: Requested | None, options: dict[str, Any]
) -> Before:
    """Charges what a call of `fit` or `sample` costs: every draw, or the declared budget."""

    def before(
        thing: Any,  # noqa: ANN401
        call: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        if method == "fit":
            ledger.spend(_declared(thing) if charge is None else charge, **options)
            return
        bound = inspect.signature(call).bind(*args, **named)
        bound.apply_defaults()
        draws = as_count("size", bound.arguments.get("size", 1)) * options.get("times", 1)
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


class Guarded:
    """An instance whose `fit` or `sample` charges first; all else is the instance's own."""

    def __init__(self, thing: object, method: str, before: Before) -> None:
        self._thing, self._method, self._before = thing, method, before

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = getattr(self._thing, name)
        if name != self._method:
            return found

        @functools.wraps(found)
        def charging_first(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            self._before(self._thing, found, args, named)
            result = found(*args, **named)
            return self if result is self._thing else result

        return charging_first

    def __repr__(self) -> str:
        return f"Guarded({self._thing!r})"


def _subclass(kind: type, method: str, before: Before) -> type:
    """The same class, with a method that charges first."""
    original = getattr(kind, method)

    @functools.wraps(original)
    def charging_first(self: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        before(self, functools.partial(original, self), args, named)
        return original(self, *args, **named)

    return type(kind.__name__, (kind,), {method: charging_first, "__module__": kind.__module__})
