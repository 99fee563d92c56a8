"""Attacks: they look at earlier draws and propose the events that are tested against a claim."""
