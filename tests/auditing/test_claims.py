"""Every kind of claim means the same through every front door of the auditor."""

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import strategies as st

from dpverify.accounting.accountant import Accountant
from dpverify.arrays import Floats, Mask
from dpverify.auditing import audit, audit_one_run, audit_over, estimate_profile
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import Claim, ProfileClaim, read_claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.neighbors import Relation
from dpverify.pairs.gaussian import GaussianPair
from dpverify.schema import Answers
from dpverify.testing import PrivacyViolation, assert_private, neighbors, satisfies
from dpverify.theorems import LAPLACE

RELATION = Relation.ADD_REMOVE
SCHEMA = Answers(dimension=1, sensitivity=1.0, relation=RELATION)
PAIR: dict[str, Any] = {"left": np.array([0.0]), "right": np.array([1.0])}

CLAIMS: dict[str, Any] = {
    "pure": PureDP(epsilon=0.5),
    "approximate": ApproxDP(epsilon=0.5, delta=1e-3),
    "zero-concentrated": ZeroConcentratedDP(rho=0.1),
    "renyi": RenyiDP(order=4.0, epsilon=0.2),
    "gaussian": GaussianDP(mu=0.5),
    "profile": ProfileClaim(points=((0.5, 1e-3), (0.0, 0.3))),
    "claim": Claim(PureDP(epsilon=0.5), RELATION, LAPLACE),
    "pair": GaussianPair(Fraction(1, 4)),
    "accountant": Accountant(relation=RELATION).compose(Gaussian(sigma=2.0)),
    "function": lambda epsilon: 0.3 * math.exp(-epsilon),
    "points": [(0.0, 0.3), (0.5, 1e-3)],
    "mechanism": Laplace(scale=2.0, l1_sensitivity=1.0),
}


class Leaky:
    """Laplace noise that is a quarter of what any of the claims needs."""

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return data[0] + rng.laplace(scale=0.15, size=size)


def leaky(data: list[float], rng: np.random.Generator) -> float:
    return sum(data) + float(rng.laplace(scale=0.1))


def train(included: Mask, rng: np.random.Generator) -> Floats:
    """Scores that give nearly every canary away."""
    return included + rng.normal(scale=0.1, size=len(included))


class Profile:
    """Nothing but a profile: no class of the library, no epsilon(delta)."""

    def delta(self, epsilon: float) -> float:
        return 0.3 * math.exp(-epsilon)


CLAIMS["profile only"] = Profile()
DOORS = ["pair", "pair and schema", "schema", "audit_over", "assert_private", "satisfies"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("door", [*DOORS, "one run", "band"])
def test_every_claim_through_every_door(door: str, claim: Any) -> None:  # noqa: ANN401
    given: dict[str, Any] = {"claim": claim, "samples": 2_000, "seed": 3}
    match door:
        case "pair":
            verdict = audit(Leaky(), **PAIR, **given)
        case "pair and schema":
            verdict = audit(Leaky(), schema=SCHEMA, **PAIR, **given)
        case "schema":
            verdict = audit(Leaky(), schema=SCHEMA, **given)
        case "audit_over":
            verdict = audit_over(Leaky(), SCHEMA, **given, pairs=4, minimize=False)
        case "assert_private":
            with pytest.raises(PrivacyViolation):
                assert_private(Leaky(), claim, PAIR["left"], PAIR["right"], samples=2_000)
            return
        case "satisfies":
            pairs = neighbors(st.lists(st.just(1.0), max_size=2), relation=RELATION)
            with pytest.raises(PrivacyViolation):
                satisfies(claim, on=pairs, samples=4_000)(leaky)()
            return
        case "one run":
            found = audit_one_run(train, canaries=600, claim=claim, seed=3)
            assert found.claim == read_claim(claim, RELATION)
            assert found.refuted or claimed_delta(found.claim, 0.5) >= 1e-3  # much for one run
            return
        case _:
            band = estimate_profile(Leaky(), **PAIR, draws=3_000, level=0.01, seed=3)
            assert band.refutes(claim) is not None
            return
    assert verdict.refuted


def test_a_mechanism_as_a_claim_stands_for_its_pair_under_the_relation_of_the_schema() -> None:
    verdict = audit(Leaky(), schema=SCHEMA, claim=Gaussian(sigma=2.0), samples=2_000)
    assert isinstance(verdict.claim, ProfileClaim)
    assert verdict.refuted


@pytest.mark.parametrize(
    "claim",
    [
        Claim(PureDP(epsilon=0.5), Relation.REPLACE_ONE, LAPLACE),
        Accountant(relation=Relation.REPLACE_ONE).compose(Gaussian(sigma=2.0)),
    ],
    ids=["claim", "accountant"],
)
def test_a_claim_about_other_neighbors_is_refused(claim: Any) -> None:  # noqa: ANN401
    for given in (PAIR, {}):
        with pytest.raises(InvalidParameter, match="relation"):
            audit(Leaky(), schema=SCHEMA, claim=claim, samples=500, **given)


@pytest.mark.parametrize("claim", ["ε = 1", 1.0, object()], ids=["text", "number", "object"])
def test_what_is_no_claim_is_refused(claim: Any) -> None:  # noqa: ANN401
    for given in ({"schema": SCHEMA}, PAIR):
        with pytest.raises(InvalidParameter, match="claim="):
            audit(Leaky(), claim=claim, **given)


@pytest.mark.parametrize("method", ["fixed", "anytime", "both"])
def test_half_is_a_level_like_any_other(method: Literal["fixed", "anytime", "both"]) -> None:
    given: dict[str, Any] = {"claim": PureDP(epsilon=0.5), "level": 0.5, "samples": 1_000}
    assert audit(Leaky(), **PAIR, **given, method=method).refuted
    assert audit_over(Leaky(), SCHEMA, **given, method=method).refuted
