"""Laws that every pair, accountant, composition rule and mechanism must satisfy, as checks.

`check(subject)` runs all that apply and raises `LawBroken` at the first that fails:

>>> from dpverify.pairs import LaplacePair
>>> check(LaplacePair(scale=1.0, sensitivity=1.0))[0]
'the profile falls in ε'

A class of one's own inherits them all: `@pytest.mark.parametrize("law", laws_of(subject))`.
"""

from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.errors import InvalidParameter
from dpverify.pairs import Pair
from dpverify.testing.laws.accountants import ACCOUNTANT_LAWS
from dpverify.testing.laws.law import Law, LawBroken
from dpverify.testing.laws.mechanisms import Trial, mechanism_laws
from dpverify.testing.laws.pairs import PAIR_LAWS
from dpverify.testing.laws.rules import RULE_LAWS, RuleOn

__all__ = ["Law", "LawBroken", "RuleOn", "Trial", "check", "laws_of"]


def laws_of(subject: Any) -> tuple[Law, ...]:  # noqa: ANN401  # anything with laws
    """The laws that apply to a pair, an accountant, a rule on parts, or a mechanism's trial."""
    match subject:
        case Pair():
            return PAIR_LAWS
        case Accountant():
            return ACCOUNTANT_LAWS
        case RuleOn():
            return RULE_LAWS
        case Trial():
            return mechanism_laws(subject)
        case _:
            raise InvalidParameter(
                f"subject={subject!r} must be a Pair, an Accountant, a RuleOn or a Trial"
            )


def check(subject: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Check every law that applies and return their names; raise LawBroken if one fails."""
    names = []
    for law in laws_of(subject):
        law.check(subject)
        names.append(law.name)
    return tuple(names)
