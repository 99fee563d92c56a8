"""Claims about whole profiles: what they become, what they imply, what is refused."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dpverify.accounting.accountant import Accountant
from dpverify.auditing.auditor import audit
from dpverify.auditing.statistics.points import claimed_delta, implied_points
from dpverify.claims import Claim, ProfileClaim, claim_from_dict, read_claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.mechanisms import Gaussian, Laplace, Subsampled
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair
from dpverify.plain import tagged
from dpverify.theorems import LAPLACE

GUARANTEES = [
    PureDP(epsilon=1.0),
    ApproxDP(epsilon=1.0, delta=0.01),
    ZeroConcentratedDP(rho=0.5),
    RenyiDP(order=4.0, epsilon=1.0),
    GaussianDP(mu=1.0),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
def test_guarantees_stand_for_themselves(guarantee: Guarantee) -> None:
    assert read_claim(guarantee) is guarantee
    assert claim_from_dict(tagged(guarantee)) == guarantee
    for point in implied_points(guarantee):
        # Every point lies on the claim's profile, or above it by rounding.
        assert claimed_delta(guarantee, point.epsilon) <= point.delta * (1 + 1e-9)


@pytest.mark.parametrize(
    ("claim", "epsilon", "expected"),
    [
        (PureDP(epsilon=math.log(3)), math.log(2), 1 / 4),  # (3 − 2)/(1 + 3)
        (ApproxDP(epsilon=math.log(3), delta=1 / 4), 0.0, 5 / 8),  # 1/4 + 3/4 · 1/2
        (GaussianDP(mu=1.0), 0.0, math.erf(0.5 / math.sqrt(2))),  # 2Φ(1/2) − 1
        (ZeroConcentratedDP(rho=0.0), 0.0, 0.0),
        (ProfileClaim(points=((0.0, 0.4), (math.log(3), 0.0))), 0.0, 0.4),
        (ProfileClaim(points=((math.log(3), 0.0),)), 0.0, 0.5),
        (GaussianDP(mu=math.inf), 1.0, 1.0),
    ],
)
def test_implied_delta_by_hand(claim: Guarantee, epsilon: float, expected: float) -> None:
    assert claimed_delta(claim, epsilon) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "pair",
    [GaussianPair(Fraction(1)), LaplacePair(sensitivity=1.0, scale=1.0)],
    ids=lambda p: type(p).__name__,
)
def test_pairs_become_points_on_their_profile(pair: GaussianPair) -> None:
    claim = read_claim(pair)
    assert isinstance(claim, ProfileClaim)
    assert claim.points[0][0] == 0.0
    for epsilon, delta in claim.points:
        assert pair.delta(epsilon) <= delta * (1 + 1e-9)
        assert pair.delta(epsilon) >= delta * (1 - 1e-4)
    assert 3 <= len(implied_points(claim)) <= 9


def test_a_pure_pair_keeps_its_largest_loss() -> None:
    claim = read_claim(LaplacePair(sensitivity=1.0, scale=1.0))
    assert isinstance(claim, ProfileClaim)
    assert claim.points[-1] == (1.0, 0.0)


def test_the_worse_direction_is_claimed() -> None:
    pair = FinitePair(left=[0.75, 0.25], right=[1.0, 0.0])
    claim = read_claim(pair)
    assert isinstance(claim, ProfileClaim)
    assert claim.delta(5.0) == pytest.approx(0.25)  # the left alone has outcome 2
    assert read_claim(pair.reversed) == claim


def test_accountants_mechanisms_and_functions() -> None:
    spent = Accountant(relation=Relation.ADD_REMOVE).compose(Gaussian(sigma=1.0))
    claim = read_claim(spent)
    assert isinstance(claim, ProfileClaim)
    assert "runs: 1" in str(claim)
    for epsilon, delta in claim.points:
        assert GaussianPair(Fraction(1)).delta(epsilon) <= delta * (1 + 1e-9)
    assert read_claim(Laplace(scale=2.0)) == PureDP(epsilon=0.5)
    noisy = Subsampled(Gaussian(sigma=1.0), rate=0.1)
    sampled = read_claim(noisy, relation=Relation.ADD_REMOVE)
    assert isinstance(sampled, ProfileClaim)
    assert sampled.name == "Subsampled"
    straight = read_claim(lambda epsilon: max(0.0, 0.5 - epsilon / 4))
    assert isinstance(straight, ProfileClaim)
    assert straight.points[0] == (0.0, 0.5)
    assert straight.points[-1][1] == 0.0


def test_a_claim_for_another_relation_is_refused() -> None:
    claim = Claim(PureDP(epsilon=1.0), Relation.REPLACE_ONE, LAPLACE)
    assert read_claim(claim) == read_claim(claim, relation=Relation.REPLACE_ONE) == claim.guarantee
    with pytest.raises(InvalidParameter, match="must hold for relation"):
        read_claim(claim, relation=Relation.ADD_REMOVE)


def test_what_counts_is_what_an_object_can_do() -> None:
    class Stated:
        claim = Claim(PureDP(epsilon=1.0), Relation.REPLACE_ONE, LAPLACE)

    class Wrapped:
        relation = Relation.ADD_REMOVE
        delta = GaussianPair(Fraction(1)).delta

    assert read_claim(Stated()) == PureDP(epsilon=1.0)
    wrapped = read_claim(Wrapped(), Relation.ADD_REMOVE)
    assert isinstance(wrapped, ProfileClaim)
    assert wrapped.name == "Wrapped"
    for epsilon, delta in wrapped.points:
        assert delta == GaussianPair(Fraction(1)).delta(epsilon)
    for other, relation in ((Stated(), "ADD_REMOVE"), (Wrapped(), "REPLACE_ONE")):
        with pytest.raises(InvalidParameter, match="must hold for relation"):
            read_claim(other, Relation[relation])


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), min_size=1, max_size=30),
    st.floats(0, 6),
)
def test_points_are_sorted_and_imply_what_they_say(
    points: list[tuple[float, float]], epsilon: float
) -> None:
    claim = ProfileClaim(points=tuple(points))
    epsilons, deltas = zip(*claim.points, strict=True)
    assert list(epsilons) == sorted(set(epsilons))
    assert list(deltas) == sorted(set(deltas), reverse=True)
    said = min((d for e, d in points if e <= epsilon), default=1.0)
    assert claim.delta(epsilon) <= said * (1 + 1e-12)
    assert claim_from_dict(tagged(claim)) == claim


def test_many_points_are_thinned_and_keep_their_ends() -> None:
    points = [(float(e), float(math.exp(-e) / 2)) for e in np.linspace(0, 20, 50)]
    thinned = implied_points(ProfileClaim(points=tuple(points)))
    assert len(thinned) <= 9
    assert thinned[0].epsilon == 0.0
    assert thinned[-1].epsilon == 20.0


def test_of_a_list_every_claim_must_hold() -> None:
    claims: list[Any] = [PureDP(epsilon=1.0), ApproxDP(epsilon=0.5, delta=0.1), (0.2, 0.3)]
    claims.append(Laplace(scale=0.5))  # ε = 2, which the first claim implies
    together = read_claim(claims)
    assert isinstance(together, ProfileClaim)
    assert together.points == ((0.2, 0.3), (0.5, 0.1), (1.0, 0.0))
    for epsilon in (0.0, 0.3, 0.7, 2.0):
        alone = [claimed_delta(read_claim([each]), epsilon) for each in claims]
        assert claimed_delta(together, epsilon) == min(alone)


def test_a_list_may_hold_points_of_a_profile_beside_claims() -> None:
    points = [(0.3, 0.2), (0.1, 0.4)]
    together = read_claim([PureDP(epsilon=1.0), points])
    assert isinstance(together, ProfileClaim)
    assert together.points == ((0.1, 0.4), (0.3, 0.2), (1.0, 0.0))
    assert read_claim([points]) == read_claim(points)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_claim_alone_in_a_list_is_that_claim(guarantee: Guarantee) -> None:
    assert read_claim([guarantee]) == guarantee


def test_claims_about_other_neighbors_do_not_hold_together() -> None:
    """No pair of inputs is one of neighbors for both, so a refutation would accuse wrongly."""
    claims = [Claim(PureDP(epsilon=1.0), relation, LAPLACE) for relation in Relation]
    with pytest.raises(InvalidParameter, match="one relation, not for add-remove and replace-one"):
        read_claim(claims)
    with pytest.raises(InvalidParameter, match="one relation"):
        read_claim([claims[:1], [claims[1]]])
    assert read_claim([claims[0], claims[0]]) == ProfileClaim(
        points=((1.0, 0.0),), name="several claims"
    )


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = [PureDP(epsilon=1.0)]
    endless.append(endless)
    with pytest.raises(InvalidParameter, match="must not hold lists in more than 8 lists"):
        read_claim(endless)


@pytest.mark.parametrize(
    ("subject", "match"),
    [
        ([PureDP(epsilon=1.0), GaussianDP(mu=1.0)], "claim=GaussianDP.mu=1.0. must stand alone"),
        (np.array(3.0), "claim=array.3.. must be a guarantee"),
        ([[], PureDP(epsilon=1.0)], "must be pairs"),
        ([PureDP(epsilon=1.0), None], "claim=None must be given"),
        ([PureDP(epsilon=1.0), (1.0,)], "must be pairs"),
        ("private", "claim='private' must be a guarantee"),
        (3, "claim=3 must be a guarantee"),
        ([], "points=.* must not be empty"),
        ([(1.0, 2.0)], "delta=2.0 must lie in"),
        ([(-1.0, 0.1)], "epsilon=-1.0 must be at least 0"),
        ([(math.nan, 0.1)], "epsilon=nan must be a real number"),
        ([1.0, 2.0], "must be pairs"),
        (lambda epsilon: epsilon / 100, "a profile never rises"),
        (lambda _epsilon: math.nan, "must be a real number"),
        (Accountant(relation=Relation.ADD_REMOVE), "must have parts"),
        (Subsampled(Gaussian(sigma=1.0), rate=0.1), "relation"),
        (PureDP, "claim=PureDP must be an instance"),
        (None, "claim=None must be given"),
    ],
)
def test_refuses_what_claims_nothing(subject: Guarantee, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        read_claim(subject)


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(epsilon=math.inf),
        ApproxDP(epsilon=1.0, delta=1.0),
        GaussianDP(mu=math.inf),
        ProfileClaim(points=((math.inf, 0.0), (1.0, 1.0))),
    ],
)
def test_claims_that_nothing_could_refute_are_refused(claim: Guarantee) -> None:
    with pytest.raises(InvalidParameter, match="no sample could refute it"):
        implied_points(claim)


def test_audits_take_whole_profiles() -> None:
    claims: list[Any] = [read_claim(GaussianPair(Fraction(m, 100))) for m in (49, 100)]
    weaker, honest = claims
    mechanism = Gaussian(sigma=1.0)
    found = audit(mechanism, left=1.0, right=0.0, claim=weaker, samples=8_000, seed=3)
    assert found.refuted
    assert any(found.delta == delta for _, delta in weaker.points)
    again = audit(mechanism, left=1.0, right=0.0, claim=honest, samples=8_000, level=1e-9, seed=3)
    assert not again.refuted


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_honest_profiles_are_refuted_at_most_at_the_level() -> None:
    claim: Any = read_claim(LaplacePair(sensitivity=1.0, scale=1.0))
    level, runs = 0.2, 150
    refuted = sum(
        audit(
            Laplace(scale=1.0), left=1.0, right=0.0, claim=claim, level=level, samples=500, seed=s
        ).refuted
        for s in range(runs)
    )
    assert refuted <= binom.isf(1e-9, runs, level)
