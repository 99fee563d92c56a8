"""What a verdict tells of its claim and of the draws it rests on."""

from typing import Any

from dpverify.claims import Claim


def assumptions(mechanism: Any, claim: object) -> tuple[str, ...]:  # noqa: ANN401
    """What the claim that is audited assumes; and whose randomness it is, where not the audit's.

    `claim` is None where the mechanism's own claim is audited, which tells both.
    """
    stated = getattr(mechanism, "claim", None) if claim is None else claim
    if isinstance(stated, Claim) and stated.assumes:
        return (f"the claim assumes: {'; '.join(stated.assumes)}",)
    return tuple(getattr(mechanism, "notes", ()))
