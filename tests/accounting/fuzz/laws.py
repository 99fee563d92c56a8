"""Privacy losses from first principles: for each kind of noise the moments E e^{zL}, by hand.

P is the distribution with the record, L = ln(dP/dQ) the loss under P. Nothing here knows of
dpverify.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

DIGITS = 90
Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]

_MOST_NODES = 20_000
_LEGENDRE = np.polynomial.legendre.leggauss(40)


class NoTruth(Exception):
    """No method here gives this number: the case has to be drawn again."""


def exactly(value: float | Fraction) -> Any:  # noqa: ANN401  # an mpf
    """A float or a Fraction with all its digits."""
    number = Fraction(value)
    return mp.mpf(number.numerator) / number.denominator


class Law(ABC):
    """The loss of one run in one direction."""

    @property
    @abstractmethod
    def reversed(self) -> "Law":
        """The loss with the two distributions exchanged."""

    @abstractmethod
    def log_moment(self, z: Complex) -> Complex:
        """ln E[e^{zL}; L < ∞], to about 14 digits."""

    @property
    def singular(self) -> Any:  # noqa: ANN401  # an mpf
        """P(L = ∞)."""
        return mp.mpf(0)


@dataclass(frozen=True)
class Normal(Law):
    """N(μ, 1) against N(0, 1), by μ²."""

    square: Fraction

    @property
    def reversed(self) -> "Normal":
        return self

    def log_moment(self, z: Complex) -> Complex:
        return z * (z + 1) * float(self.square) / 2


@dataclass(frozen=True)
class Exponential(Law):
    """Laplace noise of scale 1 moved by a: E e^{zL} = e^{−a/2}(cosh wa + sinh wa/2w), w = z + ½."""

    shift: Fraction

    @property
    def reversed(self) -> "Exponential":
        return self

    def log_moment(self, z: Complex) -> Complex:
        a, w = float(self.shift), z + 0.5
        grown = np.where(w.real >= 0, w, -w)  # even in w; keep the growing exponential in front
        fading = np.exp(-2 * grown * a)
        inside = (1 + fading) / 2 + (1 - fading) / (4 * grown)
        return np.asarray(grown * a - a / 2 + np.log(inside))


@dataclass(frozen=True)
class Atoms(Law):
    """Finitely many outcomes (p, q)."""

    outcomes: tuple[tuple[Any, Any], ...]

    @property
    def reversed(self) -> "Atoms":
        return Atoms(tuple((q, p) for p, q in self.outcomes))

    @property
    def singular(self) -> Any:  # noqa: ANN401  # an mpf
        return mp.fsum(p for p, q in self.outcomes if q == 0)

    def log_moment(self, z: Complex) -> Complex:
        both = [(mp.log(p), mp.log(p / q)) for p, q in self.outcomes if p > 0 and q > 0]
        if not both:
            raise NoTruth("no outcome is common")
        logs, losses = (
            np.array([float(value) for value in row]) for row in zip(*both, strict=True)
        )
        return _log_sum(logs + np.multiply.outer(z, losses))


def _log_sum(exponents: Complex) -> Complex:
    """ln Σ e^x over the last axis."""
    top = exponents.real.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(exponents - top).sum(axis=-1)) + top[..., 0])


@dataclass(frozen=True)
class Sampled(Law):
    """Noise under a Poisson sample: P = (1−q)·B + q·B(s) against B (or B(−s) mixed likewise).

    `mode` is "removed" (P mixed), "added" (Q mixed) or "replaced" (both, in opposite directions).
    """

    base: Normal | Exponential
    rate: Fraction
    mode: str

    @property
    def reversed(self) -> "Sampled":
        turned = {"removed": "added", "added": "removed", "replaced": "replaced"}
        return replace(self, mode=turned[self.mode])

    def _panels(self, z: Complex) -> tuple[Floats, Floats, Floats]:
        """Logarithms of the weights of a quadrature under B, and of B(s)/B and B(−s)/B there."""
        power, turns = float(np.abs(z.real).max()), float(np.abs(z.imag).max())
        if isinstance(self.base, Normal):
            return self._normal_panels(float(self.base.square) ** 0.5, power, turns)
        a = float(self.base.shift)
        nodes, weights = _LEGENDRE
        edges = np.linspace(0.0, a, 2 + int((turns + power) * a / 8.0))
        half = np.diff(edges) / 2
        right = ((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel()
        logs = (np.log(half[:, None] * weights / 2) - right.reshape(len(half), -1)).ravel()
        at = np.concatenate([[-a, a], right, -right])
        plain = np.concatenate([np.full(2, -a - np.log(2.0)), logs, logs])
        return plain, np.abs(at) - np.abs(at - a), np.abs(at) - np.abs(at + a)

    @staticmethod
    def _normal_panels(shift: float, power: float, turns: float) -> tuple[Floats, Floats, Floats]:
        """A trapezoid rule, off by e^{−2πb/h} times what grows in a strip of width b.

        Within b = ½/μ mixtures are at least cos ½ of their modulus, and e^{itL} grows by e^{tμb}.
        """
        strip = min(5.0, 0.5 / shift)
        spacing = 2 * np.pi / (turns * shift + (45.0 + 0.14 * power) / strip)
        reach = 13.0 + (power + 1) * shift
        if reach / spacing > _MOST_NODES:
            raise NoTruth(f"{reach / spacing:.0f} nodes")
        points = np.arange(-13.0, reach, spacing)
        plain = -points * points / 2 - 0.5 * np.log(2 * np.pi) + np.log(spacing)
        return plain, shift * points - shift**2 / 2, -shift * points - shift**2 / 2

    def log_moment(self, z: Complex) -> Complex:
        z = np.asarray(z)
        plain, up, down = self._panels(z)
        kept, drawn = float(np.log1p(-float(self.rate))), float(np.log(float(self.rate)))
        moved = np.logaddexp(kept, drawn + up)
        other = np.logaddexp(kept, drawn + down) if self.mode == "replaced" else np.zeros_like(up)
        if self.mode == "added":
            moved, other = other, moved
        exponents = plain + moved + np.multiply.outer(z, moved - other)
        return _log_sum(exponents.astype(np.complex128))
