"""Ten broken mechanisms are found and shrunk, ten correct ones pass."""

import pytest
from hypothesis import settings

from dpverify.testing import PrivacyViolation, satisfies
from tests.testing.demo_mechanisms import BROKEN, CORRECT, Demo


@pytest.mark.sampled(5)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("demo", CORRECT, ids=lambda demo: demo.name)
def test_correct_mechanisms_pass(demo: Demo) -> None:
    test = satisfies(demo.claim, on=demo.on, level=1e-10, samples=3_000)(demo.mechanism)
    settings(database=None, max_examples=settings().max_examples * 3 // 10)(test)()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("demo", BROKEN, ids=lambda demo: demo.name)
def test_broken_mechanisms_are_found_and_shrunk(demo: Demo) -> None:
    test = settings(database=None, derandomize=True)(
        satisfies(demo.claim, on=demo.on)(demo.mechanism)
    )
    with pytest.raises(PrivacyViolation) as caught:
        test()
    found = caught.value
    assert found.witness is not None
    assert demo.smallest(found.witness.left, found.witness.right), str(found)
    assert found.witness.replay(demo.mechanism, samples=10_000, seed=1).refuted


@pytest.mark.slow
@pytest.mark.parametrize("demo", CORRECT, ids=lambda demo: demo.name)
@pytest.mark.false_alarm(1e-9)
def test_correct_mechanisms_pass_with_all_draws(demo: Demo) -> None:
    """With all defaults but the level."""
    test = satisfies(demo.claim, on=demo.on, level=1e-10)(demo.mechanism)
    settings(database=None)(test)()
