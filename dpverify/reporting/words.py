"""What a guarantee means, in sentences that need no formula and never say more than is certain."""

import html
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Self

from dpverify.accounting.accountant import Accountant, as_accountant
from dpverify.accounting.parts import Composable
from dpverify.errors import as_between
from dpverify.neighbors import Relation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALARM = 0.05  # the rate of false alarms that the sentence about tests speaks of
PEOPLE = 100
_TINY = Decimal("1e-7")  # per cent, below which powers of ten are shorter
_ALL = Decimal(100)
_MOST_DECIMALS = 18
ASSUMES = (
    "This holds for an attacker who knows everything else, as long as the mechanism keeps the "
    "guarantee."
)
_SECRET = {
    Relation.ADD_REMOVE: "that you are in the data",
    Relation.REPLACE_ONE: "which of two records is yours",
}
_TEST = {
    Relation.ADD_REMOVE: (
        "A test for being in the data that is wrong about {} of those outside finds at most {} of "
        "those inside."
    ),
    Relation.REPLACE_ONE: (
        "A test for one of two records that is wrong about {} of those with the other finds at "
        "most {} of those with it."
    ),
}


class Meaning(str):
    """Sentences about what an attacker can learn; and the same as pictures, which need no formula.

    It is text. Notebooks show it with a picture of a hundred people.
    """

    __slots__ = ("_right", "prior", "spent")
    spent: Accountant
    prior: float
    _right: tuple[int, int] | None

    def __new__(cls, text: str, spent: Accountant, prior: float) -> Self:
        made = super().__new__(cls, text)
        made.spent, made.prior, made._right = spent, prior, None
        return made

    def __getnewargs__(self) -> tuple[str, Accountant, float]:  # type: ignore[override]  # more
        return str(self), self.spent, self.prior  # for copies and pickles

    @property
    def right(self) -> tuple[int, int]:
        """Of a hundred guesses, how many are right without the release, and at most with it."""
        if self._right is None:
            self._right = right_guesses(self.spent, self.prior)
        return self._right

    @property
    def icons(self) -> str:
        """The same people as text, for terminals."""
        return icons(*self.right)

    def plot(self) -> "Figure":
        """A hundred people, and for how many of them a guess is right: without the release, with.

        A matplotlib figure; save it with `savefig`.
        """
        from dpverify.reporting.risk_plots import people_figure  # noqa: PLC0415  # slow to import

        return people_figure(*self.right)

    def plot_test(self) -> "Figure":
        """The best test for a record as a curve, false alarms against misses, some tests marked."""
        from dpverify.reporting.risk_plots import detection_figure  # noqa: PLC0415  # slow to import

        return detection_figure(self.spent)

    def _repr_html_(self) -> str:
        """For notebooks: the sentences, and a hundred people."""
        from dpverify.reporting.picture import picture  # noqa: PLC0415  # slow to import

        sentences = "".join(f"<p>{html.escape(line)}</p>" for line in self.splitlines())
        drawn = picture(self.plot(), self.splitlines()[0], followed=False)
        alt = html.escape(drawn.alt, quote=True)
        style = "background: #fff; display: inline-block"
        return f'{sentences}<div role="img" aria-label="{alt}" style="{style}">{drawn.svg}</div>'


def meaning(
    subject: Composable | Accountant, *, relation: Relation | None = None, prior: float = 0.5
) -> Meaning:
    """What an attacker can learn about one person, in plain sentences, rounded towards safety.

    >>> from dpverify.guarantees import PureDP
    >>> print(meaning(PureDP(1.0), relation=Relation.ADD_REMOVE).splitlines()[0])
    Someone who is 50% sure that you are in the data can become at most 73.2% sure.
    """
    spent = as_accountant(subject, relation)
    prior = as_between("prior", prior, 0.0, 1.0)
    belief, test = _belief(spent, prior), _test(spent)
    assumed = dict.fromkeys((*belief.assumes, *test.assumes))  # each once
    lines = (belief.text, test.text, ASSUMES, *(f"It is assumed: {each}." for each in assumed))
    return Meaning("\n".join(lines), spent, float(prior))


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence, and what it rests on."""

    text: str
    assumes: tuple[str, ...]


def guess(spent: Accountant, prior: float = 0.5) -> str:
    """How often the best guess is right, in one sentence."""
    return _guess(spent, prior).text


def _guess(spent: Accountant, prior: float) -> _Told:
    found = spent.risk.success(prior)
    given = _decimal(prior)
    text = (
        f"Someone who is {_percent(given)} sure {_SECRET[spent.relation]}, and guesses as well as "
        f"anyone can, is right at most {_percent_at_most(found.upper)} of the time; "
        f"{_percent(max(given, 1 - given))} without the release."
    )
    return _Told(text, found.assumes)


def right_guesses(spent: Accountant, prior: float = 0.5) -> tuple[int, int]:
    """Of a hundred guesses, how many are right without the release, and at most with it."""
    blind = math.floor(PEOPLE * max(prior, 1 - prior) * (1 + 1e-12))
    told = math.ceil(PEOPLE * spent.risk.success(prior).upper * (1 - 1e-12))
    return blind, max(min(told, PEOPLE), blind)


def icons(blind: int, told: int, columns: int = PEOPLE // 2) -> str:
    """A hundred guesses as text, in lines of fifty, or of 25 where there are fewer columns.

    >>> print(icons(50, 65))
    ●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●
    ◉◉◉◉◉◉◉◉◉◉◉◉◉◉◉○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○
    100 guesses: ● right anyway, ◉ right with the release at most, ○ wrong
    """
    row = "●" * blind + "◉" * (told - blind) + "○" * (PEOPLE - told)
    legend = "100 guesses: ● right anyway, ◉ right with the release at most, ○ wrong"
    long = PEOPLE // 2 if columns >= PEOPLE // 2 else PEOPLE // 4
    return "\n".join((*(row[at : at + long] for at in range(0, PEOPLE, long)), legend))


def _belief(spent: Accountant, prior: float) -> _Told:
    """How sure anyone can become, if there is a limit; else how often a guess is right."""
    found = spent.posterior(prior)
    if found.upper == 1 and prior < 1:
        return _guess(spent, prior)
    text = (
        f"Someone who is {_percent(_decimal(prior))} sure {_SECRET[spent.relation]} can become at "
        f"most {_percent_at_most(found.upper)} sure."
    )
    return _Told(text, found.assumes)


def _test(spent: Accountant) -> _Told:
    found = spent.true_positive_rate(ALARM)
    shares = _percent(_decimal(ALARM)), _percent_at_most(found.upper)
    return _Told(_TEST[spent.relation].format(*shares), found.assumes)


def _decimal(share: float) -> Decimal:
    """The shortest decimal that is read as this number."""
    return Decimal(repr(float(share)))


def _percent(share: Decimal) -> str:
    """A share in per cent, in full.

    >>> _percent(Decimal("0.001234")), _percent(Decimal("0.50"))
    ('0.1234%', '50%')
    """
    percent = (100 * share).normalize()
    return f"{percent:f}%" if percent == 0 or percent > _TINY else f"{percent:e}%"


def _percent_at_most(share: float) -> str:
    """A share in per cent, rounded up: one decimal, more where it is small or next to 100.

    >>> _percent_at_most(0.73105), _percent_at_most(2.7e-6), _percent_at_most(0.99996)
    ('73.2%', '0.00027%', '99.996%')
    """
    exact = 100 * _decimal(share)
    for decimals in range(1, _MOST_DECIMALS):
        step = Decimal(1).scaleb(-decimals)
        rounded = exact.quantize(step, ROUND_CEILING)
        if (rounded < _ALL or exact == _ALL) and (exact >= 1 or rounded >= 10 * step or not exact):
            return _percent(rounded / 100)
    return _percent(exact / 100)
