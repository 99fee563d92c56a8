"""What a guarantee means, in sentences that need no formula and never say more than is certain."""

import math

from dpverify.accounting.accountant import Accountant, as_accountant
from dpverify.accounting.parts import Composable
from dpverify.errors import as_between
from dpverify.neighbors import Relation

ALARM = 0.05  # the rate of false alarms that the sentence about tests speaks of
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


def meaning(
    subject: Composable | Accountant, *, relation: Relation | None = None, prior: float = 0.5
) -> str:
    """What an attacker can learn about one person, in plain sentences, rounded towards safety.

    >>> from dpverify.guarantees import PureDP
    >>> print(meaning(PureDP(1.0), relation=Relation.ADD_REMOVE).splitlines()[0])
    Someone who is 50 % sure that you are in the data can become at most 73.2 % sure.
    """
    spent = as_accountant(subject, relation)
    prior = as_between("prior", prior, 0.0, 1.0)
    return "\n".join((_belief(spent, prior), _test(spent), ASSUMES))


def guess(spent: Accountant, prior: float = 0.5) -> str:
    """How often the best guess is right, in one sentence."""
    secret = _SECRET[spent.relation]
    right = spent.risk.success(prior).upper
    blind = max(prior, 1 - prior)
    return (
        f"Someone who is {_percent(prior)} sure {secret}, and guesses as well as anyone can, is "
        f"right at most {_percent(right)} of the time; {_percent(blind)} without the release."
    )


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
