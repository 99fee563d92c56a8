"""Statistical tests of a claim: exact binomial tests, and bets valid at any stopping time."""
