"""Privacy amplification: random batches, shuffling, and steps that are never released."""

from dpverify.mechanisms.amplification.allocation import RandomAllocation, Shuffled
from dpverify.mechanisms.amplification.last_iterate import LastIterate
from dpverify.mechanisms.amplification.shuffled_reports import ShuffledReports
from dpverify.mechanisms.amplification.subsampled import (
    Subsampled,
    SubsampledWithoutReplacement,
    SubsampledWithReplacement,
)

__all__ = [
    "LastIterate",
    "RandomAllocation",
    "Shuffled",
    "ShuffledReports",
    "Subsampled",
    "SubsampledWithReplacement",
    "SubsampledWithoutReplacement",
]
