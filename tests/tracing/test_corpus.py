"""The corpus itself: flaws are flaws, by arithmetic and by draws; honest figures are right."""

import inspect
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

import dpverify as dpv
from dpverify.guarantees import Guarantee
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from tests.tracing.flawed_releases import FLAWED_RELEASES, Data, FlawedRelease, Out
from tests.tracing.honest_releases import HONEST_RELEASES, HonestRelease, Part


def output(flawed: FlawedRelease, data: Data, rng: np.random.Generator) -> Out:
    """What comes out, an exception among it."""
    try:
        return flawed.mechanism(data, rng)
    except ValueError as refusal:
        return refusal


def breaks(claim: Guarantee, p: float, q: float) -> bool:
    """Whether an event of mass p on one side and q on the other contradicts the claim."""
    match claim:
        case dpv.PureDP(epsilon=epsilon):
            return p > math.exp(epsilon) * q * (1.0 + 1e-9)
        case dpv.ApproxDP(epsilon=epsilon, delta=delta):
            return p > math.exp(epsilon) * q + delta + 1e-12
        case dpv.GaussianDP(mu=mu):
            return bool(norm.ppf(p) - norm.ppf(q) > mu * (1.0 + 1e-9))
        case dpv.ZeroConcentratedDP(rho=rho):
            return any(_renyi(p, q, order) > rho * order * (1.0 + 1e-9) for order in (1.1, 2, 8))
        case dpv.RenyiDP():
            raise NotImplementedError(claim)


def _renyi(p: float, q: float, order: float) -> float:
    """The Rényi divergence between two coins."""
    terms = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return math.log(terms) / (order - 1)


def source_of(flawed: FlawedRelease) -> list[str]:
    mechanism: object = flawed.mechanism
    found = mechanism if inspect.isfunction(mechanism) else type(mechanism)
    return inspect.getsource(found).splitlines()


@pytest.fixture(params=FLAWED_RELEASES, ids=lambda f: f.name)
def flawed(request: pytest.FixtureRequest) -> FlawedRelease:
    found = request.param
    assert isinstance(found, FlawedRelease)
    return found


def test_there_are_enough_flaws_of_enough_kinds() -> None:
    assert len(FLAWED_RELEASES) >= 30
    assert len({f.name for f in FLAWED_RELEASES}) == len(FLAWED_RELEASES)
    assert len({f.kind for f in FLAWED_RELEASES}) >= 18


def test_the_line_at_fault_is_one_line(flawed: FlawedRelease) -> None:
    lines = source_of(flawed)
    for fragment in (flawed.line, *flawed.also):
        assert sum(fragment in line for line in lines) == 1, fragment


def test_the_event_breaks_the_claim(flawed: FlawedRelease) -> None:
    p, q = flawed.masses
    assert breaks(flawed.claim, p, q) or breaks(flawed.claim, q, p)


@pytest.mark.slow  # of the corpus, not of the library
@pytest.mark.false_alarm(2e-12)  # two sides, two tails of 5e-13
def test_the_event_has_the_masses_it_is_said_to_have(flawed: FlawedRelease) -> None:
    rng = np.random.default_rng(0)
    for data, mass in zip((flawed.left, flawed.right), flawed.masses, strict=True):
        outs = [output(flawed, data, rng) for _ in range(flawed.draws)]
        hits = sum(bool(flawed.event(out)) for out in outs)
        tails = binom.cdf(hits, flawed.draws, mass), binom.sf(hits - 1, flawed.draws, mass)
        assert min(tails) > 5e-13, (hits / flawed.draws, mass)


# Honest releases.


def those(kept: Callable[[HonestRelease], bool]) -> pytest.MarkDecorator:
    """Run the test on every honest release that `kept` holds for."""
    found = [h for h in HONEST_RELEASES if kept(h)]
    assert found
    return pytest.mark.parametrize("honest", found, ids=[h.name for h in found])


def numbers(out: Out) -> list[float]:
    """All numbers of an output, in order."""
    if isinstance(out, dict):
        return numbers(list(out.values()))
    if isinstance(out, (list, tuple)):
        return [x for item in out for x in numbers(item)]
    return np.ravel(np.asarray(out, dtype=float)).tolist()


@dataclass(frozen=True)
class Moved:
    """A part as something that an accountant composes, at the shift of this pair."""

    part: Part

    def pair(self, _relation: dpv.Relation) -> Pair:
        part = self.part
        match part.law:
            case "finite":
                return dpv.FinitePair(left=part.left, right=part.right)
            case "normal":
                return GaussianPair.of(sigma=part.scale, sensitivity=abs(part.shift))
            case "laplace":
                return LaplacePair(scale=part.scale, sensitivity=abs(part.shift))
            case "discrete laplace":  # cut where the tails are constant: the loss is the same
                whole = np.arange(-60, 61)
                left, right = (
                    np.exp(-np.abs(whole - moved) / part.scale) for moved in (0, part.shift)
                )
                return dpv.FinitePair(left=left / left.sum(), right=right / right.sum())


def composed(parts: tuple[Part, ...]) -> dpv.Accountant:
    spent = dpv.Accountant(relation=dpv.Relation.REPLACE_ONE)
    for part in parts:
        if part.shift or part.left != part.right:
            spent = spent.compose(Moved(part))
    return spent


def test_there_are_enough_honest_ones() -> None:
    assert len(HONEST_RELEASES) >= 55
    assert len({h.name for h in HONEST_RELEASES}) == len(HONEST_RELEASES)
    assert sum(h.epsilon is not None for h in HONEST_RELEASES) >= 50


@those(lambda h: h.epsilon is not None and bool(h.parts))
def test_epsilon_is_what_the_parts_cost_together(honest: HonestRelease) -> None:
    assert honest.epsilon is not None
    if all(not part.shift and part.left == part.right for part in honest.parts):
        assert honest.epsilon == 0.0
        return
    bracket = composed(honest.parts).epsilon(delta=honest.delta)
    assert bracket.lower <= honest.epsilon * (1.0 + 1e-9)
    assert bracket.upper >= honest.epsilon * (1.0 - 1e-9)
    assert bracket.upper - bracket.lower <= 1e-6


@those(lambda h: h.released and bool(h.parts))
def test_what_is_released_is_within_the_claim(honest: HonestRelease) -> None:
    losses = [part.shift / part.scale for part in honest.parts]
    match honest.claim:
        case dpv.PureDP(epsilon=epsilon):
            finite = sum(_largest_loss(part) for part in honest.parts if part.law == "finite")
            assert sum(map(abs, losses)) + finite <= epsilon * (1.0 + 1e-12)
        case dpv.ApproxDP(epsilon=epsilon, delta=delta):
            assert composed(honest.parts).delta(epsilon=epsilon).upper <= delta * (1.0 + 1e-9)
        case dpv.GaussianDP(mu=mu):
            assert math.hypot(*losses) <= mu * (1.0 + 1e-12)
        case dpv.ZeroConcentratedDP(rho=rho):
            assert math.hypot(*losses) ** 2 / 2.0 <= rho * (1.0 + 1e-12)
        case dpv.RenyiDP():
            raise NotImplementedError(honest.claim)


def _largest_loss(part: Part) -> float:
    return max(abs(math.log(p / q)) for p, q in zip(part.left, part.right, strict=True))


@those(lambda h: h.coupled)
def test_with_the_same_random_numbers_outputs_differ_by_the_shifts(honest: HonestRelease) -> None:
    left, right = (
        numbers(honest.mechanism(data, np.random.default_rng(7)))
        for data in (honest.left, honest.right)
    )
    moved = np.subtract(right, left)
    shifts = [part.shift for part in honest.parts]
    assert np.allclose(np.abs(moved), np.abs(shifts), rtol=0.0, atol=1e-9)


_MEDIAN = {  # of the absolute difference of two noises of scale 1
    "laplace": brentq(lambda x: math.exp(-x) * (1.0 + x / 2.0) - 0.5, 0.0, 5.0),
    "normal": math.sqrt(2.0) * norm.ppf(0.75),
}


@pytest.mark.slow  # of the corpus, not of the library
@pytest.mark.false_alarm(1e-11)  # one binomial test of level 1e-12 for each of seven parts at most
@those(lambda h: h.coupled and h.epsilon is not None and h.parts[0].law in _MEDIAN)
def test_noise_has_the_scales_it_is_said_to_have(honest: HonestRelease) -> None:
    rng = np.random.default_rng(1)
    outs = [numbers(honest.mechanism(honest.left, rng)) for _ in range(2 * honest.draws)]
    apart = np.abs(np.subtract(outs[::2], outs[1::2]))
    for i, part in enumerate(honest.parts):
        hits = int((apart[:, i] > part.scale * _MEDIAN[part.law]).sum())
        assert 2.0 * binom.cdf(min(hits, honest.draws - hits), honest.draws, 0.5) > 1e-12


@pytest.mark.slow  # of the corpus, not of the library
@pytest.mark.false_alarm(4e-11)  # both tails of 1e-13 for each of a hundred outcomes on two sides
@those(lambda h: len(h.parts) == 1 and h.parts[0].law == "finite")
def test_finite_laws_are_those_of_the_outputs(honest: HonestRelease) -> None:
    rng = np.random.default_rng(2)
    names = {"quantile on a grid": [10, 20, 30], "whole uniform noise": range(-10, 11)}
    names |= {"binomial noise": range(-50, 52)}
    outcomes = list(names.get(honest.name, range(len(honest.parts[0].left))))
    for data, law in ((honest.left, honest.parts[0].left), (honest.right, honest.parts[0].right)):
        counts = Counter(honest.mechanism(data, rng) for _ in range(2_000))
        assert set(counts) <= set(outcomes)
        for outcome, mass in zip(outcomes, law, strict=True):
            tails = (
                binom.cdf(counts[outcome], 2_000, mass),
                binom.sf(counts[outcome] - 1, 2_000, mass),
            )
            assert min(tails) > 1e-13


# Audits of a share of both.


@pytest.mark.slow  # of the corpus, not of the library
@pytest.mark.parametrize(
    "name",
    [
        "histogram over the values seen",
        "records in random order",
        "noise in thousands for a sum in dollars",
        "one noise for two answers",
        "zero for an empty group",
        "refusal that depends on a record",
        "budget spent twice",
        "noisy max that tells the value",
    ],
)
def test_audits_refute_flawed_ones(name: str) -> None:
    flawed = next(f for f in FLAWED_RELEASES if f.name == name)
    verdict = dpv.audit(
        flawed.mechanism,
        left=flawed.left,
        right=flawed.right,
        claim=flawed.claim,
        samples=4_000,
        seed=3,
    )
    assert verdict.refuted


@pytest.mark.slow  # of the corpus, not of the library
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(
    "name",
    ["noisy max, exponential", "permute and flip", "two above threshold", "sum over a random half"],
)
def test_audits_do_not_refute_honest_ones(name: str) -> None:
    honest = next(h for h in HONEST_RELEASES if h.name == name)
    verdict = dpv.audit(
        honest.mechanism,
        left=honest.left,
        right=honest.right,
        claim=honest.claim,
        samples=2_000,
        level=1e-9,
        seed=3,
    )
    assert not verdict.refuted
