"""What other accountants recorded, composed here: events, histories, privacy-loss distributions.

No other library is imported to read: things are told by the names of their classes and fields.
"""

from dpverify.interop.dp_accounting import from_dp_event
from dpverify.interop.loss_distributions import (
    LossDistribution,
    from_loss_distribution,
    loss_distribution,
)
from dpverify.interop.opacus import from_opacus
from dpverify.interop.opendp import from_opendp_history

__all__ = [
    "LossDistribution",
    "from_dp_event",
    "from_loss_distribution",
    "from_opacus",
    "from_opendp_history",
    "loss_distribution",
]
