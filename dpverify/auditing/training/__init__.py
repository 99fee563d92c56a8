"""Audits of training: canaries for PyTorch, and white-box audits of single DP-SGD steps.

- `steps`: is each noisy sum of gradients what the accounting says? Needs no PyTorch;
- `canaries`: records, or gradients, that are easy to notice, and how much a model noticed them;
- `recording`: what an optimizer of Opacus releases in each step, for `steps`.

>>> from dpverify.auditing.training import audit_steps
"""

from dpverify.auditing.training.canaries import (
    GradientCanaries,
    RecordCanaries,
    input_canaries,
    mislabeled_canaries,
)
from dpverify.auditing.training.recording import Releases, StepRecorder
from dpverify.auditing.training.steps import StepsVerdict, audit_steps

__all__ = [
    "GradientCanaries",
    "RecordCanaries",
    "Releases",
    "StepRecorder",
    "StepsVerdict",
    "audit_steps",
    "input_canaries",
    "mislabeled_canaries",
]
