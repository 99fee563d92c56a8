"""The neighboring relation is explicit."""

import pytest

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation


@pytest.mark.parametrize("relation", list(Relation))
def test_names_and_members_are_parsed(relation: Relation) -> None:
    assert Relation.parse(relation) is relation
    assert Relation.parse(relation.value) is relation


@pytest.mark.parametrize("value", ["", "ADD_REMOVE", "swap", None, 1])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter) as error:
        Relation.parse(value)  # type: ignore[arg-type]
    assert str(error.value) == f"relation={value!r} must be one of: add-remove, replace-one"
