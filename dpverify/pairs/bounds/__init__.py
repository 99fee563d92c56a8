"""Pairs of which only bounds are known: points of a profile, groups of records, selections."""
