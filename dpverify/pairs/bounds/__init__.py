"""Pairs known only by bounds: points of a profile, groups of records, selections."""
