"""Audits: is the claimed ε true? Samples of a mechanism against a claim.

- `outputs`, `derived`: outputs of any kind as columns and texts;
- `sampling`: draws that depend on the seed alone;
- `events`, `goals`, `attacks`, `classifiers`, `simplify`: which event to hold against a claim;
- `confidence`: exact tests for fixed numbers of draws; `betting`: tests that may be watched;
- `points`: the (ε, δ) statements that a claim implies; `floats`: leaks through bits;
- `auditor`: the one procedure; `verdict`: what it returns.
"""

from dpverify.auditing.auditor import audit
from dpverify.auditing.progress import Progress
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness

__all__ = ["NotRefuted", "Progress", "Refuted", "Verdict", "Witness", "audit"]
