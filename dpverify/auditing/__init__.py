"""Audits: is the claimed ε true? Samples of a mechanism against a claim.

- `outputs`, `derived`: outputs of any kind as columns and texts;
- `drawing`, `sampling`: draws that depend on the seed alone; `limits`: in time; `checkpoint`: kept;
- `events`, `goals`, `attacks` (`cuts`, `sets`, `classifiers`), `simplify`: which event to hold
  against a claim;
- `confidence`, `boxes`, `tails`: exact tests for fixed numbers of draws; `betting`: tests that may
  be watched; `levels`: how they share the level;
- `points`: the (ε, δ) statements that a claim implies; `floats`: leaks through bits;
- `auditor`: the one procedure, by `stages`, `state`, `rounds`, `choice`, `refusals` and
  `conclusion`; `verdict`: what it returns; `replay`: a witness judged again.
"""

from dpverify.auditing.auditor import audit
from dpverify.auditing.progress import Progress
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness

__all__ = ["NotRefuted", "Progress", "Refuted", "Verdict", "Witness", "audit"]
