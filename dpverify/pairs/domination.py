"""Whether one finite pair is a post-processing of another, decided exactly.

Blackwell's theorem: a kernel maps `strong` to `weak` if and only if the profile of `weak` lies
nowhere above that of `strong`, at every ratio e^ε from 0 to ∞ (ratios below 1 speak of the
reversed pair). Only the corners of `strong` need a look: between two of them its profile is
linear while that of `weak` is convex, so `weak` cannot rise above inside; both profiles start at
1 at ratio 0; and beyond the last corner `strong` is constant while `weak` falls.
[Blackwell 1953; KOV15 Thm 2.5]
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.errors import NotSupported
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.simulation import Kernel
from dpverify.theorems import BLACKWELL, Theorem

_MOST_VARIABLES = 200_000  # of the linear program: about a minute


@dataclass(frozen=True, kw_only=True)
class Dominates:
    """`weak` is a post-processing of `strong`: no test separates its sides better than strong's.

    The decision is exact. `kernel` is a second opinion that shares nothing with it.
    """

    theorem: ClassVar[Theorem] = BLACKWELL

    strong: FinitePair
    weak: FinitePair

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that maps `strong` to `weak`, by a linear program, in floats.

        The program seeks K ≥ 0 with rows of sum 1 that minimizes the largest entry of
        |left·K − left′| and |right·K − right′|; its optimum is 0 by Blackwell's theorem.
        """
        return linear_program_kernel(self.strong, self.weak)


@dataclass(frozen=True, kw_only=True)
class NotDominates:
    """No kernel maps strong to weak, as weak's profile is larger by `gap` at this e^ε."""

    theorem: ClassVar[Theorem] = BLACKWELL

    ratio: Fraction
    gap: Fraction


Domination: TypeAlias = Dominates | NotDominates


def dominates(strong: FinitePair, weak: FinitePair) -> Domination:
    """Whether `weak` is a post-processing of `strong`; if not, an ε at which its profile is larger.

    Floats are taken as the exact numbers they are, each law divided by its sum.

    >>> leaky = FinitePair.leaky_response(Fraction(3), Fraction(0))
    >>> weaker = FinitePair.leaky_response(Fraction(3, 2), Fraction(0))
    >>> dominates(weaker, leaky)
    NotDominates(ratio=Fraction(3, 2), gap=Fraction(3, 8))
    """
    above, below = weak.exact, strong.exact
    gap, ratio = max(
        (above.delta_at_ratio(corner) - below.delta_at_ratio(corner), corner)
        for corner in below.corners
    )
    if gap > 0:
        return NotDominates(ratio=ratio, gap=gap)
    return Dominates(strong=strong, weak=weak)


def linear_program_kernel(strong: FinitePair, weak: FinitePair) -> Kernel:
    """The kernel from strong to weak with the smallest residual, which may not be 0.

    Rows are cleaned of the solver's rounding (entries just below 0, sums just off 1) before the
    residual is taken, so the residual is that of the kernel returned.
    """
    import cvxpy as cp  # noqa: PLC0415  # slow to import, and rarely needed

    source, target = _stacked(strong), _stacked(weak)
    size = source.shape[1] * target.shape[1]
    if size > _MOST_VARIABLES:
        raise NotSupported(
            f"a kernel of {source.shape[1]} by {target.shape[1]} entries must have at most "
            f"{_MOST_VARIABLES} for the linear program"
        )
    kernel = cp.Variable((source.shape[1], target.shape[1]), nonneg=True)
    off = cp.max(cp.abs(source @ kernel - target))
    cp.Problem(cp.Minimize(off), [cp.sum(kernel, axis=1) == 1]).solve(solver=cp.CLARABEL)
    rows = np.maximum(np.asarray(kernel.value), 0.0)
    matrix = rows / rows.sum(axis=1, keepdims=True)
    return Kernel(
        rows=_names(strong),
        outcomes=_names(weak),
        matrix=matrix,
        residual=float(np.abs(source @ matrix - target).max()),
    )


def _stacked(pair: FinitePair) -> NDArray[Any]:
    return np.array([pair.left, pair.right], dtype=np.float64)


def _names(pair: FinitePair) -> tuple[object, ...]:
    return tuple(range(len(pair))) if pair.outcomes is None else pair.outcomes
