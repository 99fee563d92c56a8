"""Plots, and the report page with its tables."""
