"""The disclosure: one document that says what was promised of a release, and that can be checked.

- `text`: YAML and JSON, read safely; `form`: declared values from plain ones, and back;
- `document`: the disclosure as frozen values, and its JSON Schema;
- `parts`: mechanisms as they are stated; `figures`: the numbers, computed from the parts;
- `exhibits`: files of evidence; `emitting`: `disclose`;
- `statements`: contradictions; `checking`: `check_disclosure`; `registry`: the format of the
  public registry of deployments, in and out.
"""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.disclosing.checking import check_disclosure
    from dpverify.disclosing.document import Disclosure, schema
    from dpverify.disclosing.emitting import disclose
    from dpverify.disclosing.objections import Objection, Review
    from dpverify.disclosing.registry import entry_of

__all__ = [
    "Disclosure",
    "Objection",
    "Review",
    "check_disclosure",
    "disclose",
    "entry_of",
    "schema",
]

_HOME = {
    "Disclosure": "document",
    "Objection": "objections",
    "Review": "objections",
    "check_disclosure": "checking",
    "disclose": "emitting",
    "entry_of": "registry",
    "schema": "document",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
