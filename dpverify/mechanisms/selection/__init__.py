"""Selection: one of many candidates, or the best of several runs."""

from dpverify.mechanisms.selection.best_of import BestOf
from dpverify.mechanisms.selection.permute_and_flip import PermuteAndFlip

__all__ = ["BestOf", "PermuteAndFlip"]
