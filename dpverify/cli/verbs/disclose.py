"""`dpverify disclose`: one document that says what was promised, and that can be checked."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dpverify.balls import as_given, rounded_up
from dpverify.cli.expression import parse
from dpverify.cli.options import Report
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    check_output,
    check_page,
    command_line,
    console,
    number_option,
    progress,
    reading,
)
from dpverify.errors import InvalidParameter, check_member
from dpverify.files import write_whole

if TYPE_CHECKING:
    from dpverify.disclosing import Disclosure

EXAMPLE = (
    'Example: dpverify disclose "gaussian(sigma=50)*1000" --delta 1e-6 --relation add-remove '
    "--given facts.yaml --output disclosure.yaml"
)
_LONGEST = 256  # bytes of the name of a file
_FORMATS = ("yaml", "json", "registry")


def disclose(
    source: Annotated[
        str | None,
        typer.Argument(
            help="Parts as for compose; or a ledger, a model of `fit`, a certificate, a witness or "
            "the JSON of an audit."
        ),
    ] = None,
    relation: Annotated[
        str | None, typer.Option(help="Neighboring relation: add-remove or replace-one.")
    ] = None,
    delta: Annotated[float | None, number_option("State ε at this δ.")] = None,
    given: Annotated[
        Path | None, typer.Option(help="YAML with what only people know: product, unit, trust, …")
    ] = None,
    evidence: Annotated[
        list[Path] | None,
        typer.Option(metavar="<path>", help="File of evidence; may be given several times."),
    ] = None,
    arithmetic: Annotated[
        str | None, typer.Option(help="How the noise was computed, in words.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset of a ledger, if it has several.")
    ] = None,
    tolerance: Annotated[float, number_option("How wide brackets may be.")] = 1e-3,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file; default: standard output.")
    ] = None,
    format: Annotated[  # noqa: A002  # the option's name
        str | None, typer.Option(help="yaml, json or registry; default: by the name of the file.")
    ] = None,
    label: Annotated[
        Path | None, typer.Option(help="Also draw the privacy label to this .html or .svg file.")
    ] = None,
    report: Report = None,
    show_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of the document and exit.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The document as JSON on stdout.")] = False,
) -> None:
    """Write a document that says what a release promises, with the evidence."""
    # Slow to import, and needed for what is run only, not for its help.
    from dpverify.disclosing import disclose as disclosed  # noqa: PLC0415
    from dpverify.disclosing import schema  # noqa: PLC0415
    from dpverify.disclosing.text import written  # noqa: PLC0415

    if show_schema:
        sys.stdout.write(written(schema(), "json"))
        return
    if source is None:
        raise InvalidParameter("source=None must be given: parts, as for compose, or a file")
    kind = _format(format, output, json)
    check_output("output", output)
    check_page(report)
    if label is not None:
        from dpverify.reporting.label import check_label  # noqa: PLC0415  # slow to import

        check_label(label)
        check_output("label", label)
    facts = None if given is None else _facts(given)
    subject = _subject(source)
    if dataset is not None and not isinstance(subject, Path):
        raise InvalidParameter(f"dataset={dataset!r} must be left out: {source} is no ledger")
    with progress("computing the disclosure"):
        made = disclosed(
            subject,
            relation=relation,
            delta=delta,
            given=facts,
            evidence=evidence or (),
            arithmetic=arithmetic,
            dataset=dataset,
            tolerance=tolerance,
        )
    text = _text(made, kind)
    if report is not None:
        from dpverify.reporting.pages.checked import disclosure_page  # noqa: PLC0415

        write_report(disclosure_page(made.to_dict(), command=command_line()), report)
    if output is not None:
        write_whole(output, text)
    if label is not None:
        from dpverify.reporting.label import write_label  # noqa: PLC0415

        write_label(made, label)
    if output is None:
        sys.stdout.write(text)
    else:
        _tell(made, output, label)


def _facts(given: Path) -> Any:  # noqa: ANN401  # whatever the file holds
    from dpverify.disclosing.text import file_text, parsed  # noqa: PLC0415  # slow to import

    with reading("given", given):
        facts = parsed(file_text(given))
    if facts is None:
        raise InvalidParameter(f"given={str(given)!r} must hold names with values")
    return facts


def _format(asked: str | None, output: Path | None, json: bool) -> str:  # noqa: FBT001
    if asked is not None:
        check_member("format", asked, _FORMATS)
        return asked
    return "json" if json or (output is not None and output.suffix == ".json") else "yaml"


def _subject(source: str) -> Any:  # noqa: ANN401  # what `disclose` takes
    """A file if there is one of that name, else parts of a composition."""
    return (
        Path(source)
        if len(source) < _LONGEST and Path(source).is_file()
        else parse(source, name="source")
    )


def _text(made: "Disclosure", kind: str) -> str:
    from dpverify.disclosing import entry_of  # noqa: PLC0415  # slow to import
    from dpverify.disclosing.text import written  # noqa: PLC0415

    if kind == "registry":
        return written(entry_of(made))
    form: Literal["yaml", "json"] = "json" if kind == "json" else "yaml"
    return written(made.to_dict(), form)


def _tell(made: "Disclosure", output: Path, label: Path | None) -> None:
    screen = console()
    told = made.guarantee
    if told is not None and told.epsilon is not None:
        upper = rounded_up(told.epsilon.upper or 0.0, digits=6)
        screen.print(f"ε ≤ {upper} at δ = {as_given(told.delta or 0.0)}", markup=False)
    screen.print(f"disclosure: {output}", markup=False, soft_wrap=True)
    if label is not None:
        screen.print(f"label: {label}", markup=False, soft_wrap=True)
