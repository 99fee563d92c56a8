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
        BestOf,
        DiscreteGaussian,
        DiscreteLaplace,
        ExponentialMechanism,
        Gaussian,
        GaussianMixture,
        Laplace,
        LastIterate,
        LeakyRandomizedResponse,
        MatrixMechanism,
        NoisyMax,
        NormMechanism,
        PermuteAndFlip,
        RandomAllocation,
        RandomizedResponse,
        ShuffledReports,
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
    "BestOf",
    "Bracket",
    "Calibration",
    "Certificate",
    "Claim",
    "Comparison",
    "Conversion",
    "DPVerifyError",
    "Decision",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Evidence",
    "ExponentialMechanism",
    "FinitePair",
    "Gaussian",
    "GaussianDP",
    "GaussianMixture",
    "Guarantee",
    "InvalidParameter",
    "Kernel",
    "Laplace",
    "LastIterate",
    "LeakyRandomizedResponse",
    "MatrixMechanism",
    "Mechanism",
    "NoisyMax",
    "NormMechanism",
    "NotIndistinguishable",
    "NotRefuted",
    "NotSupported",
    "OneRunVerdict",
    "Pair",
    "PermuteAndFlip",
    "PrivacyLoss",
    "ProfileBand",
    "ProfileClaim",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Refuted",
    "Relation",
    "RenyiDP",
    "ShuffledReports",
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
    "BestOf": "mechanisms",
    "Bracket": "guarantees",
    "Calibration": "accounting.calibration",
    "Certificate": "certifying",
    "Claim": "claims",
    "Comparison": "accounting.comparison",
    "Conversion": "accounting.conversion",
    "DPVerifyError": "errors",
    "Decision": "deciding",
    "DiscreteGaussian": "mechanisms",
    "DiscreteLaplace": "mechanisms",
    "Evidence": "theorems",
    "ExponentialMechanism": "mechanisms",
    "FinitePair": "pairs",
    "Gaussian": "mechanisms",
    "GaussianDP": "guarantees",
    "GaussianMixture": "mechanisms",
    "Guarantee": "guarantees",
    "InvalidParameter": "errors",
    "Kernel": "pairs",
    "Laplace": "mechanisms",
    "LastIterate": "mechanisms",
    "LeakyRandomizedResponse": "mechanisms",
    "MatrixMechanism": "mechanisms",
    "Mechanism": "claims",
    "NoisyMax": "mechanisms",
    "NormMechanism": "mechanisms",
    "NotIndistinguishable": "pairs",
    "NotRefuted": "auditing",
    "NotSupported": "errors",
    "OneRunVerdict": "auditing",
    "Pair": "pairs",
    "PermuteAndFlip": "mechanisms",
    "PrivacyLoss": "pairs",
    "ProfileBand": "auditing",
    "ProfileClaim": "auditing",
    "PureDP": "guarantees",
    "RandomAllocation": "mechanisms",
    "RandomizedResponse": "mechanisms",
    "Refuted": "auditing",
    "Relation": "neighbors",
    "RenyiDP": "guarantees",
    "ShuffledReports": "mechanisms",
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
