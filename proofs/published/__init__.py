"""Statements of papers that are false or unsafe as printed, each with an exact counterexample."""
