"""Loops over data of any length: the mechanism as an automaton that reads one record per step."""
