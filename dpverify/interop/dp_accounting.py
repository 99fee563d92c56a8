"""The events of dp_accounting, and what holds them: its accountants, jax-privacy's plans."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Composable, gaussian_parts
from dpverify.balls import ball, enclose
from dpverify.errors import NotSupported, as_between, as_count, as_positive
from dpverify.guarantees import ApproxDP, GaussianDP, ZeroConcentratedDP
from dpverify.mechanisms import (
    BestOf,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    GaussianMixture,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    Subsampled,
    SubsampledWithoutReplacement,
    SubsampledWithReplacement,
)
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair

_RELATIONS = {1.0: Relation.ADD_REMOVE, 2.0: Relation.REPLACE_ONE}  # by how far a record moves sums
_NOTHING_HIDDEN = GaussianDP(mu=math.inf)


def from_dp_event(event: Any, *, relation: Relation) -> Accountant:  # noqa: ANN401  # a foreign type
    """An accountant of a `dp_accounting` event, an accountant's `ledger`, or a plan's event.

    An event's noise multiplier is the noise over the norm C of *one record's* contribution. Adding
    or removing a record moves a sum by C, replacing one by 2·C, and that is what is composed.

    >>> import dpverify as dpv
    >>> from types import SimpleNamespace as Event
    >>> GaussianDpEvent = type("GaussianDpEvent", (Event,), {})  # stands for dp_accounting's
    >>> event = GaussianDpEvent(noise_multiplier=2.0)
    >>> dpv.from_dp_event(event, relation=dpv.Relation.ADD_REMOVE).parts[0].label
    'Gaussian(sigma=2.0)'
    """
    relation = Relation.parse(relation)
    for holder in ("ledger", "dp_event"):  # of a dp_accounting accountant, of a jax-privacy plan
        event = getattr(event, holder, event)
    return _composed(Accountant(relation=relation), event, times=1)


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
        case name if name in _REFUSED:
            raise NotSupported(f"event={event!r} must be of another class: {_REFUSED[name]}")
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
    shift = as_count("sensitivity", event.sensitivity) * int(_moves(relation))
    if shift == 1:
        return RandomizedResponse(epsilon=event.noise_parameter)
    least = math.nextafter(1.0 / as_positive("noise_parameter", event.noise_parameter), 0.0)
    return DiscreteLaplace(scale=least, sensitivity=shift)


def _discrete_gaussian(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    """One number moves by whole steps; of a vector, or of who knows what, ρ = Δ²/(2σ²) is known."""
    sigma = as_between("sigma", event.sigma, 0.0, math.inf)
    moved = as_positive("sensitivity", event.sensitivity) * _moves(relation)
    if sigma == 0.0:
        return _NOTHING_HIDDEN
    if event.dimension == 1 and moved >= 1.0:
        return DiscreteGaussian(sigma=sigma, sensitivity=math.floor(moved))
    return ZeroConcentratedDP(rho=enclose(lambda: (ball(moved) / ball(sigma)) ** 2 / 2)[1])


def _truncated(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    """Poisson samples cut down to a size, of data with at most `dataset_size` records."""
    return Subsampled(
        Gaussian(sigma=event.noise_multiplier),
        rate=event.sampling_probability,
        at_most=event.truncated_batch_size,
        population=event.dataset_size,
    )


def _with_replacement(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    inner = _inner(event.event, moves=_moves(relation))
    return SubsampledWithReplacement(
        inner, batch=event.sample_size, population=event.source_dataset_size
    )


def _mixture(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    return GaussianMixture(
        sigma=event.standard_deviation,
        l2_sensitivities=tuple(event.sensitivities),
        weights=tuple(event.sampling_probs),
    )


def _selected(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    """A negative binomial number of runs: of shape 1 geometric, 0 logarithmic, ∞ Poisson."""
    inner = _inner(event.event, moves=_moves(relation))
    if event.shape == math.inf:
        return BestOf(inner, runs="poisson", mean=event.mean)
    return BestOf(inner, runs="negative binomial", mean=event.mean, shape=event.shape)


def _poisson(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    # Presence moves a sum by one norm under either relation.
    return Subsampled(_inner(event.event, moves=1.0), rate=event.sampling_probability)


def _batch(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    inner = _inner(event.event, moves=_moves(relation))
    return SubsampledWithoutReplacement(
        inner, batch=event.sample_size, population=event.source_dataset_size
    )


def _inner(event: Any, *, moves: float) -> Gaussian | Laplace | GaussianPair:  # noqa: ANN401
    """What is run on a sample: noise, or several Gaussians on the same sample, which are one."""
    match type(event).__name__:
        case "GaussianDpEvent":
            inner = _gaussian(event.noise_multiplier, moves)
        case "LaplaceDpEvent":
            inner = _laplace(event.noise_multiplier, moves)
        case "ComposedDpEvent" | "SelfComposedDpEvent":
            whole = _composed(Accountant(relation=_RELATIONS[moves]), event, times=1)
            one = gaussian_parts(whole.parts) if whole.parts else None
            if one is None:
                raise NotSupported(
                    f"event={event!r} must be of Gaussians inside a sample or a selection"
                )
            return one
        case _:
            raise NotSupported(
                f"event={event!r} must be Gaussian or Laplace inside a sample or a selection"
            )
    if not isinstance(inner, Gaussian | Laplace):
        raise NotSupported(f"event={event!r} must have noise inside a sample or a selection")
    return inner


def _tree(event: Any, relation: Relation) -> Composable:  # noqa: ANN401
    """A record is in one node of every level, at most ⌈log2(steps + 1)⌉ of them, in one tree."""
    if relation is not Relation.REPLACE_ONE:
        raise NotSupported(
            f"relation={relation.value!r} must be {Relation.REPLACE_ONE.value!r} for a tree: a "
            "record that is added moves all others to other steps"
        )
    counts = event.step_counts
    steps = max(as_count("step_counts", n) for n in ([counts] if _is_number(counts) else counts))
    noise = as_between("noise multiplier", event.noise_multiplier, 0.0, math.inf)
    if noise == 0:
        return _NOTHING_HIDDEN
    return GaussianPair(steps.bit_length() * (Fraction(_moves(relation)) / Fraction(noise)) ** 2)


def _is_number(value: object) -> bool:
    return not isinstance(value, Sequence) and not hasattr(value, "__len__")


def _zcdp(event: Any, _: Relation) -> Composable:  # noqa: ANN401
    if event.xi != 0:
        raise NotSupported(f"xi={event.xi!r} must be 0 in event={event!r}: ρ-zCDP has no offset")
    return ZeroConcentratedDP(rho=event.rho)


_PARTS: dict[str, Callable[[Any, Relation], Composable]] = {
    "NonPrivateDpEvent": lambda _, __: _NOTHING_HIDDEN,
    "GaussianDpEvent": lambda event, relation: _gaussian(event.noise_multiplier, _moves(relation)),
    "LaplaceDpEvent": lambda event, relation: _laplace(event.noise_multiplier, _moves(relation)),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "PoissonSampledDpEvent": _poisson,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "EpsilonDeltaDpEvent": lambda event, _: ApproxDP(event.epsilon, event.delta),
    "ExponentialMechanismDpEvent": lambda event, _: ExponentialMechanism(
        epsilon=event.epsilon, score_sensitivity=1.0
    ),
    "PermuteAndFlipDpEvent": lambda event, _: PermuteAndFlip(
        epsilon=event.epsilon, score_sensitivity=1.0
    ),
    "SampledWithoutReplacementDpEvent": _batch,
    "SampledWithReplacementDpEvent": _with_replacement,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "MixtureOfGaussiansDpEvent": _mixture,
    "RepeatAndSelectDpEvent": _selected,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "ZCDpEvent": _zcdp,
}

_REFUSED = {  # and why
    "DpEvent": "an event without a kind says nothing",
    "UnsupportedDpEvent": "it stands for whatever was run, which nobody knows",
}
