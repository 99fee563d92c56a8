"""The accountant: the total cost of mechanisms and guarantees."""

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from dpverify.accounting import deadline, record
from dpverify.accounting.adaptive.batches import sharpened
from dpverify.accounting.comparison import Comparison, Row
from dpverify.accounting.gaussian_summary import GaussianSummary, gaussian_summary
from dpverify.accounting.growth import Growth
from dpverify.accounting.parts import (
    Composable,
    Part,
    Parts,
    gaussian_parts,
    grouped,
    leaky_parts,
    merged,
    part_of,
)
from dpverify.accounting.risk import Risk, Share
from dpverify.accounting.rules import BASIC, GDP, NUMERICAL, OPTIMAL, RDP, RULES, Question, Rule
from dpverify.accounting.rules.basic import basic
from dpverify.accounting.rules.gdp import gdp
from dpverify.accounting.rules.optimal import within_reach
from dpverify.accounting.rules.rule import answer_of
from dpverify.balls import at_least, ball, enclose, float_below
from dpverify.errors import InvalidParameter, as_between, as_count, as_positive, check_instance
from dpverify.guarantees import GUARANTEES, ApproxDP, Bracket, RenyiDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.theorems import BASIC_COMPOSITION, EXACT_PROFILE, GAUSSIAN_COMPOSITION
from dpverify.waiting import telling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 16  # Gaussian parts, from which on sums are kept to bounds that floats cannot tell apart


@dataclass(frozen=True, kw_only=True)
class Accountant:
    """An immutable record of what was run; composing returns a new one.

    Composition is adaptive in what is asked: a part's query may be chosen after the outputs of the
    parts before it. How many parts there are, and the parameters of each, are fixed in advance;
    where outputs decide about noise, or about going on, a `Filter` or an `Odometer` is needed.

    Under ADD_REMOVE the left law of every pair is that of the dataset with the record and the
    right law that of the one without, so the sides stay apart from step to step; both datasets
    take the part of the first, and the worse counts. Under REPLACE_ONE no record comes first, so
    each step may show either law: a pair that is not its own mirror image is replaced by the least
    one that dominates both ways round, and the lower end is that of actual choices.

    >>> from dpverify.guarantees import PureDP
    >>> spent = Accountant(relation=Relation.ADD_REMOVE).compose(PureDP(epsilon=0.1), times=100)
    >>> round(spent.epsilon(delta=1e-6).upper, 6)
    4.774568
    """

    relation: Relation
    parts: Parts = field(default=(), init=False)
    _grown: Growth = field(default_factory=Growth, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.parse(self.relation))

    def compose(self, subject: "Composable | Accountant", *, times: int = 1) -> "Accountant":
        """The accountant after `times` more runs of a mechanism, a guarantee or an accountant."""
        times = as_count("times", times)
        if isinstance(subject, Accountant):
            if subject.relation is not self.relation:
                raise InvalidParameter(
                    f"relation={subject.relation.value!r} must be {self.relation.value!r}, "
                    "the relation of the accountant it is composed with"
                )
            added = tuple(Part(p.seen, p.times * times, p.label) for p in subject.parts)
        else:
            added = (part_of(subject, times=times, relation=self.relation),)
        return self.extended(*added)

    def extended(self, *added: Part) -> "Accountant":
        """The accountant with more parts."""
        grown = Accountant(relation=self.relation)
        parts, growth = self._grown.after(self.parts, added)
        object.__setattr__(grown, "parts", parts)
        object.__setattr__(grown, "_grown", growth)
        return grown

    def plot(self, *, delta: float = 1e-6, ax: "Axes | None" = None) -> "Axes":
        """Plot the privacy profile, with ε at this δ marked; on `ax`, or on a new figure."""
        from dpverify.reporting.plots import profile_on  # noqa: PLC0415  # slow to import

        return profile_on(self, as_between("delta", delta, 0.0, 1.0), ax)

    def _repr_html_(self) -> str:
        """For notebooks: what was composed, and the neighboring relation."""
        rows = "".join(
            f"<tr><td>{part.times:,} ×</td><td>{html.escape(part.label)}</td></tr>"
            for part in self.parts
        )
        head = f"<caption>{self.relation.value} neighbors</caption>"
        return f"<table>{head}{rows or '<tr><td>nothing was composed</td></tr>'}</table>"

    def to_json(self) -> str:
        """The whole accountant as JSON without loss; parts must be of the library's own kinds."""
        return record.written(self.relation, self.parts)

    @classmethod
    def from_json(cls, text: str) -> "Accountant":
        """Load an accountant from the text of `to_json`; damaged and foreign texts are refused."""
        relation, parts = record.read(text)
        return cls(relation=relation).extended(*parts)

    def group(self, size: int) -> "Accountant":
        """The accountant for datasets that differ in up to `size` records.

        Exact for noise whose shift grows with the group, Gaussian, Laplace and discrete, and for
        pure guarantees; other pairs are bounded by their profile from above, and from below by
        what one record costs. zCDP grows with the square of the size. Each part is grouped by
        itself, so the answer holds for adaptive compositions as well.
        """
        size = as_count("size", size)
        parts = (
            Part(grouped(part.seen, size), part.times, f"{part.label}, group of {size}")
            for part in self.parts
        )
        return self if size == 1 else Accountant(relation=self.relation).extended(*parts)

    @telling("composing")
    def epsilon(
        self, delta: float, *, tolerance: float = 1e-3, seconds: float | None = None
    ) -> Bracket:
        """A bracket around the smallest ε that holds at δ.

        As narrow as floats allow where a closed form is known, else no wider than `tolerance`;
        after `seconds`, as narrow as it is by then, which `Bracket.assumes` says.
        Where a part is a zCDP or Rényi guarantee, which has no single worst pair, the upper end
        is the best that the rules give and the lower end is attained by some mechanism.
        """
        delta = as_between("delta", delta, 0.0, 1.0)
        tolerance = as_positive("tolerance", tolerance)
        with deadline.time_limit(seconds):
            return self._asked("epsilon", delta, tolerance)

    @telling("composing")
    def delta(
        self, epsilon: float, *, tolerance: float = 1e-3, seconds: float | None = None
    ) -> Bracket:
        """A bracket around the smallest δ that holds at ε; `tolerance` is relative to it."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        tolerance = as_positive("tolerance", tolerance)
        with deadline.time_limit(seconds):
            return self._asked("delta", epsilon, tolerance)

    def _asked(self, unknown: Literal["epsilon", "delta"], at: float, tolerance: float) -> Bracket:
        """The answer at `at`; if that is no float, a bracket over both floats around it.

        ε falls in δ and δ in ε, so the upper end is that of the float below.
        """
        below, above = enclose(lambda: ball(at))
        found = self._in_time(Question(unknown, below, float(tolerance)))
        if below == above:
            return found
        beyond = self._in_time(Question(unknown, above, float(tolerance)))
        return replace(found, lower=min(beyond.lower, found.upper))

    def _in_time(self, question: Question) -> Bracket:
        """The answer, or the trivial bracket if time runs out before anything is known.

        Chances and ε are at least 0, and chances at most 1.
        """
        try:
            with deadline.giving_up():
                return self._answered(question)
        except deadline.DeadlinePassed:
            most = math.inf if question.unknown == "epsilon" else 1.0
            return Bracket(0.0, most, None, (deadline.OUT_OF_TIME,))

    def _answered(self, question: Question) -> Bracket:
        """The answer to a question; quick if all parts are Gaussian.

        Where it was asked of the parts before, too, from the grids that are kept for it.
        """
        squares = self._grown.squares if len(self.parts) >= _MANY else None
        if squares is None:
            found = None
            if question.unknown == "epsilon" and self._is_looped:
                loops = self._grown.loops
                found = loops.epsilon(self.parts, question.at, question.tolerance)
            found = _answer(self.parts, question) if found is None else found
            return found if question.is_met(found) else sharpened(self.parts, question, found)
        least, most = map(GaussianPair, squares)
        found = question.of(most)
        if least == most or _reaches(least, question, found.lower):
            return replace(found, theorem=GAUSSIAN_COMPOSITION)
        return Bracket(question.of(least).lower, found.upper, GAUSSIAN_COMPOSITION)

    @property
    def _is_looped(self) -> bool:
        """Whether to keep grids for a loop: several parts, no closed form, no time limit."""
        several = len(self.parts) > 1 and self._grown.squares is None
        return several and not deadline.is_limited() and leaky_parts(self.parts) is None

    @property
    def risk(self) -> Risk:
        """The success of the best attacker: reconstruction, singling out and more."""
        return Risk(self)

    def advantage(self, *, tolerance: float = 1e-3) -> Bracket:
        """The largest excess of the true-positive over the false-positive rate; see `Risk`."""
        return self.risk.advantage(tolerance=tolerance)

    def true_positive_rate(self, false_positive_rate: Share, *, tolerance: float = 1e-3) -> Bracket:
        """The largest rate of detecting a record at this false-positive rate; see `Risk`."""
        return self.risk.true_positive_rate(false_positive_rate, tolerance=tolerance)

    def posterior(self, prior: Share = 0.5) -> Bracket:
        """The highest posterior that any output gives to someone with this `prior`; see `Risk`."""
        return self.risk.posterior(prior)

    def gaussian_summary(self, *, leak: Share = 0.0, tolerance: float = 1e-3) -> GaussianSummary:
        """The whole profile as one μ of Gaussian DP, and the largest error of that summary.

        μ is the least whose profile is nowhere below this one, but for an event of probability
        `leak`. Without a leak it is often useless: far out in their tails, samples with Gaussian
        noise look like as many runs without sampling, and no μ at all covers δ > 0 at ε = ∞.
        `tolerance` is relative for μ and absolute for the regret.

        >>> from dpverify.guarantees import PureDP
        >>> one = Accountant(relation=Relation.ADD_REMOVE).compose(PureDP(epsilon=1.0))
        >>> print(one.gaussian_summary())
        μ ≤ 1.233, which overstates how often a guess is right by at most 0.05755
        """
        return gaussian_summary(
            self,
            leak=leak,
            tolerance=tolerance,
            known=gdp(self.parts),
            is_exact=gaussian_parts(self.parts) is not None,
        )

    @telling("composing")
    def compare(
        self,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        tolerance: float = 1e-3,
        seconds: float | None = None,
    ) -> Comparison:
        """Every rule that applies, side by side, at one δ or at one ε.

        Rules that `seconds` leave no time for are named in `Comparison.skipped`.
        """
        tolerance = as_positive("tolerance", tolerance)
        if delta is None and epsilon is not None:
            epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
            question = Question("delta", float_below(ball(epsilon)), float(tolerance))
        elif epsilon is None and delta is not None:
            delta = as_between("delta", delta, 0.0, 1.0)
            question = Question("epsilon", float_below(ball(delta)), float(tolerance))
        else:
            raise InvalidParameter(
                f"delta={delta!r}, epsilon={epsilon!r}: exactly one of delta and epsilon must be "
                "given"
            )
        if not self.parts:
            raise InvalidParameter("parts=() must not be empty: compose something first")
        with deadline.time_limit(seconds), deadline.giving_up():
            rows, skipped = _rows(self.parts, question)
            rows = tuple(self._sharpened(row, question) for row in rows)
        return Comparison(question.unknown, question.at, rows, skipped)

    def _sharpened(self, row: Row, question: Question) -> Row:
        """The numerical rule's row as the accountant answers it; other rows unchanged."""
        if row.rule != NUMERICAL.name:
            return row
        bracket = sharpened(self.parts, question, row.bracket)
        return replace(row, bracket=bracket, theorem=bracket.theorem or row.theorem)


def risk(subject: Composable | Accountant, *, relation: Relation | None = None) -> Risk:
    """The success of the best attacker against a guarantee, pair, mechanism or accountant.

    A mechanism needs the `relation` that its neighbors are meant under; the risks of guarantees and
    pairs are the same under both.

    >>> from dpverify.guarantees import PureDP
    >>> round(risk(PureDP(1.0)).posterior(prior=0.5).upper, 4)
    0.7311
    """
    if relation is None and isinstance(subject, (*GUARANTEES, Pair)):
        relation = Relation.REPLACE_ONE
    return Risk(as_accountant(subject, relation))


def as_accountant(subject: Composable | Accountant, relation: Relation | None) -> Accountant:
    """An accountant with one run of the subject; accountants are returned as they are."""
    check_instance("subject", subject)
    if relation is None:
        relation = getattr(getattr(subject, "claim", subject), "relation", None)
    if relation is None:
        raise InvalidParameter(
            "relation=None must be Relation.ADD_REMOVE or Relation.REPLACE_ONE: the subject does "
            "not say which datasets are neighbors"
        )
    spent = Accountant(relation=Relation.parse(relation))
    if not isinstance(subject, Accountant):
        return spent.compose(subject)
    spent.compose(subject)  # refuses another relation
    return subject


def _reaches(pair: Pair, question: Question, lower: float) -> bool:
    """Whether the ε of a pair at the δ in question is certainly at least `lower`."""
    if question.unknown == "delta":
        return False
    return at_least(lambda: pair.profile_ball(ball(lower)) - ball(question.at), 0.0)


def _rows(
    parts: Parts, question: Question, rules: Iterable[Rule] = RULES
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The answers of the rules, and the names of rules for which time ran out."""
    rows, skipped = [], []
    for rule in rules:
        if rule is not BASIC and deadline.is_over():
            skipped.append(rule.name)
            continue
        try:
            answer = answer_of(rule, parts, question)
        except deadline.DeadlinePassed:
            skipped.append(rule.name)
            continue
        match answer:
            case None:
                continue
            case Bracket():
                rows.append(Row(rule.name, answer.theorem or rule.theorem, answer, exact=True))
            case upper:
                bracket = Bracket(0.0, upper, rule.theorem)
                rows.append(Row(rule.name, rule.theorem, bracket, exact=False))
    return tuple(rows), tuple(skipped)


def _answer(parts: Parts, question: Question) -> Bracket:
    """The answer, remembered unless a time limit may have widened it."""
    limited = deadline.is_limited()
    found = (_found.__wrapped__ if limited else _found)(parts, question)
    if deadline.OUT_OF_TIME not in found.assumes:
        return found
    if not limited:  # an interrupt ended it
        _found.cache_clear()
    # Something was left undone: what adds up at once may bound it better.
    upper = min([found.upper, *(row.upper for row in _rows(parts, question, (BASIC,))[0])])
    return replace(found, lower=min(found.lower, upper), upper=upper)


@lru_cache(maxsize=256)
def _found(parts: Parts, question: Question) -> Bracket:
    if not parts:
        return Bracket(0.0, 0.0, EXACT_PROFILE)
    one = parts[0].seen if len(parts) == 1 and parts[0].times == 1 else None
    if isinstance(one, Pair) and not one.gap:
        return question.of(one)
    pure = _pure(parts, question)
    if pure is not None:
        return pure
    rule = _exact_rule(parts)
    if rule is not None:
        found = rule.answer(parts, question)
        if isinstance(found, Bracket):
            return found
    # Some part has no single worst pair: bound from above by the rules, from below by an instance.
    rows, _ = _rows(parts, question, (RDP, BASIC))
    lower = _answer(_instance(parts), question).lower
    notes = (deadline.OUT_OF_TIME,) if deadline.is_over() else ()
    if not rows:
        worst = math.inf if question.unknown == "epsilon" else 1.0
        return Bracket(lower, worst, None, notes)
    best = min(rows, key=lambda row: row.upper)
    return Bracket(min(lower, best.upper), best.upper, best.theorem, notes)


def _pure(parts: Parts, question: Question) -> Bracket | None:
    """At δ = 0 the largest losses add up, as the worst outcome can occur in every run."""
    pairs = [(part.pair, part.times) for part in parts if part.pair is not None]
    if question.unknown == "delta" or question.at > 0 or len(pairs) < len(parts):
        return None
    if any(pair.gap for pair, _ in pairs):
        return None
    sides = [[pair for pair, _ in pairs], [pair.reversed for pair, _ in pairs]]
    if any(pair.is_limit_known and pair.singular_mass > 0 for side in sides for pair in side):
        return Bracket(math.inf, math.inf, EXACT_PROFILE)
    lower = upper = 0.0
    for side in sides:
        largest = [(pair.epsilon_bracket(0.0), k) for pair, (_, k) in zip(side, pairs, strict=True)]
        least, most = (
            basic((ApproxDP(epsilon=end), k) for end, k in ends).epsilon
            for ends in zip(*(((b.lower, k), (b.upper, k)) for b, k in largest), strict=True)
        )
        # Each sum is rounded up by less than one unit in the last place.
        lower = max(lower, least if math.isinf(least) else math.nextafter(least, 0.0))
        upper = max(upper, most)
    if math.isfinite(upper):
        lower = min(lower, upper * (1 - 2.0**-51))
    return Bracket(lower, upper, BASIC_COMPOSITION)


def _exact_rule(parts: Parts) -> Rule | None:
    """The rule whose bracket is tight for these parts, if there is one."""
    if gaussian_parts(parts) is not None:
        return GDP
    leaky = leaky_parts(parts)
    if leaky is not None and within_reach(leaky):
        return OPTIMAL
    return NUMERICAL if all(part.pair is not None for part in parts) else None


def _instance(parts: Parts) -> Parts:
    """A composition that satisfies all the guarantees: Gaussian for zCDP, none for Rényi."""
    kept = []
    for part in parts:
        match part.seen:
            case RenyiDP() | ZeroConcentratedDP(rho=math.inf):
                continue
            case ZeroConcentratedDP(rho=rho):
                kept.append(Part(_gaussian_with(rho), part.times, part.label))
            case Pair():
                kept.append(part)
    return merged(kept)


def _gaussian_with(rho: float) -> GaussianPair:
    """The Gaussian pair with μ² = 2ρ, which is exactly ρ-zCDP."""
    return GaussianPair(2 * Fraction(rho))
