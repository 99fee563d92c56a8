"""`dpverify check`: does a certificate, a witness or a disclosure show what it says?"""

import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.certifying.certificate import FORMAT as CERTIFICATE
from dpverify.certifying.certificate import check_certificate
from dpverify.cli.exits import MISUSE
from dpverify.cli.output import Json, console, number_option, print_json, progress
from dpverify.errors import InvalidParameter, as_positive, check_member

EXAMPLE = "Example: dpverify check certificate.json | witness.json | disclosure.yaml"
_HEADS = (CERTIFICATE, '"trace witness"', '"claim"')  # what a large file must begin with
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
    json: Json = False,
) -> int:
    """Check a file by arithmetic alone: 0 if it stands, 1 if what it says is wrong or refuted.

    A file that cannot be read is misuse, 2. A disclosure that is incomplete gives 0, and 2 with
    --require complete.
    """
    if require is not None:
        check_member("require", require, ("complete",))
    as_positive("seconds", seconds)
    held = _certificate_or_witness(file)
    if held is None:
        return _disclosure(file, require, seconds, label, json)
    for name, value in (("require", require), ("label", label)):
        if value is not None:
            raise InvalidParameter(
                f"{name}={str(value)!r} must be left out: {file} is no disclosure"
            )
    return _certificate(file, json) if held.get("format") == CERTIFICATE else _witness(file, json)


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


def _certificate(file: Path, json: bool) -> int:  # noqa: FBT001
    with progress("checking the certificate"):
        found = check_certificate(file)
    if json:
        told = {"valid": found.valid, "verdict": found.verdict, "scope": found.scope}
        print_json({"version": 1, **told, "reason": found.reason, "assumes": list(found.assumes)})
    else:
        screen = console()
        head = f"valid: {found.verdict}" if found.valid else f"not valid: {found.reason}"
        screen.print(head, markup=False)
        if found.valid:
            screen.print(f"for {found.scope}", markup=False)
            for text in found.assumes:
                screen.print(f"assumes {text}", markup=False, style="dim")
    if not found.valid:
        return MISUSE
    return 1 if found.verdict == "refuted" else 0


def _witness(file: Path, json: bool) -> int:  # noqa: FBT001
    """The arithmetic of a witness: do its counts or its transcript refute the claim?"""
    from dpverify.disclosing.exhibits import shown_by  # noqa: PLC0415  # slow to import

    with progress("checking the witness"):
        found = shown_by(file)
    valid, says = found.exhibit.verdict == "refuted" and not found.broken, str(found.exhibit.says)
    reason = found.broken or "its numbers alone show nothing: replay it with the mechanism"
    if json:
        told = {"valid": valid, "verdict": "refuted", "scope": says}
        notes = list(found.unverified)
        print_json({"version": 1, **told, "reason": None if valid else reason, "notes": notes})
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
    json: bool,  # noqa: FBT001
) -> int:
    from dpverify.disclosing import check_disclosure  # noqa: PLC0415  # slow to import

    if label is not None:
        from dpverify.reporting.label import check_label  # noqa: PLC0415  # slow to import

        check_label(label)
    with progress("checking the disclosure"):
        found = check_disclosure(file, seconds=seconds)
    if json:
        print_json(found.to_dict())
    else:
        console().print(str(found), markup=False, soft_wrap=True)
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


def _draw(file: Path, label: Path) -> None:
    from dpverify.disclosing import Disclosure  # noqa: PLC0415
    from dpverify.disclosing.text import file_text, parsed  # noqa: PLC0415
    from dpverify.reporting.label import write_label  # noqa: PLC0415

    tree = parsed(file_text(file))
    if not isinstance(tree, dict) or "format" not in tree:
        raise InvalidParameter(f"label={str(label)!r} must be that of a disclosure of dpverify")
    write_label(Disclosure.read(tree)[0], label)
