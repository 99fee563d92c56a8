"""Minima of regularized empirical risk, each with a certified distance from the exact one."""
