"""Audits: is the claimed ε true? Samples of a mechanism against a claim.

- `outputs`, `derived`: outputs of any kind as columns and texts;
- `sampling`, `drawing`: draws that depend on the seed alone; `checkpoint` keeps them;
- `events`, `goals`, `attacks`, `classifiers`, `simplify`: which event to hold against a claim;
- `confidence`: exact tests for fixed numbers of draws; `betting`: tests that may be watched;
- `profiles`, `points`: claims, and the (ε, δ) statements that they imply; `levels`: who may err;
- `floats`: leaks through bits;
- `auditor`: the one procedure; `rounds`, `state`, `conclusion`: its parts; `verdict`: its result;
- `schema`, `search`: what data look like, and the pair that is worst; `adapters`: other libraries;
- `scores`, `cdf_bands`, `estimation`, `bands`: whole profiles and trade-off curves with bands;
- `guessing`, `guess_mixture`, `one_run_limits`, `one_run`, `one_run_verdict`: audits in one run.
"""

from dpverify.auditing.adapters import from_diffprivlib, from_opendp
from dpverify.auditing.auditor import audit
from dpverify.auditing.bands.curves import ProfileBand, TradeOffBand
from dpverify.auditing.bands.estimation import estimate_profile
from dpverify.auditing.one_run.audit import audit_one_run
from dpverify.auditing.one_run.limits import one_run_epsilon, one_run_mu
from dpverify.auditing.one_run.verdict import OneRunVerdict
from dpverify.auditing.procedure.progress import Progress
from dpverify.auditing.search import audit_over
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness
from dpverify.claims import ProfileClaim

__all__ = [
    "NotRefuted",
    "OneRunVerdict",
    "ProfileBand",
    "ProfileClaim",
    "Progress",
    "Refuted",
    "TradeOffBand",
    "Verdict",
    "Witness",
    "audit",
    "audit_one_run",
    "audit_over",
    "estimate_profile",
    "from_diffprivlib",
    "from_opendp",
    "one_run_epsilon",
    "one_run_mu",
]
