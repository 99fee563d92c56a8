"""Exact draws from the exponential mechanism: candidates, balls and quantiles."""
