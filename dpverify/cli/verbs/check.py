"""`dpverify check`: does a certificate, a witness or a disclosure show what it says?"""

import json as json_module
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

import dpverify as dpv
from dpverify.cli.exits import MISUSE
from dpverify.cli.options import Report
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    console,
    number_option,
    print_json,
    progress,
    reading,
    tell,
)
from dpverify.errors import InvalidParameter, as_positive, check_member
from dpverify.plain import CERTIFICATE

EXAMPLE = "Example: dpverify check certificate.json | witness.json | disclosure.yaml"
_HEADS = (f'"{CERTIFICATE}"', '"trace witness"', '"claim"')  # what a large file begins with
_LARGE = 2_000_000  # bytes
_SECONDS = 60.0


def check(
    file: Annotated[
        Path,
        typer.Argument(help="A certificate, a witness, a disclosure, or an entry of the registry."),
    ],
    require: Annotated[
        str | None, typer.Option(help="complete: what a disclosure leaves out is an error, exit 2.")
    ] = None,
    seconds: Annotated[
        float, number_option("How long a disclosure's numbers may take.")
    ] = _SECONDS,
    label: Annotated[
        Path | None, typer.Option(help="Draw the label of a disclosure that is not wrong here.")
    ] = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Check a certificate, a witness or a disclosure by arithmetic; no code of others is run.

    Exit code 0: it is right; 1: it is wrong, or refutes its claim; 2: it cannot be read. An
    incomplete disclosure gives 0, and 2 with --require complete.
    """
    if require is not None:
        check_member("require", require, ("complete",))
    as_positive("seconds", seconds)
    check_page(report)
    held = _certificate_or_witness(file)
    if held is None:
        return _disclosure(file, require, seconds, label, report, json)
    for name, value in (("require", require), ("label", label)):
        if value is not None:
            raise InvalidParameter(
                f"{name}={str(value)!r} must be left out: {file} is no disclosure"
            )
    read = _certificate if "format" in held else _witness
    return read(file, report, json)


def _certificate_or_witness(file: Path) -> dict[str, Any] | None:
    """What a JSON file holds if it is one of them, or says that it is a certificate; else None."""
    if file.suffix.lower() in {".yaml", ".yml"}:
        return None
    if not file.is_file():
        raise InvalidParameter(f"file={str(file)!r} must be a file")
    with file.open("rb") as opened:
        head = opened.read(200).decode("utf-8", "replace")
    if file.stat().st_size > _LARGE and not any(word in head for word in _HEADS):
        return None
    try:
        held = json_module.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict):
        return None
    is_witness = held.get("kind") == "trace witness" or {"event", "counts"} <= held.keys()
    return held if is_witness or held.get("format") == CERTIFICATE else None


def _certificate(file: Path, report: Path | None, json: bool) -> int:  # noqa: FBT001
    with progress("checking the certificate"):
        found = dpv.check_certificate(file)
    answer = {
        "version": 1,
        "valid": found.valid,
        "verdict": found.verdict,
        "scope": found.scope,
        "data": found.data,
        "mechanism": found.mechanism,
        "source": found.source,
        "reason": found.reason,
        "assumes": list(found.assumes),
    }
    _report(file, answer, report)
    if json:
        print_json(answer)
    else:
        screen = console()
        head = f"valid: {found.verdict}" if found.valid else f"not valid: {found.reason}"
        screen.print(head, markup=False)
        if found.valid:
            screen.print(f"for {found.scope}", markup=False)
            screen.print(f"data: {found.data}", markup=False)
            named = found.mechanism or "not named in the file"
            screen.print(f"mechanism: {named} (source {found.source[:12]}…)", markup=False)
            for text in found.assumes:
                screen.print(f"assumes {text}", markup=False, style="dim")
    if not found.valid:
        return MISUSE
    return 1 if found.verdict == "refuted" else 0


def _witness(file: Path, report: Path | None, json: bool) -> int:  # noqa: FBT001
    """The arithmetic of a witness: do its counts or its transcript refute the claim?"""
    from dpverify.disclosing.exhibits import shown_by  # noqa: PLC0415  # slow to import

    with progress("checking the witness"):
        found = shown_by(file)
    valid, says = found.exhibit.verdict == "refuted" and not found.broken, str(found.exhibit.says)
    reason = found.broken or "its numbers alone show nothing: replay it with the mechanism"
    answer = {
        "version": 1,
        "valid": valid,
        "verdict": "refuted",
        "scope": says,
        "reason": None if valid else reason,
        "notes": list(found.unverified),
    }
    _report(file, answer, report)
    if json:
        print_json(answer)
    else:
        screen = console()
        screen.print("valid: refuted" if valid else f"not valid: {reason}", markup=False)
        for text in (says, *found.unverified) if valid else ():
            screen.print(text, markup=False, style="dim")
    return 1 if valid else MISUSE


def _disclosure(
    file: Path,
    require: str | None,
    seconds: float,
    label: Path | None,
    report: Path | None,
    json: bool,  # noqa: FBT001
) -> int:
    from dpverify.disclosing import check_disclosure  # noqa: PLC0415  # slow to import

    if label is not None:
        from dpverify.reporting.label import check_label  # noqa: PLC0415  # slow to import

        check_label(label)
        check_output("label", label)
    with reading("file", file):
        _check_kind(file)
    with progress("checking the disclosure"):
        found = check_disclosure(file, seconds=seconds)
    _report(file, found.to_dict(), report)
    if json:
        print_json(found.to_dict())
    else:
        tell(str(found))
    if found.verdict == "wrong":
        if label is not None:
            sys.stderr.write("dpverify: label was not drawn: the disclosure is wrong\n")
        return 1
    if label is not None:
        _draw(file, label)
    if require is not None and found.verdict != "stands":
        sys.stderr.write(f"dpverify: require={require!r} is not met: {found.verdict}\n")
        return MISUSE
    return 0


def _check_kind(file: Path) -> None:
    """Refuse a file that is none of what can be checked: it says nothing that could be wrong."""
    from dpverify.disclosing import Disclosure  # noqa: PLC0415  # slow to import
    from dpverify.disclosing.registry import is_registry_entry  # noqa: PLC0415
    from dpverify.disclosing.text import file_text, parsed  # noqa: PLC0415

    tree = parsed(file_text(file))
    known = {each.name for each in fields(Disclosure)}
    if is_registry_entry(tree) or (isinstance(tree, dict) and known & tree.keys()):
        return
    raise InvalidParameter(
        f"file={str(file)!r} must be a certificate, a witness, a disclosure, or an entry of the "
        "registry"
    )


def _report(file: Path, answer: dict[str, Any], path: Path | None) -> None:
    """The page of what was found, if one was asked for."""
    if path is None:
        return
    from dpverify.reporting.pages.checked import checked_page  # noqa: PLC0415  # slow to import

    write_report(checked_page(file.name, answer, command=command_line()), path)


def _draw(file: Path, label: Path) -> None:
    from dpverify.disclosing import Disclosure  # noqa: PLC0415
    from dpverify.disclosing.text import file_text, parsed  # noqa: PLC0415
    from dpverify.reporting.label import write_label  # noqa: PLC0415

    tree = parsed(file_text(file))
    if not isinstance(tree, dict) or "format" not in tree:
        raise InvalidParameter(f"label={str(label)!r} must be that of a disclosure of dpverify")
    write_label(Disclosure.read(tree)[0], label)
