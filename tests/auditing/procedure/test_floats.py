"""Leaks through bits: of samplers with few random bits, and none of float-safe ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import Refuted, audit
from dpverify.auditing.attacks.draws import Bound, Draws
from dpverify.auditing.attacks.sets import reachable
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace

Rng = np.random.Generator


@dataclass(frozen=True)
class FewBits:
    """Laplace noise by inversion of a uniform number of few bits."""

    bits: int

    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        uniform = (rng.integers(0, 2**self.bits, size) + 0.5) / 2**self.bits
        return data - np.sign(uniform - 0.5) * np.log1p(-2.0 * np.abs(uniform - 0.5))


def draws(mechanism: Any, left: float, right: float, size: int) -> Draws:  # noqa: ANN401
    sides = ((left, 1), (right, 2))
    return Draws(
        *(
            from_array(mechanism.sample(data, size, rng=np.random.default_rng(seed)))
            for data, seed in sides
        )
    )


@pytest.mark.parametrize("bits", [12, 16])
def test_values_that_only_one_side_reaches(bits: int) -> None:
    seen = draws(FewBits(bits), 0.3, 0.7, 8_000)
    found = list(reachable("output", seen, Bound(delta=0.0, z=2.0, planned=8_000)))
    assert {proposal.favors for proposal in found} == set(Side)
    fresh = draws(FewBits(bits), 0.3, 0.7, 4_000)
    for proposal in found:
        own = proposal.event.happens(fresh.on(proposal.favors)).mean()
        other = proposal.event.happens(fresh.on(proposal.favors.other)).mean()
        assert own > 0.03
        assert other < own / 20


def test_no_values_of_a_continuous_law_come_again() -> None:
    seen = draws(Laplace(scale=1.0, arithmetic="real"), 0.0, 1.0, 4_000)
    assert list(reachable("output", seen, Bound(delta=0.0, z=2.0, planned=4_000))) == []


def test_a_sampler_of_few_bits_is_found_out() -> None:
    given: dict[str, Any] = {"left": 0.3, "right": 0.7, "claim": PureDP(epsilon=1.0), "seed": 4}
    verdict = audit(FewBits(16), **given, samples=16_000)
    assert not verdict.refuted
    assert verdict.float_leak is not None
    assert verdict.float_leak.replay(FewBits(16), samples=16_000, seed=5).refuted
    as_floats = audit(FewBits(16), **given, samples=16_000, arithmetic="float")
    assert isinstance(as_floats, Refuted)


def test_a_safe_sampler_has_no_leak() -> None:
    verdict = audit(
        Laplace(scale=1.0), left=0.25, right=0.75, claim=PureDP(epsilon=1.0), seed=1, samples=16_000
    )
    assert verdict.float_leak is None
