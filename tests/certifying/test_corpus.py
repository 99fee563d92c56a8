"""The corpus itself: verdicts hold, by exact laws, by exact integrals and by draws."""

import inspect
import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import binom, norm

import dpverify as dpv
from dpverify.guarantees import Guarantee
from tests.certifying.enumeration import datasets, excess, law, neighbors
from tests.certifying.mutations import MUTANTS
from tests.certifying.programs import PROGRAMS, Program, pattern, wins

ALL = [*PROGRAMS, *MUTANTS]
SHOWN = [p for p in ALL if p.counterexample is not None]


def each(programs: list[Program]) -> pytest.MarkDecorator:
    assert programs
    return pytest.mark.parametrize("program", programs, ids=[p.name for p in programs])


def breaks(claim: Guarantee, p: float, q: float) -> bool:
    """Whether an event of mass p on one side and q on the other contradicts the claim."""
    match claim:
        case dpv.PureDP(epsilon=epsilon):
            return p > math.exp(epsilon) * q * (1.0 + 1e-9)
        case dpv.ApproxDP(epsilon=epsilon, delta=delta):
            return p > math.exp(epsilon) * q + delta + 1e-12
        case dpv.GaussianDP(mu=mu):
            return bool(norm.ppf(p) - norm.ppf(q) > mu * (1.0 + 1e-9))
        case _:
            raise NotImplementedError(claim)


def test_names_are_different() -> None:
    assert len({p.name for p in ALL}) == len(ALL)


def test_whatever_is_refuted_is_shown_or_finite() -> None:
    assert all(p.finite or p.counterexample for p in ALL if p.verdict == "refuted")
    assert not any(p.counterexample for p in ALL if p.verdict == "proved")
    mutated = {p.name.split(":")[0] for p in MUTANTS}
    assert mutated == {p.name for p in PROGRAMS if p.verdict == "proved"}


@each(SHOWN)
def test_the_event_breaks_the_claim(program: Program) -> None:
    shown = program.counterexample
    assert shown is not None
    program.schema.check_neighbors(shown.left, shown.right)
    p, q = shown.masses
    assert breaks(program.claim, p, q) or breaks(program.claim, q, p)


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(2e-12)  # two sides, two tails of 5e-13
@each(SHOWN)
def test_the_event_has_the_masses_it_is_said_to_have(program: Program) -> None:
    shown = program.counterexample
    assert shown is not None
    rng = np.random.default_rng(0)
    for data, mass in zip((shown.left, shown.right), shown.masses, strict=True):
        hits = sum(bool(shown.event(program.mechanism(data, rng))) for _ in range(2_000))
        assert min(binom.cdf(hits, 2_000, mass), binom.sf(hits - 1, 2_000, mass)) > 5e-13


CAPS = {
    "whole_histogram": 8,
    **dict.fromkeys(("geometric_max", "geometric_max_last"), 9),
    **dict.fromkeys(("geometric_min", "geometric_min_added"), 9),
}


@pytest.mark.sampled(3)
@each([p for p in ALL if p.finite])
def test_exact_laws_decide_as_said(program: Program) -> None:
    cap = CAPS.get(program.mechanism.__name__, 24)
    laws = {repr(d): law(program.mechanism, d, cap) for d in datasets(program.schema)}
    epsilon, delta = _parameters(program.claim)
    worst = max(
        excess(laws[repr(a)], laws[repr(b)], _below_exp(epsilon))
        for a, b in neighbors(program.schema)
    )
    slack = (1 + _below_exp(epsilon)) * _lost(program, cap)
    if program.verdict == "proved":
        assert worst <= delta + slack
    else:
        assert worst > delta + slack


@pytest.mark.parametrize("base", list(product((-1, 1), repeat=3)))
def test_selections_keep_their_claims_on_every_corner(base: tuple[int, ...]) -> None:
    """Sparse vector and noisy max, ε = 1, by exact integrals; half of the noise if monotone."""
    stops = [[False] * i + [True] for i in range(3)] + [[False] * 3]
    for move in product((-1, 0, 1), repeat=3):
        moved = tuple(b + m for b, m in zip(base, move, strict=True))
        monotone = -1 not in move or 1 not in move
        for answer_noise, score_noise in ((4, 2), (2, 1)) if monotone else ((4, 2),):
            ratios = [wins(base, score_noise) / wins(moved, score_noise)]
            for hits in stops:
                masses = (pattern(d[: len(hits)], hits, 2, answer_noise) for d in (base, moved))
                ratios.append(next(masses) / next(masses))
            assert max(ratios) <= math.e * (1.0 + 1e-9)


def _lost(program: Program, cap: int) -> Fraction:
    """A bound on what is lost where geometric draws are cut at `cap`: four at most, if any."""
    draws = re.findall(r"geometric\(([\d.p]+)\)", inspect.getsource(program.mechanism))
    rates = [0.6 if p == "p" else float(p) for p in draws]  # p = 1 − 1/e, or 1 − 1/e²
    return 4 * (1 - Fraction(min(rates))) ** (cap - 1) if rates else Fraction(0)


def _parameters(claim: Guarantee) -> tuple[float, Fraction]:
    match claim:
        case dpv.PureDP(epsilon=epsilon):
            return epsilon, Fraction(0)
        case dpv.ApproxDP(epsilon=epsilon, delta=delta):
            return epsilon, Fraction(delta)
        case _:
            raise NotImplementedError(claim)


def _below_exp(epsilon: float) -> Fraction:
    """A rational that is not above e^ε, and equal to it to fifty digits."""
    with ctx.workprec(200):
        mantissa, exponent = arb(epsilon).exp().lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
