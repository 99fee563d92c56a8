"""Where a user's own rules, mechanisms, attacks, losses and domains are made known, by name.

`register` takes any of them and finds out which it is by what it has. From then on `compare`,
plots, reports and the command line find it as they find the library's own.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, cast

from dpverify.errors import InvalidParameter, NotSupported, check_instance

T = TypeVar("T")

GROUP = "dpverify"  # of entry points that installed packages offer
_HOMES = (
    "dpverify.accounting.rules",
    "dpverify.mechanisms.registered",
    "dpverify.auditing.attacks.proposals",
)
_KINDS: dict[str, "Registry[object]"] = {}


class Later(NamedTuple):
    """Where a registered thing is defined, as long as it was not imported."""

    module: str
    name: str


class Registry(Generic[T]):
    """Things of one kind in the order in which they were added, each under a name of its own.

    `needs` are the members that one must have; `a|b` means either of two. `check` raises if they
    are not what they should be.
    Where `takes_instances` is False, classes are kept, and made when they are asked for by name.
    """

    def __init__(
        self,
        kind: str,
        *,
        needs: tuple[str, ...],
        check: Callable[[T], None] | None = None,
        takes_instances: bool = True,
    ) -> None:
        self.kind, self.needs, self.takes_instances = kind, needs, takes_instances
        self._check = check
        self._things: dict[str, T | Later] = {}
        _KINDS[kind] = self  # type: ignore[assignment]  # one registry a kind

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._things)

    def __iter__(self) -> Iterator[T]:
        return iter([self[name] for name in self.names])

    def __len__(self) -> int:
        return len(self._things)

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __getitem__(self, name: str) -> T:
        if name not in self._things:
            raise InvalidParameter(f"{self.kind}={name!r} must be one of: {', '.join(self.names)}")
        thing = self._things[name]
        if isinstance(thing, Later):
            thing = self._things[name] = getattr(import_module(thing.module), thing.name)
        return cast("T", thing)

    def names_of(self, own: str) -> tuple[str, ...]:
        """The names under which things are kept that call themselves `own`; nothing is imported."""
        return tuple(
            name
            for name, thing in self._things.items()
            if own == (thing.name if isinstance(thing, Later) else getattr(thing, "__name__", None))
        )

    def add_later(self, name: str, place: str) -> None:
        """Add under this name what is at `module.attribute`, without importing it yet."""
        self._things[name] = Later(*place.rsplit(".", 1))

    def add(self, thing: T, *, name: str | None = None) -> None:
        """Add it under its own name, or under another."""
        if lacking := missing(thing, self.needs):
            raise InvalidParameter(f"{self.kind}={thing!r} must have {' and '.join(lacking)}")
        if self._check is not None:
            self._check(thing)
        name = name or name_of(thing)
        if name in self and self[name] is not thing:
            raise InvalidParameter(
                f"name={name!r} must be new: there is another {self.kind} of this name"
            )
        self._things[name] = thing

    def remove(self, name: str) -> None:
        """Forget the thing of this name."""
        self[name]
        del self._things[name]


def register(thing: T, *, kind: str | None = None, name: str | None = None) -> T:
    """Make a rule, a mechanism, an attack, a loss or a domain known to the whole library.

    `kind` need only be given where what it has fits more than one. The thing is returned, so that
    `@dpv.register` stands above a class.

    >>> import dpverify as dpv
    >>> @dpv.register
    ... class Coin:
    ...     def pair(self, relation):
    ...         return dpv.FinitePair(left=[0.75, 0.25], right=[0.25, 0.75])
    >>> from dpverify.cli.expression import parse
    >>> type(parse("coin()")[0][0]).__name__
    'Coin'
    >>> from dpverify.mechanisms.registered import MECHANISMS
    >>> MECHANISMS.remove("coin")
    """
    for home in _HOMES:
        import_module(home)
    if kind is not None and kind not in _KINDS:
        raise InvalidParameter(f"kind={kind!r} must be one of: {', '.join(sorted(_KINDS))}")
    chosen = _KINDS[kind] if kind is not None else _closest(thing)
    if chosen.takes_instances:
        check_instance(chosen.kind, thing)
    chosen.add(thing, name=name)
    return thing


def _closest(thing: object) -> "Registry[object]":
    """The kind of which it has the most members."""

    def share(registry: "Registry[object]") -> float:
        return 1.0 - len(missing(thing, registry.needs)) / len(registry.needs)

    best = max(_KINDS.values(), key=share)
    if share(best) == 0.0:
        kinds = "; ".join(f"{kind}: {', '.join(r.needs)}" for kind, r in _KINDS.items())
        raise NotSupported(f"thing={thing!r} must have the members of one kind: {kinds}")
    return best


def missing(thing: object, needs: Iterable[str]) -> list[str]:
    """Those of the members that the object lacks."""
    return [
        need.replace("|", " or ")
        for need in needs
        if not any(getattr(thing, name, None) is not None for name in need.split("|"))
    ]


def name_of(thing: object) -> str:
    """Its own `name`, or that of its class or function as one would type it.

    >>> class NoisyMean: ...
    >>> name_of(NoisyMean)
    'noisy_mean'
    """
    name = getattr(thing, "name", None)
    if isinstance(name, str) and name:
        return name
    plain = getattr(thing, "__name__", type(thing).__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()


def load_plugins(modules: Iterable[str] = ()) -> None:
    """Import what registers things: installed packages' entry points, and modules by name.

    Modules are looked for in the current folder too.
    """
    for point in entry_points(group=GROUP):
        _imported(point.name, point.load)
    listed = list(modules)
    if listed and (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    for module in listed:
        _imported(module, partial(import_module, module))


def _imported(plugin: str, load: Callable[[], object]) -> None:
    """Import one plugin, which may fail in any way."""
    try:
        load()
    except (Exception, SystemExit) as error:  # noqa: BLE001
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidParameter(
            f"plugin={plugin!r} must be a module that can be imported: {reason}"
        ) from None
