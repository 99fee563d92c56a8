"""A search for a minimum that ends for every dataset, so that no dataset is refused.

What is released must lie within η of the exact minimum θ* for *every* dataset within the bounds and every noise b: a solver
that refuses some of them would tell them apart, and one that released something else would not be covered by the
sensitivity. So floats are asked first, then floats of twice the digits, and where their certificates are not within η the
same J is minimized in ball arithmetic. That search always ends; which of them answered is no matter, since the theorems on
sensitivity and on approximate minima ask for a point within η and not for how it was found. There is no other case to pay
for. Where λ is tiny the search is one of several, for ridges that fall to λ: each ends, and there are finitely many.

- *descent*: J is λ-strongly convex with slopes that are Λ-Lipschitz, and the step is −tH⁻¹∇J with λ ≤ H ≤ Λ. As dᵀHd ≥ λ‖d‖²,
  J falls by t·|⟨∇J, d⟩|·(1 − Λt/(2λ)) or more, which is the share α that is asked for if t ≤ 2(1 − α)λ/Λ.
- *progress*: t is the first of 1, 1/2, 1/4, … that does, so t ≥ (1 − α)λ/Λ or t = 1, and J falls by α(1 − α)(λ/Λ)·‖∇J‖²/Λ or
  more. J is bounded below, so ‖∇J‖ ≤ λη/2 after finitely many steps, and then ‖θ − θ*‖ ≤ η/2 (perturbed-minimum). At a
  given precision a fall may be too small to be certain; the precision doubles then, and so does the number of steps that
  it may take. Finitely many steps are certain at some precision, with 2α in place of α.
- *gap*: corners, of losses or of a domain, are rounded off with a width w. P(θ) − D(a) is a sum of terms that are not negative
  and tend to 0 with w, so constrained-minimum gives the distance; w falls until it is small enough.
- *cut*: coordinates beyond ±c, c = 2^50·η/√d, are cut there, so that floats hold the rest to η/4. Cutting moves no two
  points further apart: the minimum's sensitivity is that of the cut minimum, and a point within η of θ* stays within η of the
  cut θ*. After objective perturbation it is post-processing of θ*.
- *entries* of a record below 2^-400 of the norm bound are taken for 0: a change of one record at a time, as clipping is.
"""

from fractions import Fraction

import numpy as np
import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.theorems import Step
from proofs.support.checks import VACUOUS, at_most, below, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.losses import Squared
from solvers.minimize.precise import LossTerm, PreciseSum, minimize_precisely
from solvers.privacy.theorems import CERTIFIED_MINIMUM, CONSTRAINED_MINIMUM, PERTURBED_MINIMUM


def short_steps_descend(two: int = 2) -> Step:
    """1 − Λt/(2λ) ≥ α for t ≤ 2(1 − α)λ/Λ."""
    lam, more, share = sp.symbols("lambda more share", positive=True)
    rest = sp.Symbol("rest", nonnegative=True)  # α = rest/(1 + rest), below 1
    alpha, cap = rest / (1 + rest), lam + more
    t = two * (1 - alpha) * lam / cap / (1 + share)
    holds = nonnegative(sp.simplify(1 - cap * t / (2 * lam) - alpha), (lam, more, share, rest))
    return Step("descent", holds, "all λ ≤ Λ, α < 1")


def every_step_makes_progress(power: int = 2) -> Step:
    """α·t·⟨∇J, H⁻¹∇J⟩ ≥ α(1 − α)(λ/Λ)·g²/Λ for t ≥ (1 − α)λ/Λ and eigenvalues of H up to Λ."""
    lam, more, less, g, longer = sp.symbols("lambda more less g longer", positive=True)
    rest = sp.Symbol("rest", nonnegative=True)
    alpha, eigen = rest / (1 + rest), lam + less
    cap = eigen + more
    t = (1 - alpha) * lam / cap + longer
    fall = alpha * t * g**2 / eigen
    promised = alpha * (1 - alpha) * lam * g**2 / cap**power
    holds = nonnegative(sp.simplify(fall - promised), (lam, more, less, g, longer, rest))
    return Step("progress", holds, "all λ ≤ Λ, α < 1")


def the_gap_is_a_sum(half: Fraction = Fraction(1, 2)) -> Step:
    """P − D = [f + f* − a·xθ] + (λ/2)(θ + (xa + b)/λ)², P = f + λθ²/2 + bθ, D = −f* − (xa + b)²/(2λ)."""
    f, conjugate, a, x, theta, b = sp.symbols("f conjugate a x theta b", real=True)
    lam = sp.Symbol("lambda", positive=True)
    primal = f + lam * theta**2 / 2 + b * theta
    dual = -conjugate - (x * a + b) ** 2 / (2 * lam)
    share = sp.Rational(half.numerator, half.denominator)
    parts = f + conjugate - a * x * theta + share * lam * (theta + (x * a + b) / lam) ** 2
    return Step("gap", same(primal - dual, parts), "all θ, a")


def rounded_slopes_leave_a_small_gap(quarter: int = 4) -> Step:
    """w·high²/4 − (high − a)(s − c) is a square, where a = (s − c)/w lies in [0, high]."""
    width, a, high = sp.symbols("w a high", nonnegative=True)
    left = width * high**2 / quarter - (high - a) * width * a
    holds = same(left, width * (a - high / 2) ** 2)
    return Step("rounded corners", holds, "all w, a, high")


def cuts_move_nothing_apart(limit: int = 1) -> Step:
    """|cut(x) − cut(y)| ≤ |x − y|."""
    values = [Fraction(i, 3) for i in range(-9, 10)]

    def cut(x: Fraction) -> Fraction:
        return max(Fraction(-1), min(Fraction(1), x)) * limit

    holds = every(at_most(abs(cut(x) - cut(y)), abs(x - y)) for x in values for y in values)
    return Step("cut", holds, f"{len(values) ** 2} pairs")


def the_search_finds_rational_minima(shift: int = 0) -> Step:
    """For squared losses the minimum is a quotient: found to 10^-60 from floats 10^40 away, at ridges down to 2^-200."""
    holds, count = VACUOUS, 0
    for exponent in (-200, -30, 0, 100):
        for b in (0.0, 8.0, -(2.0**40)):
            rows, labels = np.array([[1.0], [0.5], [-0.25]]), np.array([0.0, 1.0, 5.0])
            sums = PreciseSum([LossTerm(Squared(), rows, labels)], 2.0**exponent, [b])
            (point,), bound = minimize_precisely(sums, [1e40], distance=1e-60)
            left = 2 * sum(Fraction(x) ** 2 for x in rows[:, 0]) + Fraction(2) ** exponent
            pairs = zip(rows[:, 0], labels, strict=True)
            right = 2 * sum(Fraction(x) * Fraction(y) for x, y in pairs)
            truth = (right - Fraction(b)) / left + shift
            with ctx.workprec(512):
                holds &= below(abs(ball(truth) - point), bound + 1e-100) & provided(bound <= 1e-60)
            count += 1
    return Step("quotients", holds, f"{count} problems")


PROOF = Proof(
    theorem=CERTIFIED_MINIMUM,
    clauses=(
        Clause(
            (
                "For every dataset, linear part b and η > 0, damped Newton steps in ball arithmetic of "
                "growing precision end at a point that is certified to lie within η of the minimum of Σℓ + "
                "(λ/2)‖θ‖² + ⟨b, θ⟩;"
            ),
            by=(short_steps_descend, every_step_makes_progress, the_search_finds_rational_minima),
            argued=(
                "that J is bounded below, so that finitely many steps bring ‖∇J‖ below λη/2; that finitely "
                "many comparisons are certain at some precision"
            ),
        ),
        Clause(
            "so they do with corners and on a domain, rounded off ever less.",
            by=(the_gap_is_a_sum, rounded_slopes_leave_a_small_gap),
            argued="that the gap’s terms are not negative (Fenchel and Young) and tend to 0 with the width",
        ),
        Clause(
            "Cutting both coordinatewise keeps the distance and the sensitivity.",
            by=(cuts_move_nothing_apart,),
            argued="that cutting is 1-Lipschitz in every coordinate, so in every norm that is monotone in them",
        ),
    ),
    uses=(PERTURBED_MINIMUM, CONSTRAINED_MINIMUM),
    mutations={
        "steps twice as long": lambda: short_steps_descend(two=4),
        "g² without 1/Λ": lambda: every_step_makes_progress(power=1),
        "all of (λ/2)‖·‖²": lambda: the_gap_is_a_sum(Fraction(1)),
        "an eighth": lambda: rounded_slopes_leave_a_small_gap(quarter=8),
        "cuts that stretch": lambda: cuts_move_nothing_apart(limit=2),
        "another minimum": lambda: the_search_finds_rational_minima(shift=1),
    },
)
