"""Selection: one of many candidates, questions above a threshold, or the best of several runs."""

from dpverify.mechanisms.selection.best_of import BestOf
from dpverify.mechanisms.selection.exponential import ExponentialMechanism
from dpverify.mechanisms.selection.noisy_max import NoisyMax
from dpverify.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dpverify.mechanisms.selection.sparse_vector import SparseVector

__all__ = ["BestOf", "ExponentialMechanism", "NoisyMax", "PermuteAndFlip", "SparseVector"]
