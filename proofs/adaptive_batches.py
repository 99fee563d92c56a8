"""Batches of a fixed size, step by step: a game over the running loss, played among triangles.

*One step.* The batch holds the odd record with probability q, and then any m−1 of the others; else any
m of the others, which are as many as any m−1 and one more. Tell the m−1 and the one: what is left is
(1−q)·N(u) + q·N(v) against (1−q)·N(u) + q·N(w), where u, v and w are the answers on batches that differ
in one record. Their distances are at most Δ, and only these matter.

*Which triangles.* Under N(u) the densities X and Y of N(v) and N(w) are lognormal with covariances A, B
and C of their logarithms. With R = 1−q+qX, S = 1−q+qY and F convex, E[R·F(x·S/R)] has the derivatives
½E[X²·g_XX], ½E[Y²·g_YY] and E[XY·g_XY] in A, B and C, g = R·F(x·S/R). So |v−w| = Δ at worst, and along
C = (A+B−Δ²)/2 the profile at x ≥ 1 rises in A and falls in B; for x ≤ 1 the other way round.

*Many steps.* With f_h the profile of what follows after h, the profile of all is Σ_h p·f_h(x·q/p). So
the largest one over all ways to choose is V_k, from V_{j−1} by the best choice at every x. V is convex,
and for convex V the value Σ p·V(x·q/p) is a mean of profiles with non-negative weights: a pair that is
dominated by a mixture is worth no more than some member of it.
"""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import sympy as sp

from dpverify.accounting.adaptive.cover import Triangles
from dpverify.accounting.adaptive.lattice import Board, Lattice, from_profile
from dpverify.accounting.adaptive.triangles import Triangle
from dpverify.guarantees import End
from dpverify.pairs import FinitePair
from dpverify.theorems import ADAPTIVE_BATCHES, EXACT_PROFILE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.fourier_rounding import FOURIER_ROUNDING
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import joint
from proofs.support.symbolic import nonnegative, same


def the_batch_that_is_told(extra: int = 0) -> Step:
    """Drawing m−1 of the others and one more, then the odd record or that one: all batches alike."""
    holds, count = VACUOUS, 0
    for population in range(2, 7):
        for batch in range(1, population):
            others, rate = range(population - 1), Fraction(batch + extra, population)
            chances: dict[frozenset[int], Fraction] = {}
            told = [
                (rest, one)
                for rest in combinations(others, batch - 1)
                for one in others
                if one not in rest
            ]
            for rest, one in told:
                for member, share in ((one, 1 - rate), (population - 1, rate)):
                    drawn = frozenset((*rest, member))
                    chances[drawn] = chances.get(drawn, Fraction(0)) + share / len(told)
            holds &= equal(len(set(chances.values())), 1)
            count += 1
    return Step("the batch that is told", holds, f"{count} sizes")


def lognormal_derivatives(half: Fraction = Fraction(1, 2)) -> Step:
    """∂/∂A E[g] = ½E[X²·g_XX] and so on, for all products of powers: and so for what they generate."""
    m, n, a, b, c = sp.symbols("m n A B C")
    x, y = sp.symbols("X Y", positive=True)
    mean = sp.exp((m * (m - 1) * a + n * (n - 1) * b) / 2 + m * n * c)
    g = x**m * y**n
    holds = every(
        same(sp.diff(mean, by) / mean, weight * moved / g)
        for by, weight, moved in (
            (a, half, x**2 * sp.diff(g, x, 2)),
            (b, half, y**2 * sp.diff(g, y, 2)),
            (c, 1, x * y * sp.diff(g, x, y)),
        )
    )
    return Step("lognormal derivatives", holds, "all powers of X and Y")


def derivatives_have_signs(sign: int = 1) -> Step:
    """In A and B it rises, in C it falls; along the surface as the sign of X − Y says.

    F enters by its second-order expansion around t = x·S/R: what g_XX, g_YY and g_XY are at that point.
    """
    one, other, x, q, t = sp.symbols("X Y x q t", positive=True)
    r, s = 1 - q + q * one, 1 - q + q * other
    flat, slope, bend = sp.symbols("F0 F1 F2")
    off = x * s / r - t
    g = r * (flat + slope * off + bend * off**2 / 2)

    def moment(first: sp.Symbol, second: sp.Symbol) -> sp.Expr:
        """Over F″, which is all that is left."""
        return sp.cancel(first * second * sp.diff(g, first, second).subs(t, x * s / r) / bend)

    in_a, in_b, in_c = moment(one, one), moment(other, other), moment(one, other)
    u, v = sp.symbols("u v", positive=True)
    holds = every(
        nonnegative(term.subs(q, u / (u + v)), (one, other, x, u, v))
        for term in (in_a, in_b, -sign * in_c)
    )
    # dC/dA = dC/dB = ½ on the surface, so that ∂/∂A is half of X²g_XX + XY·g_XY.
    front = sign * (1 - q) * (q * x) ** 2
    holds &= same(in_a + in_c, front * one * s * (one - other) / r**3, by=sp.cancel)
    holds &= same(in_b + in_c, front * other * (other - one) / r**2, by=sp.cancel)
    name = "signs of the derivatives"
    return Step(name, holds, "all q, x, X and Y")


def best_play(pairs: list[FinitePair], x: Fraction, steps: int) -> Fraction:
    """V_k(x), by its recursion."""
    if steps == 0:
        return max(1 - x, Fraction(0))
    return max(
        sum(
            (p * best_play(pairs, x * q / p, steps - 1) for p, q in pair.masses() if p), Fraction(0)
        )
        for pair in pairs
    )


def the_game_is_the_best_tree(steps: int = 2) -> Step:
    """V₂ is the largest profile of all trees: a first pair, and one for each of its outcomes."""
    thirds = [Fraction(1, 3), Fraction(2, 3)]
    pairs = [
        FinitePair(left=thirds, right=thirds[::-1]),
        FinitePair(left=[Fraction(1, 2)] * 2, right=[Fraction(1, 5), Fraction(4, 5)]),
        FinitePair(left=[Fraction(1, 6), Fraction(5, 6)], right=[Fraction(1, 3), Fraction(2, 3)]),
    ]
    trees = [joint(first, [*rest]) for first in pairs for rest in product(pairs, repeat=2)]
    holds = every(
        equal(best_play(pairs, x, steps), max(tree.delta_at_ratio(x) for tree in trees))
        for x in (Fraction(n, 8) for n in range(2, 33))
    )
    name = "the game is the best tree"
    return Step(name, holds, f"{len(trees)} trees of two rounds, 31 ratios")


def mixtures_are_no_better(shared: Fraction = Fraction(1)) -> Step:
    """Choosing also a pair that a mixture of the others dominates changes nothing, in three steps."""
    strong = [
        FinitePair.leaky_response(Fraction(3), Fraction(0)),
        FinitePair(left=[1, 0, 0], right=[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]),
    ]
    holds, count = VACUOUS, 0
    for weight in (Fraction(1, 3), Fraction(1, 2)):
        kept = (weight * shared, (1 - weight) * shared)
        masses = [
            (share * p, share * q)
            for pair, share in zip(strong, kept, strict=True)
            for p, q in pair.masses()
        ]
        if shared != 1:  # what is left gives the side away
            masses += [(1 - shared, Fraction(0)), (Fraction(0), 1 - shared)]
        mixture = FinitePair(left=[p for p, _ in masses], right=[q for _, q in masses])
        for x in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4)):
            alone = best_play(strong, x, 3)
            holds &= equal(best_play([*strong, mixture], x, 3), alone)
            count += 1
    return Step("mixtures are no better", holds, f"{count} games of three steps")


def the_library_plays(raised: float = 1.0) -> Step:
    """`Board.play` on two pairs with losses 0 and ±ln 2, against the game in fractions."""
    lattice = Lattice(float(np.log(2.0)), np.array([0, 1]))
    pairs = [
        FinitePair(left=[Fraction(1, 3), Fraction(2, 3)], right=[Fraction(2, 3), Fraction(1, 3)]),
        FinitePair(
            left=[Fraction(1, 8), Fraction(5, 8), Fraction(1, 4)],
            right=[Fraction(1, 4), Fraction(5, 8), Fraction(1, 8)],
        ),
    ]
    board, holds = Board(lattice.step, -12, 12, 0.5), VACUOUS
    played = []
    for end in (End.LOWER, End.UPPER):
        on_lattice = []
        for pair in pairs:
            calls, puts = (
                np.array([float(side.delta_at_ratio(Fraction(n))) for n in (1, 2)])
                for side in (pair, pair.reversed)
            )
            on_lattice.append(from_profile(lattice, calls, puts, end))
        played.append(board.play(on_lattice, 4, end))
    lower, upper = played
    for i in range(5):
        truth = best_play(pairs, Fraction(2) ** i, 4)
        holds &= at_most(float(lower[i]) * raised, truth) & at_most(truth, float(upper[i]))
        holds &= at_most(float(upper[i] - lower[i]), 1e-9)
    return Step("`Board.play`", holds, "four steps, five ratios")


def the_library_covers(size: float = 1.0) -> Step:
    """Profiles of 40 random triangles are nowhere above the largest of the choices.

    The choices are those of `Triangles.cover`; each profile is bounded from below by events.
    """
    rng = np.random.default_rng(7)
    lattice = Lattice.reaching(0.01, 1.0)
    choices = Triangles(lattice, 1.0, 0.05, 1e-4).cover()
    most = np.max([np.concatenate([pair.calls, pair.puts]) for pair in choices], axis=0)
    holds = VACUOUS
    for _ in range(40):
        first, second = rng.uniform(size=2)
        if np.sqrt(first) + np.sqrt(second) < 1.0:
            continue
        halves = []
        for a, b in ((first, second), (second, first)):
            left, right = Triangle(a, b, size).calls(lattice.ratios, 0.05, End.LOWER)
            halves.append(left - lattice.ratios * right)
        holds &= at_most(float((np.concatenate(halves) - most).max()), 0.0)
    return Step("`Triangles.cover`", holds, "random triangles")


PROOF = Proof(
    theorem=ADAPTIVE_BATCHES,
    clauses=(
        Clause(
            (
                "Gaussian noise on batches of a fixed size, in k steps that may each depend on all outputs so "
                "far, has a profile of at most V_k, where V₀(x) = (1−x)₊ and V_j(x) is the largest "
                "E_P[V_{j−1}(x·dQ/dP)] over pairs whose mixtures dominate ((1−q)·N(u) + q·N(v), (1−q)·N(u) + "
                "q·N(w)) for all triangles u, v, w with sides of at most the sensitivity;"
            ),
            by=(
                the_batch_that_is_told,
                lognormal_derivatives,
                derivatives_have_signs,
                the_game_is_the_best_tree,
                mixtures_are_no_better,
            ),
            argued=(
                "that telling the batch but for one record only helps; that the derivatives are those of every "
                "smooth F, by parts against the normal density, and of convex F as their limits; that V is convex and a convex value of a mixture is at "
                "most that of a member"
            ),
        ),
        Clause(
            "and of at least V_k over some of these.",
            by=(the_game_is_the_best_tree,),
            argued="that every choice among the triangles is one that a mechanism can make",
        ),
    ),
    library=(the_library_plays, the_library_covers),
    uses=(EXACT_PROFILE, ADAPTIVE_DOMINATION, FOURIER_ROUNDING),
    mutations={
        "one more in the batch": lambda: the_batch_that_is_told(extra=1),
        "without the ½": lambda: lognormal_derivatives(half=Fraction(1)),
        "the other sign": lambda: derivatives_have_signs(sign=-1),
        "one step more": lambda: the_game_is_the_best_tree(steps=3),
        "mixed with what tells more": lambda: mixtures_are_no_better(Fraction(1, 2)),
        "a lower end that is 1 % too high": lambda: the_library_plays(1.01),
        "larger triangles": lambda: the_library_covers(size=2.0),
    },
)
