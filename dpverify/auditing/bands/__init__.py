"""Confidence bands for whole privacy profiles and trade-off curves, from draws."""
