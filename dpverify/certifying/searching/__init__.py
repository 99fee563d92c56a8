"""The search for proofs and counterexamples; only the checker's answer is trusted."""
