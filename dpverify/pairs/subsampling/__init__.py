"""Pairs of noise on a random sample of the records: Poisson, and without replacement."""
