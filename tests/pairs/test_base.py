"""What the base class does where even the last precision cannot tell."""

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverify.pairs import Pair


class BlurredPair(Pair):
    """Its profile is 1/2 below ε = 1, but written so that no precision shows that it is."""

    @property
    def reversed(self) -> "BlurredPair":
        return self

    @property
    def singular_mass(self) -> float:
        return 0.25

    @property
    def max_loss(self) -> float:
        return 1.0

    def profile_ball(self, epsilon: arb) -> arb:
        return arb(2).sqrt() * arb(2).sqrt() / 4 if epsilon < 1 else arb(0.25)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        return (1 - false_alarm) / 3

    def renyi_ball(self, order: arb) -> arb:
        return order

    def kullback_leibler_ball(self) -> arb:
        return arb(1)


def test_an_undecided_equality_widens_the_bracket() -> None:
    """The truth is 0: 1/2 suffices from the start. The bracket may be wide but must contain it."""
    found = BlurredPair().epsilon_bracket(0.5)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert BlurredPair().epsilon_bracket(0.75).upper == 0.0
    assert BlurredPair().epsilon_bracket(0.3).lower == math.nextafter(1.0, 0.0)


def test_limits_come_from_the_two_properties() -> None:
    pair = BlurredPair()
    assert pair.epsilon(0.2) == math.inf
    assert pair.epsilon(0.25) == 1.0
    assert pair.delta(1.0) == pair.delta(math.inf) == 0.25
    assert pair.renyi(1.0) == pair.renyi(math.inf) == math.inf


def test_rounding_is_towards_safety() -> None:
    pair = BlurredPair()
    assert pair.trade_off(0.0) == pytest.approx(1 / 3, rel=1e-15)
    assert Fraction(pair.trade_off(0.0)) < Fraction(1, 3)
    assert pair.delta(0.5) >= 0.5 >= pair.delta_bracket(0.5).lower
