"""Audits without a given pair: neighboring datasets are searched in a schema.

- `exploring`: which pairs look worst, from draws that judge nothing;
- `minimizing`: the pair found, with fewer records and simpler values;
- `auditing`: the whole procedure.
"""

from dpverify.auditing.search.over_schema import audit_over

__all__ = ["audit_over"]
