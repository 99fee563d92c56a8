"""Every proof rejects wrong constants; apart from its steps, so that two workers share the work."""

import pytest

from proofs.support.catalog import find, proofs

NAMES = list(proofs())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_each_mutation_is_rejected(name: str) -> None:
    found = find(name).rejections()
    assert found
    assert [each for each, rejection in found.items() if rejection.passed] == []
    assert all(rejection.step for rejection in found.values())


@pytest.mark.parametrize("name", NAMES)
def test_each_step_has_a_mutation(name: str) -> None:
    """A step that no wrong constant can break would prove nothing."""
    proof = find(name)
    mutated = {called for wrong in proof.mutations.values() for called in wrong.__code__.co_names}
    assert {step.__name__ for step in proof.steps} <= mutated
