"""What a guess is worth, how sure an output can make anyone, and how often an alarm is right.

Let the record be there with probability π. Guessing "there" on the event E is right with probability
π·P(E) + (1−π)·(1−Q(E)) = 1 − π + π·(P(E) − x·Q(E)) with x = (1−π)/π, so the best event gives the profile at ln x, which is
at least 0 for π ≤ 1/2. After an output with densities p ≤ e^ε·q the record is there with probability π·p/(π·p + (1−π)·q),
which rises in p/q. Among alarms, with probability π·T + (1−π)·α, those of the record are a share that rises in T.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.accounting.accountant import Accountant
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import ATTACK_RISK, EXACT_PROFILE, TRADE_OFF, Step
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same

_PRIORS = (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2))


def a_guess_is_an_event(ratio: int = 1) -> Step:
    """π·P + (1−π)·(1−Q) = 1 − π + π·(P − x·Q) with x = (1−π)/π."""
    prior, left, right = sp.symbols("pi P Q", positive=True)
    x = ratio * (1 - prior) / prior
    success = prior * left + (1 - prior) * (1 - right)
    holds = same(success, 1 - prior + prior * (left - x * right))
    return Step("a guess is an event", holds, "all π in (0, 1), all events")


def the_best_guess(scale: Fraction = Fraction(1)) -> Step:
    """max over events of π·P(E) + (1−π)·(1−Q(E)) = 1 − π + π·δ((1−π)/π)."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        masses = list(pair.masses())
        for prior in _PRIORS:
            best = max(
                sum(
                    (
                        prior * p if k else (1 - prior) * q
                        for (p, q), k in zip(masses, event, strict=True)
                    ),
                    Fraction(0),
                )
                for event in product((0, 1), repeat=len(masses))
            )
            ratio = (1 - prior) / prior
            holds &= equal(best, 1 - prior + scale * prior * pair.delta_at_ratio(ratio))
            count += 1
    return Step("the best guess", holds, f"{count} pairs and priors")


def no_output_makes_surer(reverse: int = 1) -> Step:
    """π·x/(π·x + 1−π) − π·p/(π·p + (1−π)·q) ≥ 0 where x·q = p + gap: it rises in p/q."""
    odds, p, q, gap = sp.symbols("o p q g", positive=True)
    prior = odds / (1 + odds)
    x = (p + reverse * gap) / q
    bound = prior * x / (prior * x + 1 - prior)
    after = prior * p / (prior * p + (1 - prior) * q)
    holds = nonnegative(bound - after, (odds, p, q, gap))
    return Step("posterior", holds, "all π in (0, 1), 0 < p ≤ e^ε·q")


def alarms_one_by_one(share: Fraction = Fraction(1)) -> Step:
    """The joint law of record and output, enumerated: P(there | alarm) against π·T/(π·T + (1−π)·α), for every event of every small pair."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        for prior in _PRIORS:
            together = [(prior * p, (1 - prior) * q) for p, q in pair.masses()]  # there, not there
            for event in product((0, 1), repeat=len(together)):
                there, not_there = (
                    sum(
                        (cell[side] for cell, k in zip(together, event, strict=True) if k),
                        Fraction(0),
                    )
                    for side in (0, 1)
                )
                if there + not_there == 0:
                    continue  # no alarm, no share
                caught, false = (  # T and α, from the pair itself
                    sum(
                        (mass[side] for mass, k in zip(pair.masses(), event, strict=True) if k),
                        Fraction(0),
                    )
                    for side in (0, 1)
                )
                told = share * prior * caught / (prior * caught + (1 - prior) * false)
                holds &= equal(told, there / (there + not_there))
                count += 1
    return Step("alarms", holds, f"{count} pairs, priors and events")


def alarms_are_right_more_often(sign: int = 1) -> Step:
    """π·T/(π·T + (1−π)·α) rises in T: d/dT has the sign of π·(1−π)·α."""
    odds, rate, alarm = sp.symbols("o T alpha", positive=True)
    prior = odds / (1 + odds)
    right = prior * rate / (prior * rate + (1 - prior) * alarm)
    holds = nonnegative(sign * sp.diff(right, rate), (odds, rate, alarm))
    return Step("share of right alarms", holds, "all π in (0, 1), α, T > 0")


def the_library_holds_them(shift: Fraction = Fraction(0)) -> Step:
    """`success` and `posterior` for randomized response with odds 3 and 20, every prior."""
    holds, count = VACUOUS, 0
    for ratio, prior in product((Fraction(3), Fraction(20)), _PRIORS):
        pair = FinitePair.leaky_response(ratio, Fraction(0))
        risk = Accountant(relation=Relation.ADD_REMOVE).compose(pair).risk
        guess = 1 - prior + prior * pair.delta_at_ratio((1 - prior) / prior) + shift
        belief = prior * ratio / (prior * ratio + 1 - prior) + shift
        for found, exact in ((risk.success(prior), guess), (risk.posterior(prior), belief)):
            holds &= at_most(found.lower, exact) & at_most(exact, found.upper)
            count += 1
    return Step("the library's brackets", holds, f"{count} values")


PROOF = Proof(
    theorem=ATTACK_RISK,
    clauses=(
        Clause(
            (
                "If a record is there with probability π ≤ 1/2, the best guess is right with probability 1 − "
                "π + π·δ(ln((1−π)/π));"
            ),
            by=(a_guess_is_an_event, the_best_guess),
            argued="that every guess is an event, so that the best one gives the profile (exact-profile)",
        ),
        Clause(
            "no output makes anyone surer than π·e^ε/(1 − π + π·e^ε), ε the largest loss;",
            by=(no_output_makes_surer,),
            argued="Bayes’ rule for the posterior probability",
        ),
        Clause(
            "and an alarm of a test with rates α and T is right with probability π·T/(π·T + (1−π)·α).",
            by=(alarms_one_by_one, alarms_are_right_more_often),
            argued="Bayes’ rule for the share of right alarms, of densities as of masses",
        ),
    ),
    library=(the_library_holds_them,),
    mutations={
        "odds doubled": lambda: a_guess_is_an_event(ratio=2),
        "half the profile": lambda: the_best_guess(Fraction(1, 2)),
        "losses above the largest": lambda: no_output_makes_surer(reverse=-1),
        "half of the alarms": lambda: alarms_one_by_one(Fraction(1, 2)),
        "falls in T": lambda: alarms_are_right_more_often(sign=-1),
        "off by a millionth": lambda: the_library_holds_them(Fraction(1, 10**6)),
    },
    uses=(EXACT_PROFILE, TRADE_OFF),
)
