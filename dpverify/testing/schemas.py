"""The schema behind a strategy of neighboring pairs, and strategies from schemas.

A certificate speaks of all data that a schema allows. So a schema is derived only where it allows
exactly the datasets that the strategy can draw.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.schema import Category, Number, RecordDomain, Records, Schema
from dpverify.testing.neighboring import NeighboringPair, recipe_of_pairs

_PATTERNS = 48
_LONGEST = 20  # records, to which a certificate can follow a loop in the time of a test
_WANTED = "by='decide' must go with schema=…, as none can be derived from on=…"


def schema_of(pairs: SearchStrategy[Any], relation: object) -> Schema:
    """The schema that allows exactly what `neighbors(datasets, relation=…)` draws.

    >>> from dpverify.testing import neighbors
    >>> bits = neighbors(st.lists(st.booleans(), max_size=3), relation="add-remove")
    >>> schema_of(bits, Relation.ADD_REMOVE).record
    Category(values=(False, True))
    """
    recipe = recipe_of_pairs(pairs)
    if recipe is None or not isinstance(relation, Relation):
        raise InvalidParameter(f"{_WANTED}: it was not made by neighbors(lists, relation=…)")
    if recipe.build is not list:
        raise InvalidParameter(f"{_WANTED}: its datasets are not lists of records")
    if recipe.max_size > _LONGEST:
        raise InvalidParameter(f"{_WANTED}: its lists have no max_size of {_LONGEST} or less")
    least = max(recipe.min_size, 1) if relation is Relation.REPLACE_ONE else recipe.min_size
    domain = _domain(recipe.record)
    return Records(record=domain, length=(least, recipe.max_size), relation=relation, layout="rows")


def _domain(record: SearchStrategy[Any]) -> RecordDomain:
    inner: Any = getattr(record, "wrapped_strategy", record)
    match type(inner).__name__:
        case "FloatStrategy" if np.isfinite([inner.min_value, inner.max_value]).all():
            return Number(low=inner.min_value, high=inner.max_value)
        case "IntegersStrategy" if inner.start is not None and inner.end is not None:
            return Number(low=inner.start, high=inner.end, integer=True)
        case "BooleansStrategy":
            return Category(values=(False, True))
        case "SampledFromStrategy" if not getattr(inner, "_transformations", ()):
            return Category(values=tuple(dict.fromkeys(inner.elements)))
        case _:
            raise InvalidParameter(
                f"{_WANTED}: its records are not numbers with two bounds, booleans, or sampled "
                "from a list"
            )


def pairs_of(schema: Schema) -> SearchStrategy[NeighboringPair]:
    """Neighbors of a schema: known patterns first, which examples shrink to, and random ones."""
    known = st.sampled_from(list(islice(schema.patterns(), _PATTERNS)))
    drawn = st.integers(0, 2**32 - 1).map(lambda n: schema.draw_pair(np.random.default_rng(n)))
    return st.one_of(known, drawn).map(lambda made: NeighboringPair(made.left, made.right))


def relation_in(schema: Schema) -> Callable[[Any, Any], bool]:
    """A check that two datasets are neighbors by the schema; it raises with the reason if not."""

    def neighbors_of_the_schema(left: Any, right: Any) -> bool:  # noqa: ANN401
        schema.check_neighbors(left, right)
        return True

    neighbors_of_the_schema.__name__ = "neighbors of the schema"
    return neighbors_of_the_schema
