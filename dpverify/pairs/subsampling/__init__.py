"""Pairs of noise on random samples: Poisson, with and without replacement, shuffled, allocated."""
