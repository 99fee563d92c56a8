"""The textbook variance 2·ln(1.25/δ)·(Δ/ε)² beyond ε = 1: it fails, for every δ ≤ 0.1, from some ε on.

With c² = 2·ln(1.25/δ) it has μ = ε/c. At ε = 2c² the best event is at 0 deviations: H(2c², 2c) ≥
1/2 − 1/(2c·√(2π)), far above δ. Between 1 and 2c² there is a first ε where it stops being true.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import ANALYTIC_GAUSSIAN, Check, Step, Theorem
from proofs.analytic_gaussian import normal_density
from proofs.classical_gaussian import CLASSICAL_GAUSSIAN, mills_inequality
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.digits import agrees, gaussian_profile
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import same

GAUSSIAN_MECHANISM_BEYOND_ONE = Theorem(
    name="notes-gaussian-any-epsilon",
    statement="Gaussian noise of variance 2·ln(1.25/δ)·(Δ/ε)² is (ε, δ)-DP, whatever ε.",
    source="lecture on machine learning with DP, Claim 5.5 (no condition on ε is stated)",
    proof="proofs/refuted/gaussian_mechanism_beyond_one.py",
)
_FIRST_FAILURES = (
    ("0.1", "5.7425"),
    ("1e-2", "6.7718"),
    ("1e-3", "7.4634"),
    ("1e-5", "8.4197"),
    ("1e-6", "8.7820"),
    ("1e-9", "9.6236"),
    ("1e-12", "10.2481"),
)


def true_delta(epsilon: arb, delta: str) -> arb:
    """The exact δ at ε of the noise that the formula prescribes."""
    return gaussian_profile(epsilon**2 / (2 * (arb("1.25") / arb(delta)).log()), epsilon)


def two_violations(at: int = 8, printed: str = "0.017823") -> Step:
    """(8, 0.01) is claimed and δ(8) = 0.017823; (10, 1e-5) is claimed and δ(10) = 2.26537e-5."""
    with ctx.workprec(128):
        first, second = true_delta(arb(at), "0.01"), true_delta(arb(10), "1e-5")
        holds = below(arb("0.01"), first) & below(arb("1e-5"), second)
        holds &= agrees(first, printed) & agrees(second, "2.26537e-5")
    return Step("two violations", holds, "ε = 8 and 10")


def where_it_starts_to_fail(shift: str = "0") -> Step:
    """Holds at the printed ε and fails 1e-4 above: 5.7425 at δ = 0.1 up to 10.2481 at δ = 1e-12."""
    holds = VACUOUS
    with ctx.workprec(128):
        for delta, printed in _FIRST_FAILURES:
            epsilon = arb(printed) + arb(shift)
            holds &= below(true_delta(epsilon, delta), arb(delta))
            holds &= below(arb(delta), true_delta(epsilon + arb("1e-4"), delta))
    return Step("where it starts to fail", holds, f"{len(_FIRST_FAILURES)} values of δ")


def mills(sign: int = 1) -> Step:
    """1 − Φ(x) < φ(x)/x; the step of the classical Gaussian mechanism."""
    return mills_inequality(sign)


def it_fails_for_every_small_delta(largest: str = "0.1") -> Step:
    """H(2c², 2c) = 1/2 − e^(2c²)·(1 − Φ(2c)) ≥ 1/2 − φ(0)/(2c) > 0.1 ≥ δ, as c² ≥ 2·ln 12.5."""
    c = sp.Symbol("c", positive=True)
    epsilon, mu = 2 * c**2, 2 * c
    holds = same(mu / 2 - epsilon / mu, 0) & same(mu / 2 + epsilon / mu, 2 * c)
    paid = sp.exp(epsilon) * normal_density(2 * c) / (2 * c)  # by Mills' inequality
    holds &= same(paid, normal_density(sp.Integer(0)) / (2 * c))
    with ctx.workprec(128):
        least = (2 * (arb("1.25") / arb(largest)).log()).sqrt()
        holds &= below(arb(largest), ball(0.5) - 1 / (2 * least * (2 * arb.pi()).sqrt()))
    return Step("fails for every δ ≤ 0.1", holds, "all δ in (0, 0.1], at ε = 4·ln(1.25/δ)")


def _is_asked_for(budget: tuple[int, str]) -> Check:
    """ε > 0 and δ in (0, 1)."""
    return below(0, budget[0]) & below(0, arb(budget[1])) & below(arb(budget[1]), 1)


def _is_private(budget: tuple[int, str]) -> Check:
    """The exact δ at ε of the noise is at most δ."""
    with ctx.workprec(128):
        return at_most(true_delta(arb(budget[0]), budget[1]), arb(budget[1]))


PROOF = Proof(
    theorem=GAUSSIAN_MECHANISM_BEYOND_ONE,
    uses=(ANALYTIC_GAUSSIAN, CLASSICAL_GAUSSIAN),
    mutations={
        "Mills with the wrong sign": lambda: mills(sign=-1),
        "ε = 1 is no counterexample": lambda: two_violations(at=1),
        "digits 0.0179": lambda: two_violations(printed="0.017900"),
        "it starts 1/100 later": lambda: where_it_starts_to_fail("0.01"),
        "every δ ≤ 0.9": lambda: it_fails_for_every_small_delta("0.9"),
    },
    counterexample=Counterexample(
        claim=Claim(_is_asked_for, _is_private),
        at=(8, "0.01"),
        control=(1, "0.01"),
        argued=(
            "that a query of sensitivity Δ which moves by Δ has the profile of analytic-gaussian, with μ = Δ/σ"
        ),
        claimed="(8, 0.01)-DP and (10, 1e-5)-DP",
        instance=(
            "a query of ℓ2 sensitivity 1 with answers 0 and 1; σ² = 2·ln(1.25/δ)/ε²",
            "laws: N(0, σ²) and N(1, σ²)",
            "event: answer > 1/2 + ε·σ²",
        ),
        truth=(
            "δ = 0.017823 at ε = 8 for δ = 0.01; 2.26537e-5 at ε = 10 for 1e-5; first failures at ε = "
            "5.7425 (δ = 0.1), 6.7718 (0.01), 8.4197 (1e-5), 8.7820 (1e-6), 9.6236 (1e-9)"
        ),
        correction="true for ε ≤ 1 (classical-gaussian); beyond, calibrate by the exact profile",
        by=(two_violations, where_it_starts_to_fail, mills, it_fails_for_every_small_delta),
    ),
)
