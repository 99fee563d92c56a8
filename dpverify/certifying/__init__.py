"""Certificates: prove that a user's own mechanism keeps its claim, or find a counterexample.

- `symbolic`: symbols for data and noise, exact numbers, and a run on them, path by path;
- `extracting`: the mechanism's own code called on symbols, which gives the tree of its comparisons;
- `any_length`: loops over data of any length, as an automaton that takes one record a step;
- `rehearsal`: the run on symbols against a plain one with the same draws;
- `searching`: exact probabilities on all neighbors of a finite schema; translations of the noise
  that give each neighbor the same output; sums of noised answers; events that are too likely;
- `checking`: what is found is a file that rational arithmetic alone verifies;
- `certify`, `releases`: one method after the other; `certificate`: the answer.
"""

from dpverify.certifying.certificate import Certificate, Checked, Disproof, check_certificate
from dpverify.certifying.certify import certify

__all__ = ["Certificate", "Checked", "Disproof", "certify", "check_certificate"]
