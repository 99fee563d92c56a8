"""Random allocation: one of t steps holds the record, or k of them.

Let a step without the record have the distribution A and with it B, given what was seen before; both
come from (Q, P) by one kernel, since (P, Q) dominates (B, A). Draw Z₁, …, Z_t from the product with P in
place i and Q elsewhere, and send each through the kernel that the history so far asks for: the outcome is
that of a run with the record in step i. So the mean over i, against the product of Q alone, becomes the
run with the record against the run without it: a post-processing. Under the product of Q the ratio of the
two is (Y₁ + … + Y_t)/t, with Yᵢ = dP/dQ of one step each, independent.

A profile is x ↦ E(R − x)₊, so domination is the convex order of the ratios. (r − x)₊ is convex in r:
splitting a mass around its mean raises it, merging masses lowers it. And E(Y + Z − x)₊ is the mean over Z
of E(Y − (x − Z))₊, so it grows with the profile of Y: sums of independent ratios keep the order; so do
products, as E(Y·Z − x)₊ is the mean of Z·E(Y − x/Z)₊.

With a set S of k steps instead of one, the kernels are the same, and the ratio is the mean of the products
over S of Yᵢ. Cut the steps at random into k blocks of sizes m₁ + … + m_k = t and choose one step in each:
by symmetry all sets are equally likely. So the ratio is the mean, over all cuts, of products of means over
blocks, and by convexity its profile is at most that of one such product. From below, whatever is computed
from all outputs, such as a sum over the steps, shows no more than the outputs themselves.
"""

from fractions import Fraction
from itertools import combinations, product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import Dominates, FinitePair, GaussianPair, LaplacePair, dominates
from dpverify.pairs.subsampling.allocation import AllocationPair
from dpverify.theorems import BLACKWELL, EXACT_PROFILE, RANDOM_ALLOCATION, Check, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, dominated, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws, rational_pairs
from proofs.support.symbolic import same

_HALF = Fraction(1, 2)
Masses = dict[Fraction, Fraction]


def the_ratio_is_a_mean(parts: int = 3) -> Step:
    """(1/3)·Σ (one b, two a)/(a₁·a₂·a₃) = (b₁/a₁ + b₂/a₂ + b₃/a₃)/3."""
    a, b = sp.symbols("a1:4", positive=True), sp.symbols("b1:4", positive=True)
    mixed = sum(b[i] * a[(i + 1) % 3] * a[(i + 2) % 3] for i in range(3)) / 3
    mean = sum(b[i] / a[i] for i in range(3)) / parts
    holds = same(mixed / (a[0] * a[1] * a[2]), mean)
    return Step("the ratio", holds, "all masses, three steps")


def adaptive_runs_are_dominated(*, in_both: bool = False) -> Step:
    """Two steps, the second chosen by the outcome of the first, by `dominates` in both orders."""
    strong = FinitePair(
        left=[Fraction(2, 3), Fraction(1, 3)], right=[Fraction(1, 3), Fraction(2, 3)]
    )
    weak = [pair for pair in rational_pairs(2, 5) if isinstance(dominates(strong, pair), Dominates)]
    bound = _allocated(strong, [strong, strong], in_both=False)
    holds, count = VACUOUS, 0
    for first, one, two in product(weak, repeat=3):
        made = _allocated(first, [one, two], in_both=in_both)
        holds &= dominated(bound, made)
        holds &= dominated(bound.reversed, made.reversed)
        count += 1
        if not holds.holds:
            break
    return Step("adaptive runs", holds & below(100, count), f"{count} runs of two steps")


def _allocated(first: FinitePair, then: list[FinitePair], *, in_both: bool) -> FinitePair:
    """Half with the record in the first step and half with it in the second; or in both."""
    left, right = [], []
    for (p, q), following in zip(first.masses(), then, strict=True):
        for b, a in following.masses():
            left.append(p * b if in_both else _HALF * (p * a + q * b))
            right.append(q * a)
    return FinitePair(left=left, right=right)


def splits_raise_and_merges_lower(sign: int = 1) -> Step:
    """(m − x)₊ ≤ λ·(a − x)₊ + (1−λ)·(b − x)₊ at m = λ·a + (1−λ)·b, on a grid of rationals."""
    numbers = [Fraction(k, 4) for k in range(13)]
    holds, count = VACUOUS, 0
    for (a, b), share, x in product(combinations(numbers, 2), numbers[:5], numbers):
        mean = share * a + (1 - share) * b
        chord = share * _over(a, x) + (1 - share) * _over(b, x)
        holds &= at_most(0, sign * (chord - _over(mean, x)))
        count += 1
    return Step("splits and merges", holds, f"{count} masses")


def _over(value: Fraction, x: Fraction) -> Fraction:
    return max(value - x, Fraction(0))


def sums_keep_the_order(*, exchanged: bool = False) -> Step:
    """Ratios of weaker and stronger pairs, added to a third: profiles at all values, in rationals."""
    laws = rational_laws(3, 4)
    values = [Fraction(0), Fraction(1), Fraction(2)]
    holds, count = VACUOUS, 0
    for small, large, other in product(laws, laws, laws[::2]):
        weaker, stronger, added = (
            dict(zip(values, law, strict=True)) for law in (small, large, other)
        )
        if not _is_below(weaker, stronger).holds:
            continue
        low, high = (_sum(side, added) for side in (weaker, stronger))
        holds &= _is_below(high, low) if exchanged else _is_below(low, high)
        count += small != large
        if not holds.holds:
            break
    return Step("sums", holds & below(50, count), f"{count} pairs of ratios")


def _is_below(weak: Masses, strong: Masses) -> Check:
    """Equal means, and E(R − x)₊ no larger at any kink."""

    def over(law: Masses, x: Fraction) -> Fraction:
        return sum((mass * _over(value, x) for value, mass in law.items()), Fraction(0))

    kinks = [Fraction(0), *weak, *strong]
    return equal(over(weak, Fraction(0)), over(strong, Fraction(0))) & every(
        at_most(over(weak, x), over(strong, x)) for x in kinks
    )


def _sum(first: Masses, second: Masses) -> Masses:
    found: Masses = {}
    for (a, p), (b, q) in product(first.items(), second.items()):
        found[a + b] = found.get(a + b, Fraction(0)) + p * q
    return found


def cuts_make_all_sets_equally_likely(steps: int = 5) -> Step:
    """The mean over cuts into blocks of 2 and 3 of (Σ over one)·(Σ over the other)/6 is e₂/C(5, 2)."""
    y = sp.symbols(f"y0:{steps}", positive=True)
    cuts = list(combinations(range(steps), 2))
    total = sp.Integer(0)
    for block in cuts:
        rest = [i for i in range(steps) if i not in block]
        total += sum(y[i] for i in block) * sum(y[i] for i in rest) / (2 * 3)
    symmetric = sum(y[i] * y[j] for i, j in combinations(range(5), 2)) if steps >= 5 else y[0]
    holds = same(total / len(cuts), symmetric / 10)
    return Step("random cuts", holds, "all ratios, 2 of 5 steps")


def several_steps_lie_between(factor: float = 1.0) -> Step:
    """Both of two steps is the mechanism twice: `AllocationPair` holds N(√2) against N(0) between its ends."""
    holds, count = VACUOUS, 0
    truth = GaussianPair(Fraction(2))
    with ctx.workprec(128):
        pair = AllocationPair(GaussianPair(Fraction(1)), 2, 2)
        for epsilon, side in product((0.0, 0.25, 1.0), (pair, pair.reversed)):
            exact = truth.profile_ball(ball(epsilon)) * factor
            low, high = (
                side.lower.profile_ball(ball(epsilon)),
                side.upper.profile_ball(ball(epsilon)),
            )
            holds &= at_most(low.lower(), exact) & at_most(exact, high.upper())
            holds &= below(high.upper() - low.lower(), 1e-3)
            count += 1
    return Step("`AllocationPair`, both steps", holds, f"{count} points")


def the_library_brackets_one_step(factor: float = 1.0) -> Step:
    """`AllocationPair.lower` and `.upper` at t = 1 against the closed forms of the noise."""
    holds, count = VACUOUS, 0
    pairs: tuple[GaussianPair | LaplacePair, ...] = (
        GaussianPair(Fraction(1)),
        LaplacePair(scale=1.0, sensitivity=1.5),
    )
    with ctx.workprec(128):
        for base, epsilon in product(pairs, (0.0, 0.25, 1.0)):
            pair = AllocationPair(base, 1)
            for side in (pair, pair.reversed):
                truth = base.profile_ball(ball(epsilon)) * factor
                low, high = (end.profile_ball(ball(epsilon)) for end in (side.lower, side.upper))
                holds &= at_most(low.lower(), truth) & at_most(truth, high.upper())
                holds &= below(high.upper() - low.lower(), 1e-3)
                count += 1
    return Step("`AllocationPair`", holds, f"{count} points")


PROOF = Proof(
    theorem=RANDOM_ALLOCATION,
    clauses=(
        Clause(
            (
                "If (P, Q) dominates each of t steps when a record is removed, whatever was seen before, then "
                "the mean over i of the products with P in place i and Q elsewhere, against the product of Q "
                "alone, dominates t steps of which the record takes part in one, drawn at random; the "
                "exchanged pair when a record is added."
            ),
            by=(the_ratio_is_a_mean, adaptive_runs_are_dominated),
            argued=(
                "that one kernel a step, chosen by the history, makes the run out of the product: a "
                "post-processing"
            ),
        ),
        Clause(
            (
                "Its ratio is the mean of t independent ratios of one step: splitting their masses around "
                "their mean bounds it from above, merging them from below."
            ),
            by=(the_ratio_is_a_mean, splits_raise_and_merges_lower, sums_keep_the_order),
            argued=(
                "that domination is the convex order of ratios, which sums and means of independent variables "
                "keep"
            ),
        ),
        Clause(
            (
                "For k steps a record, the product of k such pairs, over blocks of steps that add up to t, "
                "dominates."
            ),
            by=(cuts_make_all_sets_equally_likely,),
            argued=(
                "that a random cut into blocks makes all sets of k steps equally likely, for every k and t, "
                "and convexity"
            ),
        ),
    ),
    library=(the_library_brackets_one_step, several_steps_lie_between),
    uses=(BLACKWELL, POST_PROCESSING, EXACT_PROFILE),
    mutations={
        "a mean of two": lambda: the_ratio_is_a_mean(parts=2),
        "the record in both steps": lambda: adaptive_runs_are_dominated(in_both=True),
        "merging raises": lambda: splits_raise_and_merges_lower(sign=-1),
        "sums turn the order around": lambda: sums_keep_the_order(exchanged=True),
        "one step more to cut": lambda: cuts_make_all_sets_equally_likely(steps=6),
        "a tenth more": lambda: the_library_brackets_one_step(factor=1.1),
        "a tenth more, twice": lambda: several_steps_lie_between(factor=1.1),
    },
)
