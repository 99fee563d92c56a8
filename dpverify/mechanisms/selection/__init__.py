"""Private selection: a candidate, queries above a threshold, or the best of several runs."""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.mechanisms.selection.best_of import BestOf
    from dpverify.mechanisms.selection.exponential import ExponentialMechanism
    from dpverify.mechanisms.selection.noisy_max import NoisyMax
    from dpverify.mechanisms.selection.permute_and_flip import PermuteAndFlip
    from dpverify.mechanisms.selection.sparse_vector import SparseVector

__all__ = ["BestOf", "ExponentialMechanism", "NoisyMax", "PermuteAndFlip", "SparseVector"]

_HOME = {
    "BestOf": "best_of",
    "ExponentialMechanism": "exponential",
    "NoisyMax": "noisy_max",
    "PermuteAndFlip": "permute_and_flip",
    "SparseVector": "sparse_vector",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
