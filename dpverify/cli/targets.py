"""What a verb is pointed at: a mechanism by its name or file, a dataset in a file."""

import json
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.cli.output import reading
from dpverify.cli.packages import OWN
from dpverify.cli.solver_targets import names
from dpverify.errors import InvalidParameter


def load_target(target: str) -> Any:  # noqa: ANN401  # a mechanism of any kind
    """The object that `package.module:name` or `path/file.py:name` names.

    Modules are searched in the working directory first.
    """
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise InvalidParameter(
            f"target={target!r} must look like package.module:name or path/file.py:name, "
            f"or be one of: {names()}"
        )
    try:
        found: Any = _from_file(Path(place)) if place.endswith(".py") else _by_name(place)
        found = _member(found, name, target)
    except InvalidParameter:
        raise
    # A module may fail in any way while it is imported.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        hint = f"; {place} is a package of dpverify" if place in OWN else ""
        raise InvalidParameter(f"target={target!r} must be importable: {reason}{hint}") from None
    if not callable(found) and not hasattr(found, "sample"):
        kind = type(found).__name__
        raise InvalidParameter(
            f"target={target!r} must be a mechanism(data, rng), not of type {kind}"
        )
    return found


def _member(module: ModuleType, name: str, target: str) -> Any:  # noqa: ANN401  # of any kind
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            own = [each for each, value in vars(module).items() if _is_own(value, module)]
            there = f" in the module: {', '.join(own)}" if own else "; the module has none"
            raise InvalidParameter(f"target={target!r} must name a mechanism{there}")
        found = getattr(found, part)
    return found


def _is_own(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _by_name(module: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return import_module(module)


def _from_file(path: Path) -> ModuleType:
    """The module in a file, which may import its neighbors; it hides no other of its name."""
    if not path.is_file():
        raise InvalidParameter(f"target={str(path)!r} must be a file that exists")
    name = f"dpverify_target_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidParameter(f"target={str(path)!r} must be a Python file")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_data(name: str, path: Path | None) -> Any:  # noqa: ANN401  # whatever JSON holds
    """The dataset in a JSON file."""
    if path is None:
        raise InvalidParameter(f"{name}=None must be a JSON file with a dataset")
    with reading(name, path):
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InvalidParameter(f"{name}={str(path)!r} must hold JSON: {error}") from None
