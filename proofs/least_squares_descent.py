"""Exercise 5.3, answered: how many steps gradient descent takes on least squares.

L(θ) = ‖y − Xθ‖²/n is a quadratic with the Hessian 2XᵀX/n, of eigenvalues λᵢ ≤ M. In the coordinates of its eigenvectors, and around a minimum θ*, it is
Σ λᵢ·uᵢ²/2 more than its least value, and a step of length 1/M multiplies uᵢ by 1 − λᵢ/M. So after t steps the excess is

    Σ (λᵢ/2)·(1 − λᵢ/M)^(2t)·uᵢ²,

at most (1 − 1/κ)^(2t) times that of the start, κ = M over the least positive eigenvalue (those with λᵢ = 0 count for nothing): to come within a share a of it
takes κ·ln(1/a)/2 steps, as ln(1 − x) ≤ −x. Whatever κ is, z·(1 − z)^(2t) ≤ 1/(2t + 1) for z in [0, 1], so the excess is at most M·‖θ₀ − θ*‖²/(2·(2t + 1)). Along
the direction of the least eigenvalue the first bound is attained.
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.gradients import GRADIENTS
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

LEAST_SQUARES_DESCENT = Theorem(
    name="least-squares-descent",
    statement=(
        "Gradient descent on ‖y − Xθ‖²/n with step 1/M, M the largest eigenvalue of 2XᵀX/n, has after t steps an excess of at most (1 − 1/κ)^(2t) times that of "
        "the start, κ = M over the least positive eigenvalue, which is attained; so ⌈κ·ln(1/a)/2⌉ steps leave at most the share a of it; and one of at most "
        "M·‖θ₀ − θ*‖²/(2·(2t + 1)), whatever κ is."
    ),
    source="lecture on machine learning with DP, Exercise 5.3",
    proof="proofs/least_squares_descent.py",
)
Vector = list[Fraction]
_ROWS = [[Fraction(k) for k in row] for row in ((2, 1), (1, 3), (0, 1), (1, -1))]
_LABELS = [Fraction(k) for k in (3, -1, 2, 1)]


def gradient(theta: Vector) -> Vector:
    """−2Xᵀ(y − Xθ)/n."""
    rest = [
        y - sum(x * t for x, t in zip(row, theta, strict=True))
        for row, y in zip(_ROWS, _LABELS, strict=True)
    ]
    return [
        -2 * sum((row[j] * r for row, r in zip(_ROWS, rest, strict=True)), Fraction(0)) / len(_ROWS)
        for j in range(2)
    ]


def risk(theta: Vector) -> Fraction:
    """‖y − Xθ‖²/n."""
    rest = [
        y - sum(x * t for x, t in zip(row, theta, strict=True))
        for row, y in zip(_ROWS, _LABELS, strict=True)
    ]
    return sum((r * r for r in rest), Fraction(0)) / len(_ROWS)


def descend(start: Vector, step: Fraction, steps: int) -> list[Vector]:
    """Vanilla gradient descent: all iterates."""
    path = [start]
    for _ in range(steps):
        path.append([t - step * g for t, g in zip(path[-1], gradient(path[-1]), strict=True)])
    return path


def one_coordinate(two: int = 2) -> Step:
    """u − (1/M)·d(λu²/2)/du = (1 − λ/M)·u, and its share of the excess, λu²/2, is multiplied by (1 − λ/M)²."""
    u, lam, top = sp.symbols("u lambda M", positive=True)
    after = u - sp.diff(lam * u**2 / 2, u) / top
    holds = same(after, (1 - lam / top) * u)
    holds &= same(lam * after**2 / 2, (1 - lam / top) ** two * lam * u**2 / 2)
    return Step("one coordinate", holds, "all λ, M, u")


def the_slowest_coordinate(sign: int = 1) -> Step:
    """0 ≤ 1 − λ/M ≤ 1 − least/M for least ≤ λ ≤ M: no coordinate shrinks by less than 1 − 1/κ."""
    least, more, room = sp.symbols("least more room", positive=True)
    lam = least + more
    top = lam + room
    holds = nonnegative((1 - least / top) - (1 - lam / top) * sign, (least, more, room))
    holds &= nonnegative(1 - lam / top, (least, more, room))
    return Step("the slowest", holds, "all eigenvalues")


def the_number_of_steps(half: int = 2) -> Step:
    """(1 − 1/κ)^(2t) ≤ e^(−2t/κ) = a at t = κ·ln(1/a)/2; −x − ln(1 − x) is 0 at 0 and rises, x/(1 − x) ≥ 0."""
    x, kappa, share, more = sp.symbols("x kappa a more", positive=True)
    holds = same(sp.exp(-2 * (kappa * sp.log(1 / share) / half) / kappa), share)
    gap = -x - sp.log(1 - x)
    holds &= same(gap.subs(x, 0) + more, more)
    holds &= same(sp.diff(gap, x), x / (1 - x))
    holds &= nonnegative((x / (1 - x)).subs(x, more / (1 + more)), (more,))
    return Step("the number of steps", holds, "all κ, a")


def without_a_least_eigenvalue(one: int = 1) -> Step:
    """z·(1−z)^s ≤ 1/(s+1): with z = v/(v+w), (1+v/w)^s ≥ 1 + s·v/w, and (1 + s·v/w)·(v+w) − (s+1)·v = w + s·v²/w ≥ 0."""
    v, w, s = sp.symbols("v w s", positive=True)
    # (1−z)^(−s) = (1 + v/w)^s ≥ 1 + s·v/w, Bernoulli; so z·(1−z)^s ≤ (v/(v+w))/(1 + s·v/w).
    bound = (v / (v + w)) / (one + s * v / w)
    holds = nonnegative(1 / (s + 1) - bound, (v, w, s))
    holds &= same((1 + s * v / w) * (v + w) - (s + 1) * v, w + s * v**2 / w)
    return Step("whatever κ", holds, "all z in (0, 1), all s = 2t")


def bernoulli(power: int = 1) -> Step:
    """(1 + x)·(1 + s·x) − (1 + (s + 1)·x) = s·x² ≥ 0: the step from s to s + 1 of (1 + x)^s ≥ 1 + s·x."""
    x, s = sp.symbols("x s", nonnegative=True)
    gap = (1 + x) ** power * (1 + s * x) - (1 + (s + 1) * x)
    holds = same(gap, s * x**2) & nonnegative(gap, (x, s))
    return Step("Bernoulli", holds, "all x ≥ 0, s ≥ 0")


def a_run(slack: Fraction = Fraction(1)) -> Step:
    """Four records, in rationals: 2XᵀX/n has the eigenvalues 7 and 2; 40 steps of 1/7, the excess below both bounds at each."""
    halves = [[sum((r[i] * r[j] for r in _ROWS), Fraction(0)) / 2 for j in (0, 1)] for i in (0, 1)]
    top, low = Fraction(7), Fraction(2)
    holds = equal(halves[0][0] + halves[1][1], top + low)
    holds &= equal(halves[0][0] * halves[1][1] - halves[0][1] ** 2, top * low)
    path, least = descend([Fraction(5), Fraction(-7)], 1 / top, 40), _solved()
    holds &= equal(gradient(least), [Fraction(0)] * 2)
    first = risk(path[0]) - risk(least)
    distance = sum(((a - b) ** 2 for a, b in zip(path[0], least, strict=True)), Fraction(0))
    for t, theta in enumerate(path):
        excess = risk(theta) - risk(least)
        holds &= at_most(excess, slack * (1 - low / top) ** (2 * t) * first)
        holds &= at_most(excess, slack * top * distance / (2 * (2 * t + 1)))
    with ctx.workprec(128):
        needed = int((ball(top / low) * ball(10**6).log() / 2).ceil().fmpq().p)
    holds &= at_most(risk(path[needed]) - risk(least), first / 10**6)
    return Step("a run", holds, f"{len(path)} iterates, {needed} steps to a millionth")


def _solved() -> Vector:
    """The minimum, by Cramer's rule."""
    (a, b), (_, d) = (
        [sum((r[i] * r[j] for r in _ROWS), Fraction(0)) for j in (0, 1)] for i in (0, 1)
    )
    right = [
        sum((r[j] * y for r, y in zip(_ROWS, _LABELS, strict=True)), Fraction(0)) for j in (0, 1)
    ]
    determinant = a * d - b * b
    return [
        (right[0] * d - b * right[1]) / determinant,
        (a * right[1] - b * right[0]) / determinant,
    ]


def the_slowest_direction_attains_it(power: int = 2) -> Step:
    """With eigenvalues 4 and 1, started along the second: the excess is exactly (1 − 1/4)^(2t) of the first, t ≤ 20."""
    holds, u = VACUOUS, Fraction(3)
    for t in range(21):
        holds &= equal(u**2 / 2, Fraction(3, 4) ** (power * t) * Fraction(9, 2))
        u -= u / 4
    return Step("attained", holds, "21 iterates")


PROOF = Proof(
    theorem=LEAST_SQUARES_DESCENT,
    clauses=(
        Clause(
            "Gradient descent on ‖y − Xθ‖²/n with step 1/M, M the largest eigenvalue of 2XᵀX/n, has after t steps an excess of at most (1 − 1/κ)^(2t) times that of the start, κ = M over the least positive eigenvalue, which is attained;",
            by=(one_coordinate, the_slowest_coordinate, a_run, the_slowest_direction_attains_it),
            argued="that a symmetric matrix has an orthonormal basis of eigenvectors, in which gradients and lengths keep their form; that coordinates with λᵢ = 0 neither move nor count",
        ),
        Clause(
            "so ⌈κ·ln(1/a)/2⌉ steps leave at most the share a of it;",
            by=(the_number_of_steps, a_run),
            argued="that a power falls as its exponent grows",
        ),
        Clause(
            "and one of at most M·‖θ₀ − θ*‖²/(2·(2t + 1)), whatever κ is.",
            by=(without_a_least_eigenvalue, bernoulli, a_run),
            argued="induction on s for Bernoulli’s inequality; the ends z = 0 and z = 1; the sum over coordinates",
        ),
    ),
    uses=(GRADIENTS,),
    mutations={
        "(1 − λ/M)³": lambda: one_coordinate(two=3),
        "the fastest decides": lambda: the_slowest_coordinate(sign=2),
        "κ·ln(1/a)/3 steps": lambda: the_number_of_steps(half=3),
        "z/(s·z)": lambda: without_a_least_eigenvalue(one=0),
        "(1 + x)²": lambda: bernoulli(power=2),
        "half of the bounds": lambda: a_run(Fraction(1, 2)),
        "(1 − 1/κ)^t": lambda: the_slowest_direction_attains_it(power=1),
    },
)
