"""The page of `dpverify trace`: the verdict, the lines that spend, the leaks, the witness."""

import math

from dpverify.auditing.verdict import shorter
from dpverify.balls import rounded_up
from dpverify.reporting.page import Page, Section, TextTable, Tone
from dpverify.tracing.evidence.releases import Release
from dpverify.tracing.traced import Traced

_TONES: dict[str, Tone] = {"shown": "good", "refuted": "bad"}


def trace_page(found: Traced, *, target: str, command: str) -> Page:
    """The page of a trace; `target` is the mechanism's name for the reader."""
    sections = [_claim(found, target), *evidence_sections(found)]
    if found.audit is not None:
        sections.append(Section(title="The audit on this pair", code=str(found.audit)))
    if found.notes:
        sections.append(Section(title="What to know besides", items=found.notes))
    sections += [_theorems(found)] if found.theorems else []
    return Page(
        title=f"Trace of {target}",
        verdict=found.headline.capitalize(),
        tone="bad" if found.refuted else _TONES.get(found.verdict, "plain"),
        lead=f"{found.claim}: {found.meaning}.",
        sections=tuple(sections),
        command=command,
        data=found.to_dict(),
    )


def evidence_sections(found: Traced) -> list[Section]:
    """The lines that spend, what leaks or is not understood, and the witness, if there is one."""
    sections = [_spending(found)]
    if found.leaks or found.puzzles:
        sections.append(_troubles(found))
    if found.witness is not None:
        sections.append(
            Section(title="The witness", text=(found.determined,), code=str(found.witness))
        )
    return sections


def _claim(found: Traced, target: str) -> Section:
    pure, approx = found.epsilon(0.0), found.epsilon(1e-6)
    return Section(
        title="The claim",
        facts=(
            ("mechanism", target),
            ("claimed", str(found.claim)),
            ("spent at δ = 0", rounded_up(pure.upper, digits=6)),
            ("spent at δ = 1e-6", rounded_up(approx.upper, digits=6)),
            ("left data", shorter(found.left)),
            ("right data", shorter(found.right)),
            ("transcripts", str(found.transcripts)),
            ("executions", str(found.executions)),
        ),
    )


def _spending(found: Traced) -> Section:
    ranked = sorted(found.releases, key=lambda r: 1.0 if math.isnan(r.loss) else -r.loss)
    rows = tuple(_row(release) for release in ranked[:100])
    table = TextTable(
        caption="Every line at which data passed through noise, on the worst transcript",
        header=("line", "source", "noise", "scale", "moved by", "loses"),
        rows=rows,
        marked=0 if rows and found.verdict == "shown" else None,  # the color says "good"
    )
    text = () if rows else ("No data passed through noise, or none that differs.",)
    return Section(title="What each line spends", text=text, tables=(table,) if rows else ())


def _row(release: Release) -> tuple[str, ...]:
    return (
        release.where,
        release.source,
        release.distribution,
        _number(release.scale),
        _number(release.shift),
        "" if math.isnan(release.loss) else rounded_up(release.loss, digits=6),
    )


def _troubles(found: Traced) -> Section:
    leaks = tuple(f"{leak.kind} at {leak}" for leak in found.leaks)
    puzzles = tuple(f"not understood at {puzzle}" for puzzle in found.puzzles)
    return Section(title="Leaks, and what was not understood", items=(*leaks, *puzzles))


def _theorems(found: Traced) -> Section:
    return Section(
        title="The theorems behind it",
        items=tuple(f"{t.name}: {t.statement}" for t in found.theorems),
        code=f"dpverify prove {found.theorems[0].name}",
    )


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
