"""Loops over data of any length: a mechanism as an automaton that takes one record a step."""
