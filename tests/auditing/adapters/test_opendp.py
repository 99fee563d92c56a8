"""Measurements of OpenDP itself: the claim is read, honest ones stand, false claims fall."""

from typing import Any

import numpy as np
import pytest

from dpverify.auditing import audit
from dpverify.auditing.adapters import adapted, from_opendp
from dpverify.auditing.search import audit_over
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from dpverify.schema import Answers, Category, Records

dp: Any = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")

NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
NUMBERS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
LAPLACE = dp.m.make_laplace(*NUMBER, scale=1.0)
GAUSSIAN = dp.m.make_gaussian(*NUMBER, scale=1.0)
PROFILE = dp.c.make_zCDP_to_approxDP(GAUSSIAN)
SUM = (
    dp.t.make_clamp(NUMBERS, dp.symmetric_distance(), bounds=(0.0, 1.0))
    >> dp.t.then_sum()
    >> dp.m.then_laplace(scale=1.0)
)


@pytest.mark.parametrize(
    ("measurement", "options", "expected"),
    [
        (LAPLACE, {}, PureDP(epsilon=1.0)),
        (LAPLACE, {"d_in": 2.5}, PureDP(epsilon=2.5)),
        (GAUSSIAN, {}, ZeroConcentratedDP(rho=0.5)),
        (dp.c.make_approximate(GAUSSIAN), {}, ZeroConcentratedDP(rho=0.5)),
        (dp.c.make_approximate(LAPLACE), {}, ApproxDP(epsilon=1.0, delta=0.0)),
    ],
)
def test_the_claim_is_what_the_map_says(
    measurement: Any,  # noqa: ANN401
    options: dict[str, float],
    expected: Guarantee,
) -> None:
    assert from_opendp(measurement, **options).claim.guarantee == expected


def test_a_profile_is_read_at_the_delta_that_is_asked_for() -> None:
    read = from_opendp(PROFILE, delta=1e-6).claim.guarantee
    fixed = from_opendp(dp.c.make_fix_delta(PROFILE, 1e-6)).claim.guarantee
    assert read == fixed
    assert isinstance(read, ApproxDP)
    # The optimum for one Gaussian of σ = 1 is 4.8865; by way of zCDP a little more.
    assert 4.88 < read.epsilon < 5.5


def test_relation_and_schema_follow_the_metric() -> None:
    assert from_opendp(SUM).claim.relation is Relation.ADD_REMOVE
    assert from_opendp(SUM, d_in=2).claim.relation is Relation.REPLACE_ONE
    assert from_opendp(LAPLACE).claim.relation is None
    assert from_opendp(LAPLACE, d_in=2.0).schema == Answers(sensitivity=2.0)
    response = from_opendp(dp.m.make_randomized_response_bool(0.75))
    bits = Records(
        record=Category(values=(False, True)), length=None, relation=Relation.REPLACE_ONE
    )
    assert response.schema == bits
    whole = dp.m.make_geometric(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    assert from_opendp(whole).schema == Answers(sensitivity=1, integer=True)


@pytest.mark.false_alarm(1e-9)
def test_an_honest_measurement_stands() -> None:
    verdict = audit(from_opendp(LAPLACE), left=0.0, right=1.0, samples=1_000, level=1e-9)
    assert not verdict.refuted
    assert verdict.claim == PureDP(epsilon=1.0)


@pytest.mark.false_alarm(1e-9)
def test_half_the_claim_falls() -> None:
    # The draws are OpenDP's own. For output ≤ 0, P − e^½·Q is 0.197, of standard error 0.0135 on
    # the 3,600 draws that judge: 14 standard errors, where 2.6 suffice.
    half = PureDP(epsilon=0.5)
    verdict = audit(from_opendp(LAPLACE), left=0.0, right=1.0, claim=half, samples=4_000)
    assert verdict.refuted


@pytest.mark.false_alarm(1e-9)
def test_datasets_go_in_as_arrays() -> None:
    left, right = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    half = PureDP(epsilon=0.5)
    verdict = audit(from_opendp(SUM), left=left, right=right, claim=half, samples=4_000)
    assert verdict.refuted


@pytest.mark.false_alarm(1e-9)
def test_recognized_without_being_told() -> None:
    found = adapted(dp.m.make_randomized_response_bool(0.75))
    assert isinstance(found.claim, Claim)
    verdict = audit_over(found, found.schema, claim=PureDP(epsilon=0.5), samples=1_000, pairs=2)
    assert verdict.refuted
    assert adapted(LAPLACE).claim == from_opendp(LAPLACE).claim


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_opendp(3), "measurement=3 must be an OpenDP measurement"),
        (lambda: from_opendp(LAPLACE, d_in=0.0), "d_in=0.0 must be positive"),
        (lambda: from_opendp(SUM, d_in=1.5), "d_in=1.5 must be a whole number"),
        (lambda: from_opendp(PROFILE), "delta=None must be given"),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message):
        make()
