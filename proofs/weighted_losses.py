"""Records with weights: a loss that is multiplied by a number in [0, 1] has the constants of the loss itself.

A record is (x, y, w), and its loss w·f(⟨θ, x⟩; y). The theorems on output and objective perturbation use of a record's loss

- that it is convex, how long its gradient can be, and how large its Hessian, of rank one: |w·f′| ≤ |f′|, w·f″ ≤ f″;
- for monotone f, that the slope is a number in [0, L] times a vector that does not depend on θ: so is w times it;
- for logistic losses, that at each output the slope is p·‖x‖ and the curvature at most p(1−p)·‖x‖² with one and the same p
  in [0, 1]. With the weight the slope is q = w·p, and the curvature w·p(1−p) = q(1−p) is at most q(1−q), as q ≤ p. So every
  bound that is a largest value over p holds, at q;
- for softmax losses, that the slope Σ pⱼ·(eⱼ − e_y) is a mixture of 0 and fixed vectors: with the weight, the shares are
  w·pⱼ, and 0 has the rest. The Hessian w·S ≤ S has a determinant no larger.

Weights of two records that replace each other may differ; nothing above compares them.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import Step
from proofs.support.checks import VACUOUS, at_most, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, same
from solvers.losses import Logistic, Softmax
from solvers.losses.weighted import Weighted
from solvers.privacy.objective_deltas import logistic_epsilon
from solvers.privacy.theorems import (
    OBJECTIVE_PERTURBATION,
    OBJECTIVE_PERTURBATION_GAUSSIAN,
    OBJECTIVE_PERTURBATION_LOGISTIC,
    OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
    OBJECTIVE_PERTURBATION_REPLACED,
    OBJECTIVE_PERTURBATION_SOFTMAX,
    OUTPUT_PERTURBATION,
    WEIGHTED_LOSSES,
)

_WEIGHTS = (0.0, 0.125, 0.5, 0.75, 1.0)


def constants_stay(sign: int = 1) -> Step:
    """L − w·s ≥ 0 and w·s ≥ 0 for a size s = L − room ≥ 0, of slopes or of curvatures, and w = a/(a + b)."""
    a, b, s, room = sp.symbols("a b s room", nonnegative=True)
    w, largest = a / (a + b), s + sign * room
    holds = nonnegative(sp.together(largest - w * s) * (a + b), (a, b, s, room))
    holds &= nonnegative(w * s * (a + b), (a, b, s))
    return Step("constants", holds, "all weights, all slopes and curvatures")


def logistic_curvatures(sign: int = 1) -> Step:
    """q(1 − q) − w·p(1 − p) = w(1 − w)·p² ≥ 0 for q = w·p."""
    a, b, p = sp.symbols("a b p", nonnegative=True)
    w = a / (a + b)
    q = w * p
    gap = q * (1 - q) - w * p * (1 - p)
    holds = same(gap, sign * w * (1 - w) * p**2) & nonnegative(a * b * p**2, (a, b, p))
    return Step("logistic curvatures", holds, "all weights, all p")


def softmax_mixtures(rest: int = 1) -> Step:
    """w·(p − e_y) = Σ w·pⱼ·(eⱼ − e_y), shares w·pⱼ ≥ 0 that leave 1 − w·(1 − p_y) ≥ 0 for 0; three classes, y = 0."""
    a, b, first, second, third = sp.symbols("a b p0 p1 p2", nonnegative=True)
    w, total = a / (a + b), first + second + third
    shares = [part / total for part in (first, second, third)]  # every p
    slope = [w * (shares[0] - 1), w * shares[1], w * shares[2]]
    mixture = [-(w * shares[1] + w * shares[2]), w * shares[1], w * shares[2]]
    holds = every(same(x, y) for x, y in zip(slope, mixture, strict=True))
    left = sp.together(rest - w * (shares[1] + shares[2])) * (a + b) * total
    holds &= nonnegative(left, (a, b, first, second, third))
    return Step("softmax mixtures", holds, "K = 3, all p, all weights")


def the_library_weighs(factor: float = 1.0) -> Step:
    """`Weighted.precise` is w times the loss, slope and curvature; with a curvature of at most q(1−q) for logistic ones."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for weight in _WEIGHTS:
            w = ball(weight * factor)
            for step in range(-16, 17):
                score = ball(step / 2)
                found = Weighted(Logistic()).precise([score], (1.0, weight))
                plain = Logistic().precise([score], 1.0)
                q = -found[1][0]
                holds &= at_most(abs(found[0] - w * plain[0]), arb("1e-30"))
                holds &= at_most(abs(found[1][0] - w * plain[1][0]), arb("1e-30"))
                holds &= at_most(found[2][0][0], q * (1 - q) + arb("1e-30"))
                several = [score, ball(0.5), ball(-1)]
                vectors = Weighted(Softmax(3)).precise(several, (2.0, weight))
                without = Softmax(3).precise(several, 2.0)
                for mine, other in zip(vectors[1], without[1], strict=True):
                    holds &= at_most(abs(mine - w * other), arb("1e-30"))
                count += 1
    return Step("library", holds, f"{count} scores and weights")


def _moved(theta: arb, common: tuple[float, ...], weight: float, lam: arb) -> tuple[arb, arb]:
    """b and −db/dθ where the record 1 is there with that weight: b and the Hessian are linear in weights."""
    without, flat = noise_at(theta, common, lam)
    present, bent = noise_at(theta, (*common, 1.0), lam)
    w = ball(weight)
    return without + w * (present - without), flat + w * (bent - flat)


def exact_losses_obey(share: str = "1") -> Step:
    """|ln p(θ)/p′(θ)| ≤ ε for the record 1 added with any weight, and replaced by itself with another one."""
    holds, tight = VACUOUS, False
    with ctx.workprec(128):
        for lam, tau in ((0.5, 1.0), (0.125, 2.0)):
            epsilon = arb(share) * ball(
                logistic_epsilon(norm=1.0, ridge=lam, scale=tau, replaced=False)
            )
            for common in ((), (-0.5, 0.25)):
                for step in range(-100, 101):
                    sides = [_moved(ball(step / 4), common, w, ball(lam)) for w in _WEIGHTS]
                    for one, bent in sides:
                        for other, flat in sides:
                            loss = (abs(other) - abs(one)) / ball(tau) + (bent / flat).log()
                            holds &= at_most(abs(loss), epsilon)
                            tight |= bool(abs(loss) > ball(0.9) * epsilon)
    return Step(
        "exact losses", holds & provided(tight), "201 points θ, four settings, all pairs of weights"
    )


PROOF = Proof(
    theorem=WEIGHTED_LOSSES,
    clauses=(
        Clause(
            (
                "For a weight w in [0, 1] and a convex loss f of the score, w·f is convex, has slopes of the same sign and "
                "the Lipschitz and smoothness constants of f."
            ),
            by=(constants_stay,),
            argued="that a multiple w ≥ 0 of a convex function is convex",
        ),
        Clause(
            (
                "If f is logistic, of slope p and curvature p(1−p), then w·f has the slope q = w·p and a curvature of at "
                "most q(1−q)."
            ),
            by=(logistic_curvatures,),
            argued="that derivatives of w·f are w times those of f",
        ),
        Clause(
            "If f is softmax, the slope of w·f is a mixture of 0 and the vectors that the slope of f is a mixture of.",
            by=(softmax_mixtures,),
            argued="the form for three classes is that of every K",
        ),
        Clause(
            (
                "So output perturbation and objective perturbation of weighted records have the guarantees of records "
                "without weights."
            ),
            by=(constants_stay, logistic_curvatures, softmax_mixtures, exact_losses_obey),
            argued=(
                "that the proofs of these theorems use no more of a record’s loss than is said here, at each output by "
                "itself, and that determinants of positive matrices rise in the Loewner order"
            ),
        ),
    ),
    library=(the_library_weighs,),
    uses=(
        OUTPUT_PERTURBATION,
        OBJECTIVE_PERTURBATION,
        OBJECTIVE_PERTURBATION_GAUSSIAN,
        OBJECTIVE_PERTURBATION_REPLACED,
        OBJECTIVE_PERTURBATION_LOGISTIC,
        OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
        OBJECTIVE_PERTURBATION_SOFTMAX,
    ),
    mutations={
        "sizes above the largest": lambda: constants_stay(sign=-1),
        "a smaller curvature": lambda: logistic_curvatures(sign=-1),
        "nothing left for 0": lambda: softmax_mixtures(rest=0),
        "nine tenths of the weight": lambda: the_library_weighs(factor=0.9),
        "half of ε": lambda: exact_losses_obey("0.5"),
    },
)
