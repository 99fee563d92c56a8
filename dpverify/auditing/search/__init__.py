"""Search for the pair of datasets on which a mechanism exceeds its claim most.

- `trials`: pairs on trial, the search that keeps them, and passes, which spend draws on them;
- `quick`: a quick test of one pair, by bets on events that a short look chose;
- `halving`: which pairs of a schema look worst; `examples`: pairs that hypothesis proposes;
- `judging`: shares of the level, audits of the worst pairs, and confirmation by fresh draws;
- `shrinking`: the pair of a refutation with fewer records and simpler values;
- `over_schema`: `audit_over`, the search in a schema. `testing.satisfies` is the other user.
"""

from dpverify.auditing.search.over_schema import audit_over

__all__ = ["audit_over"]
