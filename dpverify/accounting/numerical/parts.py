"""From a pair to the law of its privacy loss."""

import math
from fractions import Fraction

import numpy as np

from dpverify.accounting.numerical.cells import UNIT
from dpverify.accounting.numerical.laws import LossLaw
from dpverify.accounting.numerical.ramps import Noise, Ramp
from dpverify.arrays import Floats
from dpverify.balls import ball
from dpverify.errors import NotSupported, as_float
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, LeakyResponsePair, Pair
from dpverify.pairs.subsampled import SubsampledPair
from dpverify.pairs.without_replacement import WithoutReplacementPair


def loss_law(pair: Pair) -> LossLaw:
    """The law of ln(dP/dQ) under P, as far as it is finite."""
    match pair:
        case GaussianPair():
            return _normal(pair, left=1.0, right=0.0)
        case LaplacePair():
            return _laplace(pair, left=1.0, right=0.0)
        case SubsampledPair(base=GaussianPair() as base):
            return _normal(base, left=pair.left_rate, right=pair.right_rate)
        case SubsampledPair(base=LaplacePair() as base):
            return _laplace(base, left=pair.left_rate, right=pair.right_rate)
        case WithoutReplacementPair():
            return _spliced(pair)
        case LeakyResponsePair():
            return _leaky(pair)
        case FinitePair():
            return _finite(pair)
        case _:
            raise NotSupported(f"{type(pair).__name__} has no privacy-loss law in the library yet")


_TRIVIAL = LossLaw(losses=np.zeros(1), log_masses=np.zeros(1))


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _rest(rate: float | Fraction) -> float:
    """1 − q, rounded once."""
    return float(1 - Fraction(rate))


def _normal(base: GaussianPair, *, left: float, right: float) -> LossLaw:
    """(1−a)·N(0, 1) + a·N(μ, 1) against (1−b)·N(0, 1) + b·N(−μ, 1)."""
    slope = float(base.mu)
    if slope == 0.0 or left == right == 0:
        return _TRIVIAL
    ramp = Ramp(
        noise=Noise.NORMAL,
        slope=slope,
        left_flat=_rest(left),
        log_left_rise=_log(left) - slope * slope / 2.0,
        right_flat=_rest(right),
        log_right_fall=_log(right) - slope * slope / 2.0,
        low=-math.inf,
        high=math.inf,
    )
    return LossLaw(ramps=(ramp,))


def _laplace(base: LaplacePair, *, left: float, right: float) -> LossLaw:
    """(1−a)·L(0) + a·L(s) against (1−b)·L(0) + b·L(−s) for the standard Laplace law L.

    On [0, s] only the left density changes, on [−s, 0] only the right one; beyond ±s neither does.
    """
    shift = float(base.shift)
    if left == right == 0:
        return _TRIVIAL
    least = math.exp(-shift)
    left_end, right_end = (_rest(rate) + float(rate) * least for rate in (left, right))
    rise, fall = Fraction(left), Fraction(right)
    ramps = []
    if rise:
        ramps.append(
            Ramp(
                noise=Noise.FALLING,
                slope=2.0,
                left_flat=_rest(left),
                log_left_rise=_log(left) - shift,
                right_flat=right_end,
                log_right_fall=-math.inf,
                low=0.0,
                high=shift,
            )
        )
    if fall:
        ramps.append(
            Ramp(
                noise=Noise.RISING,
                slope=2.0,
                left_flat=left_end,
                log_left_rise=-math.inf,
                right_flat=_rest(right),
                log_right_fall=_log(right) - shift,
                low=-shift,
                high=0.0,
            )
        )
    # Where a side is not mixed its stretch is flat, and joins the atom at that end.
    log_half, log_edge = -math.log(2.0), -math.log(2.0) - shift
    top, bottom = ramps[0], ramps[-1]
    atoms = (
        (top.loss_at(top.high), log_edge if rise else log_half, top.log_left(np.array([top.high]))),
        (
            bottom.loss_at(bottom.low),
            log_edge if fall else log_half,
            bottom.log_left(np.array([bottom.low])),
        ),
    )
    return LossLaw(
        ramps=tuple(ramps),
        losses=np.array([atom[0] for atom in atoms]),
        log_masses=np.array([atom[1] + float(atom[2][0]) for atom in atoms]),
        loss_error=16.0 * UNIT * (1.0 + shift),
        mass_error=16.0 * UNIT * (1.0 + shift),
    )


def _spliced(pair: WithoutReplacementPair) -> LossLaw:
    """The removed pair above loss 0, its mirror image below, and an atom at 0."""
    above, below = (loss_law(side) for side in pair.attained)
    if above.is_discrete or pair.rate == 1:
        return above
    half = float(pair.shift.size) / 2.0
    up, down = above.ramps[0], below.ramps[0]
    # Of the two atoms that Laplace noise has at the ends, each side keeps the one beyond 0.
    losses = (above.losses[:1], np.zeros(1), below.losses[1:])
    atom = float(pair.atom_ball())
    atoms = np.array([math.log(atom)])
    log_masses = (above.log_masses[:1], atoms, below.log_masses[1:])
    return LossLaw(
        ramps=(up.cut(half, math.inf), down.cut(-math.inf, -half)),
        losses=np.concatenate(losses),
        log_masses=np.concatenate(log_masses),
        loss_error=above.loss_error,
        # Where the ramps end is rounded, and the atom has to make up for it.
        mass_error=above.mass_error + 16.0 * UNIT * (1.0 + 1.0 / atom),
    )


def _leaky(pair: LeakyResponsePair) -> LossLaw:
    """Loss ε with probability (1−δ)·e^ε/(1+e^ε), −ε otherwise unless it leaks."""
    if pair.reveals:
        return LossLaw()
    epsilon = as_float(pair.worst.epsilon)
    stay = _log(_rest(pair.worst.delta))
    truth = -math.log1p(math.exp(-epsilon))
    if epsilon == 0.0:
        return LossLaw(losses=np.zeros(1), log_masses=np.array([stay]), mass_error=8.0 * UNIT)
    return LossLaw(
        losses=np.array([epsilon, -epsilon]),
        log_masses=np.array([stay + truth, stay + truth - epsilon]),
        loss_error=UNIT * epsilon,
        mass_error=8.0 * UNIT * (1.0 + abs(stay) + epsilon),
    )


def _finite(pair: FinitePair) -> LossLaw:
    left, right = _log_entries(pair.left), _log_entries(pair.right)
    finite = (left > -math.inf) & (right > -math.inf)
    left, right = left[finite], right[finite]
    if not len(left):
        return LossLaw()
    size = float(np.abs(left).max() + np.abs(right).max())
    return LossLaw(
        losses=left - right,
        log_masses=left,
        loss_error=16.0 * UNIT * (1.0 + size),
        mass_error=16.0 * UNIT * (1.0 + size),
    )


def _log_entries(law: tuple[Fraction, ...] | Floats) -> Floats:
    """Logarithms of the probabilities, each right to a few units in the last place."""
    if isinstance(law, tuple):
        return np.array([_log_fraction(entry) for entry in law])
    with np.errstate(divide="ignore"):
        return np.log(law) - math.log(math.fsum(law))


def _log_fraction(value: Fraction) -> float:
    if not value:
        return -math.inf
    nearest = float(value)
    return math.log(nearest) if nearest > 1e-300 else float(ball(value).log())
