"""A user's own pair: two members written, everything else derived, and every bound still one."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from flint import arb

import dpverify as dpv
from dpverify.accounting.numerical import NumericalComposition
from dpverify.claims import read_claim
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.pairs import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Mixed,
    Pair,
    SampledPair,
    SubsampledPair,
    WithoutReplacementPair,
)
from dpverify.reporting.plots import composition_figure

ADD_REMOVE = dpv.Relation.ADD_REMOVE


@dataclass(frozen=True)
class Hidden(Pair):
    """A pair of which nothing is told but its profile."""

    inner: Pair

    def profile_ball(self, epsilon: arb) -> arb:
        return self.inner.profile_ball(epsilon)

    @property
    def reversed(self) -> Pair:
        return Hidden(self.inner.reversed)


GAUSSIAN = GaussianPair(Fraction(1, 4))
LAPLACE = LaplacePair(scale=2.0, sensitivity=1.0)
RESPONSE = LeakyResponsePair(ApproxDP(epsilon=0.5))
LEAKY = LeakyResponsePair(ApproxDP(epsilon=0.3, delta=1e-3))
SAMPLED = SubsampledPair(GaussianPair(Fraction(1)), 0.05)
LOPSIDED = FinitePair(left=[0.5, 0.3, 0.2], right=[0.2, 0.3, 0.5])
PAIRS = (GAUSSIAN, LAPLACE, RESPONSE, LEAKY, SAMPLED, SAMPLED.reversed, LOPSIDED)


def meet(first: Bracket, second: Bracket) -> bool:
    return first.lower <= second.upper and second.lower <= first.upper


def composed(pair: Pair, times: int = 1) -> dpv.Accountant:
    return dpv.Accountant(relation=ADD_REMOVE).compose(pair, times=times)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("pair", "times", "delta"),
    [
        (GAUSSIAN, 2, 0.05),
        (GAUSSIAN, 30, 1e-6),
        (LAPLACE, 2, 1e-6),
        (LAPLACE, 30, 0.05),
        (RESPONSE, 2, 0.05),
        (LEAKY, 2, 0.05),
        (SAMPLED, 2, 0.05),
        (SAMPLED, 30, 1e-6),
        pytest.param(SAMPLED.reversed, 30, 1e-6, marks=pytest.mark.slow),
        pytest.param(RESPONSE, 30, 1e-6, marks=pytest.mark.slow),
        pytest.param(LEAKY, 30, 1e-6, marks=pytest.mark.slow),
        pytest.param(LOPSIDED, 3, 0.05, marks=pytest.mark.slow),
    ],
)
def test_a_hidden_pair_composes_to_what_the_open_one_does(
    pair: Pair, times: int, delta: float
) -> None:
    direct = NumericalComposition(((pair, times),)).epsilon(delta, tolerance=1e-2)
    found = NumericalComposition(((Hidden(pair), times),)).epsilon(delta, tolerance=1e-2)
    assert meet(direct, found)
    assert pair is LEAKY or found.width <= 1e-2
    direct = NumericalComposition(((pair, times),)).delta(0.4, tolerance=1e-1)
    found = NumericalComposition(((Hidden(pair), times),)).delta(0.4, tolerance=1e-1)
    assert meet(direct, found)


@pytest.mark.parametrize(
    ("times", "delta"),
    [
        (2, 1e-9),
        (400, 0.1),
        pytest.param(2, 0.1, marks=pytest.mark.slow),
        pytest.param(400, 1e-9, marks=pytest.mark.slow),
    ],
)
def test_closed_forms_lie_inside(times: int, delta: float) -> None:
    """Gaussian compositions are known exactly: they lie in a hidden pair's bracket."""
    found = composed(Hidden(GAUSSIAN), times).epsilon(delta, tolerance=1e-2)
    truth = GaussianPair(GAUSSIAN.squared_mu * times).epsilon_bracket(delta)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper <= truth.upper + 1e-2


@pytest.mark.parametrize("delta", [1e-5, pytest.param(0.2, marks=pytest.mark.slow)])
def test_leaky_closed_forms_lie_inside(delta: float) -> None:
    truth = composed(RESPONSE, 20).epsilon(delta)
    found = composed(Hidden(RESPONSE), 20).epsilon(delta)
    assert meet(truth, found)


def test_it_composes_with_anything() -> None:
    mixed = composed(Hidden(LAPLACE), 3).compose(dpv.Gaussian(sigma=3.0), times=5)
    direct = composed(LAPLACE, 3).compose(dpv.Gaussian(sigma=3.0), times=5)
    for accountant in (mixed, mixed.compose(dpv.ApproxDP(epsilon=0.1, delta=1e-7), times=4)):
        assert accountant.epsilon(1e-5).width <= 2e-3
    assert meet(mixed.epsilon(1e-5), direct.epsilon(1e-5))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_one_run_is_read_off_the_profile(pair: Pair) -> None:
    hidden = Hidden(pair)
    for epsilon in (0.0, 0.2, 3.0):
        assert hidden.delta(epsilon) >= pair.delta_bracket(epsilon).lower
        assert hidden.delta(epsilon) <= pair.delta(epsilon) + 1e-15
    for delta in (0.01, 1e-7):
        assert meet(hidden.epsilon_bracket(delta), pair.epsilon_bracket(delta))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_the_derived_trade_off_is_the_curve_from_below(pair: Pair) -> None:
    for alpha in (0.0, 0.03, 0.4, 0.9, 1.0):
        truth = pair.trade_off(alpha)
        assert truth - 1e-9 <= Hidden(pair).trade_off(alpha) <= math.nextafter(truth, 2.0)


def test_derived_divergences_bound_the_true_ones_where_losses_are_bounded() -> None:
    for pair in (LAPLACE, RESPONSE, LOPSIDED):
        for order in (1.0, 1.5, 8.0, math.inf):
            truth = pair.renyi(order)
            assert truth * (1 - 1e-12) <= Hidden(pair).renyi(order) <= truth + 1e-3
    assert Hidden(GAUSSIAN).renyi(2.0) == math.inf
    assert "rdp" in {row.rule for row in composed(Hidden(LAPLACE), 9).compare(delta=1e-5).rows}


def test_limits_are_bounds_unless_they_are_stated() -> None:
    hidden = Hidden(LEAKY)
    assert not hidden.is_limit_known
    assert hidden.singular_mass >= 1e-3
    assert hidden.delta_bracket(math.inf).lower == 0.0
    assert hidden.epsilon_bracket(1e-6) == Bracket(
        700.0, math.inf, hidden.epsilon_bracket(1e-6).theorem
    )
    assert composed(hidden, 2).epsilon(0.0).upper == math.inf
    assert Hidden(LAPLACE).max_loss == pytest.approx(0.5)
    assert Hidden(GAUSSIAN).max_loss == math.inf


@pytest.mark.parametrize("pair", [GAUSSIAN, LAPLACE])
def test_sampling_any_pair_is_sampling_a_known_one(pair: Pair) -> None:
    known = SubsampledPair(pair, 0.2)  # type: ignore[arg-type]  # one of the two that it takes
    for side, other in ((known, SampledPair(Hidden(pair), 0.2)),):
        for first, second in ((side, other), (side.reversed, other.reversed)):
            for epsilon in (0.0, 0.05, 0.3):
                assert meet(first.delta_bracket(epsilon), second.delta_bracket(epsilon))
    direct = composed(known, 40).epsilon(1e-5)
    found = composed(SampledPair(Hidden(pair), 0.2), 40).epsilon(1e-5)
    assert meet(direct, found)
    assert found.width <= 2e-3


def test_sampled_responses_are_finite_pairs() -> None:
    """(1−q)·Q + q·P against Q by hand, at e^ε = 3."""
    third, q = Fraction(1, 4), Fraction(1, 10)
    left = [(1 - q) * third + q * 3 * third, (1 - q) * 3 * third + q * third]
    exact = FinitePair(left=left, right=[third, 3 * third])
    sampled = SampledPair(FinitePair.leaky_response(Fraction(3), Fraction(0)), q)  # type: ignore[arg-type]  # exact
    for epsilon in (0.0, 0.01, 0.1):
        assert meet(exact.delta_bracket(epsilon), sampled.delta_bracket(epsilon))
        assert meet(exact.reversed.delta_bracket(epsilon), sampled.reversed.delta_bracket(epsilon))
    for side, known in ((sampled, exact), (sampled.reversed, exact.reversed)):
        simple = side.simplest
        assert isinstance(simple, FinitePair)
        assert simple.delta_at_ratio(Fraction(11, 10)) == known.delta_at_ratio(Fraction(11, 10))
    assert sampled.max_loss == pytest.approx(exact.max_loss)
    assert sampled.reversed.max_loss == pytest.approx(exact.reversed.max_loss)
    spent = dpv.Subsampled(dpv.RandomizedResponse(epsilon=math.log(3)), rate=0.1)
    assert composed(spent, 5).epsilon(0.0).upper == pytest.approx(5 * exact.max_loss)  # type: ignore[arg-type]


def test_batches_of_any_pair_are_batches_of_a_known_one() -> None:
    step = dpv.SubsampledWithoutReplacement(Hidden(GAUSSIAN), batch=1, population=10)
    found = step.pair(dpv.Relation.REPLACE_ONE)
    known = WithoutReplacementPair(GAUSSIAN, Fraction(1, 10))  # type: ignore[arg-type]  # exact
    assert found.reversed == found
    for epsilon in (0.0, 0.01, 0.1, 0.5):
        assert meet(found.delta_bracket(epsilon), known.delta_bracket(epsilon))
    with pytest.raises(NotSupported, match="equals its own `reversed`"):
        dpv.SubsampledWithoutReplacement(LOPSIDED, batch=1, population=10).pair(
            dpv.Relation.REPLACE_ONE
        )


def test_sampling_refuses_what_no_theorem_gives() -> None:
    with pytest.raises(NotSupported, match="Gaussian and Laplace noise only"):
        SampledPair(Hidden(GAUSSIAN), 0.5, Mixed.BOTH)
    with pytest.raises(NotSupported, match="replace-one"):
        dpv.Subsampled(Hidden(GAUSSIAN), rate=0.5).pair(dpv.Relation.REPLACE_ONE)
    with pytest.raises(InvalidParameter, match="must be a Pair"):
        SampledPair("noise", 0.5)  # type: ignore[arg-type]


def test_it_is_a_claim_and_can_be_drawn() -> None:
    points = dict(read_claim(Hidden(LAPLACE)).points)  # type: ignore[union-attr]  # a profile
    assert points[0.0] == pytest.approx(LAPLACE.delta(0.0))
    spent = composed(Hidden(LAPLACE))
    table = spent.compare(delta=1e-3, tolerance=1e-1)
    assert len(composition_figure(spent, table).axes) == 3


# refusals


def test_a_half_written_pair_is_refused_by_name() -> None:
    class Half(Pair):
        def profile_ball(self, epsilon: arb) -> arb:
            return epsilon

    with pytest.raises(InvalidParameter, match="Half must define reversed"):
        Half()  # type: ignore[abstract]

    class Empty(Pair):
        pass

    with pytest.raises(InvalidParameter, match="profile_ball and reversed"):
        Empty()  # type: ignore[abstract]


class Given(Pair):
    """A profile that is a function, and a mirror image."""

    def __init__(self, profile: object, mirror: object = None, **stated: object) -> None:
        self.profile, self.mirror = profile, mirror
        self.stated = stated

    def profile_ball(self, epsilon: arb) -> arb:
        return self.profile(epsilon)  # type: ignore[no-any-return, operator]

    @property
    def reversed(self) -> Pair:
        return self if self.mirror is None else self.mirror  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (lambda _: 0.5, "must be a finite flint.arb"),
        (lambda _: arb("nan"), "must be a finite flint.arb"),
        (lambda e: 1 + e, r"must lie in \[0, 1\]"),
        (lambda e: -e - 1, r"must lie in \[0, 1\]"),
        (lambda e: (e / 2).min(arb(1)), "a profile never rises"),
        (lambda e: arb(1) - e.exp().min(arb(3)) / 3, "must be convex|slope"),
        (lambda e: (1 - 2 * e.expm1()).max(arb(0)), "slope at least −1"),
    ],
)
def test_a_profile_that_is_none_is_refused_when_first_used(profile: object, message: str) -> None:
    pair = Given(profile)
    if message.startswith("must be convex"):
        pair = Given(lambda e: arb(1) / 2 if e < 0.3 else arb(0))
    for door in (composed, read_claim, lambda own: dpv.Subsampled(own, rate=0.5)):
        with pytest.raises(InvalidParameter, match=message):
            door(pair)


@dataclass(frozen=True)
class Stating(Pair):
    """The profile of a pair, and what its author says of its limit."""

    inner: Pair
    mass: float = 0.0
    loss: float = math.inf

    def profile_ball(self, epsilon: arb) -> arb:
        return self.inner.profile_ball(epsilon)

    @property
    def reversed(self) -> Pair:
        return self

    @property
    def singular_mass(self) -> float:
        return self.mass

    @property
    def max_loss(self) -> float:
        return self.loss


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"loss": 0.4}, r"Stating\.max_loss=0\.4 must be an epsilon from which on"),
        ({"mass": 0.1}, r"Stating\.singular_mass=0\.1 must not exceed the profile"),
        ({"mass": 1.5}, r"singular_mass=1\.5 must lie in"),
    ],
)
def test_a_limit_must_be_that_of_the_profile(stated: dict[str, float], message: str) -> None:
    assert composed(Stating(LAPLACE, loss=0.5)).epsilon(0.0).upper == 0.5
    with pytest.raises(InvalidParameter, match=message):
        composed(Stating(LAPLACE, **stated))


def test_limits_are_rounded_up() -> None:
    twice = FinitePair(
        left=[Fraction(2, 3), Fraction(1, 3)], right=[Fraction(1, 3), Fraction(2, 3)]
    )
    below = math.log(2.0)
    with pytest.raises(
        InvalidParameter, match=r"max_loss=0\.6931471805599453 must be .* rounded up"
    ):
        composed(Stating(twice, loss=below))
    above = math.nextafter(below, 1.0)
    assert composed(Stating(twice, loss=above)).epsilon(0.0).upper == above


def test_a_pair_must_be_hashable() -> None:
    @dataclass
    class Loose(Pair):
        inner: Pair

        def profile_ball(self, epsilon: arb) -> arb:
            return self.inner.profile_ball(epsilon)

        @property
        def reversed(self) -> Pair:
            return Loose(self.inner.reversed)

    with pytest.raises(InvalidParameter, match="Loose must be hashable"):
        composed(Loose(GAUSSIAN))


def test_a_mirror_image_must_be_one() -> None:
    with pytest.raises(InvalidParameter, match="reversed='left' must be a Pair"):
        composed(Given(RESPONSE.profile_ball, "left"))
    with pytest.raises(InvalidParameter, match="total variation"):
        composed(Given(RESPONSE.profile_ball, GAUSSIAN))


def test_a_kink_that_no_check_met_is_found_on_the_grid() -> None:
    def dented(epsilon: arb) -> arb:
        return LAPLACE.profile_ball(epsilon) * (0.999 if 0.2 < float(epsilon) < 0.21 else 1)

    with pytest.raises(InvalidParameter, match="must be convex in e\\^ε: around"):
        composed(Given(dented), 3).epsilon(0.01)
