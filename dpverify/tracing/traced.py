"""The result of a trace, in words and numbers."""

# data are whatever a mechanism takes

import html
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from dpverify.auditing.verdict import Verdict
from dpverify.claims import AuditClaim
from dpverify.guarantees import Bracket
from dpverify.plain import plain, tagged
from dpverify.theorems import DETERMINED_OUTPUT, FROZEN_REPLAY, TRANSCRIPT_LOSS, Theorem
from dpverify.tracing.evidence.determination import TRIED
from dpverify.tracing.evidence.releases import Release
from dpverify.tracing.evidence.spending import Spending
from dpverify.tracing.recording.events import Leak, Puzzle
from dpverify.tracing.witness import TraceWitness

TraceVerdict = Literal["shown", "refuted", "overspent", "leaking", "not understood"]

MEANINGS: dict[str, str] = {
    "shown": (
        "on every traced transcript of this pair all data passed through noise, and what that cost "
        "is within the claim, in real arithmetic; other transcripts and pairs were not looked at"
    ),
    "refuted": (
        "the claim is false: the output gives away more on this pair; this is exact, and needs no "
        "confidence level"
    ),
    "refuted on what was tried": (
        "the output gives away more on this pair, if it gives the releases back on all transcripts "
        "as it did on those that were tried; a transcript that breaks the claim is held"
    ),
    "overspent": (
        "inside of the mechanism more is spent than the claim allows; whether the output gives it "
        "away is not known from the trace"
    ),
    "leaking": (
        "something depends on the data although every noisy value was the same; whether the claim "
        "breaks is not known from the trace"
    ),
    "not understood": "noise is used in a way that a trace does not follow",
}


GROUNDS: dict[str, tuple[Theorem, ...]] = {
    "shown": (FROZEN_REPLAY, TRANSCRIPT_LOSS),
    "refuted": (FROZEN_REPLAY, DETERMINED_OUTPUT),
    "overspent": (FROZEN_REPLAY, TRANSCRIPT_LOSS),
    "leaking": (FROZEN_REPLAY,),
    "not understood": (),
}


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The result of `trace`: releases by line, their total cost, and leaks.

    `verdict` is "shown", "refuted", "overspent", "leaking" or "not understood"; `audit` is the
    verdict of an audit on the same pair, where the trace could not decide and one was asked for.
    One that was `interrupted` holds what was found by then, and never says "shown".

    >>> import dpverify as dpv
    >>> def half(data, rng):
    ...     return sum(data) + rng.laplace(scale=0.5)
    >>> found = dpv.trace(half, left=[0], right=[1], claim=dpv.PureDP(1.0))
    >>> found.verdict, found.epsilon(0.0).upper
    ('refuted', 2.0)
    """

    verdict: TraceVerdict
    claim: AuditClaim
    left: Any
    right: Any
    spent: Spending
    leaks: tuple[Leak, ...] = ()
    puzzles: tuple[Puzzle, ...] = ()
    witness: TraceWitness | None = None
    determined: str = ""
    executions: int = 0
    transcripts: int = 0
    audit: Verdict | None = None
    notes: tuple[str, ...] = field(default=())
    interrupted: bool = False

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases: where ("file.py:14"), source, distribution, scale, shift, loss of each."""
        return self.spent.releases

    @property
    def headline(self) -> str:
        """The verdict in one line, with what it rests on."""
        words: str = "shown on these runs" if self.verdict == "shown" else self.verdict
        if self.interrupted:
            words += " (interrupted)"
        if self.audit is not None and self.audit.refuted:
            words += ", and refuted by the audit"
        return words

    @property
    def meaning(self) -> str:
        """What the verdict means, in one sentence."""
        if self.interrupted and self.verdict == "not understood":
            return "it was interrupted before anything was shown"
        tried = self.verdict == "refuted" and not self.exact
        return MEANINGS["refuted on what was tried" if tried else self.verdict]

    @property
    def exact(self) -> bool:
        """Whether a refutation rests on the transcript alone, as the output determines it."""
        return self.verdict == "refuted" and not self.determined.startswith(TRIED)

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        """The theorems that the verdict rests on."""
        return GROUNDS[self.verdict]

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, by the trace or by the audit that followed it."""
        return self.verdict == "refuted" or (self.audit is not None and self.audit.refuted)

    def epsilon(self, delta: float = 0.0) -> Bracket:
        """A bracket around the ε that the releases of the worst transcript cost together at δ."""
        return self.spent.epsilon(delta)

    def delta(self, epsilon: float) -> Bracket:
        """A bracket around the δ that the releases of the worst transcript cost together at ε."""
        return self.spent.delta(epsilon)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that the verdict names, most important first."""
        parts: list[Any] = [*self.leaks, *self.puzzles]
        ranked = sorted(self.releases, key=lambda r: -_size(r.loss))
        return tuple(dict.fromkeys(f"{p.place.where}" for p in (*parts, *ranked)))

    def __str__(self) -> str:
        lines = [f"{self.headline}: {self.claim}", f"  {self.meaning}"]
        lines += [f"  leak at {leak}" for leak in self.leaks]
        lines += [f"  not understood at {puzzle}" for puzzle in self.puzzles]
        ranked = sorted(self.releases, key=lambda r: -_size(r.loss))
        lines += [f"  {release}" for release in ranked[:12]]
        if len(ranked) > 12:
            lines.append(f"  and {len(ranked) - 12} more releases")
        if self.releases and self.verdict != "not understood":
            lines.append(f"  together: {self._together()}")
        if self.witness is not None:
            lines += [f"  {line}" for line in str(self.witness).split("\n")]
        lines += [f"  note: {note}" for note in self.notes]
        if self.audit is not None:
            lines += ["the audit on this pair:", *(f"  {x}" for x in str(self.audit).split("\n"))]
        seen = f"{self.transcripts} transcripts" if self.transcripts != 1 else "one transcript"
        lines.append(f"  {seen}, {self.executions} executions")
        return "\n".join(lines)

    def _together(self) -> str:
        pure = self.epsilon(0.0)
        if math.isfinite(pure.upper):
            return f"ε = {pure.upper:.9g} at δ = 0"
        delta = float(getattr(self.claim, "delta", 0.0)) or 1e-6
        approx = self.epsilon(delta)
        return f"ε = {approx.upper:.6g} at δ = {delta:.6g}, no bound at δ = 0"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values for JSON; infinities and NaN as text."""
        pure = self.epsilon(0.0)
        return {
            "version": 1,
            "verdict": self.verdict,
            "refuted": self.refuted,
            "meaning": self.meaning,
            "claim": tagged(self.claim),
            "epsilon": {"lower": plain(pure.lower), "upper": plain(pure.upper)},
            "releases": [
                {
                    "where": r.where,
                    "source": r.source,
                    "distribution": r.distribution,
                    "scale": plain(r.scale),
                    "shift": plain(r.shift),
                    "norm": r.norm,
                    "loss": plain(r.loss),
                    "realized": plain(r.realized),
                }
                for r in self.releases
            ],
            "leaks": [
                {"where": x.where, "source": x.source, "kind": x.kind, "what": x.what}
                for x in self.leaks
            ],
            "not_understood": [
                {"where": x.where, "source": x.place.source, "what": x.what} for x in self.puzzles
            ],
            "witness": None if self.witness is None else self.witness.to_dict(),
            "audit": None if self.audit is None else self.audit.to_dict(),
            "executions": self.executions,
            "transcripts": self.transcripts,
            "notes": list(self.notes),
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        """For notebooks: the verdict in color, with its text below."""
        first, *rest = str(self).split("\n")
        color = {"shown": "#0b4f8a", "refuted": "#a40e26"}.get(self.verdict, "#8a5a00")
        words = html.escape("\n".join(rest))
        return f'<b style="color:{color}">{html.escape(first)}</b><pre>{words}</pre>'


def _size(loss: float) -> float:
    return -1.0 if math.isnan(loss) else loss
