"""Import `solvers` and `proofs` from beside dpverify, whatever else has these names."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

OWN = ("proofs", "solvers")
_ROOT = str(Path(__file__).parents[2])


class _OwnFirst(MetaPathFinder):
    """Finds the packages beside dpverify there alone: never in a folder someone works in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname not in OWN:
            return None
        found = PathFinder.find_spec(fullname, [_ROOT])
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found


_FINDER = _OwnFirst()


def prefer_own() -> None:
    """Look for our packages beside dpverify, before anything on `sys.path`."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
