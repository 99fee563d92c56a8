"""What a mechanism can promise, as frozen values; and the bracket around a number.

Every guarantee is a statement about all neighboring laws P and Q. Parameters are checked at
birth: a guarantee that exists is meaningful. ε = 0, δ = 0, δ = 1 and ε = ∞ are legal limits.
"""

import html
import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from dpverify.errors import InvalidParameter, as_between, as_real, settle
from dpverify.plain import tagged, untagged
from dpverify.theorems import Theorem


@dataclass(frozen=True, slots=True)
class PureDP:
    """ε-DP: P(E) ≤ exp(ε)·Q(E) for all events E, P and Q the outputs on neighbors.

    >>> import dpverify as dpv
    >>> dpv.PureDP(1.0)
    PureDP(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        settle(self, epsilon=as_between("epsilon", self.epsilon, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class ApproxDP:
    """(ε, δ)-DP: P(E) ≤ exp(ε)·Q(E) + δ for all events E, P and Q the outputs on neighbors.

    >>> import dpverify as dpv
    >>> dpv.ApproxDP(1, 1e-5)
    ApproxDP(epsilon=1, delta=1e-05)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        settle(self, epsilon=as_between("epsilon", self.epsilon, 0.0, math.inf))
        settle(self, delta=as_between("delta", self.delta, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP:
    """ρ-zCDP: the Rényi divergence of every order α > 1 is at most α·ρ. [BS16 Def. 1.1]

    >>> import dpverify as dpv
    >>> spent = dpv.to_approx(dpv.ZeroConcentratedDP(rho=0.1), delta=1e-5)
    >>> round(spent.guarantee.epsilon, 9)
    1.914234592
    """

    rho: float

    def __post_init__(self) -> None:
        settle(self, rho=as_between("rho", self.rho, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class RenyiDP:
    """(α, ε)-RDP: the Rényi divergence of order α is at most ε. [Mironov17 Def. 4]

    >>> import dpverify as dpv
    >>> spent = dpv.to_approx(dpv.RenyiDP(order=8.0, epsilon=0.5), delta=1e-5)
    >>> round(spent.guarantee.epsilon, 9)
    1.709731232
    """

    order: float
    epsilon: float

    def __post_init__(self) -> None:
        settle(self, order=as_real("order", self.order))
        if not self.order > 1.0:
            raise InvalidParameter(f"order={self.order!r} must be greater than 1")
        settle(self, epsilon=as_between("epsilon", self.epsilon, 0.0, math.inf))


@dataclass(frozen=True, slots=True)
class GaussianDP:
    """μ-GDP: telling P from Q is no easier than telling N(μ, 1) from N(0, 1). [DRS22 Def. 3]

    >>> import dpverify as dpv
    >>> dpv.to_approx(dpv.GaussianDP(mu=1.0), delta=1e-5).guarantee
    ApproxDP(epsilon=4.377178095681225, delta=1e-05)
    """

    mu: float

    def __post_init__(self) -> None:
        settle(self, mu=as_between("mu", self.mu, 0.0, math.inf))


Guarantee: TypeAlias = PureDP | ApproxDP | ZeroConcentratedDP | RenyiDP | GaussianDP
"""Any promise: what claims state and budgets are."""


class End(Enum):
    """An end of a bracket: which way a bound may err."""

    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, repr=False)
class Bracket:
    """Both certified ends of one number: lower ≤ exact value ≤ upper.

    `theorem` says why, `assumes` lists in words what the ends rest on beyond it.

    >>> import dpverify as dpv
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(2.0))
    >>> found = spent.epsilon(1e-5)
    >>> found.lower <= found.upper
    True
    >>> found.theorem.name
    'exact-profile'
    """

    lower: float
    upper: float
    theorem: Theorem | None = None
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle(self, lower=as_real("lower", self.lower), upper=as_real("upper", self.upper))
        if not self.lower <= self.upper:
            raise InvalidParameter(f"lower={self.lower!r} must not exceed upper={self.upper!r}")

    @property
    def width(self) -> float:
        """How far the ends are apart; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __repr__(self) -> str:
        why = "" if self.theorem is None else f", by {self.theorem.name}"
        return f"Bracket({self.lower!r}, {self.upper!r}{why})"

    def __str__(self) -> str:
        if self.lower == self.upper:
            return f"{self.upper!r}"
        return f"[{self.lower!r}, {self.upper!r}]"

    def to_json(self) -> str:
        """One JSON object with both ends and the theorem; infinities as strings."""
        return json.dumps(to_dict(self), ensure_ascii=False)

    def _repr_html_(self) -> str:
        """For notebooks: both ends, and on hovering the theorem."""
        why = "" if self.theorem is None else html.escape(str(self.theorem), quote=True)
        return f'<code title="{why}">{html.escape(str(self))}</code>'


_FORMAT = 1
GUARANTEES = (PureDP, ApproxDP, ZeroConcentratedDP, RenyiDP, GaussianDP)
_KINDS: dict[str, type[Guarantee | Bracket]] = {
    kind.__name__: kind for kind in (*GUARANTEES, Bracket)
}


def to_dict(value: Guarantee | Bracket) -> dict[str, Any]:
    """Plain values with a version, as JSON can hold them; `from_dict` is the inverse.

    >>> to_dict(PureDP(epsilon=1.0))
    {'version': 1, 'kind': 'PureDP', 'epsilon': 1.0}
    """
    return {"version": _FORMAT} | tagged(value)


def from_dict(fields: dict[str, Any]) -> Guarantee | Bracket:
    """The guarantee or bracket that `to_dict` wrote.

    >>> import dpverify as dpv
    >>> dpv.from_dict({"version": 1, "kind": "PureDP", "epsilon": 1.0})
    PureDP(epsilon=1.0)
    """
    try:
        kept = dict(fields)
        version = kept.pop("version")
        if version != _FORMAT:
            raise InvalidParameter(f"version={version!r} must be {_FORMAT}")
        return untagged(kept, _KINDS)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"fields={fields!r} must be what to_dict returns") from None
