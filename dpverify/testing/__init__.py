"""Privacy as a unit test: test claims on samples, with pytest and hypothesis.

- `satisfies`: turns a mechanism into a test that looks for a neighboring pair by itself;
- `neighbors`: neighboring pairs of any datasets that a strategy draws;
- `assert_private`: the same for one given pair;
- `strategies`: datasets, guarantees, finite pairs, compositions;
- `laws`: what must hold for every accountant, pair and mechanism;
- `plugin`: the pytest plugin, with the summary of what was tested.

Names are looked up when they are first used, so that pytest may load the plugin at no cost.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.testing.assertion import assert_private
    from dpverify.testing.decorator import satisfies
    from dpverify.testing.failure import PrivacyViolation
    from dpverify.testing.neighboring import NeighboringPair, neighbors

_HOME = {
    "NeighboringPair": "neighboring",
    "PrivacyViolation": "failure",
    "assert_private": "assertion",
    "neighbors": "neighboring",
    "satisfies": "decorator",
}

__all__ = ["NeighboringPair", "PrivacyViolation", "assert_private", "neighbors", "satisfies"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name in {"laws", "strategies"}:
        return import_module(f"dpverify.testing.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'dpverify.testing' has no attribute {name!r}")
    return getattr(import_module(f"dpverify.testing.{_HOME[name]}"), name)
