"""`dpverify prove`: run the theorems that every number rests on."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.cli.exits import INTERRUPTED
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    console,
    print_json,
    progress,
)
from dpverify.errors import InvalidParameter
from dpverify.files import write_whole
from dpverify.theorems import Theorem
from dpverify.waiting import is_live

if TYPE_CHECKING:
    from proofs.support.form import Proof, Run, Verdict

EXAMPLE = "Example: dpverify prove simulation-lemma"

_STYLES = {
    "proved": "green",
    "proved with argument": "green",
    "cited": "yellow",
    "checked on instances": "yellow",
    "refuted": "magenta",
    "refuted with argument": "magenta",
    "failed": "bold red",
}


def prove(
    name: Annotated[
        str | None, typer.Argument(help="A theorem, e.g. simulation-lemma; all of them if omitted.")
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Also check that wrong constants are rejected.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with all steps to this .html file.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write a theorem's goals to this .json file, for proofs/support/recheck.py, "
            "or .v file, for Coq."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run all proofs, or one of them step by step; shows what is only argued in words."""
    check_page(report)
    check_output("export", export)
    if export is not None and name is None:
        raise InvalidParameter(f"export={str(export)!r} must come with the name of a theorem")
    if export is not None and export.suffix not in {".json", ".v"}:
        raise InvalidParameter(f"export={str(export)!r} must end with .json or .v")
    # The proofs import sympy, which is slow, and no other verb needs it. If broken, it is named.
    import sympy  # noqa: F401, PLC0415

    from proofs.support.catalog import broken, find, proofs  # noqa: PLC0415

    with progress("loading the proofs"):
        names = [find(name).theorem.name] if name is not None else list(proofs())
        unusable = [] if name is not None else list(broken().values())
    answers, interrupted = _proved(names, unusable, mutations=mutations)
    failed = bool(unusable) or any(_failed(each) for each in answers)
    if json:
        print_json(
            {
                "version": 2,
                "theorems": answers,
                "unusable": unusable,
                "interrupted": interrupted,
            }
        )
    elif name is None:
        _show_all(answers, unusable)
    else:
        _show_one(answers[0])
    if export is not None:
        _export(answers[0], export)
    if report is not None:
        _report(answers, report)
        if not json:
            console().print(f"report: {report}", markup=False, soft_wrap=True)
    if interrupted and not failed:
        raise typer.Exit(INTERRUPTED)
    if failed:
        raise typer.Exit(1)


def _failed(answer: dict[str, Any]) -> bool:
    return bool(answer["verdict"] == "failed" or answer["accepted_mutations"])


def _proved(
    names: list[str], unusable: list[str], *, mutations: bool
) -> tuple[list[dict[str, Any]], bool]:
    """What came of each proof, and whether the user stopped before the last.

    A proof that does not end goes to `unusable`, and the others still run.
    """
    from proofs.support.catalog import (  # noqa: PLC0415  # sympy is slow
        PATIENCE,
        run_with_uses,
        unsupported,
        within,
    )
    from proofs.support.form import BrokenProof  # noqa: PLC0415  # likewise

    done: dict[Any, Any] = {}
    answers: list[dict[str, Any]] = []
    try:
        for index, each in enumerate(names):
            with _at_work(f"proving {each} ({index + 1} of {len(names)})"):
                try:
                    run, verdict = next(run_with_uses([each], done))
                    with within(PATIENCE, each):
                        rejections = run.proof.rejections() if mutations else {}
                except BrokenProof as error:
                    unusable.append(str(error))
                    continue
            answers.append(_answer(run, verdict, rejections, unsupported(run.proof, done)))
    except KeyboardInterrupt:
        if not answers:
            raise
        return answers, True
    return answers, False


def _export(answer: dict[str, Any], path: Path) -> None:
    """Statement, clauses and goals, as the second checker reads them; or the goals, for Coq."""
    from proofs.support.coq import coq_file  # noqa: PLC0415  # sympy is slow

    kept = ("name", "statement", "clauses", "goals")
    if path.suffix == ".v":
        text = coq_file(answer["name"], answer["statement"], answer["goals"])
    else:
        text = dumps({key: answer[key] for key in kept}, ensure_ascii=False, indent=1) + "\n"
    write_whole(path, text)


def _report(answers: list[dict[str, Any]], path: Path) -> None:
    from dpverify.reporting.pages.proofs import proofs_page  # noqa: PLC0415

    write_report(proofs_page(answers, command=command_line()), path)


@contextmanager
def _at_work(what: str) -> Iterator[None]:
    """On a terminal say at once what is being proved; elsewhere only if it takes long."""
    live = is_live()
    if live:
        sys.stderr.write(f"\r\x1b[2Kdpverify: {what}")
        sys.stderr.flush()
    try:
        with progress(what):
            yield
    finally:
        if live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def _answer(
    run: "Run",
    verdict: "Verdict",
    rejections: Any = None,  # noqa: ANN401
    unsupported: Sequence[str] = (),
) -> dict[str, Any]:
    from proofs.support.catalog import code, users  # noqa: PLC0415  # as above
    from proofs.support.notation import notation  # noqa: PLC0415
    from proofs.support.second import (  # noqa: PLC0415
        count_goals,
        disagreements,
        goals_of,
        not_shown_again,
    )

    proof, theorem = run.proof, run.proof.theorem
    counterexample = proof.counterexample
    tried = {} if rejections is None else rejections
    steps = [shown.step for shown in run.shown]
    doubts = disagreements(steps) if verdict.value == "failed" else []  # a doubt makes it fail
    open_goals = not_shown_again(steps)
    return {
        "name": theorem.name,
        "verdict": verdict.value,
        "problems": [*run.problems, *unsupported, *doubts],
        "statement": theorem.statement,
        "notation": notation(theorem.statement),
        "source": theorem.source,
        "proof": theorem.proof,
        "argument": _argument(proof),
        "evidence": [kind.value for kind in run.evidence],
        "seconds": round(run.seconds, 3),
        "uses": [used.name for used in proof.uses],
        "used_by": users(theorem),
        "code": code(theorem),
        "cites": _cited(run),
        "clauses": [
            {
                "says": clause.says,
                "steps": [run.steps[function].step.name for function in clause.by],
                "argued": clause.argued,
                "checked": clause.checked,
            }
            for clause in proof.clauses
        ],
        "steps": [
            {
                "name": shown.step.name,
                "evidence": shown.step.evidence.value,
                "holds": shown.step.holds,
                "scope": shown.step.scope,
                "formula": shown.formula,
            }
            for shown in run.shown
        ],
        "counterexample": None
        if counterexample is None
        else {
            "claimed": counterexample.claimed,
            "instance": list(counterexample.instance),
            "truth": counterexample.truth,
            "correction": counterexample.correction,
            "asks": "" if counterexample.claim is None else counterexample.claim.words[0],
            "says": "" if counterexample.claim is None else counterexample.claim.words[1],
            "argued": counterexample.argued,
        },
        "goals": goals_of(steps),
        "shown_again": count_goals(steps) - len(open_goals),
        "not_shown_again": [
            {"goal": goal, "reason": reason} for goal, reason in open_goals.items()
        ],
        "mutations": [
            {"name": name, "step": each.step, "clauses": list(each.clauses), "passed": each.passed}
            for name, each in tried.items()
        ],
        "accepted_mutations": [name for name, each in tried.items() if each.passed],
    }


def _argument(proof: "Proof") -> str:
    """The docstring of the proof's file: the argument in words."""
    name = (proof.theorem.proof or "").removesuffix(".py").replace("/", ".")
    home = sys.modules.get(name)
    paragraphs = ((home.__doc__ or "") if home is not None else "").strip().split("\n\n")
    return "\n\n".join(map(_reflowed, paragraphs))


def _reflowed(paragraph: str) -> str:
    """One line, but for formulas, which are indented, and items of a list."""
    lines: list[str] = []
    for line in paragraph.splitlines():
        if lines and not line.startswith((" ", "- ")) and not lines[-1].startswith("    "):
            lines[-1] += f" {line}"
        elif lines and lines[-1].startswith("- ") and line.startswith("  "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _cited(run: "Run") -> list[str]:
    """What is taken from the literature, by the proof itself or by what it uses."""
    from proofs.support.catalog import citations  # noqa: PLC0415  # as above

    return citations(run.proof)


def _show_all(answers: list[dict[str, Any]], unusable: list[str]) -> None:
    screen = console()
    # One space between columns: the longest name and all kinds of evidence fit into 80 columns.
    grid = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    grid.add_column("theorem", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    grid.add_column("evidence")
    grid.add_column("s", justify="right", no_wrap=True)
    for each in answers:
        evidence = ", ".join(each["evidence"])
        if each["accepted_mutations"]:
            evidence += f"; lets pass: {', '.join(each['accepted_mutations'])}"
        if each["problems"]:
            evidence += f"; {'; '.join(each['problems'])}"
        verdict = each["verdict"]
        style = _STYLES["failed" if _failed(each) else verdict]
        shown = Text(verdict, style=style)
        grid.add_row(each["name"], shown, Text(evidence), f"{each['seconds']:.1f}")
    screen.print(grid)
    for line in unusable:
        screen.print(f"failed: {line}", style=_STYLES["failed"], markup=False, soft_wrap=True)
    screen.print()
    for line in summary(answers, unusable):
        screen.print(line, markup=False)


def summary(answers: list[dict[str, Any]], unusable: list[str]) -> list[str]:
    """What came of all proofs, in sentences for someone who sees them for the first time."""
    count = {kind: sum(each["verdict"] == kind for each in answers) for kind in _STYLES}
    count["failed"] += len(unusable)
    false = [each for each in answers if each["verdict"].startswith("refuted")]
    notes = sum(each["name"].startswith("notes-") for each in false)
    computed = sum(map(_is_computed, false))
    sentences = (
        (count["proved"], "proved: every clause is a formula that was shown for its whole range"),
        (
            count["proved with argument"],
            "proved with argument: the steps hold, and words say how they amount to the statement",
        ),
        (count["cited"], "cited: something is taken from the literature, and named"),
        (count["checked on instances"], "checked on instances only: no proof of a clause"),
        (
            notes,
            "false statements of lecture notes, each refuted by a counterexample, as intended",
        ),
        (
            len(false) - notes,
            "false statements of papers and code, each refuted by a counterexample, as intended",
        ),
        (
            count["refuted"],
            "of these refuted: a formula that was computed to be false at the counterexample",
        ),
        (
            count["refuted with argument"],
            f"of these refuted with argument: {computed} computed, by words that tie code to them",
        ),
        (count["failed"], "FAILED: see above"),
    )
    seconds = sum(each["seconds"] for each in answers)
    told = [f"{number} {said}" for number, said in sentences if number]
    return [*told, *_second(answers), f"{seconds:.0f} s"]


def _is_computed(answer: dict[str, Any]) -> bool:
    return answer["verdict"] != "refuted" and bool(answer["counterexample"]["says"])


def _second(answers: list[dict[str, Any]]) -> list[str]:
    """How many goals a second checker shows, and where the others are."""
    again = sum(int(each["shown_again"]) for each in answers)
    left = [
        f"{each['name']} ({goal['reason']})" for each in answers for goal in each["not_shown_again"]
    ]
    if not again + len(left):
        return []
    told = f"{again} of {again + len(left)} symbolic goals were shown again by a second checker"
    counted = (f"{name} × {left.count(name)}" if left.count(name) > 1 else name for name in left)
    return [f"{told}; not: {', '.join(dict.fromkeys(counted))}" if left else told]


def _show_counterexample(screen: Console, found: dict[str, Any] | None) -> None:
    if found is None:
        return
    screen.print()
    for label, text in (
        ("claimed:", found["claimed"]),
        ("instance:", "\n".join(found["instance"])),
        ("truth:", found["truth"]),
        ("instead:", found["correction"]),
        ("asked:", found["asks"] and f"{found['asks']} Computed: true here, true at a control."),
        ("said:", found["says"] and f"{found['says']} Computed: false here, true at the control."),
        ("argued:", found["argued"]),
    ):
        if text:
            _print(screen, label, text, width=10)


def _show_one(answer: dict[str, Any]) -> None:
    screen = console()
    style = _STYLES[answer["verdict"]]
    screen.print(Text.assemble((answer["name"], "bold"), ": ", (answer["verdict"], style)))
    screen.print(answer["statement"], markup=False)
    screen.print(f"[{answer['source']}] {answer['proof']}", style="dim", markup=False)
    for meaning in answer["notation"]:
        _print(screen, "  ·", meaning, width=4, style="dim")
    for problem in answer["problems"]:
        _print(screen, "fails:", problem, style="bold red")
    if answer["argument"]:
        screen.print()
        screen.print(answer["argument"], markup=False)
    _show_clauses(screen, answer)
    _show_steps(screen, answer)
    _show_counterexample(screen, answer["counterexample"])
    for each in answer["mutations"]:
        resting = "; ".join(f"“{says}”" for says in each["clauses"]) or "the library"
        outcome = "LETS PASS" if each["passed"] else "rejects"
        _print(screen, "", f"{each['step']} {outcome} “{each['name']}”: {resting}", style="dim")
    for each in answer["not_shown_again"]:
        _print(screen, "", f"by sympy alone, {each['reason']}: {each['goal']}", style="dim")
    screen.print()
    for label, listed in (
        ("uses", answer["uses"]),
        ("used by", answer["used_by"]),
        ("named in", answer["code"]),
        ("cites", answer["cites"]),
        ("lets pass", answer["accepted_mutations"]),
    ):
        if listed:
            _print(screen, f"{label}:", ", ".join(listed), width=len(label) + 2, style="dim")
    screen.print(f"{answer['seconds']:.1f} s", style="dim")


def _show_clauses(screen: Console, answer: dict[str, Any]) -> None:
    for clause in answer["clauses"]:
        screen.print()
        _print(screen, "clause", f"“{clause['says']}”", style="bold")
        if clause["steps"]:
            _print(screen, "", f"executed: {', '.join(clause['steps'])}")
        if clause["argued"]:
            _print(screen, "", f"argued, not executed: {clause['argued']}")
        if clause["checked"]:
            _print(screen, "", f"checked on instances only: {clause['checked']}")


def _show_steps(screen: Console, answer: dict[str, Any]) -> None:
    for step in answer["steps"]:
        mark = "holds" if step["holds"] else "FAILS"
        screen.print()
        style = "bold" if step["holds"] else "bold red"
        title = f"{step['name']}  ({step['evidence']}; {step['scope']})"
        _print(screen, mark, title, style=style)
        _print(screen, "", step["formula"])


@lru_cache(maxsize=64)
def steps_of(theorem: Theorem) -> dict[str, Any] | None:
    """The run of a theorem's proof as `--json` prints it; None if it has no proof that runs."""
    from proofs.support.catalog import find, run_with_uses  # noqa: PLC0415  # sympy is slow

    if theorem.proof is None:
        return None
    run, verdict = next(run_with_uses([find(theorem.name).theorem.name], {}))
    return _answer(run, verdict)


def _print(screen: Console, label: str, text: str, *, width: int = 7, style: str = "") -> None:
    """A label and a text whose further lines are indented like its first."""
    grid = Table.grid()
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label), Text(text), style=style)
    screen.print(grid)
