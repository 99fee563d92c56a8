"""The restricted language of mechanisms that can be certified, and its interpreter.

A mechanism is read, never run, while it is certified: its source is checked against a fixed list,
and an interpreter computes what each of its steps does to symbols. What is not on the list is
refused with its line.
"""
