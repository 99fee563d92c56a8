"""No deception is proved, and nothing that only looks like one is refuted."""

import pytest

from dpverify.certifying import certify, check_certificate
from tests.certifying.deceptions import DECEPTIONS, Deception

LONG = {  # searched to the end of their time
    *("two_calls_two_draws_for_less", "folded", "counted_and_summed_for_less"),
    *("sparse_without_threshold_noise", "sparse_that_goes_on", "redrawn_threshold"),
    "count_typed_by_data",
}


def marked(tried: Deception) -> object:
    slow = [pytest.mark.slow] * (tried.name.split("-")[0] in LONG)
    return pytest.param(tried, id=tried.name, marks=slow)


@pytest.mark.parametrize("tried", map(marked, DECEPTIONS))
def test_no_verdict_is_wrong(tried: Deception) -> None:
    found = certify(tried.mechanism, tried.schema, tried.claim, seconds=4.0)
    wrong = "refuted" if tried.true else "proved"
    assert found.verdict != wrong, f"{found.method}: {found.reason}\n{found.tried}"
    assert check_certificate(found).valid == (found.verdict != "open")


def test_true_ones_are_proved() -> None:
    """They are no tests of a certifier that refuses all that is unusual."""
    true = [tried for tried in DECEPTIONS if tried.true]
    assert len(true) >= 25
    found = [t.name for t in true if not certify(t.mechanism, t.schema, t.claim).proved]
    assert not found
