"""What an accountant keeps between compositions, so that a loop takes nearly linear time.

Three things grow with a composition: where each distinct part stands, so that equal ones are
counted without looking at all of them again; as long as every part is Gaussian, the sum of the μ²;
and, once a question was asked twice on the way, the grids that answer it.

Exact sums of unequal fractions grow by a hundred bits each; so there are two, one rounded down and
one up where they grow long, by parts in 2^255: hardly ever does a float lie between them.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from dpverify.accounting.numerical.growing import GrowingComposition, continuation
from dpverify.accounting.numerical.preparation import PairParts
from dpverify.accounting.parts import Part, Parts
from dpverify.accounting.rules.numerical import is_extreme
from dpverify.balls import shortened
from dpverify.guarantees import Bracket
from dpverify.pairs.gaussian import GaussianPair

_MOST_QUESTIONS = 4  # whose grids are kept


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question was asked of last; up to `until` runs it is answered as usual."""

    parts: PairParts
    until: int = 0


class Loops:
    """Questions that are asked repeatedly as a composition grows, and their grids.

    Accountants that grew from one another share them. Who asks takes the grids out and puts them
    back, so that no two threads ever have the same ones.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[float, float], _Asked | GrowingComposition] = {}

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Bracket | None:
        """ε at δ if it was asked of the parts before, too; None if it must be found as usual."""
        pairs = tuple((part.pair, part.times) for part in parts if part.pair is not None)
        if len(pairs) < len(parts) or not 0 < delta < 1:
            return None
        known = self._kept.pop((delta, tolerance), None)
        more = None if known is None else continuation(known.parts, pairs)
        runs = sum(times for _, times in pairs)
        if known is None or more is None:
            known = _Asked(pairs)
        elif isinstance(known, _Asked):
            grows = more and runs > known.until
            known = GrowingComposition(delta, tolerance) if grows else _Asked(pairs, known.until)
        found = None
        if isinstance(known, GrowingComposition):
            new = more if more and known.parts else pairs
            found = None if any(is_extreme(pair) for pair, _ in new) else known.epsilon(pairs)
            known = known if found is not None else _Asked(pairs, 2 * runs)
        for old in list(self._kept)[: 1 - _MOST_QUESTIONS]:
            self._kept.pop(old, None)
        self._kept[delta, tolerance] = known
        return found

    def __reduce__(self) -> tuple[type["Loops"], tuple[()]]:
        """A copy starts without grids, which are large and belong to one thread."""
        return Loops, ()


@dataclass(frozen=True, slots=True)
class Growth:
    """Places of parts, and bounds on Σμ²; None if some part is not Gaussian."""

    places: dict[object, int] = field(default_factory=dict)
    squares: tuple[Fraction, Fraction] | None = (Fraction(), Fraction())
    loops: Loops = field(default_factory=Loops)

    def after(self, parts: Parts, added: Parts) -> tuple[Parts, "Growth"]:
        """More parts, with equal ones listed once; and what is kept for later questions.

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
        return tuple(grown), Growth(places, _squares(self.squares, added), self.loops)


def _squares(
    known: tuple[Fraction, Fraction] | None, added: Parts
) -> tuple[Fraction, Fraction] | None:
    for part in added:
        if known is None or not isinstance(part.seen, GaussianPair):
            return None
        more = part.seen.squared_mu * part.times
        known = -shortened(-known[0] - more), shortened(known[1] + more)
    return known
