"""Local reports that a shuffler mixes before anybody sees them."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpverify.errors import InvalidParameter, NotSupported, as_count, as_positive, settle
from dpverify.guarantees import ApproxDP
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import LeakyResponsePair, Pair
from dpverify.pairs.bounds.shuffling import shuffled
from dpverify.theorems import SHUFFLED_REPORTS, Theorem

_MOST_REPORTS = 10**7
_LARGEST_EPSILON = 20.0
_LEAST_EPSILON = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReports(Described):
    """Reports of `reports` users, each `local_epsilon`-DP, in random order.

    All users apply one randomizer, anything that keeps ε₀: reports that tell who made them are
    not hidden by shuffling. The number of
    reports is public: REPLACE_ONE only. The upper end holds for every randomizer; the lower end is
    that of randomized response.

    >>> survey = ShuffledReports(local_epsilon=1.0, reports=1000)
    >>> survey.pair(Relation.REPLACE_ONE).epsilon(1e-6) < 0.4
    True
    """

    theorem: ClassVar[Theorem] = SHUFFLED_REPORTS

    local_epsilon: float
    reports: int

    def __post_init__(self) -> None:
        settle(self, local_epsilon=as_positive("local_epsilon", self.local_epsilon))
        settle(self, reports=as_count("reports", self.reports, most=_MOST_REPORTS))
        if not _LEAST_EPSILON <= self.local_epsilon <= _LARGEST_EPSILON:
            raise InvalidParameter(
                f"local_epsilon={self.local_epsilon!r} must lie in "
                f"[{_LEAST_EPSILON:g}, {_LARGEST_EPSILON:g}]"
            )

    def pair(self, relation: Relation) -> Pair:
        """Upper and lower bounds; a single report is randomized response."""
        if Relation.parse(relation) is not Relation.REPLACE_ONE:
            raise NotSupported(
                f"relation={Relation.parse(relation).value!r} must be "
                f"{Relation.REPLACE_ONE.value!r}: the number of reports is seen"
            )
        if self.reports == 1:
            return LeakyResponsePair(ApproxDP(epsilon=self.local_epsilon))
        rounded = float(self.local_epsilon)
        own = rounded if rounded >= self.local_epsilon else math.nextafter(rounded, math.inf)
        return shuffled(own, self.reports)
