"""How a proof is written, run and found; nothing here is a theorem."""
