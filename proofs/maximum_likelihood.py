"""The mean and the median as minimizers, and as estimates of maximum likelihood.

Minus the log likelihood of N(w, 1) is Σ(w − x)²/2 up to a constant, least at the mean (lipschitz-losses). Of Laplace noise of scale b it is
Σ|w − x|/b. That sum has the slope #{x < w} − #{x > w} between records, which is ≤ 0 to the left of a median and ≥ 0 to its right; so it is least at
the median. Its size is known: one record more on either side moves it by at most |w − x|.
"""

from fractions import Fraction
from itertools import product
from statistics import median

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.lipschitz_losses import LIPSCHITZ_LOSSES
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

MAXIMUM_LIKELIHOOD = Theorem(
    name="maximum-likelihood",
    statement=(
        "The mean is the maximum likelihood estimate of the center of Gaussian noise; the median minimizes Σ|w − x|, and is "
        "that of the center of Laplace noise."
    ),
    source="Smith, Ullman, notes on private ERM, Sec. 1",
    proof="proofs/maximum_likelihood.py",
)


def log_likelihoods(two: int = 2) -> Step:
    """−ln of e^(−(x−w)²/2)/√(2π) is (x−w)²/2 + ln √(2π), and of e^(−|x−w|/b)/(2b) it is |x−w|/b + ln 2b."""
    x, w = sp.symbols("x w", real=True)
    gap, b = sp.symbols("gap b", positive=True)  # gap = |x − w|
    normal = sp.exp(-((x - w) ** 2) / 2) / sp.sqrt(2 * sp.pi)
    laplace = sp.exp(-gap / b) / (2 * b)
    holds = same(-sp.log(normal), (x - w) ** 2 / two + sp.log(sp.sqrt(2 * sp.pi)))
    holds &= same(-sp.log(laplace), gap / b + sp.log(2 * b))
    return Step("log likelihoods", holds, "all x, w, b")


def the_median_is_least(off: Fraction = Fraction(0)) -> Step:
    """Σ|w − x| at the median against all w of a grid, for all data of 1 to 4 records in {0, …, 4}."""
    holds, count = VACUOUS, 0
    grid = [Fraction(k, 2) for k in range(-2, 11)]
    for size in range(1, 5):
        for records in product(range(5), repeat=size):
            middle = Fraction(median(map(Fraction, records))) + off
            least = sum(abs(middle - x) for x in records)
            for w in grid:
                holds &= at_most(least, sum(abs(w - x) for x in records))
                count += 1
    return Step("the median", holds, f"{count} data sets and points")


PROOF = Proof(
    theorem=MAXIMUM_LIKELIHOOD,
    clauses=(
        Clause(
            "The mean is the maximum likelihood estimate of the center of Gaussian noise;",
            by=(log_likelihoods,),
            argued="that the mean minimizes sums of squares (lipschitz-losses), and logarithms keep the order",
        ),
        Clause(
            "the median minimizes Σ|w − x|, and is that of the center of Laplace noise.",
            by=(log_likelihoods, the_median_is_least),
            argued="that the slope of Σ|w − x| is #{x < w} − #{x > w}, so that it falls up to a median and rises beyond",
        ),
    ),
    uses=(LIPSCHITZ_LOSSES,),
    mutations={
        "(x−w)²/3": lambda: log_likelihoods(two=3),
        "half a step off": lambda: the_median_is_least(Fraction(1, 2)),
    },
)
