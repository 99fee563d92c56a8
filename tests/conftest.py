"""The same examples on every machine, every time; fresh ones on demand.

`steady`, the default, derives hypothesis' examples from each test's own code, and from nothing
else: by itself hypothesis also tries the constants of all modules that happen to be loaded, which
depends on what the process ran before. Noise without a seed, which users of a private model want,
comes from the name of the test. `fresh` draws both
anew: `make test-all` loads it with a seed that it prints, and `make test-all SEED=…` repeats a
run. `thorough` is fresh and looks ten times as hard.
"""

import gc
import os
import random
import secrets
from collections import Counter
from collections.abc import Generator

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("fresh", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("steady")
os.environ.pop("COLUMNS", None)  # readline sets it for the workers of a parallel run


def examples(*, quick: int, fresh: int = 100) -> int:
    """How many examples of an expensive law: few in `make test`, else so many of a hundred."""
    if settings.get_current_profile_name() == "steady":
        return quick
    return max(1, settings().max_examples * fresh // 100)


def pytest_configure(config: pytest.Config) -> None:
    """Keep constants of loaded modules out of examples that are to be the same every time."""
    if config.getoption("--hypothesis-profile") in {None, "steady"}:
        providers._get_local_constants = Constants


def pytest_collection() -> None:
    """Collect without looking for garbage: of thousands of tests made, none is thrown away."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Tests run with the collector on, as users' programs do; what is collected stays as it is."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Generators without a seed take one from the test's name, and from the seed of a fresh run."""
    seed = item.config.getoption("--hypothesis-seed")
    drawn = random.Random(f"{seed} {item.nodeid}")  # noqa: S311  # no secret
    process = os.getpid()

    def randbits(count: int) -> int:
        forked = os.getpid() != process  # where the same bits would be drawn a second time
        return secrets.randbits(count) if forked else drawn.getrandbits(count)

    np.random.bit_generator.randbits = randbits  # type: ignore[attr-defined]  # where NumPy takes them from


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)`, every n-th case is quick; the others are slow tests."""
    seen = Counter[str]()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        name = item.nodeid.partition("[")[0]
        if seen[name] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        seen[name] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Fail a test that leaves another profile behind: later tests would draw other examples."""
    yield
    wanted = item.config.getoption("--hypothesis-profile") or "steady"
    found = settings.get_current_profile_name()
    if found != wanted:
        settings.load_profile(wanted)
        pytest.fail(f"the test left hypothesis with the profile {found!r}, not {wanted!r}")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which examples are drawn, and how to draw them again."""
    profile = config.getoption("--hypothesis-profile") or "steady"
    if profile == "steady":
        return "hypothesis: the same examples every time"
    seed = config.getoption("--hypothesis-seed")
    again = "" if seed is None else f"; to repeat: --hypothesis-seed={seed}"
    return f"hypothesis: fresh examples, profile {profile}{again}"
