"""The page of `dpverify decide`: the verdict, the ladder, and what each rung rests on."""

from dataclasses import replace

from dpverify.auditing.verdict import Verdict
from dpverify.balls import as_given, rounded_down, rounded_up
from dpverify.certifying.certificate import Certificate, Disproof, brief
from dpverify.deciding import Decision, Rung
from dpverify.deciding.decision import RungName, event_in_words
from dpverify.reporting.page import Page, Section, TextTable, Tone
from dpverify.reporting.pages.audit import witness_section
from dpverify.reporting.pages.trace import evidence_sections
from dpverify.tracing.traced import Traced

_TONES: dict[str, Tone] = {"proved": "good", "refuted": "bad", "not refuted": "plain"}
_QUESTIONS: dict[RungName, str] = {
    "certify": "Is it proved for all neighbors, or is there an exact counterexample?",
    "trace": "What do the worst neighbors lose, by the noise that is seen?",
    "audit": "Do draws on the worst neighbors contradict the claim?",
}


_CHECK = "dpverify decide … --certificate certificate.json\ndpverify check certificate.json"


def decision_page(found: Decision, *, target: str, command: str) -> Page:
    """`target` names the mechanism as the reader knows it."""
    sections = [_claim(found, target), _ladder(found)]
    for rung in found.rungs:
        sections += _evidence(rung)
    sections.append(_meaning(found))
    verdict, _, lead = found.sentence.partition(": ")
    return Page(
        title=f"Decision on {target}",
        verdict=f"{verdict.capitalize()}, by {found.rung}",
        tone=_TONES[found.verdict],
        lead=f"{lead[:1].upper()}{lead[1:]}." if lead[:1].isdigit() else f"{lead}.",
        sections=tuple(sections),
        command=command,
        data=found.to_dict(),
    )


def _claim(found: Decision, target: str) -> Section:
    return Section(
        title="The claim",
        facts=(
            ("mechanism", target),
            ("claimed", str(found.claim)),
            ("level, needed only by an audit", f"{found.level:g}"),
            ("seed", str(found.seed)),
            ("seconds", f"{found.seconds:.1f}"),
        ),
    )


def _ladder(found: Decision) -> Section:
    said = {rung.name: found.short(rung) for rung in found.rungs}
    rows = [(name, question, said.get(name, "not needed")) for name, question in _QUESTIONS.items()]
    table = TextTable(
        caption="Each rung is asked only if those above it could not tell",
        header=("rung", "question", "what it said"),
        rows=tuple(rows),
        marked=list(_QUESTIONS).index(found.rung),
    )
    return Section(title="The ladder", tables=(table,))


def _evidence(rung: Rung) -> list[Section]:
    match rung.evidence:
        case None:
            return []
        case Certificate() as certificate:
            found = [_certificate(certificate)]
        case Traced() as traced:
            found = [_neighbors(traced), *evidence_sections(traced)]
        case verdict:
            found = _audit(verdict)
    name = rung.name.capitalize()
    return [
        replace(each, title=f"{name}: {each.title[0].lower()}{each.title[1:]}") for each in found
    ]


def _neighbors(found: Traced) -> Section:
    return Section(
        title="The worst neighbors that were found",
        facts=(
            ("left data", brief(found.left)),
            ("right data", brief(found.right)),
            ("transcripts", str(found.transcripts)),
            ("spent at δ = 0", rounded_up(found.epsilon(0.0).upper, digits=6)),
        ),
    )


def _certificate(found: Certificate) -> Section:
    facts = [("verdict", found.verdict), ("scope", found.scope), ("because", found.reason)]
    facts.append(("line", "" if not found.where or found.where in found.reason else found.where))
    shown = found.counterexample
    tried = [f"tried: {text}" for text in dict.fromkeys(found.tried) if text != found.reason]
    return Section(
        title="The certificate",
        facts=tuple((label, value) for label, value in facts if value),
        items=(*(f"assumes {text}" for text in found.assumes), *tried),
        tables=() if shown is None else (_counterexample(found, shown),),
        code="" if found.verdict == "open" else _CHECK,
    )


def _counterexample(found: Certificate, shown: Disproof) -> TextTable:
    sides = (
        ("left", shown.left, shown.probability_left, shown.exactly[0]),
        ("right", shown.right, shown.probability_right, shown.exactly[1]),
    )
    return TextTable(
        caption=f"How likely the event {event_in_words(found, shown)} is on two neighbors",
        header=("side", "data", "probability", "exactly"),
        rows=tuple(
            (side, str(data), f"{probability:.9g}", exactly)
            for side, data, probability, exactly in sides
        ),
    )


def _audit(found: Verdict) -> list[Section]:
    witness = [] if found.witness is None else [witness_section(found.witness, "The witness")]
    leak = found.float_leak
    bits = [] if leak is None else [witness_section(leak, "A leak through the bits of floats")]
    facts = (
        ("lower bound on ε", f"{rounded_down(found.epsilon_lower)} at δ = {as_given(found.delta)}"),
        ("draws on each side", f"{found.samples:,}"),
        ("level", f"{found.level:g}"),
    )
    tried = (*found.tried, *found.unusable, *found.notes)
    return [*witness, *bits, Section(title="The audit", facts=facts, items=tried)]


def _meaning(found: Decision) -> Section:
    told = {
        "proved": (
            "The claim holds for all that its scope names, under the assumptions that are listed. "
            "The certificate is a file; dpverify check verifies it by rational arithmetic alone."
        ),
        "refuted": (
            "The claim is false: the neighbors above tell, and anybody can look at them again."
        ),
        "not refuted": (
            "Nothing that was tried refutes the claim. This does not show that it is true: other "
            "neighbors, other runs or more draws may refute it."
        ),
    }
    silent = found.stopped is not None or isinstance(found.evidence, Verdict)
    theorems = () if silent else found.evidence.theorems  # type: ignore[union-attr]
    return Section(
        title="What this means",
        text=(told[found.verdict],),
        items=tuple(f"{theorem.name}: {theorem.statement}" for theorem in theorems),
    )
