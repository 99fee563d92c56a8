"""Draws of a mechanism on both sides of a pair, and what was drawn, read and kept."""
