"""Audits: test from samples of a mechanism whether the ε that it claims is true.

- `adapters`: mechanisms of other libraries;
- `sampling`: draws that depend on the seed alone, and outputs of any kind as columns and texts;
- `attacks`: which events might tell the two sides apart;
- `statistics`: exact tests for fixed numbers of draws, bets that may be stopped at any time, and
  the (ε, δ) statements that a claim implies;
- `verdict`: what was found, and the witness that shows it again;
- `procedure`, `auditor`: one audit, from its first draw to its verdict;
- `sharing`: one audit, drawn on several machines;
- `search`: the pair of datasets on which a mechanism does worst;
- `bands`: whole profiles and trade-off curves, with confidence bands;
- `one_run`: audits of a training procedure that runs once;
- `training`: canaries for PyTorch, and steps of DP-SGD from inside;
- `batches`: audits of the sampler that a training procedure draws its batches with.
"""

from typing import TYPE_CHECKING

from dpverify.claims import ProfileClaim
from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.auditing.adapters import from_diffprivlib, from_opendp
    from dpverify.auditing.auditor import audit
    from dpverify.auditing.bands.curves import ProfileBand, TradeOffBand
    from dpverify.auditing.bands.estimation import estimate_profile
    from dpverify.auditing.batches import BatchVerdict, audit_batches
    from dpverify.auditing.one_run.as_it_goes import AsItGoes
    from dpverify.auditing.one_run.audit import audit_one_run
    from dpverify.auditing.one_run.limits import one_run_epsilon, one_run_mu
    from dpverify.auditing.one_run.tiers import Tiers
    from dpverify.auditing.one_run.verdict import OneRunVerdict
    from dpverify.auditing.procedure.rounds import Progress
    from dpverify.auditing.sampling.journal import merge_checkpoints
    from dpverify.auditing.search import audit_over
    from dpverify.auditing.sharing import DrawnShare, draw_share
    from dpverify.auditing.training.steps import StepsVerdict, audit_steps
    from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness

__all__ = [
    "AsItGoes",
    "BatchVerdict",
    "DrawnShare",
    "NotRefuted",
    "OneRunVerdict",
    "ProfileBand",
    "ProfileClaim",
    "Progress",
    "Refuted",
    "StepsVerdict",
    "Tiers",
    "TradeOffBand",
    "Verdict",
    "Witness",
    "audit",
    "audit_batches",
    "audit_one_run",
    "audit_over",
    "audit_steps",
    "draw_share",
    "estimate_profile",
    "from_diffprivlib",
    "from_opendp",
    "merge_checkpoints",
    "one_run_epsilon",
    "one_run_mu",
]

_HOME = {
    "AsItGoes": "one_run.as_it_goes",
    "BatchVerdict": "batches",
    "DrawnShare": "sharing",
    "NotRefuted": "verdict",
    "OneRunVerdict": "one_run.verdict",
    "ProfileBand": "bands.curves",
    "Progress": "procedure.rounds",
    "Refuted": "verdict",
    "StepsVerdict": "training.steps",
    "Tiers": "one_run.tiers",
    "TradeOffBand": "bands.curves",
    "Verdict": "verdict",
    "Witness": "verdict",
    "audit": "auditor",
    "audit_batches": "batches",
    "audit_one_run": "one_run.audit",
    "audit_over": "search",
    "audit_steps": "training.steps",
    "draw_share": "sharing",
    "estimate_profile": "bands.estimation",
    "from_diffprivlib": "adapters",
    "from_opendp": "adapters",
    "merge_checkpoints": "sampling.journal",
    "one_run_epsilon": "one_run.limits",
    "one_run_mu": "one_run.limits",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
