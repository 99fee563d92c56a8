"""Composition: the accountant, and one file for each composition rule.

- `basic`, `advanced`, `optimal`, `unequal`: parts known as (ε, δ) guarantees;
- `gdp`, `zcdp`, `rdp`: parts known by a Gaussian, a concentrated or a Rényi bound;
- `numerical`: parts known as pairs, composed as privacy-loss distributions on a grid;
- `accountant`: asks every rule that applies; `calibration`: the inverse, noise for a budget;
- `conversion`: from one guarantee to another, where a theorem says so.
"""
