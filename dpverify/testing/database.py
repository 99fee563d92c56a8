"""A database of examples that answers twice alike, so that a run can be repeated within it."""

from collections.abc import Iterable

from hypothesis.database import ExampleDatabase


class Snapshot(ExampleDatabase):
    """Reads what a database held at first; writes through to it."""

    def __init__(self, inner: ExampleDatabase) -> None:
        super().__init__()
        self._inner = inner
        self._held: dict[bytes, tuple[bytes, ...]] = {}

    def fetch(self, key: bytes) -> Iterable[bytes]:
        if key not in self._held:
            self._held[key] = tuple(self._inner.fetch(key))
        return self._held[key]

    def save(self, key: bytes, value: bytes) -> None:
        self._inner.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        self._inner.delete(key, value)

    def move(self, src: bytes, dest: bytes, value: bytes) -> None:
        self._inner.move(src, dest, value)
