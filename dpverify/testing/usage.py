"""Misuse of a privacy test, found before it runs: a test that cannot fail must not pass."""

import dis
import inspect
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hypothesis.strategies import SearchStrategy

from dpverify.auditing.statistics.points import Point, implied_points
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.schema.rows import Neighboring, check_relation
from dpverify.testing.neighboring import relation_of

GUARANTEES = (PureDP, ApproxDP, ZeroConcentratedDP, RenyiDP, GaussianDP)
_EXAMPLE = "for example dpv.PureDP(epsilon=1.0)"


def check_claim(claim: object) -> Guarantee:
    """The guarantee that is claimed; raise if there is none, or none that samples could refute."""
    guarantee = claim.guarantee if isinstance(claim, Claim) else claim
    if not isinstance(guarantee, GUARANTEES):
        raise InvalidParameter(f"claim={claim!r} must be a guarantee, {_EXAMPLE}")
    largest = max(getattr(guarantee, name) for name in guarantee.__dataclass_fields__)
    if isinstance(guarantee, (PureDP, ApproxDP)) or not math.isfinite(largest):
        points_of(guarantee)  # quick for these; it raises if there are none
    return guarantee


@lru_cache(maxsize=64)
def points_of(claim: Guarantee) -> tuple[Point, ...]:
    """What the claim implies, once for all tests of it: some take seconds to convert."""
    return implied_points(claim)


def check_pairs(on: object, relation: object, claim: object) -> tuple[Any, Neighboring]:
    """The strategy of pairs and the relation that they must be neighbors under."""
    if not isinstance(on, SearchStrategy):
        raise InvalidParameter(
            f"on={on!r} must be a strategy of neighboring pairs: neighbors(datasets, relation=…)"
        )
    made = relation_of(on)
    if made is None and relation is None:
        raise InvalidParameter(
            "relation=None must be given for a strategy of pairs that neighbors(…) did not make"
        )
    known = made if relation is None else check_relation(relation)
    claimed = claim.relation if isinstance(claim, Claim) else None
    for name, other in (("on", made), ("claim", claimed)):
        if other is not None and other is not known:
            raise InvalidParameter(f"relation={known!r} must be {other!r}, that of {name}")
    return on, known  # type: ignore[return-value]  # made is not None where relation is


def check_function(test: object) -> Callable[..., object]:
    """Raise unless `test` is a function of data and rng that returns what it releases."""
    if not inspect.isfunction(test):
        raise InvalidParameter(f"test={test!r} must be a function test(data, rng)")
    parameters = inspect.signature(test).parameters
    for wanted in ("data", "rng"):
        if wanted not in parameters:
            raise InvalidParameter(
                f"{test.__name__}{inspect.signature(test)} must take {wanted!r}: write "
                f"def {test.__name__}(data, rng) and draw all randomness from rng"
            )
        if parameters[wanted].kind is inspect.Parameter.POSITIONAL_ONLY:
            raise InvalidParameter(f"{test.__name__} must take {wanted!r} by keyword too")
    if inspect.iscoroutinefunction(test) or inspect.isgeneratorfunction(test):
        raise InvalidParameter(f"{test.__name__} must be a plain function: no async, no yield")
    if returns_nothing(test):
        raise InvalidParameter(
            f"{test.__name__} must return what the mechanism releases; it returns None always"
        )
    return test


def returns_nothing(function: Callable[..., object]) -> bool:
    """Whether every return of the function's code is one of the constant None.

    >>> returns_nothing(lambda data, rng: data)
    False
    """
    found = False
    before = None
    for step in dis.get_instructions(function):
        match step.opname:
            case "RETURN_CONST" if step.argval is None:
                found = True
            case "RETURN_VALUE" if not step.is_jump_target and _loads_none(before):
                found = True
            case "RETURN_CONST" | "RETURN_VALUE":
                return False
            case _:
                pass
        before = step
    return found


def _loads_none(step: dis.Instruction | None) -> bool:
    return step is not None and step.opname == "LOAD_CONST" and step.argval is None
