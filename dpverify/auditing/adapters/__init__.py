"""Adapters for mechanisms of other libraries, which audits then take with their own claims.

A library is never imported here: `adapted` goes by the module that an object's type comes from,
and the adapters use nothing but the object.

- `opendp`: measurements, the claim read from the privacy map;
- `diffprivlib`: mechanisms and estimators, the claim read from `epsilon` and `delta`.
"""

from collections.abc import Callable
from typing import Any

from dpverify.auditing.adapters.diffprivlib import from_diffprivlib
from dpverify.auditing.adapters.opendp import from_opendp
from dpverify.claims import Claim

_READERS: dict[str, Callable[..., Any]] = {"opendp": from_opendp, "diffprivlib": from_diffprivlib}


def adapted(mechanism: Any) -> Any:  # noqa: ANN401  # whatever an audit may be given
    """The mechanism in the form that audits take: wrapped if it comes from a known library."""
    for kind in type(mechanism).__mro__:
        reader = _READERS.get(str(kind.__module__).partition(".")[0])
        if reader is not None:
            return reader(mechanism)
    return mechanism


__all__ = ["adapted", "assumptions", "from_diffprivlib", "from_opendp"]


def assumptions(mechanism: Any, claim: object) -> tuple[str, ...]:  # noqa: ANN401
    """Notes on what the claim assumes, and on mechanisms that draw their own randomness.

    `claim` is None where the mechanism's own claim is audited, which tells both.
    """
    stated = getattr(mechanism, "claim", None) if claim is None else claim
    if isinstance(stated, Claim) and stated.assumes:
        return (f"the claim assumes: {'; '.join(stated.assumes)}",)
    return tuple(getattr(mechanism, "notes", ()))
