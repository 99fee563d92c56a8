"""The simulation lemma as code: leaky randomized response simulates every (ε, δ) pair.

If left (P) and right (Q) are (ε, δ)-indistinguishable, there is a kernel F from the outcomes
0, 1, "U", "V" of leaky randomized response with F(U) = P and F(V) = Q; if they are not, there is
none, for a kernel adds to no event's excess. `simulate` returns F, or raises with the event.

The construction, with r = e^ε and everything pointwise in the outcomes:

1. Keep P₁ = min(P, r·Q) and Q₁ = min(Q, r·P). What is cut off has mass Σ(P − rQ)₊ ≤ δ and
   Σ(Q − rP)₊ ≤ δ; and P₁ ≤ r·Q₁, Q₁ ≤ r·P₁. With the common part M = min(P, Q) these are
   P₁ = M + (r−1)·d and Q₁ = M + (r−1)·e, where d = 0 or e = 0 and both lie between 0 and M.
2. Shrink d or e by a factor, so that both have the same sum; then P₁ and Q₁ have the same mass
   m ≥ 1 − δ, and the bounds of step 1 still hold.
3. F(0) = (M + r·d − e)/m and F(1) = (M + r·e − d)/m are laws: non-negative as d, e ≤ M, with sum
   1 as Σd = Σe. Weighted r : 1 they give r·M + r²d − r·e + M + r·e − d = (r+1)·P₁, over m; so
   given no leak, U yields P₁/m, and V yields Q₁/m.
4. F("U") = (P − (1−δ)·P₁/m)/δ and F("V") = (Q − (1−δ)·Q₁/m)/δ repair the rest. They are laws as
   (1−δ)/m ≤ 1. Rows of weight 0 (δ = 0) may be anything; P and Q are used.

Nothing is divided by r − 1 but differences P − Q with |P − Q| ≤ (r−1)·M, so small ε is harmless.
[KOV15 Thm 2.5; Murtagh, Vadhan 2016, Lemma 3.2]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dpverify.arrays import Array
from dpverify.errors import DPVerifyError, InvalidParameter, as_float
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.rationals import simplest_exponential, simplest_rational
from dpverify.pairs.vectors import Law, Probabilities
from dpverify.theorems import SIMULATION_LEMMA, Theorem

Number: TypeAlias = Fraction | float
Scalar: TypeAlias = Any  # a Fraction or a float, as the arrays hold
Side: TypeAlias = Literal["left", "right"]

LEAKY_OUTCOMES: tuple[object, ...] = (0, 1, "U", "V")
_ULP = 2.0**-52
_NO_FLOAT_BEYOND = 1400.0  # e^1400 times the smallest float exceeds 1: larger ε change nothing


class NotIndistinguishable(DPVerifyError):
    """Raised if two distributions differ by more than (ε, δ), with an event that shows it.

    Attributes
    ----------
    event : the outcomes on which one law is too likely
    excess : how much: P(E) − e^ε·Q(E) − δ, exact for exact laws
    direction : "left" if `left` is the too likely one, "right" otherwise

    >>> import dpverify as dpv
    >>> try:
    ...     dpv.simulate([0.75, 0.25], [0.25, 0.75], dpv.PureDP(1.0))
    ... except dpv.NotIndistinguishable as error:
    ...     print("no kernel")
    no kernel
    """

    def __init__(self, *, event: tuple[object, ...], excess: Number, direction: Side) -> None:
        self.event, self.excess, self.direction = event, excess, direction
        other = "right" if direction == "left" else "left"
        count = "1 outcome" if len(event) == 1 else f"{len(event)} outcomes"
        amount = str(excess) if len(str(excess)) < 16 else f"about {float(excess):.6g}"
        super().__init__(
            f"left and right are not (epsilon, delta)-indistinguishable: on an event of {count}, "
            f"{direction} exceeds e^epsilon·{other} + delta by {amount}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel:
    """A randomized map: row i of `matrix` holds the probabilities of `outcomes` given `rows[i]`.

    `residual` is the largest distance, over all outcomes, between what the kernel makes of the
    two given laws and what it should make of them.

    >>> import dpverify as dpv
    >>> from fractions import Fraction as F
    >>> kernel = dpv.simulate([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)], dpv.PureDP(1.1))
    >>> kernel.residual
    Fraction(0, 1)
    """

    rows: tuple[object, ...]
    outcomes: tuple[object, ...]
    matrix: Array
    residual: Number

    def apply(self, law: Probabilities) -> Array:
        """The distribution of the image of a random row."""
        weights = np.asarray(law)
        if weights.shape != (len(self.rows),):
            raise InvalidParameter(f"law={law!r} must have one probability for each of {self.rows}")
        image: Array = (weights[:, None] * self.matrix).sum(axis=0)
        return image


@dataclass(frozen=True, kw_only=True, eq=False)
class LeakyKernel(Kernel):
    """A kernel from leaky randomized response with the e^ε and δ that were used."""

    theorem: ClassVar[Theorem] = SIMULATION_LEMMA

    ratio: Number
    delta: Number


def simulate(
    left: Probabilities,
    right: Probabilities,
    guarantee: ApproxDP | PureDP,
    *,
    outcomes: Sequence[object] | None = None,
) -> LeakyKernel:
    """The kernel by which leaky randomized response simulates a pair of distributions.

    It maps the outcomes 0, 1, "U" and "V", so that those of one input become `left` and those of
    the other `right`.

    Ints and Fractions give an exact matrix of Fractions and residual 0; a float ε or δ then
    stands for the simplest rational e^ε or δ that rounds to it. Floats give a float matrix whose
    rows sum to 1 within a few ulps, and a residual of that size, or of the size by which the
    given laws miss the sum 1. Floats are refused only if the excess of an event is more than
    (8 + ε)·2^-52 of its probability, which rounding of the entries cannot explain.

    Raises NotIndistinguishable, with the event, where no kernel exists.

    >>> kernel = simulate([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)],
    ...                   PureDP(epsilon=math.log(3)))
    >>> print(*kernel.matrix[0], kernel.residual)  # what becomes of the answer 0
    5/8 3/8 0
    """
    if not isinstance(guarantee, (ApproxDP, PureDP)):
        raise InvalidParameter(f"guarantee={guarantee!r} must be a PureDP or an ApproxDP")
    pair = FinitePair(left=left, right=right, outcomes=outcomes)
    delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
    if isinstance(pair.left, tuple):
        return _exact_kernel(pair, guarantee.epsilon, simplest_rational(delta))
    return _float_kernel(pair, as_float(guarantee.epsilon), as_float(delta))


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Steps 1 and 2 in a scaling that neither over- nor underflows.

    P₁ = common + step·rise and Q₁ = common + step·fall; F(0) ∝ common + likely·rise −
    unlikely·fall. With step = r−1 the rise is the d of the module's text; large r use step = 1.
    """

    common: Array
    over: Array  # (P − rQ)₊
    under: Array  # (Q − rP)₊
    rise: Array
    fall: Array
    step: Scalar
    likely: Scalar
    unlikely: Scalar

    @property
    def opposite(self) -> "_Parts":
        """The parts with P and Q exchanged."""
        return replace(self, over=self.under, under=self.over, rise=self.fall, fall=self.rise)

    def balanced(self) -> "_Parts":
        """Step 2: rise and fall with equal sums; what the larger loses is cut off as well."""
        up, down = _total(self.rise), _total(self.fall)
        if up < down:
            return self.opposite.balanced().opposite
        if up == down:
            return self
        lost = self.rise * ((up - down) / up)
        return replace(self, rise=self.rise - lost, over=self.over + self.step * lost)

    def answer(self, law: Array) -> Array:
        """Step 3: F(0); or `law`, if no mass is common and leaky response never answers."""
        row = np.maximum(self.common + self.likely * self.rise - self.unlikely * self.fall, 0)
        return _normalized(row) if row.any() else law

    def leak(self, law: Array, delta: Scalar) -> Array:
        """Step 4: F("U"); or `law`, if leaky response never leaks."""
        if not delta:
            return law
        kept = self.common + self.step * self.rise
        cut_off, mass = _total(self.over), _total(kept)
        # Shares of the larger of the two, which are equal but for rounding, cannot underflow.
        whole = max(cut_off, delta)
        spread = (whole - cut_off) / whole / mass if mass else 0
        row: Array = self.over / whole + spread * kept
        return _normalized(row)


def _exact_kernel(pair: FinitePair, epsilon: float, delta: Fraction) -> LeakyKernel:
    left, right = np.array(pair.left, dtype=object), np.array(pair.right, dtype=object)
    if epsilon == math.inf:
        return _kernel(pair, (left, right, left, right), math.inf, delta)
    ratio = simplest_exponential(epsilon)
    none = np.full(len(left), Fraction(0), dtype=object)
    over, under = np.maximum(left - ratio * right, none), np.maximum(right - ratio * left, none)
    _check_excess(pair, over, under, delta)
    common, gap = np.minimum(left, right), left - right
    # At r = 1 the two kept laws are the common part, and any rise and fall will do.
    slope = 1 / (ratio - 1) if ratio > 1 else Fraction(0)
    parts = _Parts(
        common=common,
        over=over,
        under=under,
        rise=np.minimum(np.maximum(gap, none) * slope, common),
        fall=np.minimum(np.maximum(-gap, none) * slope, common),
        step=ratio - 1,
        likely=ratio,
        unlikely=Fraction(1),
    )
    return _kernel(pair, _rows(parts, left, right, delta), ratio, delta)


def _float_kernel(pair: FinitePair, epsilon: float, delta: float) -> LeakyKernel:
    left, right = np.asarray(pair.left), np.asarray(pair.right)
    ratio = math.exp(epsilon) if epsilon < 709.0 else math.inf
    if epsilon == math.inf:
        return _kernel(pair, (left, right, left, right), ratio, delta)
    p, q = left / math.fsum(left), right / math.fsum(right)
    parts = _small_parts(p, q, epsilon) if epsilon < 1.0 else _large_parts(p, q, epsilon)
    _check_excess(pair, parts.over, parts.under, delta, tolerance=(8.0 + epsilon) * _ULP)
    return _kernel(pair, _rows(parts, p, q, delta), ratio, delta)


def _small_parts(p: Array, q: Array, epsilon: float) -> _Parts:
    """Neighboring floats have exact differences, so nothing cancels however small ε is."""
    step, gap, common = math.expm1(epsilon), p - q, np.minimum(p, q)
    over, under = np.maximum(gap - step * q, 0.0), np.maximum(-gap - step * p, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        slope = gap / step
    slope = np.where(gap == 0.0, 0.0, slope)
    return _Parts(
        common=common,
        over=over,
        under=under,
        rise=np.minimum(np.maximum(slope, 0.0), common),
        fall=np.minimum(np.maximum(-slope, 0.0), common),
        step=step,
        likely=math.exp(epsilon),
        unlikely=1.0,
    )


def _large_parts(p: Array, q: Array, epsilon: float) -> _Parts:
    """The rise in units of P itself: e^ε multiplies only what is as small as e^(−ε)."""
    root, inverse = math.exp(min(epsilon, _NO_FLOAT_BEYOND) / 2.0), math.exp(-epsilon)
    with np.errstate(over="ignore"):
        p_most, q_most = q * root * root, p * root * root
    return _Parts(
        common=np.minimum(p, q),
        over=np.maximum(p - p_most, 0.0),
        under=np.maximum(q - q_most, 0.0),
        rise=np.maximum(np.minimum(p, p_most) - q, 0.0),
        fall=np.maximum(np.minimum(q, q_most) - p, 0.0),
        step=1.0,
        likely=1.0 / (1.0 - inverse),
        unlikely=inverse / (1.0 - inverse),
    )


def _rows(parts: _Parts, left: Array, right: Array, delta: Number) -> tuple[Array, ...]:
    even = parts.balanced()
    answers = even.answer(left), even.opposite.answer(right)
    return *answers, even.leak(left, delta), even.opposite.leak(right, delta)


def _kernel(pair: FinitePair, rows: tuple[Array, ...], ratio: Number, delta: Number) -> LeakyKernel:
    matrix = np.stack(rows)
    matrix.setflags(write=False)
    lie = (1 - delta) / (1 + ratio)
    truth = 1 - delta - lie
    made_left = truth * matrix[0] + lie * matrix[1] + delta * matrix[2]
    made_right = lie * matrix[0] + truth * matrix[1] + delta * matrix[3]
    residual = max(_distance(made_left, pair.left), _distance(made_right, pair.right))
    names = tuple(range(len(pair))) if pair.outcomes is None else pair.outcomes
    return LeakyKernel(
        rows=LEAKY_OUTCOMES,
        outcomes=names,
        matrix=matrix,
        residual=residual,
        ratio=ratio,
        delta=delta,
    )


def _distance(made: Array, law: Law) -> Number:
    largest = np.abs(made - np.asarray(law)).max()
    return largest if isinstance(largest, Fraction) else float(largest)


def _check_excess(
    pair: FinitePair, over: Array, under: Array, delta: Number, tolerance: float = 0.0
) -> None:
    """Raise with the worse of the two directions if either exceeds δ beyond the tolerance."""
    sides: list[tuple[Side, Array, Law]]
    sides = [("left", over, pair.left), ("right", under, pair.right)]
    direction, part, law = max(sides, key=lambda side: _total(side[1]))
    excess, event = _total(part) - delta, np.flatnonzero(part > 0)
    if excess > 0 and excess > tolerance * _total(np.asarray(law)[event]):
        indices = event.tolist()
        names = indices if pair.outcomes is None else [pair.outcomes[i] for i in indices]
        raise NotIndistinguishable(event=tuple(names), excess=excess, direction=direction)


def _normalized(row: Array) -> Array:
    law: Array = row / _total(row)
    return law


def _total(values: Array) -> Scalar:
    if values.dtype == object:
        return sum(values.tolist(), Fraction(0))
    # Pairwise summation: off by a few ulps for a million entries, none of them negative.
    return float(values.sum())
