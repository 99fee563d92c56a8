"""Packages that import a name when it is first used, so that `import dpverify` stays fast."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from each name to the module that has it.

    >>> get, _ = on_demand("dpverify", {"PureDP": "guarantees"})
    >>> get("PureDP")(1.0)
    PureDP(epsilon=1.0)
    """

    def get(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, listed
