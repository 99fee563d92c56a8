"""A share of the random compositions, and the truths themselves against numbers by hand."""

from fractions import Fraction

import mpmath as mp
import pytest

import dpverify as dpv
from dpverify.guarantees import Bracket
from tests.accounting.fuzz import judging
from tests.accounting.fuzz.judging import family_of, judged
from tests.accounting.fuzz.laws import Exponential, Normal, NoTruth, Sampled
from tests.accounting.fuzz.table import FAMILIES, response
from tests.accounting.fuzz.truths import contour, normal, residues, sampled_once, summed, worse

SEED, SHARE = 1, 40  # of its own: the long run takes others


@pytest.mark.parametrize("stretch", range(10))
def test_no_bracket_misses(stretch: int) -> None:
    for index in range(stretch * SHARE // 10, (stretch + 1) * SHARE // 10):
        found = judged(index, seed=SEED)
        assert not found.miss, found


def test_every_family_is_in_the_share() -> None:
    assert {family_of(index) for index in range(SHARE)} == set(FAMILIES)
    assert sum(weight for weight, _, _ in FAMILIES.values()) == 5000


def test_a_bracket_that_is_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends moved past each other's place by a thousandth: most cases must be misses."""

    def shifted(accountant: dpv.Accountant, unknown: str, at: float, tolerance: float) -> Bracket:
        found = exact(accountant, unknown, at, tolerance)
        return Bracket(found.upper * 1.001 + 1e-9, found.upper * 1.002 + 2e-9)

    exact = judging.asked
    monkeypatch.setattr(judging, "asked", shifted)
    found = [judged(index, seed=SEED) for index in range(12)]
    # Guarantees that leave a mechanism open, and answers of 0 or 1, cannot tell.
    assert sum(bool(each.miss) for each in found) >= 6


def test_the_truths_by_hand() -> None:
    """Two of one randomized response, e^ε = 3: 9/16, 3/16, 3/16, 1/16 against their mirror."""
    with mp.workdps(50):
        two = summed([(response(mp.log(3)), 2)], 0.0)
        assert abs(two - mp.mpf(1) / 2) < 1e-40
        assert abs(residues([(Exponential(Fraction(2)), 1)], 1.0) - (1 - mp.exp(-0.5))) < 1e-40
        gauss = normal([(Normal(Fraction(1)), 4)], 1.0)
        assert abs(gauss - (mp.ncdf(0.5) - mp.e * mp.ncdf(-1.5))) < 1e-40
        once = sampled_once(Sampled(Normal(Fraction(1)), Fraction(1, 2), "removed"), 0.0)
        assert abs(once - (mp.ncdf(0.5) - mp.ncdf(-0.5)) / 2) < 1e-40


def test_methods_agree_where_two_apply() -> None:
    """Contours against closed forms, residues and sums over outcomes."""
    smooth, sampled = (
        Normal(Fraction(1, 4)),
        Sampled(Normal(Fraction(1)), Fraction(1, 10), "replaced"),
    )
    low, high = contour([(smooth, 9)], 1.5)
    assert low <= normal([(smooth, 9)], 1.5) <= high
    noisy = [(Normal(Fraction(1, 100)), 1), (sampled, 1)]
    nearly = sampled_once(sampled, 0.5)
    assert contour(noisy, 0.5)[1] > nearly  # more can only show more
    assert contour(noisy, 0.5)[0] < nearly + 0.05
    steps = [(Exponential(Fraction(1, 3)), 3), (response(mp.mpf(1) / 5), 2)]
    as_steps = worse(steps)(0.7)
    assert as_steps[0] < as_steps[1]
    with pytest.raises(NoTruth):
        contour([(Exponential(Fraction(1)), 1)], 0.5)  # half of it is an atom
