"""What is learnable on a finite universe is learnable privately, with a number of records that grows with the logarithm of its size.

Let 𝓗 be a class of functions from a universe of N points to {0, 1}, each counted once.

*Learnable ⇒ a small dimension.* Let S be a set of D points on which 𝓗 takes all 2^D labelings, the records uniform on S and their labels those of
a random one of these. After m records a learner knows at most m labels, and errs with probability 1/2 at each other point of S; so it errs on average with
probability at least (1 − m/D)/2. One that errs by at most α₀ with probability at least 1 − β₀ errs on average by at most α₀ + β₀. So D ≤ m/(1 − 2(α₀ + β₀)).

*A small dimension ⇒ few functions.* There are no more functions than sets on which all labelings occur (Pajor): split 𝓗 at one point into the functions that
occur there with some label, A, and those that occur with both, B, as classes on the N − 1 other points; |𝓗| = |A| + |B|, and every set that B shatters is
shattered by 𝓗 with that point as well. Sets of at most D of N points are at most (N + 1)^D: each is the image of a list of D of them or "none".

*Few functions ⇒ private learning.* Choose h with probability ∝ e^(−ε·errors(h)/2): replacing one record moves errors by at most 1, so this is ε-DP; and those with
t more errors than the best have together at most |𝓗|·e^(−εt/2) of its weight. With t = αn/3 that is β/3 for n ≥ 6·ln(3|𝓗|/β)/(εα); and
for n ≥ 9·ln(3|𝓗|/β)/(2α²), with probability at least 1 − 2β/3, no function's error exceeds its share of errors by α/3, and the share of errors of the best
function does not exceed its error by α/3 (uniform-convergence). Three times α/3 is α.

Records are counted, not time: the mechanism visits all of 𝓗.
"""

from fractions import Fraction
from itertools import chain, combinations, pairwise, product

import numpy as np
import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.mechanisms import ExponentialMechanism
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step, Theorem
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same
from proofs.uniform_convergence import UNIFORM_CONVERGENCE

PRIVATE_LEARNING = Theorem(
    name="private-learning",
    statement=(
        "If some algorithm learns a class of functions from N points to {0, 1} from m records, up to an error α₀ with probability 1 − β₀, α₀ + β₀ < 1/2, "
        "whatever the distribution of the records, then the class has at most (N + 1)^D members, D = m/(1 − 2(α₀ + β₀)); and choosing a member with "
        "probability ∝ e^(−ε·errors/2) is ε-DP when one record is replaced and, from n ≥ (D·ln(N + 1) + ln(3/β))·max(6/(εα), 9/(2α²)) independent records, whatever "
        "their labels, errs by at most α more than the best member, with probability at least 1 − β."
    ),
    source=(
        "Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, SIAM J. Comput. 40, 2011, Sec. 3 (arXiv 0803.0924); "
        "lecture on machine learning with DP, Thm 4.1"
    ),
    proof="proofs/private_learning.py",
)
Labels = tuple[int, ...]


def nobody_learns_what_is_shattered(least: Fraction = Fraction(1, 2)) -> Step:
    """The best learner's mean error over all labelings of D points, after every list of m of them: ≥ (1 − m/D)/2, by enumeration."""
    holds, count = VACUOUS, 0
    for d, m in product(range(1, 5), range(3)):
        labelings = list(product((0, 1), repeat=d))
        total = Fraction(0)
        for seen in product(range(d), repeat=m):
            groups: dict[Labels, list[Labels]] = {}
            for labels in labelings:
                groups.setdefault(tuple(labels[i] for i in seen), []).append(labels)
            for group in groups.values():  # what the learner cannot tell apart
                for point in range(d):
                    ones = sum(labels[point] for labels in group)
                    total += min(ones, len(group) - ones)  # the best guess at this point
        mean = total / (len(labelings) * d**m * d)
        holds &= at_most(least * (1 - Fraction(m, d)), mean)
        count += 1
    return Step("what is shattered", holds, f"all learners, {count} pairs of D ≤ 4 and m ≤ 2")


def the_dimension_is_small(two: int = 2) -> Step:
    """(1 − m/D)/2 ≤ a at D = m/(1 − 2a), with equality; at (1 + t) times it, (1 − m/D)/2 − a = (1 − 2a)·t/(2(1 + t)) > 0."""
    m, a, more = sp.symbols("m a more", positive=True)
    limit = m / (1 - two * a)
    holds = same((1 - m / limit) / 2, a)
    beyond = limit * (1 + more)
    holds &= same((1 - m / beyond) / 2 - a, (1 - 2 * a) * more / (2 * (1 + more)))
    return Step("D ≤ m/(1 − 2a)", holds, "all m, a = α₀ + β₀ < 1/2")


def _shattered(members: frozenset[Labels], points: int) -> list[tuple[int, ...]]:
    """The sets on which all labelings occur."""
    sets = chain.from_iterable(combinations(range(points), size) for size in range(points + 1))
    return [
        some for some in sets if len({tuple(h[i] for i in some) for h in members}) == 2 ** len(some)
    ]


def no_more_members_than_shattered_sets(short: int = 0) -> Step:
    """|𝓗| ≤ the number of shattered sets, for all 255 classes on three points; and |𝓗| = |A| + |B| at every point."""
    functions = list(product((0, 1), repeat=3))
    holds, count = VACUOUS, 0
    for chosen in range(1, 2 ** len(functions)):
        members = frozenset(h for i, h in enumerate(functions) if chosen >> i & 1)
        sets = _shattered(members, 3)
        dimension = max(map(len, sets))
        holds &= at_most(len(members), len(sets) - short)
        holds &= at_most(len(members), 4**dimension)  # (N + 1)^D
        cut = [h[1:] for h in members]
        holds &= equal(len(members), len(set(cut)) + sum(cut.count(h) == 2 for h in set(cut)))
        both = frozenset(h for h in cut if cut.count(h) == 2)
        with_it = {tuple(i + 1 for i in some) for some in _shattered(both, 2)} if both else set()
        holds &= equal({some for some in with_it if (0, *some) not in sets}, set())
        count += 1
    return Step("members and shattered sets", holds, f"all {count} classes on three points")


def sets_are_lists(more: int = 1) -> Step:
    """Σ C(N, i) over i ≤ D is at most (N + 1)^D, for all D ≤ N ≤ 30."""
    holds, count = VACUOUS, 0
    for n in range(1, 31):
        for d in range(1, n + 1):
            sets = sum(int(sp.binomial(n, i)) for i in range(d + 1))
            holds &= at_most(sets, (n + more) ** d)
            count += 1
    return Step("sets and lists", holds, f"{count} pairs of N and D")


def enough_records(six: int = 6) -> Step:
    """|𝓗|·e^(−ε·αn/6) = β/3 at n = 6·ln(3|𝓗|/β)/(εα); |𝓗|·e^(−2n(α/3)²) = β/3 at n = 9·ln(3|𝓗|/β)/(2α²); α/3 thrice is α."""
    size, alpha, beta, epsilon = sp.symbols("H alpha beta epsilon", positive=True)
    n = six * sp.log(3 * size / beta) / (epsilon * alpha)
    holds = same(size * sp.exp(-epsilon * (alpha * n / 3) / 2), beta / 3)
    n = 9 * sp.log(3 * size / beta) / (2 * alpha**2)
    holds &= same(size * sp.exp(-2 * n * (alpha / 3) ** 2), beta / 3)
    true_h, seen_h, seen_best, true_best = sp.symbols(
        "true_h seen_h seen_best true_best", real=True
    )
    gaps = (true_h - seen_h) + (seen_h - seen_best) + (seen_best - true_best)
    holds &= same(gaps, true_h - true_best)
    points, dimension = sp.symbols("N D", positive=True)
    holds &= same(
        sp.expand_log(sp.log(3 * (points + 1) ** dimension / beta)),
        sp.expand_log(dimension * sp.log(points + 1) + sp.log(3 / beta)),
    )
    return Step("enough records", holds, "all α, β, ε, N, D")


def bad_members_weigh_little(power: Fraction = Fraction(1)) -> Step:
    """Σ over errors ≥ best + t of r^errors ≤ |𝓗|·r^t·Σ of all, r = e^(−ε/2) = 1/2, for all errors 0 … 3 of four members."""
    ratio, holds, count = Fraction(1, 2), VACUOUS, 0
    for errors in product(range(4), repeat=4):
        weights = [ratio**e for e in errors]
        for t in range(1, 4):
            bad = sum(
                (w for w, e in zip(weights, errors, strict=True) if e >= min(errors) + t),
                Fraction(0),
            )
            holds &= at_most(bad / sum(weights), len(errors) * power * ratio**t)
            count += 1
    return Step("bad members", holds, f"{count} classes and thresholds")


def the_library_learns(times: int = 1) -> Step:
    """`ExponentialMechanism` on thresholds over 8 points, 30 of 200 labels wrong: P(excess > α/3) ≤ β/3 at ε = 2, certified."""
    holds, count = VACUOUS, 0
    points, records, epsilon = 8, 200, 2.0
    labels = [
        (i % points, int(i % points >= 5) ^ int(i % 20 in {3, 7, 11})) for i in range(records)
    ]
    errors = [sum(int(x >= cut) != y for x, y in labels) for cut in range(points + 1)]
    pick = ExponentialMechanism(epsilon=epsilon, score_sensitivity=1.0)
    with ctx.workprec(128):
        cuts = pick._cut_balls(np.array([-float(e) for e in errors]))  # noqa: SLF001  # the law that draws are made from
        edges = [arb(0), *cuts, arb(1)]
        masses = [b - a for a, b in pairwise(edges)]
        for excess in (5, 10, 20):
            bad = sum(
                (mass for mass, e in zip(masses, errors, strict=True) if e >= min(errors) + excess),
                arb(0),
            )
            bound = len(errors) * (-ball(epsilon) * excess * times / 2).exp()
            holds &= at_most(bad, bound)
            count += 1
    return Step("`ExponentialMechanism` learns", holds, f"{count} thresholds")


PROOF = Proof(
    theorem=PRIVATE_LEARNING,
    clauses=(
        Clause(
            "If some algorithm learns a class of functions from N points to {0, 1} from m records, up to an error α₀ with probability 1 − β₀, α₀ + β₀ < 1/2, whatever the distribution of the records, then the class has at most (N + 1)^D members, D = m/(1 − 2(α₀ + β₀));",
            by=(
                nobody_learns_what_is_shattered,
                the_dimension_is_small,
                no_more_members_than_shattered_sets,
                sets_are_lists,
            ),
            argued=(
                "that labels of points not seen are fair coins, for every D and m; that an error is at most 1, so that its mean is at most α₀ + β₀; induction on N for the "
                "shattered sets; that every set of at most D points is the image of a list; (N + 1)^D grows with D"
            ),
        ),
        Clause(
            "and choosing a member with probability ∝ e^(−ε·errors/2) is ε-DP when one record is replaced",
            argued="the number of errors has sensitivity 1 (exponential-mechanism)",
        ),
        Clause(
            "and, from n ≥ (D·ln(N + 1) + ln(3/β))·max(6/(εα), 9/(2α²)) independent records, whatever their labels, errs by at most α more than the best member, with probability at least 1 − β.",
            by=(enough_records, bad_members_weigh_little),
            argued="that the best member has a weight of at most all; uniform-convergence for the class, and for one loss on the other side; the union of three events",
        ),
    ),
    library=(the_library_learns,),
    uses=(EXPONENTIAL_MECHANISM, UNIFORM_CONVERGENCE),
    mutations={
        "errors on all points": lambda: nobody_learns_what_is_shattered(Fraction(3, 5)),
        "1 − 3a": lambda: the_dimension_is_small(two=3),
        "one member less": lambda: no_more_members_than_shattered_sets(short=1),
        "N^D": lambda: sets_are_lists(more=0),
        "a fifth less": lambda: enough_records(six=5),
        "a tenth of the weight": lambda: bad_members_weigh_little(Fraction(1, 10)),
        "twice the ε": lambda: the_library_learns(times=2),
    },
)
