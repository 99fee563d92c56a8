"""Same seed, same verdict: one process, several, threads, or a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from dpverify.auditing import Verdict, audit
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace
from tests.auditing.workloads import Vectors, noisy, texts

CASES = {
    "callable": (noisy, PureDP(epsilon=0.5), 2_000),
    "any outputs": (texts, PureDP(epsilon=0.2), 600),
    "vectorized": (Vectors(), PureDP(epsilon=6.0), 8_000),
    "with a density": (Laplace(scale=1.0), PureDP(epsilon=1.5), 40_000),
}


def verdict(name: str, **how: Any) -> Verdict:  # noqa: ANN401
    mechanism, claim, samples = CASES[name]
    found = audit(mechanism, left=0, right=1, claim=claim, samples=samples, seed=3, **how)
    return replace(found, seconds=0.0)


@pytest.fixture(scope="module")
def alone() -> dict[str, Verdict]:
    return {name: verdict(name) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_processes(name: str, alone: dict[str, Verdict]) -> None:
    assert verdict(name, workers=2) == alone[name]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_threads(name: str, alone: dict[str, Verdict]) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert verdict(name, executor=pool) == alone[name]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor()


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("default")  # Dask's own
@pytest.mark.parametrize("name", CASES)
def test_a_dask_cluster(name: str, alone: dict[str, Verdict], cluster: Executor) -> None:
    assert verdict(name, executor=cluster) == alone[name]


def test_time_outs_need_a_main_thread() -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(InvalidParameter, match=r"timeout=1\.0 must"):
        verdict("callable", executor=pool, timeout=1.0)


def test_what_cannot_be_sent_to_workers_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="must be picklable"):
        audit(lambda data, rng: rng.random(), left=0, right=1, claim=PureDP(epsilon=1.0), workers=2)  # noqa: ARG005
