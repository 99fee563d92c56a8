"""How a proof is written, run and found."""
