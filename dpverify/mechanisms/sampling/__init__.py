"""Exact draws: noise on a grid, finite choices, and the uniform digits that they are made of."""
