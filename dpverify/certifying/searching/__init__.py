"""The search for proofs and counterexamples; nothing here is trusted, the checker is."""
