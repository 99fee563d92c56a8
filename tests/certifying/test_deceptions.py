"""No deception is proved, and nothing that only looks like one is refuted."""

import pytest
from _pytest.mark import ParameterSet

from dpverify.certifying import certify, check_certificate
from tests.certifying.deceptions import Deception
from tests.certifying.surprises import DECEPTIONS

LONG = {  # searched to the end of their time
    *("two_calls_two_draws_for_less", "folded", "counted_and_summed_for_less"),
    *("sparse_without_threshold_noise", "sparse_that_goes_on", "redrawn_threshold"),
    *("count_typed_by_data", "any_length_last_bit", "any_length_two_hits", "scale_by_length"),
    *("any_length_noise_of_the_bar", "last_one_there", "mean_with_noise_of_its_length_for_less"),
}


def marked(tried: Deception) -> ParameterSet:
    slow = [pytest.mark.slow] * (tried.name.split("-")[0] in LONG)
    return pytest.param(tried, id=tried.name, marks=slow)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("tried", [marked(tried) for tried in DECEPTIONS])
def test_no_verdict_is_wrong(tried: Deception) -> None:
    """What is true is proved, so that these are no tests of one who refuses all that is unusual."""
    seconds = 60.0 if tried.true else 4.0
    found = certify(tried.mechanism, tried.schema, tried.claim, seconds=seconds)
    assert found.proved == tried.true, f"{found.method}: {found.reason}\n{found.tried}"
    assert check_certificate(found).valid == (found.verdict != "open")


def test_there_are_enough_of_them() -> None:
    true = [tried for tried in DECEPTIONS if tried.true]
    assert len(true) >= 50
    assert len(DECEPTIONS) - len(true) >= 250
