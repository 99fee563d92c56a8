"""What other accountants recorded, composed here: dp_accounting's events, Opacus' histories.

Neither library is imported: events are told by the names of their classes and fields.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Composable
from dpverify.errors import InvalidParameter, NotSupported, as_between, as_count
from dpverify.guarantees import GaussianDP, ZeroConcentratedDP
from dpverify.mechanisms import (
    Gaussian,
    Laplace,
    RandomizedResponse,
    Subsampled,
    SubsampledWithoutReplacement,
)
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair

_NOTHING_HIDDEN = GaussianDP(mu=math.inf)


def from_dp_event(event: Any, *, relation: Relation) -> Accountant:  # noqa: ANN401  # a foreign type
    """The accountant of a `dp_accounting` event, or of an accountant's `ledger`.

    An event's noise multiplier is the noise over the norm C of *one record's* contribution. Adding
    or removing a record moves a sum by C, replacing one by 2·C, and that is what is composed.
    """
    relation = Relation.parse(relation)
    return _composed(Accountant(relation=relation), getattr(event, "ledger", event), times=1)


def from_opacus(history: Any, *, relation: Relation = Relation.ADD_REMOVE) -> Accountant:  # noqa: ANN401
    """The accountant of an Opacus accountant, or of its `history`.

    A history lists (noise multiplier, sample rate, number of steps), for Poisson batches.
    """
    recorded = getattr(history, "history", history)
    if not isinstance(recorded, Iterable) or isinstance(recorded, str):
        raise InvalidParameter(
            f"history={history!r} must list (noise multiplier, sample rate, steps)"
        )
    accountant = Accountant(relation=Relation.parse(relation))
    for entry in recorded:
        try:
            noise, rate, steps = entry
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"history entry={entry!r} must be (noise multiplier, sample rate, steps)"
            ) from None
        rate = as_between("sample rate", rate, 0.0, 1.0)
        steps = as_count("steps", steps)
        inner = _gaussian(noise, 1.0)
        accountant = accountant.compose(
            Subsampled(inner, rate=rate) if isinstance(inner, Gaussian) else inner,
            times=steps,
        )
    return accountant


def _composed(accountant: Accountant, event: Any, *, times: int) -> Accountant:  # noqa: ANN401
    match type(event).__name__:
        case "NoOpDpEvent":
            return accountant
        case "ComposedDpEvent":
            for inner in event.events:
                accountant = _composed(accountant, inner, times=times)
            return accountant
        case "SelfComposedDpEvent":
            if event.count == 0:
                return accountant
            count = as_count("count", event.count)
            return _composed(accountant, event.event, times=times * count)
        case name if name in _PARTS:
            return accountant.compose(_PARTS[name](event, accountant.relation), times=times)
        case _:
            known = ", ".join(sorted(_PARTS))
            raise NotSupported(f"event={event!r} must be composed of: {known}")


def _gaussian(noise_multiplier: float, moves: float) -> Composable:
    noise_multiplier = as_between("noise multiplier", noise_multiplier, 0.0, math.inf)
    if noise_multiplier == 0:
        return _NOTHING_HIDDEN
    return Gaussian(sigma=noise_multiplier, l2_sensitivity=moves)


def _laplace(noise_multiplier: float, moves: float) -> Composable:
    noise_multiplier = as_between("noise multiplier", noise_multiplier, 0.0, math.inf)
    if noise_multiplier == 0:
        return _NOTHING_HIDDEN
    return Laplace(scale=noise_multiplier, l1_sensitivity=moves)


def _moves(relation: Relation) -> float:
    """By how many norms of a record's contribution a sum moves."""
    return 1.0 if relation is Relation.ADD_REMOVE else 2.0


def _randomized_response(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    """A bucket among k, uniform with probability p: exact rationals, whatever the floats."""
    if relation is not Relation.REPLACE_ONE:
        raise NotSupported(
            f"relation={relation.value!r} must be {Relation.REPLACE_ONE.value!r} for randomized "
            "response: it answers for every record"
        )
    uniform = Fraction(as_between("noise_parameter", event.noise_parameter, 0.0, 1.0))
    other = uniform / as_count("num_buckets", event.num_buckets)
    true = 1 - uniform + other
    rest = 1 - true - other
    return FinitePair(left=[true, other, rest], right=[other, true, rest])


def _discrete_laplace(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    """Moved by 1, only the side of the step shows: randomized response with the same ratio."""
    if event.sensitivity * _moves(relation) != 1:
        raise NotSupported(
            f"sensitivity={event.sensitivity!r} must be 1, under "
            f"{Relation.ADD_REMOVE.value!r}, for discrete Laplace noise"
        )
    return RandomizedResponse(epsilon=event.noise_parameter)


def _poisson(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    inner = _inner(event.event, moves=1.0)  # presence moves a sum by one norm under either relation
    return Subsampled(inner, rate=event.sampling_probability)


def _batch(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    inner = _inner(event.event, moves=_moves(relation))
    return SubsampledWithoutReplacement(
        inner, batch=event.sample_size, population=event.source_dataset_size
    )


def _inner(event: Any, *, moves: float) -> Gaussian | Laplace:  # noqa: ANN401
    match type(event).__name__:
        case "GaussianDpEvent":
            inner = _gaussian(event.noise_multiplier, moves)
        case "LaplaceDpEvent":
            inner = _laplace(event.noise_multiplier, moves)
        case _:
            raise NotSupported(f"event={event!r} must be Gaussian or Laplace inside a sample")
    if not isinstance(inner, Gaussian | Laplace):
        raise NotSupported(f"event={event!r} must have noise inside a sample")
    return inner


def _zcdp(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    if event.xi != 0:
        raise NotSupported(f"xi={event.xi!r} must be 0")
    return ZeroConcentratedDP(rho=event.rho)


_PARTS: dict[str, Callable[[Any, Relation], Composable]] = {
    "NonPrivateDpEvent": lambda _, __: _NOTHING_HIDDEN,
    "GaussianDpEvent": lambda event, relation: _gaussian(event.noise_multiplier, _moves(relation)),
    "LaplaceDpEvent": lambda event, relation: _laplace(event.noise_multiplier, _moves(relation)),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "PoissonSampledDpEvent": _poisson,
    "SampledWithoutReplacementDpEvent": _batch,
    "ZCDpEvent": _zcdp,
}
