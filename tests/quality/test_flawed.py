"""Does the audit find the famous bugs, within the stated number of draws?"""

import pytest

from dpverify.auditing import Refuted, audit
from tests.flawed import FLAWED, Flawed

SLOW = {"sparse vector 3, releases the answer"}  # only boosted trees see it
CASES = [
    pytest.param(flawed, id=flawed.name, marks=pytest.mark.slow if flawed.name in SLOW else ())
    for flawed in FLAWED
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flawed", CASES)
def test_every_broken_mechanism_is_refuted(flawed: Flawed) -> None:
    verdict = audit(
        flawed,
        left=flawed.left,
        right=flawed.right,
        claim=flawed.claim,
        level=0.01,
        seed=11,
        samples=flawed.samples,
        arithmetic="float" if flawed.bits else "real",
    )
    assert isinstance(verdict, Refuted)
    again = verdict.witness.replay(flawed, samples=max(5_000, flawed.samples), seed=12)
    assert again.refuted
