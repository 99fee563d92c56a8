"""Certificates: a proof that a user's own mechanism keeps its claim, or the counterexample.

- `symbolic`: a mechanism runs on symbols for data and noise, path by path, which gives the tree of
  its comparisons;
- `searching`: exact probabilities on all neighbors of a finite schema; translations of the noise
  that give each neighbor the same output; sums of noised answers; events that are too likely;
- `checking`: what is found is a file that rational arithmetic alone verifies;
- `certify`, `releases`: one method after the other; `certificate`: the answer.
"""

from dpverify.certifying.certificate import Certificate, Checked, Disproof, check_certificate
from dpverify.certifying.certify import certify

__all__ = ["Certificate", "Checked", "Disproof", "certify", "check_certificate"]
