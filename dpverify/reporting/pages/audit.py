"""The page of `dpverify audit`: the verdict, the witness, what was tried and how to replay it."""

from dpverify.auditing.verdict import Verdict, Witness, shorter
from dpverify.balls import as_given, rounded_down
from dpverify.reporting.page import Page, Section, TextTable
from dpverify.reporting.picture import Picture
from dpverify.theorems import BETTING, CLOPPER_PEARSON, STOUFFER

_GROUNDS = (BETTING, CLOPPER_PEARSON, STOUFFER)


def audit_page(
    verdict: Verdict, *, target: str, pictures: tuple[Picture, ...], command: str
) -> Page:
    """The page of an audit; `target` is the mechanism's name for the reader."""
    sections = [_claim(verdict, target)]
    if verdict.witness is not None:
        sections.append(witness_section(verdict.witness, "The witness"))
    if verdict.float_leak is not None:
        sections.append(witness_section(verdict.float_leak, "A leak through the bits of floats"))
    if pictures:
        sections.append(Section(title="In pictures", pictures=pictures))
    sections += [
        Section(
            title="What was tried",
            text=("Events were sought among these. " + _sentence(verdict.unseen),),
            items=verdict.tried,
        ),
        Section(
            title="What this means",
            text=_meaning(verdict),
            items=(*verdict.unusable, *verdict.notes),
        ),
        Section(
            title="Why the level holds",
            text=("Events are chosen on earlier draws and judged on later ones, so that:",),
            items=tuple(f"{each.name}: {each.statement}" for each in _GROUNDS),
            code=f"dpverify prove {BETTING.name}",
        ),
    ]
    return Page(
        title=f"Audit of {target}",
        verdict="Refuted" if verdict.refuted else "Not refuted",
        tone="bad" if verdict.refuted else "plain",
        lead=_lead(verdict),
        sections=tuple(sections),
        command=command,
        data=verdict.to_dict(),
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _lower(shown: Verdict) -> str:
    return f"{rounded_down(shown.epsilon_lower)} at δ = {as_given(shown.delta)}"


def _lead(verdict: Verdict) -> str:
    shown = f"ε ≥ {_lower(verdict)}"
    if verdict.refuted:
        return f"The claim {verdict.claim} does not hold: {shown}."
    return f"The claim {verdict.claim} survived {verdict.samples:,} draws a side; shown: {shown}."


def _claim(verdict: Verdict, target: str) -> Section:
    return Section(
        title="The claim",
        facts=(
            ("mechanism", target),
            ("claimed", str(verdict.claim)),
            ("lower bound on ε", _lower(verdict)),
            ("level", f"{verdict.level:g}"),
            ("draws on each side until then", f"{verdict.samples:,}"),
            ("seconds", f"{verdict.seconds:.2f}"),
        ),
    )


def witness_section(witness: Witness, title: str) -> Section:
    """Event, pair and counts of a witness."""
    counts = witness.counts
    favored, other = witness.favors.name.lower(), witness.favors.other.name.lower()
    rows = [_row(favored, counts.hits, counts.trials)]
    rows.append(_row(other, counts.other_hits, counts.other_trials))
    text = [f"The event: {witness.event}"]
    if witness.also is not None and counts.also is not None:
        more, second = counts.also, "the second event"
        text.append(f"A second event, too likely on the other side: {witness.also}")
        rows.append(_row(f"{other}, {second}", more.hits, more.trials))
        rows.append(_row(f"{favored}, {second}", more.other_hits, more.other_trials))
    return Section(
        title=title,
        text=tuple(text),
        facts=(
            ("left data", shorter(witness.left)),
            ("right data", shorter(witness.right)),
            ("seed", str(witness.seed)),
        ),
        tables=(
            TextTable(
                caption=(
                    "How often the event happened"
                    + (", on draws that had no part in choosing it" if witness.fresh else "")
                ),
                header=("data", "times", "of", "share"),
                rows=tuple(rows),
            ),
        ),
    )


def _row(side: str, hits: int, trials: int) -> tuple[str, ...]:
    share = hits / trials if trials else 0.0
    return side, f"{hits:,}", f"{trials:,}", f"{100 * share:.4g}%"


def _meaning(verdict: Verdict) -> tuple[str, ...]:
    partial = () if verdict.stopped is None else (f"The verdict is partial: {verdict.stopped}",)
    if verdict.refuted:
        return (
            *partial,
            (
                f"Were the claim true, an audit like this would refute it with probability at most "
                f"{verdict.level:g}, whatever was tried and whenever it stopped."
            ),
            (
                "The witness can be judged again on fresh samples: save it with --save-witness and "
                "run the audit with --replay."
            ),
        )
    return (
        *partial,
        (
            "Nothing that was tried refutes the claim. This does not show that it is true: another "
            "pair of datasets, another event or more samples may refute it."
        ),
        f"The lower bound on ε holds with probability at least {1 - verdict.level:g}.",
    )
