"""The command line, one file a verb.

Exit code: 0 the claim stands or the work is done, 1 the claim is refuted, 2 misuse. Misuse gets
one line on standard error that names the argument, its value and what is allowed.
"""

import sys

import typer

from dpverify.cli import audit, compose, demo, fit, noise, output, prove
from dpverify.errors import DPVerifyError

app = typer.Typer(
    name="dpverify",
    help="Tell whether a differential-privacy claim is true.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(epilog=compose.EXAMPLE)(compose.compose)
app.command(epilog=noise.EXAMPLE)(noise.noise)
app.command(epilog=audit.EXAMPLE)(audit.audit)
app.command(epilog=fit.EXAMPLE)(fit.fit)
app.command(epilog=prove.EXAMPLE)(prove.prove)
app.command(epilog=demo.EXAMPLE)(demo.demo)


def main() -> None:
    """Entry point of the `dpverify` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; misuse is one line and 2."""
    output.arguments.set(tuple(arguments))
    try:
        code = app(arguments, prog_name="dpverify", standalone_mode=False)
    except typer.Abort:
        return _misuse("interrupted")
    except typer.TyperException as error:
        return _misuse(" ".join(error.format_message().split()))
    except DPVerifyError as error:
        return _misuse(str(error))
    except OSError as error:
        return _misuse(f"file={error.filename!r} must be usable: {error.strerror}")
    return code if isinstance(code, int) else 0


def _misuse(message: str) -> int:
    sys.stderr.write(f"dpverify: {message}\n")
    return 2
