"""When two datasets are neighbors: the relation is part of every claim, and never a default."""

from enum import Enum

from dpverify.errors import InvalidParameter


class Relation(Enum):
    """Which datasets are neighbors: one record added or removed, or one replaced.

    ADD_REMOVE: one dataset is the other with one record more.
    REPLACE_ONE: equally many records, one of them different.

    >>> import dpverify as dpv
    >>> dpv.Relation.ADD_REMOVE.value, dpv.Relation.REPLACE_ONE.value
    ('add-remove', 'replace-one')
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def parse(cls, value: "Relation | str") -> "Relation":
        """The relation itself, or the one of that name.

        >>> Relation.parse("add-remove")
        <Relation.ADD_REMOVE: 'add-remove'>
        """
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(relation.value for relation in cls)
            raise InvalidParameter(f"relation={value!r} must be one of: {names}") from None

    def check(self, asked: "Relation | str") -> None:
        """Raise unless the relation that is asked for is this one."""
        other = Relation.parse(asked)
        if other is not self:
            raise InvalidParameter(f"relation={other.value!r} must be {self.value!r}")
