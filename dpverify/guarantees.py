"""What a mechanism can promise, as frozen values; and the bracket around a number.

Every guarantee is a statement about all neighboring laws P and Q. Parameters are checked at
birth: a guarantee that exists is meaningful. ε = 0, δ = 0, δ = 1 and ε = ∞ are legal limits.
"""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from dpverify.errors import InvalidParameter, check_between, check_real
from dpverify.theorems import Theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP:
    """ε-DP: P(E) ≤ exp(ε)·Q(E) for all events E and neighboring laws P, Q."""

    epsilon: float

    def __post_init__(self) -> None:
        check_between("epsilon", self.epsilon, 0.0, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP:
    """(ε, δ)-DP: P(E) ≤ exp(ε)·Q(E) + δ for all events E and neighboring laws P, Q."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_between("epsilon", self.epsilon, 0.0, math.inf)
        check_between("delta", self.delta, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroConcentratedDP:
    """ρ-zCDP: the Rényi divergence of every order α > 1 is at most α·ρ. [BS16 Def. 1.1]"""

    rho: float

    def __post_init__(self) -> None:
        check_between("rho", self.rho, 0.0, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP:
    """(α, ε)-RDP: the Rényi divergence of order α is at most ε. [Mironov17 Def. 4]"""

    order: float
    epsilon: float

    def __post_init__(self) -> None:
        check_real("order", self.order)
        if not self.order > 1.0:
            raise InvalidParameter(f"order={self.order!r} must be greater than 1")
        check_between("epsilon", self.epsilon, 0.0, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP:
    """μ-GDP: telling P from Q is no easier than telling N(μ, 1) from N(0, 1). [DRS22 Def. 3]"""

    mu: float

    def __post_init__(self) -> None:
        check_between("mu", self.mu, 0.0, math.inf)


Guarantee: TypeAlias = PureDP | ApproxDP | ZeroConcentratedDP | RenyiDP | GaussianDP


@dataclass(frozen=True, slots=True)
class Bracket:
    """Both certified ends of one number: lower ≤ exact value ≤ upper.

    `theorem` says why, `assumes` lists in words what the ends rest on beyond it.
    """

    lower: float
    upper: float
    theorem: Theorem | None = None
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidParameter(f"lower={self.lower!r} must not exceed upper={self.upper!r}")

    @property
    def width(self) -> float:
        """How far the ends are apart; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        if self.lower == self.upper:
            return f"{self.upper!r}"
        return f"[{self.lower!r}, {self.upper!r}]"

    def to_json(self) -> str:
        """One JSON object with both ends and the theorem's name; infinities as strings."""
        ends = {"lower": self.lower, "upper": self.upper}
        fields: dict[str, Any] = {
            name: value if math.isfinite(value) else str(value) for name, value in ends.items()
        }
        fields["theorem"] = None if self.theorem is None else asdict(self.theorem)
        return json.dumps(fields | {"assumes": list(self.assumes)}, ensure_ascii=False)
