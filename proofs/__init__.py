"""Proofs that run, one file a theorem. Nothing is released here yet."""
