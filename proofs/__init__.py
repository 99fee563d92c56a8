"""Proofs that run: one file a theorem.

`refuted/` holds what the lecture notes have wrong, `published/` what papers have wrong.

`support/` says how a proof is written and finds them all; every other file is one theorem. The map
from the notes to the files is README.md, and `dpverify prove` runs everything.
"""
