"""What can be requested: anything an accountant composes, and other libraries' measurements.

OpenDP measurements are read by their privacy map, dp_accounting events by `dpv.from_dp_event`, an
accountant by its parts. Neither library is imported: their types are told by where they come from.
"""

from typing import Any, TypeAlias

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Part, Parts, part_of
from dpverify.claims import Claim, HasClaim, HasPair
from dpverify.errors import InvalidParameter, as_count, check_instance
from dpverify.guarantees import GUARANTEES
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair

Requested: TypeAlias = Any
"""A mechanism, a guarantee, a claim, a pair, an accountant, an OpenDP measurement, an event."""


def parts_of(subject: Requested, *, times: int, relation: Relation) -> Parts:
    """The parts of a request under the budget's relation."""
    times = as_count("times", times)
    check_instance("mechanism", subject)
    home = type(subject).__module__.partition(".")[0]
    if home == "opendp":
        from dpverify.auditing.adapters.opendp import from_opendp  # noqa: PLC0415  # slow to import

        subject = from_opendp(subject, d_in=_distance(subject, relation))
    elif home == "dp_accounting":
        from dpverify.interop import from_dp_event  # noqa: PLC0415  # slow to import

        subject = from_dp_event(subject, relation=relation)
    if isinstance(subject, Accountant):
        empty = Accountant(relation=relation).compose(subject)  # refuses another relation
        return tuple(Part(p.seen, p.times * times, p.label) for p in empty.parts)
    if not isinstance(subject, (*GUARANTEES, Claim, Pair, HasPair, HasClaim)):
        raise InvalidParameter(
            f"mechanism={subject!r} must be a mechanism, a guarantee, a claim, a pair, an "
            "accountant, an OpenDP measurement or a dp_accounting event"
        )
    return (part_of(subject, times=times, relation=relation),)


def _distance(measurement: Any, relation: Relation) -> int:  # noqa: ANN401  # of OpenDP
    """The distance of neighboring datasets in the metric of a measurement."""
    metric = str(measurement.input_metric).partition("(")[0]
    if metric in {"SymmetricDistance", "InsertDeleteDistance"}:
        return 1 if relation is Relation.ADD_REMOVE else 2
    if metric in {"ChangeOneDistance", "HammingDistance", "DiscreteDistance"}:
        return 1
    raise InvalidParameter(
        f"measurement of input_metric={metric} must come as dpv.from_opendp(measurement, d_in=…): "
        "how far a record moves its input is not known here"
    )
