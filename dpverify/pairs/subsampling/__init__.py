"""Pairs of noise on random samples: Poisson, full, with and without replacement, shuffled, allocated."""
