"""Statements of the lecture notes that are false, each with an exact counterexample."""
