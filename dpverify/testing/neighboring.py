"""Strategies for neighboring datasets, from any strategy for datasets.

They shrink to fewer records, then to simpler ones; the one differing record is drawn last, so it
is the last to become simple.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.schema.changes import Change
from dpverify.schema.rows import alike, rebuilt, rows_of, same

_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class NeighboringPair:
    """Two datasets one step apart."""

    left: Any
    right: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a strategy makes datasets: kind and number of records, and their container."""

    record: SearchStrategy[Any]
    build: Callable[[list[Any]], Any]
    min_size: int
    max_size: int


_recipes: WeakKeyDictionary[SearchStrategy[Any], Recipe] = WeakKeyDictionary()
_relations: WeakKeyDictionary[SearchStrategy[Any], Relation] = WeakKeyDictionary()
_records: WeakKeyDictionary[SearchStrategy[Any], Recipe] = WeakKeyDictionary()


def datasets(recipe: Recipe) -> SearchStrategy[Any]:
    """A strategy for datasets with a recipe that `neighbors` can look up."""
    rows = st.lists(recipe.record, min_size=recipe.min_size, max_size=recipe.max_size)
    strategy = rows.map(recipe.build)
    _recipes[strategy] = recipe
    return strategy


def neighbors(
    datasets: SearchStrategy[Any], *, relation: Relation | str
) -> SearchStrategy[NeighboringPair]:
    """Pairs of neighboring datasets, one of which is drawn from `datasets`.

    For lists, and for all of `dpverify.testing.strategies`, the differing record is drawn like the
    others, and the number of records stays within the bounds. For any other strategy of lists,
    tuples, arrays or frames it is taken from a second dataset.

    >>> pairs = neighbors(st.lists(st.integers(0, 9)), relation="add-remove")
    """
    if not isinstance(datasets, SearchStrategy):
        raise InvalidParameter(f"datasets={datasets!r} must be a hypothesis strategy")
    known = Relation.parse(relation)
    recipe = _recipe_of(datasets)
    if recipe is None:
        strategy = _from_two(datasets, known)
    elif known is Relation.REPLACE_ONE:
        strategy = _replacing(recipe)
    else:
        strategy = _adding(recipe)
    _relations[strategy] = known
    if recipe is not None:
        _records[strategy] = recipe
    return strategy


def relation_of(strategy: SearchStrategy[Any]) -> Relation | None:
    """The relation under which `neighbors` made this strategy; None if it did not."""
    return _relations.get(strategy)


def recipe_of_pairs(strategy: SearchStrategy[Any]) -> Recipe | None:
    """How `neighbors` makes the datasets of this strategy; None if it did not, or cannot tell."""
    return _records.get(strategy)


def _recipe_of(datasets: SearchStrategy[Any]) -> Recipe | None:
    if datasets in _recipes:
        return _recipes[datasets]
    inner: Any = getattr(datasets, "wrapped_strategy", datasets)
    record = getattr(inner, "element_strategy", None)
    # Lists with distinct records have conditions of their own, which a new record may break.
    if record is None or type(inner).__name__ != "ListStrategy":
        return None
    top = min(inner.max_size, _LARGEST)
    return Recipe(record=record, build=list, min_size=inner.min_size, max_size=int(top))


def _check_room(recipe: Recipe) -> None:
    if recipe.min_size == recipe.max_size:
        raise InvalidParameter(
            f"datasets of {recipe.max_size} records must leave room for add-remove neighbors"
        )


def _rows(recipe: Recipe, least: int, most: int) -> SearchStrategy[list[Any]]:
    """Lists of records; in half of the examples the shortest allowed, where leaks show best."""
    few = min(least + 1, most)
    return st.one_of(
        st.lists(recipe.record, min_size=least, max_size=few),
        st.lists(recipe.record, min_size=least, max_size=most),
    )


def _replacing(recipe: Recipe) -> SearchStrategy[NeighboringPair]:
    @st.composite
    def pairs(draw: st.DrawFn) -> NeighboringPair:
        rows = draw(_rows(recipe, max(1, recipe.min_size), recipe.max_size))
        i = draw(st.integers(0, len(rows) - 1))
        other = draw(recipe.record.filter(lambda new: not same(new, rows[i])))
        return _pair(_replaced(rows, i, other), recipe.build)

    return pairs()


def _adding(recipe: Recipe) -> SearchStrategy[NeighboringPair]:
    _check_room(recipe)

    @st.composite
    def pairs(draw: st.DrawFn) -> NeighboringPair:
        rows = draw(_rows(recipe, recipe.min_size, recipe.max_size - 1))
        i = draw(st.integers(0, len(rows)))
        removed = draw(st.booleans())
        pair = _pair(Change(tuple(rows), i, (), (draw(recipe.record),)), recipe.build)
        return NeighboringPair(pair.right, pair.left) if removed else pair

    return pairs()


def _from_two(datasets: SearchStrategy[Any], relation: Relation) -> SearchStrategy[NeighboringPair]:
    replaces = relation is Relation.REPLACE_ONE

    @st.composite
    def pairs(draw: st.DrawFn) -> NeighboringPair:
        left = draw(datasets)
        rows = rows_of(left)
        assume(rows or not replaces)
        i = draw(st.integers(0, len(rows) - replaces))
        source = draw(datasets)
        assume(len(source) > 0 and alike(left, source))
        new = rows_of(source)[0]
        assume(not replaces or not same(new, rows[i]))
        change = _replaced(rows, i, new) if replaces else Change(tuple(rows), i, (), (new,))
        return NeighboringPair(left, rebuilt(change.right, left))

    return pairs()


def _replaced(rows: list[Any], i: int, other: Any) -> Change:  # noqa: ANN401
    return Change((*rows[:i], *rows[i + 1 :]), i, (rows[i],), (other,))


def _pair(change: Change, build: Callable[[list[Any]], Any]) -> NeighboringPair:
    return NeighboringPair(build(list(change.left)), build(list(change.right)))
