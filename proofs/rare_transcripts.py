"""What happens rarely costs at most its probability, and one of k numbers is rare k times as often.

Let N be a set of transcripts, and suppose that P(E∖N) ≤ e^ε·Q(E) + δ for every event E. Then
P(E) ≤ P(E∖N) + P(N) ≤ e^ε·Q(E) + δ + P(N): whatever happens on N, its probability is all that it adds
to δ. If N is made of several events, its probability is at most the sum of theirs. So it is where a
rule reads the draws z₁, …, z_k and picks one of them: if the one that it picks lies in A, then some
z_j does, so that this has probability at most Σ P(z_j ∈ A), however the rule picks; with equal laws, k
times that of one.
"""

from fractions import Fraction
from itertools import chain, combinations, product

from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs

RARE_TRANSCRIPTS = Theorem(
    name="rare-transcripts",
    statement=(
        "If P(E∖N) ≤ e^ε·Q(E) + δ for every event E, then P(E) ≤ e^ε·Q(E) + δ + P(N); and of k draws, the "
        "one that a rule picks by their values lies in A with probability at most Σ P(z_j ∈ A)."
    ),
    source="the union bound",
    proof="proofs/rare_transcripts.py",
)

_RATIOS = (Fraction(1), Fraction(2), Fraction(4))


def _subsets(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(size), k) for k in range(size + 1)))


def masses_add_to_delta(weight: int = 1) -> Step:
    """Every pair with three outcomes and denominators up to 3, every N, every E, e^ε = 1, 2, 4.

    δ is the least with which N left out holds.
    """
    holds, count = VACUOUS, 0
    events = _subsets(3)
    for pair, ratio in product(rational_pairs(3, 3), _RATIOS):
        p, q = ([Fraction(x) for x in side] for side in (pair.left, pair.right))
        for rare in events:
            mass = sum((p[i] for i in rare), Fraction(0))
            gaps = [sum((p[i] for i in e if i not in rare), Fraction(0)) for e in events]
            other = [ratio * sum((q[i] for i in e), Fraction(0)) for e in events]
            least = max(gap - price for gap, price in zip(gaps, other, strict=True))
            for event, price in zip(events, other, strict=True):
                chance = sum((p[i] for i in event), Fraction(0))
                holds &= at_most(chance, price + least + weight * mass)
                count += 1
    return Step("masses add to δ", holds, f"{count} events")


def the_picked_draw(*, sums: bool = True) -> Step:
    """Two and three draws of three values, by the worst rule: it picks one in A wherever it can."""
    holds, count = VACUOUS, 0
    laws = [
        (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
        (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
        (Fraction(0), Fraction(1, 2), Fraction(1, 2)),
    ]
    for k in (2, 3):
        for inside in _subsets(3):
            each = [sum((law[i] for i in inside), Fraction(0)) for law in laws[:k]]
            chance = Fraction(0)
            for values in product(range(3), repeat=k):
                mass = Fraction(1)
                for law, value in zip(laws, values, strict=False):
                    mass *= law[value]
                chance += mass if set(values) & set(inside) else 0
            holds &= at_most(chance, sum(each) if sums else max(each))
            count += 1
    return Step("the draw that is picked", holds, f"{count} rules")


PROOF = Proof(
    theorem=RARE_TRANSCRIPTS,
    clauses=(
        Clause(
            "If P(E∖N) ≤ e^ε·Q(E) + δ for every event E, then P(E) ≤ e^ε·Q(E) + δ + P(N);",
            by=(masses_add_to_delta,),
            argued="that P(E) ≤ P(E∖N) + P(N), as E is part of the union of E∖N and N",
        ),
        Clause(
            "and of k draws, the one that a rule picks by their values lies in A with probability at most "
            "Σ P(z_j ∈ A).",
            by=(the_picked_draw,),
            argued="that some draw lies in A where the picked one does; the union bound over the draws",
        ),
    ),
    mutations={
        "the mass forgotten": lambda: masses_add_to_delta(weight=0),
        "the likeliest alone": lambda: the_picked_draw(sums=False),
    },
)
