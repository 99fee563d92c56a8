"""Privacy amplification: by sampling, by shuffling, and by hiding intermediate steps."""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
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

_HOME = {
    "LastIterate": "last_iterate",
    "RandomAllocation": "allocation",
    "Shuffled": "allocation",
    "ShuffledReports": "shuffled_reports",
    "Subsampled": "subsampled",
    "SubsampledWithReplacement": "subsampled",
    "SubsampledWithoutReplacement": "subsampled",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
