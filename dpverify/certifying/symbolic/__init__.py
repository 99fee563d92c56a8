"""Symbolic runs of a mechanism on data and noise, and exact numbers for their probabilities."""
