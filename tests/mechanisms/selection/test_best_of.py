"""The best of several runs: enumerated distributions lie below the bound, in every order."""

import math
from fractions import Fraction
from itertools import accumulate, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import dpverify as dpv
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter
from dpverify.pairs import FinitePair, GaussianPair, LeakyResponsePair
from dpverify.pairs.bounds.runs import NegativeBinomial, NumberOfRuns, PoissonRuns
from dpverify.pairs.bounds.selection import best_of

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
KINDS: list[NumberOfRuns] = [
    NegativeBinomial(1.0, 0.2),
    NegativeBinomial(0.0, 0.1),
    NegativeBinomial(-0.5, 0.1),
    NegativeBinomial(3.0, 0.5),
    PoissonRuns(4.0),
]


def masses(runs: NumberOfRuns, most: int = 600) -> np.ndarray:
    """P(K = k) for k from 0 on, from the definition, by log-gammas."""
    k = np.arange(1.0, most)
    if isinstance(runs, PoissonRuns):
        logs = k * math.log(runs.mean) - runs.mean - gammaln(k + 1.0)
        return np.concatenate([[math.exp(-runs.mean)], np.exp(logs)])
    assert isinstance(runs, NegativeBinomial)
    logs = k * math.log1p(-runs.stop) + gammaln(k + runs.shape) - gammaln(k + 1.0)
    weights = np.exp(logs)
    return np.concatenate([[0.0], weights / weights.sum()])


def enumerated(law: list[float], runs: NumberOfRuns) -> np.ndarray:
    """The best of K runs, outputs listed from the best on, then "no run": Σ_k P(K = k)·(…)."""
    chances = masses(runs)
    k = np.arange(len(chances))
    tails = [0.0, *accumulate(law)]
    wins = [
        float((chances * ((1.0 - low) ** k - np.maximum(1.0 - high, 0.0) ** k)).sum())
        for low, high in pairwise(tails)
    ]
    return np.array([*wins, chances[0]])


def profile(left: np.ndarray, right: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(left - math.exp(epsilon) * right, 0.0).sum())


LAWS = [
    ([0.5, 0.3, 0.2], [0.3, 0.3, 0.4]),
    ([0.1, 0.2, 0.7], [0.05, 0.5, 0.45]),
    ([0.01, 0.98, 0.01], [0.02, 0.93, 0.05]),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runs", KINDS, ids=str)
@pytest.mark.parametrize(("left", "right"), LAWS)
def test_every_order_lies_below_the_bound(
    runs: NumberOfRuns, left: list[float], right: list[float]
) -> None:
    exact = [[Fraction(str(x)) for x in law] for law in (left, right)]
    pair = FinitePair(left=exact[0], right=exact[1])
    bound = best_of(pair, runs)
    largest = 0.0
    for order in permutations(range(3)):
        one, two = (enumerated([law[i] for i in order], runs) for law in (left, right))
        for epsilon in (0.0, 0.1, 0.5, 1.0):
            assert profile(one, two, epsilon) <= bound.delta(epsilon) + 1e-12
            assert profile(two, one, epsilon) <= bound.reversed.delta(epsilon) + 1e-12
        largest = max(largest, *np.log(one[one > 0] / two[one > 0]))
    # No order loses more than the bound, and one loses not much less.
    assert largest <= bound.max_loss * (1.0 + 1e-9)
    assert bound.delta_bracket(0.1).lower <= bound.delta(0.1)


def test_means_by_hand() -> None:
    assert NegativeBinomial.of_mean(1.0, 8.0) == NegativeBinomial(1.0, 0.125)
    for shape in (0.0, -0.5, 2.5):
        runs = NegativeBinomial.of_mean(shape, 8.0)
        chances = masses(runs, 6000)
        assert float((chances * np.arange(len(chances))).sum()) == pytest.approx(8.0, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_pure_runs_stay_within_the_known_factors(epsilon: float) -> None:
    response = LeakyResponsePair(dpv.ApproxDP(epsilon=epsilon))
    for runs, factor in ((NegativeBinomial(1.0, 1e-5), 3.0), (NegativeBinomial(0.0, 1e-5), 2.0)):
        found = best_of(response, runs).epsilon_bracket(0.0)
        assert found.upper <= factor * epsilon * (1.0 + 1e-6)
        assert found.lower >= 0.8 * factor * epsilon  # and the factor is needed


def test_the_bound_is_sharper_than_one_weight_for_all() -> None:
    """E[K]·δ(ε − ε′) with one line in place of the curve: Koskela, Redberg and Wang."""
    pair, runs = GaussianPair.of(sigma=2.0, sensitivity=1.0), NegativeBinomial(1.0, 0.1)
    bound = best_of(pair, runs)
    for epsilon in (1.0, 2.0, 3.0):
        moves = []
        for line in np.linspace(0.05, 2.0, 40):
            ratio = math.exp(line) + 9.0 * pair.delta(float(line))
            left = epsilon - 2.0 * math.log(ratio)
            moves.append(10.0 * pair.delta(left) if left > 0 else 1.0)
        assert bound.delta(epsilon) <= min(moves) * (1.0 + 1e-6)


def test_a_tuned_gaussian_composes() -> None:
    tuned = dpv.BestOf(dpv.Gaussian(sigma=4.0), runs="logarithmic", mean=5.0)
    spent = dpv.Accountant(relation=ADD).compose(tuned, times=3)
    found = spent.epsilon(delta=1e-6)
    once = dpv.Accountant(relation=ADD).compose(dpv.Gaussian(sigma=4.0), times=3)
    assert once.epsilon(delta=1e-6).upper < found.lower <= found.upper
    assert found.upper < 1.15 * found.lower
    # Rényi of order 8: the theorem for Rényi divergences is no less than the pair's lower end.
    assert tuned.renyi(8.0, ADD) >= tuned.pair(ADD).lower.renyi(8.0) * (1 - 1e-6)  # type: ignore[attr-defined]
    poisson = dpv.BestOf(dpv.Gaussian(sigma=4.0), runs="poisson", mean=5.0)
    assert 0.0 < poisson.renyi(8.0, ADD) < 2.0
    nothing = dpv.BestOf(dpv.RandomizedResponse(epsilon=0.0), runs="geometric", mean=3.0)
    assert nothing.pair(REPLACE).max_loss == 0.0


def test_expression() -> None:
    for word in ('"geometric"', "geometric"):  # shells take quotes away
        (part, times), *_ = parse(f"best_of(gaussian(sigma=4), runs={word}, mean=10)*2")
        assert part == dpv.BestOf(dpv.Gaussian(sigma=4), runs="geometric", mean=10)
        assert times == 2
    (part, _), *_ = parse("best_of(gaussian(sigma=4), runs=negative_binomial, mean=9, shape=2)")
    assert part == dpv.BestOf(dpv.Gaussian(sigma=4), runs="negative binomial", mean=9, shape=2)


@pytest.mark.slow
def test_calibration() -> None:
    sigma = dpv.calibrate(
        lambda s: dpv.BestOf(dpv.Gaussian(sigma=s), runs="geometric", mean=10.0),
        budget=dpv.ApproxDP(epsilon=2.0, delta=1e-5),
        relation=ADD,
        precision=0.01,
    )
    pair = dpv.BestOf(dpv.Gaussian(sigma=sigma), runs="geometric", mean=10.0).pair(ADD)
    assert pair.epsilon(1e-5) <= 2.0
    assert 2.0 < sigma < 6.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": "fixed"}, r"^runs='fixed' must be one of"),
        ({"runs": None}, r"^runs=None must be one of"),
        ({"mean": 1.0}, r"^mean=1.0 must be above 1"),
        ({"mean": 1e7}, r"at most 1e\+06"),
        ({"mean": "3"}, r"^mean='3' must be a real number"),
        ({"shape": 1.0}, r"^shape=1.0 must be None"),
        ({"runs": "negative binomial"}, r"^shape=None must be a real number"),
        ({"runs": "negative binomial", "shape": -1.0}, r"must lie in \[-0.99, 100\]"),
        ({"mechanism": dpv.Gaussian}, r"must be an instance"),
        ({"mechanism": 3}, r"^mechanism=3 must be a Pair or have pair"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    valid: dict[str, Any] = {"mechanism": dpv.Gaussian(sigma=1.0), "runs": "geometric", "mean": 3.0}
    with pytest.raises(InvalidParameter, match=message):
        dpv.BestOf(**valid | change)
    with pytest.raises(InvalidParameter, match=r"^order=1.0 must be above 1"):
        dpv.BestOf(**valid).renyi(1.0, ADD)
