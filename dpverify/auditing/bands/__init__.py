"""Whole profiles and trade-off curves from draws, with bands."""
