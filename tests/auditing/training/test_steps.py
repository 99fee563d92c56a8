"""Steps of DP-SGD that are as claimed stand; each way of getting them wrong is refuted."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, kstest

import dpverify as dpv
from dpverify.auditing.training.recording import clipped_by_opacus, refuse_virtual_steps

Floats = NDArray[np.float64]
Rng = np.random.Generator
STEPS, SIZE, BATCH, CLIP, SIGMA = 60, 30, 16, 2.0, 0.6


def clipped(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, CLIP / norms))


def honest(rows: Floats, canary: Floats, noise: Floats, _step: int) -> Floats:
    return np.asarray(clipped(np.concatenate([rows, canary])).sum(axis=0) + CLIP * SIGMA * noise)


def batch_clipped(rows: Floats, canary: Floats, noise: Floats, _step: int) -> Floats:
    total = np.concatenate([rows, canary]).sum(axis=0)
    return np.asarray(clipped(total[None])[0] + CLIP * SIGMA * noise)


def less_noise(rows: Floats, canary: Floats, noise: Floats, step: int) -> Floats:
    return honest(rows, canary, 0.8 * noise, step)


def more_noise(rows: Floats, canary: Floats, noise: Floats, step: int) -> Floats:
    return honest(rows, canary, 1.5 * noise, step)


def noise_once(rows: Floats, canary: Floats, noise: Floats, step: int) -> Floats:
    return honest(rows, canary, noise * (step % 10 == 0), step)


def private_size(rows: Floats, canary: Floats, noise: Floats, step: int) -> Floats:
    """A mean over the batch that was drawn, told as a sum of the batch that was expected."""
    return honest(rows, canary, noise, step) / (len(rows) + len(canary)) * BATCH


def not_clipped(rows: Floats, canary: Floats, noise: Floats, step: int) -> Floats:
    return np.asarray(honest(rows, canary[:0], noise, step) + canary.sum(axis=0))


def run(release: Any, seed: int, *, same_noise: int = 1, **options: Any) -> dpv.StepsVerdict:  # noqa: ANN401
    rng = np.random.default_rng(seed)
    included = rng.random(STEPS) < 0.5
    included[:4] = [True, False, True, False]
    released, others, canaries = [], [], []
    noise = rng.normal(size=SIZE)
    for step in range(STEPS):
        rows = rng.normal(size=(1 + rng.binomial(4 * BATCH, 0.25), SIZE)) + 0.5
        canary = -10.0 * rows.sum(axis=0)
        noise = rng.normal(size=SIZE) if step % same_noise == 0 else noise
        released.append(release(rows, canary[None][: int(included[step])], noise, step))
        others.append(clipped(rows).sum(axis=0))
        canaries.append(canary)
    return dpv.audit_steps(
        released,
        others,
        canary=canaries,
        included=included,
        clip=CLIP,
        noise_multiplier=SIGMA,
        **options,
    )


@pytest.mark.false_alarm(1e-9)
def test_steps_as_claimed_are_refuted_at_most_at_the_level() -> None:
    refuted = sum(run(honest, seed, level=0.3).refuted for seed in range(60))
    assert refuted <= binom.isf(1e-9, 60, 0.3)


@pytest.mark.false_alarm(1e-9)
def test_each_p_value_is_one() -> None:
    """Each is uniform, or above uniform, over honest runs: the largest excess, by DKW."""
    found: dict[str, list[float]] = {}
    for seed in range(150):
        for test in run(honest, seed + 1000).tests:
            name = "".join(c for c in test.seen if c.isalpha())
            found.setdefault(name, []).append(test.p_value)
    assert len(found) == 7
    for values in found.values():
        assert kstest(values, "uniform", alternative="greater").pvalue > 1e-10


@pytest.mark.parametrize(
    ("release", "told"),
    [
        (batch_clipped, "times the clipping norm"),
        (less_noise, "noise is 0."),
        (noise_once, "times the noise"),
        (private_size, "as by a private batch size"),
        (not_clipped, "times the clipping norm"),
    ],
)
def test_bugs_are_refuted_and_named(release: Callable[..., Floats], told: str) -> None:
    found = run(release, 1)
    assert found.refuted
    assert told in "\n".join(str(found).splitlines()[1:])


def test_noise_that_is_used_again_is_named() -> None:
    found = run(honest, 2, same_noise=3)
    assert found.refuted
    assert "used again" in str(found)
    assert "noise of successive steps" in str(found)


@pytest.mark.false_alarm(1e-9)
def test_mu_of_a_step_is_bounded_from_below() -> None:
    bounds = [run(honest, seed + 50, level=1e-11).mu_lower for seed in range(20)]
    assert max(bounds) <= 1 / SIGMA
    assert run(not_clipped, 3, level=1e-3).mu_lower > 1 / SIGMA
    assert run(noise_once, 3, level=1e-3).mu_lower > 1 / SIGMA


def test_four_steps_without_noise_bound_mu_by_no_more_than_their_level_allows() -> None:
    """With two degrees of freedom, noise looks x times smaller than it is with probability x²."""
    included = np.array([True, False, True, False])
    canary = np.array([1.0, 0.0])
    found = dpv.audit_steps(
        included[:, None] * canary,
        np.zeros((4, 2)),
        canary=canary,
        included=included,
        clip=1.0,
        noise_multiplier=1.0,
        level=1e-3,
    )
    assert 1e3 < found.mu_lower <= 1.001e5 * np.sqrt(1e-3)


def test_more_noise_than_claimed_is_not_called_wrong_sums() -> None:
    found = run(more_noise, 4)
    assert found.refuted
    assert "or it is larger" in str(found)
    assert "if its noise is Gaussian of one size" in str(found)


def test_a_batch_in_virtual_steps_is_refused() -> None:
    begun, fresh = SimpleNamespace(summed_grad=1.0), SimpleNamespace(summed_grad=None)
    refuse_virtual_steps(SimpleNamespace(parameters=lambda: [fresh]))
    with pytest.raises(dpv.InvalidParameter, match="one virtual step each"):
        refuse_virtual_steps(SimpleNamespace(parameters=lambda: [fresh, begun]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clip": 0.0}, "clip=0.0 must"),
        ({"noise_multiplier": -1.0}, "noise_multiplier=-1.0 must"),
        ({"level": 0.0}, "level=0.0 must"),
        ({"released": np.zeros((6, 3))}, "must be alike"),
        ({"released": [[np.nan] * 4] * 6}, "released must be rows of finite numbers"),
        ({"released": "noise"}, "released must be rows"),
        ({"canary": np.zeros(4)}, "canary of shape"),
        ({"canary": np.ones(5)}, "canary of shape"),
        ({"included": np.ones(6)}, "included must be 6 bools"),
        ({"included": np.ones(6, dtype=bool)}, "must be true in 2 at least"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "released": np.ones((6, 4)),
        "others": np.zeros((6, 4)),
        "canary": np.ones(4),
        "included": np.arange(6) % 2 == 0,
        "clip": 1.0,
        "noise_multiplier": 1.0,
    } | changes
    with pytest.raises(dpv.InvalidParameter, match=message) as caught:
        dpv.audit_steps(given.pop("released"), given.pop("others"), **given)
    assert "\n" not in str(caught.value)


@pytest.mark.false_alarm(1e-9)
def test_what_opacus_adds_to_norms_is_no_flaw() -> None:
    """Of 4,000 gradients of norm C = 0.001, sums by C/norm and by C/(norm + 1e-6) differ by 4 C."""
    clip, rng = 1e-3, np.random.default_rng(0)
    included, canary = np.arange(40) % 2 == 0, np.eye(SIZE)[1]
    rows = np.tile(clip * 1.0001 * np.eye(SIZE)[0], (4_000, 1))
    released = clipped_by_opacus(rows, clip).sum(axis=0) + clip * (
        included[:, None] * canary + rng.normal(size=(40, SIZE))
    )

    def refuted(others: Floats) -> bool:
        sums = np.tile(others.sum(axis=0), (40, 1))
        given: dict[str, Any] = {"canary": canary, "included": included, "clip": clip}
        return dpv.audit_steps(released, sums, **given, noise_multiplier=1.0, level=1e-9).refuted

    assert not refuted(clipped_by_opacus(rows, clip))
    assert refuted(rows / 1.0001)
    assert (np.linalg.norm(clipped_by_opacus(rows, clip), axis=1) <= clip).all()
