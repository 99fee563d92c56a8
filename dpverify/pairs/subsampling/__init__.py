"""Pairs of noise on random samples: Poisson, without replacement, one of several steps."""
