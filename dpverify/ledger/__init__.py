"""Budgets over time: filters and odometers, and a file that records what was spent.

- `filters`: says before each request whether it fits; `schemes` and `plans`: the theorems by which
  requests are charged; `prices`: what one request costs in each of their units;
- `odometers`: what was spent so far, true at all times at once;
- `ledger`: both in a file (`store`), for many processes and datasets; `guards`: code that cannot
  run uncharged.

An accountant (`dpverify.accounting`) says what a list costs that was fixed in advance. These hold
when each request, parameters included, is chosen after the answers before it.
"""

from dpverify.ledger.filters import Filter
from dpverify.ledger.ledger import Ledger, Receipt
from dpverify.ledger.odometers import Odometer

__all__ = ["Filter", "Ledger", "Odometer", "Receipt"]
