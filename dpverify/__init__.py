"""dpverify: tell whether a differential-privacy claim is true.

>>> import dpverify as dpv
>>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
>>> spent = spent.compose(dpv.Gaussian(sigma=50.0), times=1000)
>>> spent.epsilon(delta=1e-6).upper
2.921600590427046
"""

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import Calibration, calibrate, calibration
from dpverify.accounting.comparison import Comparison
from dpverify.accounting.conversion import Conversion, to_approx, to_gdp, to_renyi, to_zcdp
from dpverify.auditing import NotRefuted, Refuted, Verdict, Witness, audit
from dpverify.claims import Claim, Mechanism
from dpverify.errors import DPVerifyError, InvalidParameter, NotSupported
from dpverify.guarantees import (
    ApproxDP,
    Bracket,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    from_dict,
    to_dict,
)
from dpverify.interop import from_dp_event, from_opacus
from dpverify.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    LeakyRandomizedResponse,
    NoisyMax,
    NormMechanism,
    RandomizedResponse,
    SparseVector,
    Subsampled,
    SubsampledWithoutReplacement,
)
from dpverify.neighbors import Relation
from dpverify.pairs import (
    FinitePair,
    Kernel,
    NotIndistinguishable,
    PrivacyLoss,
    dominates,
    leaky_loss,
    simulate,
)
from dpverify.theorems import Evidence, Step, Theorem

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "ApproxDP",
    "Bracket",
    "Calibration",
    "Claim",
    "Comparison",
    "Conversion",
    "DPVerifyError",
    "Evidence",
    "ExponentialMechanism",
    "FinitePair",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "InvalidParameter",
    "Kernel",
    "Laplace",
    "LeakyRandomizedResponse",
    "Mechanism",
    "NoisyMax",
    "NormMechanism",
    "NotIndistinguishable",
    "NotRefuted",
    "NotSupported",
    "PrivacyLoss",
    "PureDP",
    "RandomizedResponse",
    "Refuted",
    "Relation",
    "RenyiDP",
    "SparseVector",
    "Step",
    "Subsampled",
    "SubsampledWithoutReplacement",
    "Theorem",
    "Verdict",
    "Witness",
    "ZeroConcentratedDP",
    "audit",
    "calibrate",
    "calibration",
    "dominates",
    "from_dict",
    "from_dp_event",
    "from_opacus",
    "leaky_loss",
    "simulate",
    "to_approx",
    "to_dict",
    "to_gdp",
    "to_renyi",
    "to_zcdp",
]
