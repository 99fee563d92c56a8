"""Composition rules, one file each, in the order of the comparison table.

From the oldest to the tightest; a rule that `dpv.register` adds comes last.
"""

from dpverify.accounting.rules.advanced import Advanced
from dpverify.accounting.rules.basic import Basic
from dpverify.accounting.rules.gdp import Gaussians
from dpverify.accounting.rules.numerical import Numerical
from dpverify.accounting.rules.optimal import Optimal
from dpverify.accounting.rules.rdp import Renyi
from dpverify.accounting.rules.rule import Question, Rule, check_rule
from dpverify.accounting.rules.zcdp import ZeroConcentrated
from dpverify.registry import Registry

__all__ = ["BASIC", "GDP", "NUMERICAL", "OPTIMAL", "RDP", "RULES", "Question", "Rule"]

BASIC, OPTIMAL, RDP, GDP, NUMERICAL = Basic(), Optimal(), Renyi(), Gaussians(), Numerical()

RULES: Registry[Rule] = Registry(
    "rule", needs=("name", "theorem", "supports", "epsilon", "delta"), check=check_rule
)
for _rule in (BASIC, Advanced(), OPTIMAL, ZeroConcentrated(), RDP, GDP, NUMERICAL):
    RULES.add(_rule)
