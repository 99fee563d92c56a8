"""Noise on the integers: discrete Laplace and discrete Gaussian."""
