"""A replay with frozen releases computes the conditional pairs of a transcript.

A mechanism draws z₁, z₂, …, each independent of the data and of the draws before it, and releases
r₁ = v₁ + c₁·z₁, r₂ = v₂ + c₂·z₂, …, where v_k and c_k are functions of the data and of r₁ … r_{k−1}
alone: whatever the code does between two releases, it has seen nothing else that is random. Run it on
the neighbor with r₁ … r_{k−1} held fixed: then v′_k and c′_k are that function's values for the
neighbor. Given the past, r_k has the density f((r − v)/c)/|c| on the left and f((r − v′)/c′)/|c′| on the
right; the densities of the whole transcript are the products of these. A comparison that is recorded by
its outcome alone has the conditional probabilities of its two outcomes instead.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from dpverify.theorems import FROZEN_REPLAY, Step
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.runs import record, replay
from proofs.support.checks import VACUOUS, equal, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

_CHANCES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def the_density_of_a_release(*, jacobian: bool = True) -> Step:
    """ln of f((r−v)/c)/c over f((r−v′)/c′)/c′ is ln f(z) − ln f(z′) + ln(c′/c), for every f."""
    z, v, w, c, d = sp.symbols("z v w c d", real=True)
    log_density = sp.Function("L")
    r = v + c * z
    # The derivative of z by r is 1/c: the factor of the density.
    slope = sp.diff((sp.Symbol("r") - v) / c, sp.Symbol("r"))
    positive = {c: sp.Symbol("c", positive=True), d: sp.Symbol("d", positive=True)}
    here = log_density(z) + sp.log(slope)
    there = log_density(sp.simplify((r - w) / d)) + sp.log(1 / d)
    claimed = log_density(z) - log_density(sp.simplify((r - w) / d))
    claimed += sp.log(d / c) if jacobian else 0
    gap = (here - there - claimed).subs(positive)
    return Step("density of a release", same(gap, 0), "all laws, c, c′ > 0")


def losses_of_known_laws(factor: int = 1) -> Step:
    """Laplace: |z′| − |z| is |v−v′|/c beyond both values; normal: z·s + s²/2 with s = (v−v′)/c."""
    z, s = sp.symbols("z s", positive=True)
    laplace = same(-z - (-(z + factor * s)), s)
    normal = same(-(z**2) / 2 + (z + factor * s) ** 2 / 2, z * s + s**2 / 2)
    return Step("losses by law", laplace & normal, "all z, s > 0")


def _two_coins(data: Any, rng: Any) -> tuple[bool, bool]:  # noqa: ANN401  # as the library calls it
    """The second coin's chance depends on the data and on how the first one fell."""
    first = rng.random() < data[0]
    return first, rng.random() < data[1 + int(first)]


def replays_give_path_probabilities(*, conditional: bool = True) -> Step:
    """`record` and `replay` on two coins: the pairs' masses are the ratio of the paths' masses."""
    holds, count = VACUOUS, 0
    trees = list(product(_CHANCES, repeat=3))
    for left, right in product(trees[::4], trees[1::5]):
        for falls in product((False, True), repeat=2):
            script = NoiseScript(0, outcomes={0: falls[0], 1: falls[1]})
            floats = [np.array([float(p) for p in side]) for side in (left, right)]
            twin = replay(_two_coins, floats[1], record(_two_coins, floats[0], script))
            ratio = Fraction(1)
            for item in spending(twin.differences).items:
                pair = item.judged[0].above
                p, q = next(reversed(list(pair.masses())))  # type: ignore[attr-defined]
                ratio *= p / q
            path = [_path(side, falls, conditional=conditional) for side in (left, right)]
            holds &= equal(ratio, path[0] / path[1]) & provided(not twin.leaks)
            count += 1
    return Step("replays of two coins", holds, f"{count} pairs of trees and paths")


def _path(chances: tuple[Fraction, ...], falls: tuple[bool, ...], *, conditional: bool) -> Fraction:
    first = chances[0] if falls[0] else 1 - chances[0]
    then = chances[1 + int(falls[0])] if conditional else chances[1]
    return first * (then if falls[1] else 1 - then)


PROOF = Proof(
    theorem=FROZEN_REPLAY,
    clauses=(
        Clause(
            (
                "If a run releases r = v + c·z, c ≠ 0, with fresh z of density f, independent of the data "
                "and of all that came before, where v and c are functions of the data and of earlier "
                "releases alone (everything random that the code reads is released), and the same run on "
                "a neighbor has v′ and c′ where all that was released before is the same, then given that "
                "the release has the densities of v + c·z and v′ + c′·z;"
            ),
            by=(the_density_of_a_release,),
            argued=(
                "that given the earlier releases v and c are numbers, on either side, while z keeps its "
                "law, being independent of them; the change of variables z ↦ v + c·z"
            ),
        ),
        Clause(
            (
                "so the loss of a transcript is the sum of ln f(z) − ln f(z′) + ln|c′/c| with z′ = (r − "
                "v′)/c′, and the pairs at v, v′ are the conditional pairs."
            ),
            by=(losses_of_known_laws, replays_give_path_probabilities),
            argued="the chain rule: the density of a transcript is the product of conditional densities",
        ),
    ),
    mutations={
        "Jacobian forgotten": lambda: the_density_of_a_release(jacobian=False),
        "twice the shift": lambda: losses_of_known_laws(factor=2),
        "first coin ignored": lambda: replays_give_path_probabilities(conditional=False),
    },
)
