"""One case: draw it, ask the accountant, compare with the truth."""

from dataclasses import dataclass

import numpy as np

import dpverify as dpv
from tests.accounting.fuzz.laws import NoTruth
from tests.accounting.fuzz.table import FAMILIES, Composition, uniform

_MOST_DRAWS = 40


@dataclass(frozen=True)
class Judged:
    """What was asked and found; `miss` says how the truth lies outside, if it does."""

    family: str
    words: str
    width: float
    miss: str
    redrawn: int


def family_of(index: int) -> str:
    """Families as often as their weights say, in a fixed shuffle: every stretch holds all."""
    names = np.repeat(list(FAMILIES), [weight for weight, _, _ in FAMILIES.values()])
    order = np.random.default_rng(0).permutation(len(names))
    return str(names[order[index % len(names)]])


def judged(index: int, *, seed: int) -> Judged:
    """The case of this number: the same on every machine."""
    family = family_of(index)
    _, relations, draw = FAMILIES[family]
    rng = np.random.default_rng([seed, index])
    for redrawn in range(_MOST_DRAWS):
        relation = relations[rng.integers(len(relations))]
        composition = draw(rng, relation)
        tolerance = float(rng.choice([1e-3, 1e-3, 1e-2, 1e-4]))
        try:
            question, width, miss = _compared(composition, rng, tolerance)
        except NoTruth:
            continue
        words = f"{relation.value}: {composition.words}; {question}"
        return Judged(family, words, width, miss, redrawn)
    raise NoTruth(f"none of {_MOST_DRAWS} draws of {family!r}, case {index}, has a truth")


def asked(accountant: dpv.Accountant, unknown: str, at: float, tolerance: float) -> dpv.Bracket:
    """What the accountant says."""
    ask = accountant.epsilon if unknown == "epsilon" else accountant.delta
    return ask(at, tolerance=tolerance)


def _compared(
    composition: Composition, rng: np.random.Generator, tolerance: float
) -> tuple[str, float, str]:
    accountant, truth = composition.accountant, composition.truth
    if rng.random() < 0.5:
        delta = uniform(rng, 1e-12, 0.3)
        found = asked(accountant, "epsilon", delta, tolerance)
        miss = ""
        if np.isfinite(found.upper) and truth(found.upper)[0] > delta:
            miss = f"δ({found.upper!r}) ≥ {truth(found.upper)[0]} > {delta!r}"
        if found.lower > 0 and np.isfinite(found.lower) and truth(found.lower)[1] < delta:
            miss = f"δ({found.lower!r}) ≤ {truth(found.lower)[1]} < {delta!r}"
        if np.isinf(found.lower) and truth(700.0)[1] < delta:
            miss = f"δ(700) ≤ {truth(700.0)[1]} < {delta!r}, but ε = ∞"
        return f"ε at δ = {delta!r}, {tolerance:g}: {found}", found.width, miss
    epsilon = float(rng.choice([0.0, uniform(rng, 0.01, 8.0), uniform(rng, 0.01, 8.0)]))
    found = asked(accountant, "delta", epsilon, tolerance)
    low, high = truth(epsilon)
    miss = "" if found.lower <= high and found.upper >= low else f"truth in [{low}, {high}]"
    return f"δ at ε = {epsilon!r}, {tolerance:g}: {found}", found.width, miss
