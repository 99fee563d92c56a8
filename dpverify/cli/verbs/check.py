"""`dpverify check`: does a certificate show what it says?"""

from pathlib import Path
from typing import Annotated

import typer

from dpverify.certifying.certificate import check_certificate
from dpverify.cli.output import console, print_json, progress

EXAMPLE = "Example: dpverify check certificate.json"


def check(
    certificate: Annotated[Path, typer.Argument(help="A file that Certificate.save wrote.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Check a certificate by exact arithmetic: 0 if it proves its claim, 1 if it refutes it.

    A file that does not show what it says is misuse: 2.
    """
    with progress("checking the certificate"):
        found = check_certificate(certificate)
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
        raise typer.Exit(2)
    raise typer.Exit(1 if found.verdict == "refuted" else 0)
