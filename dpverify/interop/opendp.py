"""OpenDP's privacy maps: what a measurement promises, and what a history of them costs."""

from collections.abc import Iterable
from reprlib import repr as short
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.neighbors import Relation


def guarantee_of(
    measure: str,
    spent: Any,  # noqa: ANN401  # a number, a pair or a curve of OpenDP's
    *,
    delta: float | None = None,
    order: float | None = None,
) -> Guarantee:
    """The guarantee that a loss in this measure stands for.

    `delta` is needed where the loss is a whole profile, and `order` where it is a curve of Rényi
    divergences.
    """
    match measure:
        case "MaxDivergence":
            return PureDP(epsilon=float(spent))
        case "Approximate(MaxDivergence)":
            return ApproxDP(epsilon=float(spent[0]), delta=float(spent[1]))
        case "ZeroConcentratedDivergence":
            return ZeroConcentratedDP(rho=float(spent))
        case "Approximate(ZeroConcentratedDivergence)" if spent[1] == 0.0:
            return ZeroConcentratedDP(rho=float(spent[0]))
        case "SmoothedMaxDivergence":
            if delta is None:
                raise InvalidParameter("delta=None must be given: the map is a whole profile")
            return ApproxDP(epsilon=float(spent.epsilon(delta)), delta=float(delta))
        case "RenyiDivergence":
            if order is None:
                raise InvalidParameter("order=None must be given: the map is a curve of orders")
            return RenyiDP(order=float(order), epsilon=float(spent(order)))
        case _:
            raise InvalidParameter(
                f"measurement with output_measure={measure} must be turned into pure, "
                "approximate or zero-concentrated privacy first"
            )


def from_opendp_history(
    history: Any,  # noqa: ANN401  # measurements, or one; the library is not imported here
    *,
    d_in: float,
    relation: Relation,
    delta: float | None = None,
    order: float | None = None,
) -> Accountant:
    """An accountant of OpenDP measurements that were run, each at distance `d_in`.

    `history` is a measurement or an iterable of them; what each costs is what its privacy map says
    of two inputs `d_in` apart, which is for the caller to match with `relation`. A measurement that
    composes others says more when these are listed one by one: exact composition beats the map's.

    >>> import dpverify as dpv
    >>> from types import SimpleNamespace as Measurement
    >>> laplace = Measurement(output_measure="MaxDivergence", map=lambda d_in: 0.5 * d_in)
    >>> history = [laplace, laplace]  # as of OpenDP
    >>> spent = dpv.from_opendp_history(history, d_in=1, relation=dpv.Relation.ADD_REMOVE)
    >>> spent.epsilon(0.0).upper
    1.0
    """
    listed = [history] if hasattr(history, "map") else history
    if not isinstance(listed, Iterable):
        raise InvalidParameter(
            f"history={short(history)} must be a measurement or list them: what has map(d_in)"
        )
    accountant = Accountant(relation=Relation.parse(relation))
    for measurement in listed:
        if not callable(getattr(measurement, "map", None)):
            raise InvalidParameter(
                f"history entry={short(measurement)} must be an OpenDP measurement"
            )
        measure = str(measurement.output_measure)
        found = guarantee_of(measure, measurement.map(d_in), delta=delta, order=order)
        accountant = accountant.compose(found)
    return accountant
