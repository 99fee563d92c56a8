"""Any numeric type gives the answer of Python's own number, or one sentence of refusal."""

import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.accounting.curves import growth
from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.rules.advanced import AdvancedComposition
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.accounting.rules.unequal import UnequalComposition
from dpverify.errors import DPVerifyError, InvalidParameter, as_between, as_count, as_real
from dpverify.pairs import (
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    SubsampledPair,
    WithoutReplacementPair,
)

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
DELTA = 1 / 1024

INTEGERS = (
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble, Fraction, np.array, Decimal)
NOT_NUMBERS = (True, np.True_, "1", None, 1j, [1.0], np.ones(1), math.nan, int, object())


def spent(subject: Any, relation: dpv.Relation = ADD_REMOVE) -> object:  # noqa: ANN401
    accountant = dpv.Accountant(relation=relation).compose(subject, times=3)
    return accountant.epsilon(delta=DELTA, tolerance=0.25)


def account(**changed: Any) -> object:  # noqa: ANN401
    """A question to the accountant, with some of its numbers given."""
    times = changed.pop("times", 64)
    accountant = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Laplace(scale=16.0), times=times)
    asked = {"tolerance": 0.25} | changed
    return accountant.delta(**asked) if "epsilon" in asked else accountant.epsilon(**asked)


def attack_risks(advantage: Any, **rates: Any) -> object:  # noqa: ANN401
    """Both kinds of budget for an attacker."""
    return dpv.AttackRisk(advantage=advantage), dpv.AttackRisk(**rates)


def twice_stated() -> dpv.Accountant:
    """What the rules that are quick have something to say of."""
    part = dpv.ApproxDP(epsilon=0.25, delta=DELTA / 8)
    return dpv.Accountant(relation=ADD_REMOVE).compose(part, times=2)


def compared(**asked: Any) -> object:  # noqa: ANN401
    return twice_stated().compare(**asked).to_dict()


def grown(**asked: Any) -> object:  # noqa: ANN401
    return {name: curve.upper.tolist() for name, curve in growth(twice_stated(), **asked).items()}


def calibrated(**asked: Any) -> object:  # noqa: ANN401
    budget = dpv.ApproxDP(epsilon=1.0, delta=DELTA)
    return dpv.calibrate(
        lambda s: dpv.Gaussian(sigma=s), budget=budget, relation=ADD_REMOVE, **asked
    )


def most_runs(**asked: Any) -> object:  # noqa: ANN401
    """How many runs of some noise a budget allows."""
    start, noise = dpv.Accountant(relation=ADD_REMOVE), dpv.Gaussian(sigma=8.0)
    budget = dpv.ApproxDP(epsilon=1.0, delta=DELTA)
    return dpv.largest(
        lambda n: start.compose(noise, times=n),
        budget=budget,
        relation=ADD_REMOVE,
        whole=True,
        **asked,
    )


def known(maker: Callable[..., Any], *questions: str) -> Callable[..., object]:
    """What a value is worth: what an accountant says of it, and these attributes."""

    def answer(**numbers: Any) -> object:  # noqa: ANN401
        made = maker(**numbers)
        shown = [float(getattr(made, name)) for name in questions]
        return spent(made), made == maker(**numbers), shown

    return answer


def sampled(rate: float, **others: Any) -> dpv.Subsampled:  # noqa: ANN401
    return dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=rate, **others)


def batch(batch: int, population: int) -> object:
    noise = dpv.SubsampledWithoutReplacement(
        dpv.Gaussian(sigma=2.0), batch=batch, population=population
    )
    return spent(noise, REPLACE_ONE)


_OPTIONAL = {"grid_exponent", "split", "most", "diameter", "seconds"}
SIMPLE = LeakyResponsePair(dpv.ApproxDP(epsilon=0.25))
_RISK = dpv.risk(dpv.PureDP(epsilon=1.0))
_LAPLACE = LaplacePair(scale=2.0, sensitivity=1.0)
_RESPONSE = dpv.ApproxDP(epsilon=0.25)
_PARTS = ((_RESPONSE, 2), (dpv.ApproxDP(epsilon=0.5), 3))

# Every constructor and function that takes numbers, with numbers that all types can hold.
SIGNATURES: dict[str, tuple[Callable[..., object], dict[str, float]]] = {
    "PureDP": (known(dpv.PureDP), {"epsilon": 2.0}),
    "ApproxDP": (known(dpv.ApproxDP), {"epsilon": 2.0, "delta": 0.0}),
    "ZeroConcentratedDP": (known(dpv.ZeroConcentratedDP), {"rho": 2.0}),
    "RenyiDP": (known(dpv.RenyiDP), {"order": 8.0, "epsilon": 2.0}),
    "GaussianDP": (known(dpv.GaussianDP), {"mu": 2.0}),
    "Bracket": (dpv.Bracket, {"lower": 1.0, "upper": 2.0}),
    "Gaussian": (
        known(dpv.Gaussian),
        {"sigma": 2.0, "l2_sensitivity": 1.0, "grid_exponent": 4},
    ),
    "Laplace": (
        known(dpv.Laplace),
        {"scale": 2.0, "l1_sensitivity": 1.0, "grid_exponent": 4},
    ),
    "GaussianMixture": (
        lambda sigma: spent(
            dpv.GaussianMixture(sigma=sigma, l2_sensitivities=(0, 1), weights=(0.5, 0.5))
        ),
        {"sigma": 2.0},
    ),
    "MatrixMechanism": (
        lambda **n: spent(
            dpv.MatrixMechanism(strategy="square root", participation="separated", **n)
        ),
        {
            "sigma": 2.0,
            "l2_sensitivity": 1.0,
            "period": 2,
            "most": 2,
            "steps": 4,
            "bands": 2,
        },
    ),
    "PermuteAndFlip": (
        known(dpv.PermuteAndFlip),
        {"epsilon": 2.0, "score_sensitivity": 1.0},
    ),
    "ShuffledReports": (
        lambda **n: spent(dpv.ShuffledReports(**n), REPLACE_ONE),
        {"local_epsilon": 1.0, "reports": 10},
    ),
    "LastIterate": (
        lambda **n: spent(dpv.LastIterate(**n)),
        {
            "sigma": 2.0,
            "l2_sensitivity": 1.0,
            "steps": 4,
            "contraction": 0.5,
            "diameter": 8.0,
        },
    ),
    "BestOf": (
        lambda **n: spent(dpv.BestOf(SIMPLE, runs="negative binomial", **n)),
        {"mean": 4.0, "shape": 1.0},
    ),
    "DiscreteGaussian": (known(dpv.DiscreteGaussian), {"sigma": 2.0, "sensitivity": 1}),
    "DiscreteLaplace": (known(dpv.DiscreteLaplace), {"scale": 2.0, "sensitivity": 1}),
    "NormMechanism": (
        known(dpv.NormMechanism),
        {"scale": 2.0, "sensitivity": 1.0, "norm": 2.0, "grid_exponent": 4},
    ),
    "RandomizedResponse": (known(dpv.RandomizedResponse), {"epsilon": 2.0, "categories": 4}),
    "LeakyRandomizedResponse": (
        known(dpv.LeakyRandomizedResponse),
        {"epsilon": 2.0, "delta": 0.0},
    ),
    "ExponentialMechanism": (
        known(dpv.ExponentialMechanism),
        {"epsilon": 2.0, "score_sensitivity": 1.0},
    ),
    "NoisyMax": (
        known(dpv.NoisyMax, "scale"),
        {"epsilon": 2.0, "score_sensitivity": 1.0, "grid_exponent": 4},
    ),
    "SparseVector": (
        known(dpv.SparseVector, "threshold_scale", "query_scale"),
        {
            "epsilon": 2.0,
            "threshold": 4.0,
            "sensitivity": 1.0,
            "answers": 2,
            "split": 0.5,
            "grid_exponent": 4,
        },
    ),
    "RandomAllocation": (
        lambda **n: spent(dpv.RandomAllocation(dpv.Gaussian(sigma=2.0), **n)),
        {"steps": 2, "selected": 1},
    ),
    "Shuffled": (
        lambda **n: spent(dpv.Shuffled(dpv.Gaussian(sigma=2.0), **n), REPLACE_ONE),
        {"batches": 2},
    ),
    "SubsampledWithReplacement": (
        lambda **n: spent(dpv.SubsampledWithReplacement(dpv.Gaussian(sigma=2.0), **n), REPLACE_ONE),
        {"batch": 1, "population": 8},
    ),
    "Subsampled": (
        lambda **numbers: spent(sampled(**numbers)),
        {"rate": 0.5, "records": 1, "at_most": 6, "population": 8},
    ),
    "SubsampledWithoutReplacement": (batch, {"batch": 10, "population": 100}),
    "calibrate": (calibrated, {"times": 3, "precision": 0.25, "seconds": 100.0}),
    "calibration": (calibrated, {"times": 3, "precision": 0.25, "seconds": 100.0}),
    "largest": (most_runs, {"most": 64, "precision": 0.25, "seconds": 100.0}),
    "AttackRisk": (
        attack_risks,
        {"advantage": 0.125, "true_positive_rate": 0.25, "false_positive_rate": 0.125},
    ),
    "Risk.advantage": (_RISK.advantage, {"tolerance": 0.25}),
    "Risk.true_positive_rate": (
        _RISK.true_positive_rate,
        {"false_positive_rate": 0.25, "tolerance": 0.25},
    ),
    "Risk.success": (_RISK.success, {"prior": 0.25, "tolerance": 0.25}),
    "Risk.posterior": (_RISK.posterior, {"prior": 0.25}),
    "Risk.positive_predictive_value": (
        _RISK.positive_predictive_value,
        {"false_positive_rate": 0.25, "prior": 0.125, "tolerance": 0.25},
    ),
    "Risk.reconstruction": (_RISK.reconstruction, {"baseline": 0.25, "tolerance": 0.25}),
    "Risk.singling_out": (
        _RISK.singling_out,
        {"records": 4, "weight": 0.125, "tolerance": 0.25},
    ),
    "to_approx": (
        lambda **n: dpv.to_approx(dpv.GaussianDP(mu=1.0), **n).guarantee,
        {"delta": DELTA},
    ),
    "to_renyi": (lambda **n: dpv.to_renyi(dpv.PureDP(epsilon=1.0), **n).guarantee, {"order": 4.0}),
    "leaky_loss": (lambda **n: dpv.leaky_loss(_RESPONSE, **n).exact_tail(1.0), {"times": 5}),
    "Accountant.compose": (lambda **n: account(delta=DELTA, **n), {"times": 100}),
    "Accountant.epsilon": (account, {"delta": DELTA, "tolerance": 0.25}),
    "Accountant.delta": (account, {"epsilon": 2.0, "tolerance": 0.25}),
    "Accountant.compare δ": (compared, {"delta": DELTA, "tolerance": 0.25}),
    "Accountant.compare ε": (compared, {"epsilon": 0.5, "tolerance": 0.25}),
    "growth": (grown, {"delta": DELTA, "points": 2, "tolerance": 0.25}),
    "Pair.delta": (_LAPLACE.delta, {"epsilon": 0.25}),
    "Pair.epsilon": (_LAPLACE.epsilon, {"delta": 0.125}),
    "Pair.trade_off": (_LAPLACE.trade_off, {"false_alarm": 0.25}),
    "Pair.renyi": (_LAPLACE.renyi, {"order": 4.0}),
    "GaussianPair": (known(GaussianPair), {"squared_mu": 4.0}),
    "GaussianPair.of": (known(GaussianPair.of), {"sigma": 2.0, "sensitivity": 1.0}),
    "LaplacePair": (known(LaplacePair), {"scale": 2.0, "sensitivity": 1.0}),
    "SubsampledPair": (
        lambda **n: spent(SubsampledPair(GaussianPair(Fraction(1)), **n)),
        {"rate": 0.5},
    ),
    "WithoutReplacementPair": (
        lambda **n: spent(WithoutReplacementPair(GaussianPair(Fraction(1)), **n), REPLACE_ONE),
        {"rate": 0.5},
    ),
    "AdvancedComposition.epsilon": (AdvancedComposition(_PARTS).epsilon, {"delta": DELTA}),
    "AdvancedComposition.delta": (AdvancedComposition(_PARTS).delta, {"epsilon": 1.0}),
    "OptimalComposition": (
        lambda **n: OptimalComposition(_RESPONSE, **n).epsilon(DELTA),
        {"times": 100},
    ),
    "GaussianSummary": (
        dpv.risk(dpv.PureDP(1.0)).gaussian_summary,
        {"leak": DELTA, "tolerance": 0.25},
    ),
    "UnequalComposition.epsilon": (UnequalComposition(_PARTS).epsilon, {"delta": DELTA}),
    "UnequalComposition.delta": (UnequalComposition(_PARTS).delta, {"epsilon": 1.0}),
    "NumericalComposition": (
        lambda times, **n: NumericalComposition(((_LAPLACE, times),)).epsilon(**n),
        {"times": 100, "delta": DELTA, "tolerance": 0.25},
    ),
}

CASES = [(name, parameter) for name, (_, numbers) in SIGNATURES.items() for parameter in numbers]

# Public names that take no number, or whose numbers are checked in the tests of their folder.
ELSEWHERE = {
    *(
        "Accountant",
        "Calibration",
        "Claim",
        "Largest",
        "Comparison",
        "Conversion",
        "Evidence",
        "FinitePair",
    ),
    *("Kernel", "PrivacyLoss", "Relation", "Step", "Theorem", "Guarantee", "Mechanism"),
    *("DPVerifyError", "InvalidParameter", "NotIndistinguishable", "NotSupported"),
    *("dominates", "risk", "simulate", "from_dict", "to_dict", "to_gdp", "to_zcdp"),
    *("from_dp_event", "from_opacus"),
    *("NotRefuted", "OneRunVerdict", "ProfileBand", "ProfileClaim", "Refuted", "TradeOffBand"),
    *("Verdict", "Witness", "audit", "audit_one_run", "audit_over", "estimate_profile"),
    *("from_diffprivlib", "from_opendp", "one_run_epsilon", "one_run_mu"),
}


def test_no_public_name_is_forgotten() -> None:
    covered = {name.split(".")[0] for name in SIGNATURES}
    ours = {
        name
        for name in dpv.__all__
        if getattr(dpv, name).__module__.startswith(
            ("dpverify.guarantees", "dpverify.mechanisms", "dpverify.accounting", "dpverify.pairs")
        )
    }
    assert ours <= covered | ELSEWHERE


@pytest.mark.parametrize("name", [n for n in dpv.__all__ if n in SIGNATURES])
def test_no_parameter_is_forgotten(name: str) -> None:
    numeric = {
        parameter.name
        for parameter in inspect.signature(getattr(dpv, name)).parameters.values()
        if parameter.annotation in {float, int, "float", "int", "int | None", int | None}
        or parameter.annotation == float | None
    }
    assert numeric <= set(SIGNATURES[name][1])


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_every_type_gives_the_same_answer_or_a_refusal(name: str, parameter: str) -> None:
    ask, numbers = SIGNATURES[name]
    value = numbers[parameter]
    expected, answered = ask(**numbers), 0
    kinds = [*FLOATS, *(INTEGERS if float(value).is_integer() else ())]
    for kind in kinds:
        number = kind(value)
        try:
            found = ask(**numbers | {parameter: number})
        except InvalidParameter as refusal:
            assert "must" in str(refusal)  # noqa: PT017  # either way is fine, silence is not
            continue
        answered += 1
        assert found == expected, (kind, found, expected)
    assert answered >= (6 if isinstance(value, int) else 4)


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_is_no_number_is_refused_in_one_sentence(name: str, parameter: str) -> None:
    ask, numbers = SIGNATURES[name]
    optional = parameter in _OPTIONAL or name.startswith("Accountant.compare")
    for wrong in NOT_NUMBERS:
        if wrong is None and optional:
            continue
        with pytest.raises(DPVerifyError, match=r"must") as refusal:
            ask(**numbers | {parameter: wrong})
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "wrong",
    [10**400, -(10**400), Fraction(10) ** 400, math.inf, -math.inf],
    ids=["huge", "-huge", "huge fraction", "inf", "-inf"],
)
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_no_float_can_hold_is_refused_or_answered(
    name: str, parameter: str, wrong: float
) -> None:
    ask, numbers = SIGNATURES[name]
    try:
        ask(**numbers | {parameter: wrong})
    except DPVerifyError as refusal:
        assert "must" in str(refusal)  # noqa: PT017  # infinity is allowed here and there
        assert len(str(refusal)) < 300  # noqa: PT017


def test_small_integers_do_not_wrap_around() -> None:
    laplace, start = dpv.Laplace(scale=20.0), dpv.Accountant(relation=ADD_REMOVE)
    some: list[Any] = [np.int16(500), np.uint8(200), np.uint8(100)]
    many: Any = np.int32(70_000)
    whole = start.compose(laplace, times=500).epsilon(delta=1e-6)
    assert start.compose(laplace, times=some[0]).epsilon(delta=1e-6) == whole
    assert 5.4738 < whole.lower <= whole.upper < 5.4740
    twice = start.compose(laplace, times=some[1]).compose(laplace, times=some[2])
    assert twice.parts[0].times == 300
    nested = start.compose(start.compose(laplace, times=many), times=many)
    assert nested.parts[0].times == 4_900_000_000


def test_conversion_is_exact() -> None:
    assert as_real("x", np.float32(0.1)) == float(np.float32(0.1))
    assert as_real("x", Fraction(1, 3)) == Fraction(1, 3)
    assert as_real("x", np.array(3)) == 3
    assert type(as_real("x", np.float64(0.5))) is float
    assert type(as_count("x", np.uint64(2**40))) is int
    assert as_between("x", np.float16(0.5), 0.0, 1.0) == 0.5
    for lossy in (np.longdouble(1) / 3, Fraction(1, 10**400)):
        with pytest.raises(InvalidParameter, match="must be a number that a float can hold"):
            as_real("x", lossy)
    with pytest.raises(InvalidParameter, match="must be at most 10"):
        as_count("x", 11, most=10)
    with pytest.raises(InvalidParameter, match="whole number"):
        as_count("x", 2.5)


def test_a_delta_between_two_floats_is_bounded_from_both_sides() -> None:
    third: Any = Fraction(1, 3000)
    accountant = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Gaussian(sigma=1.0), times=4)
    below, above = math.nextafter(float(third), 0.0), math.nextafter(float(third), 1.0)
    found = accountant.epsilon(delta=third)
    assert accountant.epsilon(delta=above).lower <= found.lower
    assert found.upper <= accountant.epsilon(delta=below).upper
    nearest = accountant.epsilon(delta=float(third))
    assert found.lower <= nearest.upper
    assert nearest.lower <= found.upper
