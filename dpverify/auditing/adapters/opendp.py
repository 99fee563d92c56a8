"""OpenDP measurements: the claim is what the privacy map says for a distance between inputs."""

import re
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_positive
from dpverify.neighbors import Relation
from dpverify.schema import Answers, Category, Records, Schema
from dpverify.theorems import Theorem

PRIVACY_MAP = Theorem(
    name="opendp-privacy-map",
    statement="Inputs within d_in have outputs within the divergence that the map gives.",
    source="OpenDP, the measurement's own privacy map",
)
OWN_RANDOMNESS = "OpenDP draws from the system's randomness: the audit's seed does not fix it"
_RELATIONS = {
    ("SymmetricDistance", 1): Relation.ADD_REMOVE,
    ("InsertDeleteDistance", 1): Relation.ADD_REMOVE,
    ("SymmetricDistance", 2): Relation.REPLACE_ONE,
    ("InsertDeleteDistance", 2): Relation.REPLACE_ONE,
    ("ChangeOneDistance", 1): Relation.REPLACE_ONE,
    ("HammingDistance", 1): Relation.REPLACE_ONE,
    ("DiscreteDistance", 1): Relation.REPLACE_ONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDPMeasurement:
    """An OpenDP measurement as a callable mechanism; see `from_opendp`."""

    measurement: Any
    claim: Claim
    schema: Schema | None
    notes: tuple[str, ...] = (OWN_RANDOMNESS,)

    def __call__(self, data: object, rng: np.random.Generator) -> object:  # noqa: ARG002
        plain = data.tolist() if isinstance(data, (np.ndarray, np.generic)) else data
        return self.measurement(plain)


def from_opendp(
    measurement: Any,  # noqa: ANN401  # an opendp Measurement; the library is not imported here
    *,
    d_in: float = 1,
    delta: float | None = None,
    order: float | None = None,
) -> OpenDPMeasurement:
    """Wrap an OpenDP measurement for `audit`; the claim is what its map says at distance `d_in`.

    `delta` is needed where the map gives a whole profile, and `order` where it gives a curve of
    Rényi divergences. Where inputs are single numbers or booleans the schema is known too.

    >>> import dpverify as dpv
    >>> from types import SimpleNamespace as Measurement
    >>> laplace = Measurement(  # as OpenDP's make_laplace gives it
    ...     input_domain="AtomDomain(T=f64)",
    ...     input_metric="AbsoluteDistance(f64)",
    ...     output_measure="MaxDivergence",
    ...     map=lambda d_in: 0.5 * d_in,
    ... )
    >>> dpv.from_opendp(laplace).claim.guarantee
    PureDP(epsilon=0.5)
    """
    from dpverify.interop.opendp import guarantee_of  # noqa: PLC0415  # with all of accounting

    if not callable(getattr(measurement, "map", None)):
        raise InvalidParameter(f"measurement={short(measurement)} must be an OpenDP measurement")
    check_positive("d_in", d_in)
    metric = str(measurement.input_metric)
    floats = re.search(r"\(f\d\d\)", metric) is not None
    distance: float | int = float(d_in) if floats else int(d_in)
    if distance != d_in:
        raise InvalidParameter(f"d_in={d_in!r} must be a whole number for {metric}")
    measure = str(measurement.output_measure)
    guarantee = guarantee_of(measure, measurement.map(distance), delta=delta, order=order)
    relation = _RELATIONS.get((metric.partition("(")[0], int(d_in)))
    claim = Claim(guarantee, relation, PRIVACY_MAP, (OWN_RANDOMNESS,))
    schema = _schema(measurement, metric, distance)
    return OpenDPMeasurement(measurement=measurement, claim=claim, schema=schema)


def _schema(measurement: Any, metric: str, distance: float) -> Schema | None:  # noqa: ANN401
    domain = str(measurement.input_domain)
    if metric.startswith("AbsoluteDistance") and domain.startswith("AtomDomain(T="):
        return Answers(sensitivity=distance, integer=isinstance(distance, int))
    if metric.startswith("DiscreteDistance") and domain == "AtomDomain(T=bool)":
        bits = Category(values=(False, True))
        return Records(record=bits, length=None, relation=Relation.REPLACE_ONE)
    return None
