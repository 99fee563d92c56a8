"""Opacus' histories: steps of noise on Poisson batches."""

import math
from collections.abc import Iterable
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.errors import InvalidParameter, as_between, as_count
from dpverify.guarantees import GaussianDP
from dpverify.mechanisms import Gaussian, Subsampled
from dpverify.neighbors import Relation


def from_opacus(history: Any, *, relation: Relation = Relation.ADD_REMOVE) -> Accountant:  # noqa: ANN401
    """An accountant of the steps that Opacus recorded: its accountant, or its `history`.

    A history lists (noise multiplier, sample rate, number of steps), for Poisson batches.

    >>> import dpverify as dpv
    >>> history = [(1.0, 0.01, 100)]  # or the accountant of a PrivacyEngine
    >>> round(dpv.from_opacus(history).epsilon(1e-5).upper, 2)
    0.72
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
        noise = as_between("noise multiplier", noise, 0.0, math.inf)
        step = Subsampled(Gaussian(sigma=noise), rate=rate) if noise else GaussianDP(mu=math.inf)
        accountant = accountant.compose(step, times=steps)
    return accountant
