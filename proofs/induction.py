"""Alignments of single steps make an alignment of runs of every length.

Two runs on neighbors go through places. At a place v the right run's numbers are the left run's
plus gaps g(v), and b(v) of the budget is left; both are functions of how the neighbors differ. A
step from v on a path A of the left run translates its own fresh noise by s, and then

1. the right run decides as the left run does wherever noise comes in, and tells the same;
2. at the next place w its numbers are apart by g(w);
3. cost(s) + b(w) ≤ b(v), and at the end cost(s) ≤ b(v).

By induction on the steps, the right run on translated noise follows the left run to the end: its
whole path is the left run's, so that different left paths have disjoint images; the output is the
same; and costs telescope, Σ cost ≤ Σ (b(v) − b(w)) ≤ b(first) = ε, however many steps there are.
So the whole translation is one to which the theorem on alignments applies.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.theorems import ALIGNMENT, INDUCTION, Step
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def costs_telescope(spent: int = 1) -> Step:
    """Σ (b_k − b_(k+1)) over n steps, and what is left at the end, is b_0: by induction on n."""
    n = sp.symbols("n", integer=True, nonnegative=True)
    b, total = sp.Function("b"), sp.Function("T")  # T(n): all costs of n steps and b(n)
    step = total(n) - b(n) + (b(n) - spent * b(n + 1)) + b(n + 1)  # T(n + 1)
    holds = same(step, total(n))
    return Step("costs telescope", holds, "T(n + 1) = T(n), and T(0) = b(0)")


def a_loop_costs_its_ends(miss: Fraction = Fraction(0)) -> Step:
    """Sparse vector: bar +1 at 1/2, misses at 0, one hit of 2 at 1/4: ε = 1 for every length.

    A miss that cost anything at all would exceed every budget at some length.
    """
    bar, hit = Fraction(1, 2), Fraction(2, 4)
    worst = max(bar + length * miss + hit for length in range(200))
    return Step("a loop costs its ends", at_most(worst, 1), "200 lengths")


def steps_give_the_same_output(bar_moves: int = 1) -> Step:
    """Whole noise, answers moved by −1, 0 or 1: the translated run tells what the other one told.

    Above threshold on up to three answers, all noises from a grid: the bar moves by 1, the noise of
    the hit by 1 − d, and no other; gaps are 1 for the bar at every place.
    """
    held = VACUOUS
    count = 0
    for length in range(1, 4):
        grid = product((-1, 0, 1), repeat=2 * length + 1)
        for bar, *rest in grid:
            noise, moves = rest[:length], rest[length:]
            out = _above(bar, noise, (0,) * length)
            shifted = [
                z + (bar_moves - d if i == out else 0)
                for i, (z, d) in enumerate(zip(noise, moves, strict=True))
            ]
            held &= equal(_above(bar + bar_moves, shifted, tuple(moves)), out)
            count += 1
    return Step("steps give the same output", held, f"{count} runs")


def images_stay_apart(*, by_path: bool = True) -> Step:
    """Runs whose outputs differ land in different noise: the path on the right tells them apart.

    With one answer moved from 0 to 1: pairs of translated noises are all different. Were every
    noise moved at a miss or hit as its own record likes, two runs would land on the same noise.
    """
    seen: set[tuple[int, ...]] = set()
    total = 0
    for bar, first, second in product(range(-3, 4), repeat=3):
        out = _above(bar, [first, second], (0, 0))
        moves = (1, -1)
        shift = [1 - d if i == out else 0 for i, d in enumerate(moves)]
        if not by_path:
            shift = [-first, 0]
        seen.add((bar + 1, first + shift[0], second + shift[1]))
        total += 1
    return Step("images stay apart", equal(len(seen), total), f"{total} runs")


def _above(bar: int, noise: list[int], answers: tuple[int, ...]) -> int:
    """The first answer that reaches the bar with its noise, or −1."""
    hits = (i for i, (z, a) in enumerate(zip(noise, answers, strict=True)) if a + z >= bar)
    return next(hits, -1)


PROOF = Proof(
    theorem=INDUCTION,
    clauses=(
        Clause(
            (
                "Take two runs step by step. If at every place the translated noise takes the neighbor's "
                "run the same way, to numbers that are apart as the next place says, what a step costs is "
                "no more than its place has left beyond the next one, and what is left at the end is not "
                "below 0, then runs of every length are aligned, at the cost that the first place has."
            ),
            by=(
                costs_telescope,
                a_loop_costs_its_ends,
                steps_give_the_same_output,
                images_stay_apart,
            ),
            argued=(
                "induction on the steps: the right run on translated noise takes the same way, so that "
                "different left paths have disjoint images, and alignment applies; costs telescope to "
                "what the first place has less what is left at the end, which is not below 0"
            ),
        ),
    ),
    uses=(ALIGNMENT,),
    mutations={
        "steps are paid twice": lambda: costs_telescope(spent=2),
        "a miss costs a little": lambda: a_loop_costs_its_ends(miss=Fraction(1, 100)),
        "the bar stays": lambda: steps_give_the_same_output(bar_moves=0),
        "noise is moved by its own value": lambda: images_stay_apart(by_path=False),
    },
)
