"""What the ladder answers: a verdict, the rung that spoke, and one sentence on what it shows."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dpverify.auditing.verdict import Verdict, Witness
from dpverify.certifying.certificate import Certificate, Disproof, brief
from dpverify.claims import AuditClaim
from dpverify.errors import InvalidParameter
from dpverify.plain import encoded, tagged
from dpverify.tracing.traced import Traced
from dpverify.tracing.witness import TraceWitness

Decided: TypeAlias = Literal["proved", "refuted", "not refuted"]
RungName: TypeAlias = Literal["certify", "trace", "audit"]
Proof: TypeAlias = Certificate | Traced | Verdict

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """What one rung of the ladder said, in a sentence, and what it rests on, if anything."""

    name: RungName
    said: str
    evidence: Proof | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer of `decide`.

    `verdict` is "proved", "refuted" or "not refuted"; `rung` says who spoke: "certify", "trace" or
    "audit"; `evidence` is its certificate, trace or audit, and `sentence` says what exactly it
    shows. `rungs` holds what each rung said on the way. `level` bounds the probability that a true
    claim is refuted; it is needed only where the audit spoke. `stopped` names the rung at which
    certifying or tracing was interrupted: what came before it is all that was found.

    >>> import dpverify as dpv
    >>> from dpverify.schema import Number, Records
    >>> unit = Number(low=0, high=1)
    >>> schema = Records(record=unit, length=(0, 3), relation=dpv.Relation.ADD_REMOVE)
    >>> def noisy(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> dpv.decide(noisy, schema, dpv.PureDP(1.0)).verdict
    'proved'
    """

    verdict: Decided
    claim: AuditClaim
    mechanism: str
    sentence: str
    rungs: tuple[Rung, ...]
    level: float
    seed: int
    seconds: float = 0.0
    stopped: RungName | None = None

    @property
    def rung(self) -> RungName:
        return self.rungs[-1].name

    @property
    def evidence(self) -> Proof:
        """What the rung that spoke rests on; where it was interrupted, what was there before."""
        found = [rung.evidence for rung in self.rungs if rung.evidence is not None]
        if not found:
            raise InvalidParameter("there is no evidence: it was interrupted before there was any")
        return found[-1]

    @property
    def proved(self) -> bool:
        return self.verdict == "proved"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    @property
    def witness(self) -> Disproof | TraceWitness | Witness | None:
        """What shows a refutation again: neighbors, and an event or a run."""
        if self.stopped is not None:
            return None
        match self.evidence:
            case Certificate(counterexample=shown):
                return shown
            case Traced(witness=seen):
                return seen
            case verdict:
                return verdict.witness

    def __str__(self) -> str:
        said = [f"  {rung.name}: {self.short(rung)}" for rung in self.rungs]
        shown = [] if self.stopped else [f"    {line}" for line in _details(self.evidence)]
        return "\n".join([self.sentence, *said, *shown])

    def short(self, rung: Rung) -> str:
        """What a rung said; of a counterexample its name, as the sentence has its numbers."""
        is_told = self.verdict == "refuted" and rung.name == self.rung == "certify"
        return rung.said.partition(":")[0] if is_told else rung.said

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them; the proof itself is in the file of its certificate."""
        return {
            "version": _FORMAT,
            "verdict": self.verdict,
            "rung": self.rung,
            "sentence": self.sentence,
            "mechanism": self.mechanism,
            "claim": tagged(self.claim),
            "level": self.level,
            "seed": self.seed,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "rungs": [
                {"rung": rung.name, "said": rung.said, "evidence": _plain(rung.evidence)}
                for rung in self.rungs
            ],
        }


# What the rungs say.


def certificate_sentence(found: Certificate) -> str:
    """What a certificate says, on one line."""
    if found.verdict == "refuted":
        return f"refuted: {found.counterexample}"
    where = f" at {found.where}" if found.where and found.where not in found.reason else ""
    told = f"{found.verdict}{where}: {found.reason}"
    missing = [text for text in found.tried if "needs z3" in text and text not in told]
    return "; ".join([told, *missing[:1]])


def _details(found: Proof) -> list[str]:
    """What the evidence tells beyond what its rung has said."""
    match found:
        case Certificate():
            return [f"assumes {text}" for text in found.assumes]
        case Traced():
            return [line.strip() for line in str(found).split("\n")[2:]]
        case _:
            return str(found).split("\n")[1:]


def event_in_words(found: Certificate, shown: Disproof) -> str:
    """The event of a counterexample: "output ≤ 1", "output = [0, 1]"."""
    if len(found.evidence.get("event", ())) > 1:
        return f"output in {shown.event}"
    bounded = str(shown.event).startswith(("≤", "≥"))
    return f"output {shown.event}" if bounded else f"output = {shown.event}"


def broken_by(found: Certificate) -> str:
    """The counterexample in words."""
    shown = found.counterexample
    if shown is None:
        raise AssertionError("a certificate that refutes has a counterexample")
    return (
        f"the event {event_in_words(found, shown)} has probability {shown.probability_left:.6g} on "
        f"{brief(shown.left)} and {shown.probability_right:.6g} on its neighbor "
        f"{brief(shown.right)}, exactly, in real arithmetic"
    )


def trace_sentence(found: Traced) -> str:
    """What a trace says, on one line."""
    troubles = [*found.leaks, *found.puzzles]
    why = f": {troubles[0]}" if troubles else f": {found.meaning}"
    return found.verdict + why


def worst_line(found: Traced) -> str:
    """The line of code that loses most."""
    spent = max((r for r in found.releases if r.loss >= 0.0), key=lambda r: r.loss, default=None)
    return "see its witness" if spent is None else f"{spent}, loses {spent.loss:.6g}"


def audit_sentence(found: Verdict) -> str:
    """What an audit says, on one line."""
    word = "refuted" if found.refuted else "not refuted"
    shown = f"ε ≥ {found.epsilon_lower:.3f} at δ = {found.delta:g}"
    return f"{word} at level {found.level:g}: {shown}, by {found.samples:,} draws a side"


def _plain(found: Proof | None) -> dict[str, Any] | None:
    if not isinstance(found, Certificate):
        return None if found is None else found.to_dict()
    shown = found.counterexample
    told: dict[str, Any] = {
        "verdict": found.verdict,
        "scope": found.scope,
        "reason": found.reason,
        "where": found.where,
        "method": found.method,
        "assumes": list(found.assumes),
        "tried": list(found.tried),
    }
    if shown is not None:
        told["counterexample"] = {
            "left": encoded(shown.left),
            "right": encoded(shown.right),
            "event": str(shown.event),
            "probabilities": [shown.probability_left, shown.probability_right],
            "exactly": list(shown.exactly),
        }
    return told
