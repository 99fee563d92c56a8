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
from proofs.support.symbolic import nonnegative, same


def one_more_step(spent: int = 1) -> Step:
    """If n steps cost at most b_0 − b_n, and the next at most b_n − b_(n+1), then n + 1 steps cost at most b_0 − b_(n+1)."""
    start, here, there = sp.symbols("b_0 b_n b_next", real=True)
    spare, unused = sp.symbols("spare unused", nonnegative=True)  # what either bound leaves over
    before = start - here - spare
    cost = here - spent * there - unused
    left_over = start - there - (before + cost)
    holds = same(left_over, spare + unused) & nonnegative(spare + unused, (spare, unused))
    return Step("one more step", holds, "all costs and budgets")


def no_path_costs_more_than_its_start(end: int = 0) -> Step:
    """Three places with budgets 0 … 3 each, all ways of at most five steps, every step at its dearest: never above the first budget."""
    holds, count = VACUOUS, 0
    for budgets in product(range(4), repeat=3):
        for steps in range(1, 6):
            for way in product(range(3), repeat=steps):
                left = [budgets[place] for place in way]
                costs = [a - b for a, b in zip(left, [*left[1:], end], strict=True)]
                if min(costs) >= 0:  # a step that would need a negative cost is not allowed
                    holds &= at_most(sum(costs), left[0])
                    count += 1
    return Step("every way", holds, f"{count} budgets and ways")


def a_loop_costs_its_ends(miss: int = 0) -> Step:
    """Above threshold: bar +1 at scale 2, the hit's noise by 1 − d ≤ 2 at scale 4, misses by 0: what each run's translation costs.

    No run costs more than 1, and some run of every length costs 1. A miss that moved its noise would cost more the longer it goes.
    """
    holds, count = VACUOUS, 0
    for length in range(1, 4):
        dearest = Fraction(0)
        for bar, *rest in product((-1, 0, 1), repeat=2 * length + 1):
            noise, moves = rest[:length], rest[length:]
            out = _above(bar, noise, (0,) * length)
            last = length if out < 0 else out
            shifts = [miss] * last + ([1 - moves[out]] if out >= 0 else [])
            cost = Fraction(1, 2) + Fraction(sum(map(abs, shifts)), 4)
            holds &= at_most(cost, 1)
            dearest = max(dearest, cost)
            count += 1
        holds &= equal(dearest, 1)
    return Step("a loop costs its ends", holds, f"{count} runs")


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
                "Take two runs step by step. If at every place the noise, translated by shifts that are "
                "fixed on the step's path, upwards where it is one-sided and whole where it is whole, takes "
                "the neighbor's run the same way, to numbers that are apart as the next place says, what a "
                "step costs is no more than its place has left beyond the next one, and what is left at the "
                "end is not below 0, then runs of every length are aligned, at the cost that the first place "
                "has."
            ),
            by=(
                one_more_step,
                no_path_costs_more_than_its_start,
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
        "steps are paid twice": lambda: one_more_step(spent=2),
        "less than nothing left at the end": lambda: no_path_costs_more_than_its_start(end=-1),
        "a miss moves its noise": lambda: a_loop_costs_its_ends(miss=1),
        "the bar stays": lambda: steps_give_the_same_output(bar_moves=0),
        "noise is moved by its own value": lambda: images_stay_apart(by_path=False),
    },
)
