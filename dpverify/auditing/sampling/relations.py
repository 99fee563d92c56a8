"""What the parts of one output have to do with each other: shared and repeated elements, order.

Parts that are each random may be equal, or one a member of another: then no part alone tells what
both do. So numbers, texts and collections of an output are compared, the first of them pair by
pair: how many elements two share (of a single value, itself; of a dict, its keys; of a text, its
words), exactly or but for letter case, direction or order; what comes twice in one; where it is out
of order. Of texts it is also counted which characters there are, and where they mirror each other.

All of these are counts, and 0 where there is nothing to count.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.sampling.parts import Elements, Exact, Fields, LongText, Opaque, Raised
from dpverify.auditing.sampling.spelling import shortened, spelled

COUNTED = ("count of ", "sum of ")  # with which the names of these columns begin
UNRELATED = "what parts beyond the first 16, or 2,048 elements, have in common with others"
_MOST_THINGS = 16
_MOST_ELEMENTS = 2_048  # of all parts together
_MOST_TEXTS = 4  # whose characters are counted, and that are compared place by place
_MOST_SPELLED = 64  # items of one list that are neither numbers nor texts
_FEW = 4  # items of a list that are compared with other parts one by one
_LONGEST = 512  # characters
_WORD = re.compile(r"[^\W_]+")


class _Thing(NamedTuple):
    """A part with a name: what it consists of, and its text if it is one."""

    name: str
    elements: list[Any]
    text: str | bytes | None = None
    is_number: bool = False
    is_ordered: bool = True


def is_counted(name: str) -> bool:
    """Whether a column counts what is said here."""
    return name.startswith(COUNTED)


def related(tree: object, name: str) -> Iterator[tuple[str, Any]]:
    """Names and counts of what the parts of an output have in common; zeros are left out.

    Of an array alone nothing: that is derived from its columns, which may be all there is.
    """
    if isinstance(tree, np.ndarray):
        return
    things, left_out = _first(_things(tree, name))
    if left_out:
        yield name, Opaque("", UNRELATED)
    texts = [thing for thing in things if thing.text is not None]
    for thing in texts[:_MOST_TEXTS]:
        yield from _of_characters(thing)
    words = [_words(thing) for thing in texts[:_MOST_TEXTS]]
    for thing in (*things, *words):
        yield from _of_one(thing)
    yield from _shared("elements", [*things, *words])
    for how, alike in _ALIKE.items():
        yield from _shared(f"elements, but for {how},", [_changed(thing, alike) for thing in texts])
    for one, other in combinations(texts[:_MOST_TEXTS], 2):
        yield from _compared(one, other)


def _first(things: Iterator[_Thing]) -> tuple[list[_Thing], bool]:
    """The first parts, as many as can be compared, and whether others were left out."""
    kept: list[_Thing] = []
    numbers = left = 0
    for thing in things:
        size = sum(len(one.elements) for one in kept) + len(thing.elements)
        of_its_kind = numbers if thing.is_number else len(kept) - numbers
        if size > _MOST_ELEMENTS or of_its_kind == _MOST_THINGS:
            left += 1
            continue
        kept.append(thing)
        numbers += thing.is_number
    return kept, left > 0 and numbers < len(kept)


def _things(tree: Any, name: str) -> Iterator[_Thing]:  # noqa: ANN401, C901, PLR0912  # one case a kind
    """Single values and collections, as they stand in each other."""
    match tree:
        case np.ndarray() if tree.dtype.kind in "iuf":
            entries = tree.reshape(-1)[: _MOST_ELEMENTS + 1].tolist()
            yield _Thing(name, [_element(entry) for entry in entries])
        case dict():
            if tree:
                yield _Thing(f"keys of {name}", [_element(key) for key in tree])
                plain = [value for value in tree.values() if not isinstance(value, _CONTAINERS)]
                yield _Thing(f"values of {name}", [_element(value) for value in plain])
            for key, value in tree.items():
                yield from _things(value, f"{name}[{shortened(spelled(key))}]")
        case Elements(items=items):
            found = [_element(item) for item in items[: _MOST_ELEMENTS + 1]]
            yield _Thing(name, found, is_ordered=False)
        case list() | tuple():
            if len(tree) <= _MOST_SPELLED or all(isinstance(item, str | float) for item in tree):
                yield _Thing(name, [_element(item) for item in tree])
            for i, item in enumerate(tree):
                if len(tree) <= _FEW or isinstance(item, _CONTAINERS):
                    yield from _things(item, f"{name}[{i}]")
        case Fields(items=items):
            for field, value in items:
                yield from _things(value, f"{name}.{field}")
        case str() | bytes():
            yield _Thing(name, [tree], tree)
        case LongText(head=head):
            yield _Thing(name, [spelled(tree)], head)
        case int() | float() | np.integer() | np.floating() | Exact():
            yield _Thing(name, [_element(tree)], is_number=True)
        case Raised(message=message):
            yield _Thing(f"message of {name}", [message], message)
        case _:
            return


_CONTAINERS = (np.ndarray, dict, Elements, list, tuple, Fields)


def _element(item: Any) -> Any:  # noqa: ANN401
    """What is equal where items are; numbers of all types are compared as numbers.

    One NaN stands for all: whether two of them are one object is no matter of the output.
    """
    if not isinstance(item, (str, bytes, int, float)):
        return spelled(item)
    return math.nan if item != item else item  # noqa: PLR0124


def _words(thing: _Thing) -> _Thing:
    """The words of a text; numbers as numbers."""
    text = thing.text if isinstance(thing.text, str) else (thing.text or b"").decode("latin-1")
    words = _WORD.findall(text[:_LONGEST])
    found = [float(word) if word.isdecimal() else word for word in words]
    return _Thing(f"words of {thing.name}", found if len(found) > 1 else [])


def _changed(thing: _Thing, alike: Callable[[Any], Any]) -> _Thing:
    return _Thing(thing.name, [alike(thing.text)])


_ALIKE: dict[str, Callable[[Any], Any]] = {
    "letter case": lambda text: text.lower(),
    "direction": lambda text: min(text, text[::-1]),
    "order": lambda text: tuple(sorted(text[:_LONGEST])),
}


def _shared(what: str, things: Sequence[_Thing]) -> Iterator[tuple[str, float]]:
    """For all pairs of parts, how many distinct elements both have."""
    if len(things) < 2:
        return
    holders: dict[Any, int] = {}
    for i, thing in enumerate(things):
        for element in thing.elements:
            holders[element] = holders.get(element, 0) | 1 << i
    totals: Counter[tuple[int, int]] = Counter()
    for held, times in Counter(holders.values()).items():
        if held & (held - 1):
            members = [i for i in range(len(things)) if held >> i & 1]
            totals.update(dict.fromkeys(combinations(members, 2), times))
    for (i, j), times in totals.items():
        one, other = things[i], things[j]
        if other.name.startswith(one.name) or (one.is_number and other.is_number):
            continue  # what is in another has its elements; numbers are compared as columns
        yield f"count of {what} in both {one.name} and {other.name}", float(times)


def _of_one(thing: _Thing) -> Iterator[tuple[str, float]]:
    """What comes twice in a collection, and how often an element is less than the one before."""
    if len(thing.elements) < 2:
        return
    twice = len(thing.elements) - len(set(thing.elements))
    if twice:
        yield f"count of repeats in {thing.name}", float(twice)
    if thing.is_ordered and len({type(element) for element in thing.elements}) == 1:
        falls = sum(other < one for one, other in pairwise(thing.elements))
        if falls:
            yield f"count of falls in {thing.name}", float(falls)


def _codes(text: str | bytes) -> NDArray[np.int64]:
    head = text[:_LONGEST]
    raw = head if isinstance(head, bytes) else head.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(raw, np.uint8 if isinstance(head, bytes) else "<u4").astype(np.int64)


def _of_characters(thing: _Thing) -> Iterator[tuple[str, float]]:
    """Which characters a text has, and where they mirror, repeat or follow each other."""
    name, codes = thing.name, _codes(thing.text or "")
    if codes.size < 2:
        return
    half = codes.size // 2
    bits = np.unpackbits(codes.astype("<u4").view(np.uint8))
    yield f"sum of ord({name})", float(codes.sum())
    counts = {
        "one bits": bits,
        "capitals": (codes >= ord("A")) & (codes <= ord("Z")),
        "digits": (codes >= ord("0")) & (codes <= ord("9")),
        "places that agree with the other half": codes[:half] == codes[-half:],
        "places that agree with the mirrored": codes == codes[::-1],
        "changes": codes[1:] != codes[:-1],
    }
    for what, places in counts.items():
        if number := int(np.count_nonzero(places)):
            yield f"count of {what} in {name}", float(number)
    if twice := codes.size - len(set(codes.tolist())):
        yield f"count of repeated characters in {name}", float(twice)


def _compared(one: _Thing, other: _Thing) -> Iterator[tuple[str, float]]:
    """In how many places two texts agree, and whether the shorter is in the other."""
    first, second = one.text, other.text
    if not first or not second or type(first) is not type(second):
        return
    agree = sum(map(lambda a, b: a == b, first[:_LONGEST], second[:_LONGEST]))
    if agree:
        yield f"count of places that agree in {one.name} and {other.name}", float(agree)
    short, long = sorted((first, second), key=len)
    if short in long:  # type: ignore[operator]  # both are texts, or both bytes
        yield f"count of the shorter within the longer of {one.name} and {other.name}", 1.0
