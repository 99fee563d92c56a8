"""Additive noise with and without a shift, from which subsampled pairs are mixed.

In units of the noise, B is the unshifted noise and B(±s) the noise moved by ±s. The likelihood
ratio r(z) = dB(s)/dB rises with z, and dB(−s)/dB at z is r(−z).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from flint import acb, arb, ctx

from dpverify.pairs.gaussian import GaussianPair, upper_tail
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import LossLaw, laplace_law, normal_law

Integrand = Callable[[acb, acb, bool], acb]


class Shift(ABC):
    """A noise and the size of the shift, in balls."""

    @property
    @abstractmethod
    def size(self) -> arb:
        """s, in units of the noise."""

    @abstractmethod
    def loss_law(self, *, left: float, right: float) -> LossLaw:
        """The loss of (1−a)·B + a·B(s) against (1−b)·B + b·B(−s), a = `left` and b = `right`."""

    @abstractmethod
    def tail(self, outcome: arb) -> arb:
        """B(z > outcome)."""

    @abstractmethod
    def quantile(self, tail: arb) -> arb:
        """The outcome with that tail, for 0 < tail < 1."""

    @abstractmethod
    def ratio(self, outcome: arb, copies: int) -> arb:
        """dB(copies·s)/dB at an outcome."""

    @abstractmethod
    def expectation(self, integrand: Integrand, growth: arb, *, above: bool = False) -> arb:
        """E of integrand(r(z), r(−z)) under B; with `above`, only over z > s/2, where r(z) > 1.

        The integrand is told whether it must check that it is analytic at its arguments. On real
        outcomes it is at most e^(growth·(1 + |z|)).
        """


@dataclass(frozen=True, slots=True)
class NormalShift(Shift):
    """N(0, 1) and N(μ, 1)."""

    pair: GaussianPair

    @property
    def size(self) -> arb:
        return self.pair.mu

    def loss_law(self, *, left: float, right: float) -> LossLaw:
        return normal_law(float(self.size), left=left, right=right)

    def tail(self, outcome: arb) -> arb:
        return upper_tail(outcome)

    def quantile(self, tail: arb) -> arb:
        return arb(2).sqrt() * (2 * tail).erfcinv()

    def ratio(self, outcome: arb, copies: int) -> arb:
        moved = copies * self.size
        return (moved * outcome - moved * moved / 2).exp()

    def expectation(self, integrand: Integrand, growth: arb, *, above: bool = False) -> arb:
        """Over |z| ≤ T by rigorous quadrature; beyond, by the bound that the caller gave.

        ∫ e^(g·(1+z))·φ(z) over z > T is e^(g + g²/2)·(1 − Φ(T − g)).
        """
        size, g = self.size, growth.upper()
        reach = (g + size + (2 * arb(ctx.prec) + g * g + 2 * g + 10).sqrt()).upper()

        def density(z: acb, analytic: bool) -> acb:  # noqa: FBT001  # flint calls it
            up, down = (size * z - size * size / 2).exp(), (-size * z - size * size / 2).exp()
            return integrand(up, down, analytic) * (-z * z / 2).exp()

        inside = acb.integral(density, size / 2 if above else -reach, reach).real
        outside = 2 * (g + g * g / 2).exp() * upper_tail(reach - g)
        return inside / (2 * arb.pi()).sqrt() + outside * arb(0, 1)


@dataclass(frozen=True, slots=True)
class LaplaceShift(Shift):
    """Laplace(0, 1) and Laplace(s, 1)."""

    pair: LaplacePair

    @property
    def size(self) -> arb:
        return self.pair.shift

    def loss_law(self, *, left: float, right: float) -> LossLaw:
        return laplace_law(float(self.size), left=left, right=right)

    def tail(self, outcome: arb) -> arb:
        if outcome >= 0:
            return (-outcome).exp() / 2
        if outcome < 0:
            return 1 - outcome.exp() / 2
        return ((-outcome).exp() / 2).union(1 - outcome.exp() / 2)

    def quantile(self, tail: arb) -> arb:
        above, below = -(2 * tail).log(), (2 * (1 - tail)).log()
        if tail <= 0.5:
            return above
        return below if tail > 0.5 else above.union(below)

    def ratio(self, outcome: arb, copies: int) -> arb:
        return (abs(outcome) - abs(outcome - copies * self.size)).exp()

    def expectation(
        self,
        integrand: Integrand,
        growth: arb,  # noqa: ARG002  # the ratios are bounded
        *,
        above: bool = False,
    ) -> arb:
        """The ratios are constant beyond ±s, and exponential on either side of 0 between."""
        size = self.size
        least, most = acb((-size).exp()), acb(size.exp())
        end = (-size).exp() / 2

        def right(z: acb, analytic: bool) -> acb:  # noqa: FBT001  # flint calls it
            return integrand((2 * z - size).exp(), least, analytic) * (-z).exp() / 2

        def left(z: acb, analytic: bool) -> acb:  # noqa: FBT001  # flint calls it
            return integrand(least, (2 * z - size).exp(), analytic) * (-z).exp() / 2

        at_top = integrand(most, least, False)  # noqa: FBT003  # as flint calls it
        up = acb.integral(right, size / 2 if above else 0, size) + end * at_top
        if above:
            return up.real
        at_bottom = integrand(least, most, False)  # noqa: FBT003  # as flint calls it
        down = acb.integral(left, 0, size) + end * at_bottom
        return (up + down).real


def shift_of(pair: GaussianPair | LaplacePair) -> Shift:
    return NormalShift(pair) if isinstance(pair, GaussianPair) else LaplaceShift(pair)
