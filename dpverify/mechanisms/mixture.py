"""Gaussian noise on an answer that a record moves by a random amount."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpverify.errors import InvalidParameter, NotSupported, as_between, as_positive, settle, shown
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.pairs.subsampling.mixtures import GaussianMixturePair
from dpverify.theorems import GAUSSIAN_MIXTURE, Theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMixture(Described):
    """Gaussian noise on an answer that a record moves by at most cᵢ, with probability wᵢ.

    Which of the shifts it is may depend on coins, not on outputs. A user with two records on a
    Poisson sample of rate q, for example, moves a sum by 0, 1 or 2 clipping norms with the
    probabilities (1−q)², 2q(1−q) and q². ADD_REMOVE only; it holds no sampler.

    >>> user = GaussianMixture(sigma=1.0, l2_sensitivities=(0, 1, 2), weights=(0.25, 0.5, 0.25))
    >>> round(user.pair(Relation.ADD_REMOVE).delta(0.0), 6)
    0.353284
    """

    theorem: ClassVar[Theorem] = GAUSSIAN_MIXTURE

    sigma: float
    l2_sensitivities: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        settle(self, sigma=as_positive("sigma", self.sigma))
        for name, most in (("l2_sensitivities", 1e100), ("weights", 1.0)):
            given = getattr(self, name)
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise InvalidParameter(f"{name}={shown(given)} must be a list of numbers")
            settle(self, **{name: tuple(as_between(name, each, 0.0, most) for each in given)})
        self._pair()

    def pair(self, relation: Relation) -> Pair:
        """Σ wᵢ·N(cᵢ/σ, 1) against N(0, 1)."""
        if Relation.parse(relation) is not Relation.ADD_REMOVE:
            raise NotSupported(
                f"relation={Relation.parse(relation).value!r} must be "
                f"{Relation.ADD_REMOVE.value!r}: what a replaced record costs is not known here"
            )
        return self._pair().simplest

    def _pair(self) -> GaussianMixturePair:
        scale = Fraction(self.sigma)
        shifts = tuple(Fraction(each) / scale for each in self.l2_sensitivities)
        if max(shifts, default=Fraction(0)) > 10**100:
            raise InvalidParameter(
                f"sigma={self.sigma!r} must be larger relative to "
                f"l2_sensitivities={self.l2_sensitivities!r}"
            )
        if len(shifts) != len(self.weights):
            raise InvalidParameter(
                f"weights={self.weights!r} must be as many as "
                f"l2_sensitivities={self.l2_sensitivities!r}"
            )
        return GaussianMixturePair(shifts, self.weights)  # type: ignore[arg-type]  # real numbers
