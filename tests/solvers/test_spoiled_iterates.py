"""Does the audit find every spoiled constant, within the stated number of draws?"""

import pytest

from dpverify.auditing import audit
from tests.solvers.spoiled_iterates import SPOILED, Spoiled


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spoiled", SPOILED, ids=lambda s: s.name)
def test_every_spoiled_constant_is_refuted(spoiled: Spoiled) -> None:
    verdict = audit(
        spoiled.mechanism,
        left=spoiled.left,
        right=spoiled.right,
        claim=spoiled.claim,
        level=0.01,
        seed=3,
        samples=spoiled.samples,
    )
    assert verdict.refuted, verdict
