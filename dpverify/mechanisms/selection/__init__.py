"""Selection: one of many candidates, or the best of several runs."""

from dpverify.mechanisms.selection.best_of import BestOf

__all__ = ["BestOf"]
