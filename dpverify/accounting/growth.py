"""What an accountant carries from one composition to the next, so that a loop stays near linear.

Two things grow with a composition: where each distinct part stands, so that equal ones are counted
without looking at all of them again; and, as long as every part is Gaussian, the sum of the μ².
Exact sums of unequal fractions grow by a hundred bits each; so there are two, one rounded down and
one up where they grow long, by parts in 2^255: hardly ever does a float lie between them.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from dpverify.accounting.parts import Part, Parts
from dpverify.balls import shortened
from dpverify.pairs.gaussian import GaussianPair


@dataclass(frozen=True, slots=True)
class Growth:
    """Places of parts, and bounds on Σμ²; None if some part is not Gaussian."""

    places: dict[object, int] = field(default_factory=dict)
    squares: tuple[Fraction, Fraction] | None = (Fraction(), Fraction())

    def after(self, parts: Parts, added: Parts) -> tuple[Parts, "Growth"]:
        """The parts with more of them, equal ones listed once; and what is carried on.

        The places are shared with accountants that branched off, which may have put other parts
        there: then they are looked up anew.
        """
        grown, places = list(parts), self.places
        for part in added:
            place = places.get(part.seen)
            if place is not None and not (place < len(grown) and grown[place].seen == part.seen):
                places = {known.seen: index for index, known in enumerate(grown)}
                place = places.get(part.seen)
            if place is None:
                places[part.seen] = len(grown)
                grown.append(part)
            else:
                times = grown[place].times + part.times
                grown[place] = Part(part.seen, times, part.label)
        return tuple(grown), Growth(places, _squares(self.squares, added))


def _squares(
    known: tuple[Fraction, Fraction] | None, added: Parts
) -> tuple[Fraction, Fraction] | None:
    for part in added:
        if known is None or not isinstance(part.seen, GaussianPair):
            return None
        more = part.seen.squared_mu * part.times
        known = -shortened(-known[0] - more), shortened(known[1] + more)
    return known
