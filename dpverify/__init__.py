"""dpverify: tell whether a differential-privacy claim is true.

>>> import dpverify as dpv
>>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
>>> spent = spent.compose(dpv.Gaussian(sigma=50.0), times=1000)
>>> spent.epsilon(delta=1e-6).upper
2.921600590427046

Names are imported when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.accounting.accountant import Accountant
    from dpverify.accounting.calibration import Calibration, calibrate, calibration
    from dpverify.accounting.comparison import Comparison
    from dpverify.accounting.conversion import Conversion, to_approx, to_gdp, to_renyi, to_zcdp
    from dpverify.auditing import (
        NotRefuted,
        OneRunVerdict,
        ProfileBand,
        ProfileClaim,
        Refuted,
        TradeOffBand,
        Verdict,
        Witness,
        audit,
        audit_one_run,
        audit_over,
        estimate_profile,
        from_diffprivlib,
        from_opendp,
        one_run_epsilon,
        one_run_mu,
    )
    from dpverify.certifying import Certificate, certify, check_certificate
    from dpverify.claims import Claim, Mechanism
    from dpverify.deciding import Decision, decide
    from dpverify.errors import BudgetExceeded, DPVerifyError, InvalidParameter, NotSupported
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
    from dpverify.ledger import Filter, Ledger, Odometer
    from dpverify.mechanisms import (
        ExponentialMechanism,
        Gaussian,
        Laplace,
        LeakyRandomizedResponse,
        NoisyMax,
        NormMechanism,
        RandomAllocation,
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
        Pair,
        PrivacyLoss,
        dominates,
        leaky_loss,
        simulate,
    )
    from dpverify.registry import register
    from dpverify.theorems import Evidence, Step, Theorem
    from dpverify.tracing import Traced, TraceWitness, trace, trace_over

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "ApproxDP",
    "Bracket",
    "BudgetExceeded",
    "Calibration",
    "Certificate",
    "Claim",
    "Comparison",
    "Conversion",
    "DPVerifyError",
    "Decision",
    "Evidence",
    "ExponentialMechanism",
    "Filter",
    "FinitePair",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "InvalidParameter",
    "Kernel",
    "Laplace",
    "LeakyRandomizedResponse",
    "Ledger",
    "Mechanism",
    "NoisyMax",
    "NormMechanism",
    "NotIndistinguishable",
    "NotRefuted",
    "NotSupported",
    "Odometer",
    "OneRunVerdict",
    "Pair",
    "PrivacyLoss",
    "ProfileBand",
    "ProfileClaim",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Refuted",
    "Relation",
    "RenyiDP",
    "SparseVector",
    "Step",
    "Subsampled",
    "SubsampledWithoutReplacement",
    "Theorem",
    "TraceWitness",
    "Traced",
    "TradeOffBand",
    "Verdict",
    "Witness",
    "ZeroConcentratedDP",
    "audit",
    "audit_one_run",
    "audit_over",
    "calibrate",
    "calibration",
    "certify",
    "check_certificate",
    "decide",
    "dominates",
    "estimate_profile",
    "from_dict",
    "from_diffprivlib",
    "from_dp_event",
    "from_opacus",
    "from_opendp",
    "leaky_loss",
    "one_run_epsilon",
    "one_run_mu",
    "register",
    "simulate",
    "to_approx",
    "to_dict",
    "to_gdp",
    "to_renyi",
    "to_zcdp",
    "trace",
    "trace_over",
]

_HOME = {
    "Accountant": "accounting.accountant",
    "ApproxDP": "guarantees",
    "Bracket": "guarantees",
    "BudgetExceeded": "errors",
    "Calibration": "accounting.calibration",
    "Certificate": "certifying",
    "Claim": "claims",
    "Comparison": "accounting.comparison",
    "Conversion": "accounting.conversion",
    "DPVerifyError": "errors",
    "Decision": "deciding",
    "Evidence": "theorems",
    "ExponentialMechanism": "mechanisms",
    "Filter": "ledger",
    "FinitePair": "pairs",
    "Gaussian": "mechanisms",
    "GaussianDP": "guarantees",
    "Guarantee": "guarantees",
    "InvalidParameter": "errors",
    "Kernel": "pairs",
    "Laplace": "mechanisms",
    "LeakyRandomizedResponse": "mechanisms",
    "Ledger": "ledger",
    "Mechanism": "claims",
    "NoisyMax": "mechanisms",
    "NormMechanism": "mechanisms",
    "NotIndistinguishable": "pairs",
    "NotRefuted": "auditing",
    "NotSupported": "errors",
    "Odometer": "ledger",
    "OneRunVerdict": "auditing",
    "Pair": "pairs",
    "PrivacyLoss": "pairs",
    "ProfileBand": "auditing",
    "ProfileClaim": "auditing",
    "PureDP": "guarantees",
    "RandomAllocation": "mechanisms",
    "RandomizedResponse": "mechanisms",
    "Refuted": "auditing",
    "Relation": "neighbors",
    "RenyiDP": "guarantees",
    "SparseVector": "mechanisms",
    "Step": "theorems",
    "Subsampled": "mechanisms",
    "SubsampledWithoutReplacement": "mechanisms",
    "Theorem": "theorems",
    "TraceWitness": "tracing",
    "Traced": "tracing",
    "TradeOffBand": "auditing",
    "Verdict": "auditing",
    "Witness": "auditing",
    "ZeroConcentratedDP": "guarantees",
    "audit": "auditing",
    "audit_one_run": "auditing",
    "audit_over": "auditing",
    "calibrate": "accounting.calibration",
    "calibration": "accounting.calibration",
    "certify": "certifying",
    "check_certificate": "certifying",
    "decide": "deciding",
    "dominates": "pairs",
    "estimate_profile": "auditing",
    "from_dict": "guarantees",
    "from_diffprivlib": "auditing",
    "from_dp_event": "interop",
    "from_opacus": "interop",
    "from_opendp": "auditing",
    "leaky_loss": "pairs",
    "one_run_epsilon": "auditing",
    "one_run_mu": "auditing",
    "register": "registry",
    "simulate": "pairs",
    "to_approx": "accounting.conversion",
    "to_dict": "guarantees",
    "to_gdp": "accounting.conversion",
    "to_renyi": "accounting.conversion",
    "to_zcdp": "accounting.conversion",
    "trace": "tracing",
    "trace_over": "tracing",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _HOME:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}")
    value = getattr(import_module(f"dpverify.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
