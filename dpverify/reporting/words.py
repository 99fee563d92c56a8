"""What a guarantee means, in sentences that need no formula and never say more than is certain."""

import html
import math
from typing import TYPE_CHECKING, Self

from dpverify.accounting.accountant import Accountant, as_accountant
from dpverify.accounting.parts import Composable
from dpverify.errors import as_between
from dpverify.neighbors import Relation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALARM = 0.05  # the rate of false alarms that the sentence about tests speaks of
PEOPLE = 100
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
    Someone who is 50 % sure that you are in the data can become at most 73.2 % sure.
    """
    spent = as_accountant(subject, relation)
    prior = as_between("prior", prior, 0.0, 1.0)
    text = "\n".join((_belief(spent, prior), _test(spent), ASSUMES))
    return Meaning(text, spent, float(prior))


def guess(spent: Accountant, prior: float = 0.5) -> str:
    """How often the best guess is right, in one sentence."""
    secret = _SECRET[spent.relation]
    right = spent.risk.success(prior).upper
    blind = max(prior, 1 - prior)
    return (
        f"Someone who is {_percent(prior)} sure {secret}, and guesses as well as anyone can, is "
        f"right at most {_percent(right)} of the time; {_percent(blind)} without the release."
    )


def right_guesses(spent: Accountant, prior: float = 0.5) -> tuple[int, int]:
    """Of a hundred guesses, how many are right without the release, and at most with it."""
    blind = math.floor(PEOPLE * max(prior, 1 - prior) * (1 + 1e-12))
    told = math.ceil(PEOPLE * spent.risk.success(prior).upper * (1 - 1e-12))
    return blind, max(min(told, PEOPLE), blind)


def icons(blind: int, told: int) -> str:
    """A hundred guesses as text.

    >>> print(icons(50, 65))
    ●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●
    ◉◉◉◉◉◉◉◉◉◉◉◉◉◉◉○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○○
    100 guesses: ● right anyway, ◉ right with the release at most, ○ wrong
    """
    row = "●" * blind + "◉" * (told - blind) + "○" * (PEOPLE - told)
    legend = "100 guesses: ● right anyway, ◉ right with the release at most, ○ wrong"
    return "\n".join((row[: PEOPLE // 2], row[PEOPLE // 2 :], legend))


def _belief(spent: Accountant, prior: float) -> str:
    """How sure anyone can become, if there is a limit; else how often a guess is right."""
    sure = spent.posterior(prior).upper
    if sure == 1 and prior < 1:
        return guess(spent, prior)
    secret = _SECRET[spent.relation]
    return (
        f"Someone who is {_percent(prior)} sure {secret} can become at most {_percent(sure)} sure."
    )


def _test(spent: Accountant) -> str:
    found = spent.true_positive_rate(ALARM).upper
    return _TEST[spent.relation].format(_percent(ALARM), _percent(found))


def _percent(share: float) -> str:
    """A share in per cent, one decimal, rounded up."""
    tenths = math.ceil(float(share) * 1000 * (1 - 1e-12))
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"
