"""Write docs/support.md: which batches, noises and relations have which answer, asked of the code.

python docs/support.py
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dpverify as dpv

PAGE = Path(__file__).with_name("support.md")
DELTA = 1e-5
NOISES: dict[str, Any] = {
    "Gaussian": dpv.Gaussian(sigma=2.0),
    "Laplace": dpv.Laplace(scale=2.0),
    "discrete Gaussian": dpv.DiscreteGaussian(sigma=2.0),
    "discrete Laplace": dpv.DiscreteLaplace(scale=2.0),
    "randomized response": dpv.RandomizedResponse(epsilon=0.5),
}
BATCHES: dict[str, Callable[[Any], Any]] = {
    "all records": lambda noise: noise,
    "Poisson": lambda noise: dpv.Subsampled(noise, rate=0.1),
    "Poisson, at most 30": lambda noise: dpv.Subsampled(
        noise, rate=0.1, at_most=30, population=100
    ),
    "fixed size": lambda noise: dpv.SubsampledWithoutReplacement(noise, batch=10, population=100),
    "with replacement": lambda noise: dpv.SubsampledWithReplacement(noise, batch=2, population=100),
    "shuffled epochs": lambda noise: dpv.Shuffled(noise, batches=10),
    "random allocation": lambda noise: dpv.RandomAllocation(noise, steps=10),
}
TIMES = {"one run": 1, "ten runs": 10}
HEAD = """\
# Support matrix

Written by `python docs/support.py`, which asks the library; a test runs it again.

- **certified**: both ends are known, and within two percent of each other;
- **bracket**: both ends are known, and wider apart;
- **upper**: an upper bound, and no lower one; **lower**: the other way round;
- **–**: no answer: the library says why, by name, and never guesses.

The question is ε at δ = 10⁻⁵. δ at some ε, the risks of attackers and whole profiles are known
where ε is; the noise that a budget needs is found wherever there is an upper end. Answers are
given as *add-remove / replace-one*; the sensitivity is the one that you state for that relation.

| batches | noise | one run | ten runs |
| --- | --- | --- | --- |
"""


def answer(made: Callable[[], Any], relation: dpv.Relation, times: int) -> str:
    """Which kind of answer the accountant has."""
    try:
        spent = dpv.Accountant(relation=relation).compose(made(), times=times)
        found = spent.epsilon(DELTA)
    except (dpv.NotSupported, dpv.InvalidParameter):
        return "–"
    if found.upper == math.inf:
        return "lower" if found.lower > 0 else "–"
    if found.lower == 0:
        return "upper"
    return "certified" if found.width <= 0.02 * found.upper else "bracket"


def page() -> str:
    """The whole page."""
    rows = []
    for batches, wrap in BATCHES.items():
        for name, noise in NOISES.items():
            made = partial(wrap, noise)
            cells = [
                " / ".join(answer(made, relation, times) for relation in dpv.Relation)
                for times in TIMES.values()
            ]
            rows.append(f"| {batches} | {name} | {' | '.join(cells)} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
