"""The first stage of `by="decide"`: a certificate, before anything is drawn."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpverify.certifying.certificate import Certificate, Disproof
from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.deciding.decision import certificate_sentence, event_in_words
from dpverify.deciding.ladder import certified
from dpverify.schema import Schema
from dpverify.testing.context import PrivacyFinding
from dpverify.testing.failure import PrivacyViolation, described

_SECONDS = 20.0  # for a certificate, within a test


@dataclass(frozen=True, slots=True)
class Certifying:
    """The certificate of a mechanism, if one was asked for."""

    claim: AuditClaim
    found: Certificate | None = None
    said: str = ""

    @classmethod
    def of(
        cls, schema: Schema | None, mechanism: Callable[..., Any], claim: AuditClaim
    ) -> "Certifying":
        """Certify for all data that the schema allows; nothing if there is no schema."""
        if schema is None:
            return cls(claim)
        if isinstance(claim, ProfileClaim):
            return cls(claim, None, "open: only guarantees are proved, not whole profiles")
        found = certified(mechanism, schema, claim, _SECONDS)
        if isinstance(found, str):
            return cls(claim, None, f"open: {found}")
        if found.interrupted:  # a test must not pass because it was
            raise KeyboardInterrupt
        match found.verdict:
            case "proved":
                return cls(claim, found, f"{found.scope}; {found.reason}")
            case "refuted":
                return cls(claim, found, str(found.counterexample))
            case "open":
                return cls(claim, found, certificate_sentence(found))

    @property
    def decided(self) -> bool:
        """Whether the certificate proves or refutes the claim."""
        return self.found is not None and self.found.verdict != "open"

    @property
    def counterexample(self) -> Disproof | None:
        return None if self.found is None else self.found.counterexample

    @property
    def suspects(self) -> tuple[tuple[Any, Any], ...]:
        """Neighbors that seemed to break the claim, although no counterexample was accepted."""
        return () if self.found is None else self.found.suspects

    @property
    def _delta(self) -> float:
        return float(getattr(self.claim, "delta", 0.0))

    @property
    def _epsilon_lower(self) -> float:
        """ε at the claimed δ (or at 0) from the two probabilities of the counterexample."""
        if self.counterexample is None:
            return 0.0
        one, other = self.counterexample.probability_left, self.counterexample.probability_right
        large, small = max(one, other) - self._delta, min(one, other)
        return math.inf if small == 0.0 else math.log(large / small)

    def finding(self, name: str) -> PrivacyFinding:
        """What the summary of the pytest run reports of the certificate."""
        refuted = self.counterexample is not None
        return PrivacyFinding(
            name=name,
            claim=str(self.claim),
            refuted=refuted,
            epsilon_lower=self._epsilon_lower,
            delta=self._delta,
            level=0.0,
            samples=0,
            pairs=1 if refuted else 0,
            proved=not refuted,
            rung="certify",
            said=self.said,
        )

    def violation(self, name: str, relation: str) -> PrivacyViolation:
        """The exception for a test that is refuted exactly."""
        shown = self.counterexample
        if self.found is None or shown is None:
            raise AssertionError("a certificate that refutes has a counterexample")
        odds = (
            f"{shown.probability_left:.6g} on the left, {shown.probability_right:.6g} on the right"
        )
        lower = self._epsilon_lower
        message = described(
            name,
            self.claim,
            (shown.left, shown.right),
            None,
            epsilon_lower=lower,
            level=0.0,
            relation=relation,
            exactly=[
                f"event:  {event_in_words(self.found, shown)}",
                f"has probability {odds}, exactly",
                f"so:     ε ≥ {lower:.6g} at δ = {self._delta:g}, in real arithmetic, at no level",
            ],
        )
        return PrivacyViolation(message, epsilon_lower=lower)
