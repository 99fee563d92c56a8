"""What `make test` runs is the same everywhere: examples, noise, and the share of many cases."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture
def module_with_constants(tmp_path: Path) -> str:
    path = tmp_path / "full_of_numbers.py"
    path.write_text("\n".join(f"X{i} = {i}.015625" for i in range(1000, 1500)), encoding="utf-8")
    return str(path)


def drawn() -> list[float]:
    found = []

    @settings(database=None, max_examples=200, derandomize=True)
    @given(st.floats(0, 1e4))
    def look(value: float) -> None:
        found.append(value)

    look()
    return found


def test_examples_do_not_depend_on_loaded_modules(
    module_with_constants: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--hypothesis-profile") not in {None, "steady"}:
        pytest.skip("fresh examples are not the same every time")
    before = drawn()
    spec = spec_from_file_location("full_of_numbers", module_with_constants)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "full_of_numbers", module)
    assert drawn() == before


def test_noise_without_a_seed_is_the_same_every_time(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--hypothesis-seed") is not None:
        pytest.skip("a fresh run draws other noise")
    found = [np.random.default_rng().integers(1000) for _ in range(3)]
    assert found == [840, 32, 418]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(7))
def test_every_third_case_is_quick(case: int, request: pytest.FixtureRequest) -> None:
    assert (request.node.get_closest_marker("slow") is not None) == (case % 3 > 0)
