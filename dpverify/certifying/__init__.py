"""Certificates: a proof that a user's own mechanism keeps its claim, or the counterexample.

A mechanism is run on symbols (`running`, `symbols`, `generator`, `calling`, `outputs`), which gives
the tree of its comparisons (`extraction`). Three arguments are tried on it:

- exact probabilities of outputs on all neighbors of a finite schema (`masses`, `lines`, `finite`);
- translations of the noise that give each neighbor the same output (`alignment`, `farkas`);
- an event that is too likely on one of two neighbors (`refuting`).

Whatever is found is a file that `checker` and `recount` verify by rational arithmetic alone.
"""

from dpverify.certifying.certificate import Certificate, Checked, Disproof, check_certificate
from dpverify.certifying.certify import certify

__all__ = ["Certificate", "Checked", "Disproof", "certify", "check_certificate"]
