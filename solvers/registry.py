"""Losses and domains by name; `register` adds your own.

A registered loss is known to `solvers.PrivateClassifier` or `PrivateRegressor`, to
`dpverify fit --loss NAME`, and to the page that it writes. A registered domain is known to both
models by its name.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_instance, check_member
from solvers.domains import Domain, Simplex, WholeSpace
from solvers.losses import Absolute, Hinge, HuberHinge, Logistic, Loss, Squared

Registered = TypeVar("Registered", Loss, Domain)

LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (Logistic(), HuberHinge(), Hinge(), Squared(), Absolute())
}
DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (WholeSpace(), Simplex())}

_SCORES = np.linspace(-40.0, 40.0, 641)
_ROOM = 1e-9  # rounding of values and slopes


def register(thing: Registered) -> Registered:
    """Register a loss or a domain under its name, and return it.

    The constants of a loss are compared with its slopes and curvatures at 641 scores: that finds
    mistakes, and proves nothing. A privacy claim rests on them.
    """
    check_instance("thing", thing)
    if isinstance(thing, Loss):
        _check_loss(thing)
        _add(LOSSES, thing)
    elif isinstance(thing, Domain):
        _add(DOMAINS, thing)
    else:
        raise InvalidParameter(f"thing={thing!r} must be a Loss or a Domain")
    return thing


def loss_named(loss: object) -> Loss:
    """The loss itself, or the registered loss of that name."""
    return loss if isinstance(loss, Loss) else _named("loss", loss, LOSSES)


def domain_named(domain: object) -> Domain:
    """The domain itself, or the registered domain of that name.

    >>> domain_named("simplex")
    Simplex()
    """
    return domain if isinstance(domain, Domain) else _named("domain", domain, DOMAINS)


def _named(kind: str, name: object, known: Mapping[str, Registered]) -> Registered:
    check_member(kind, name, tuple(known))
    return known[str(name)]


def _add(known: dict[str, Registered], thing: Registered) -> None:
    if not isinstance(thing.name, str) or not thing.name:
        raise InvalidParameter(f"name={thing.name!r} must be a word")
    if known.get(thing.name, thing) != thing:
        raise InvalidParameter(f"name={thing.name!r} must be new: {known[thing.name]!r} has it")
    known[thing.name] = thing


def _check_loss(loss: Loss) -> None:
    """Raise if tests show that a loss is not convex or that its constants are wrong."""
    if loss.labels not in {"signs", "bounded"}:
        raise InvalidParameter(f"labels={loss.labels!r} must be 'signs' or 'bounded'")
    for label in (-1.0, 1.0) if loss.labels == "signs" else (-1.0, 0.0, 1.0):
        values, slopes = (part(_SCORES, np.full(641, label)) for part in (loss.values, loss.slopes))
        curvatures = loss.curvatures(_SCORES, np.full(641, label))
        _shown(loss, "slopes at most `steepest`", np.abs(slopes) - loss.steepest)
        _shown(loss, "curvatures at most `sharpness`", curvatures - loss.sharpness)
        _shown(loss, "curvatures of 0 or more", -curvatures)
        _shown(loss, "slopes that do not fall, as convex losses have", -np.diff(slopes))
        # Between two scores a convex function rises by what its slopes at both allow.
        step, rises = np.diff(_SCORES), np.diff(values)
        _shown(loss, "slopes that are those of its values", slopes[:-1] * step - rises)
        _shown(loss, "slopes that are those of its values", rises - slopes[1:] * step)
        if loss.monotone and slopes.min() < -_ROOM and slopes.max() > _ROOM:
            raise InvalidParameter(
                f"loss={loss.name!r} must have slopes of one sign: it is monotone"
            )


def _shown(loss: Loss, what: str, excess: Floats) -> None:
    if not (excess <= _ROOM).all():
        raise InvalidParameter(f"loss={loss.name!r} must have {what}")
