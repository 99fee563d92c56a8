"""The command line, one file a verb.

Exit code: 0 the claim stands or the work is done, 1 the claim is refuted, 2 misuse. Misuse gets
one line on standard error that names the argument, its value and what is allowed.
"""

import os
import sys

import typer

from dpverify.cli import audit, check, compose, demo, fit, noise, output, prove
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
app.command(epilog=check.EXAMPLE)(check.check)


def main() -> None:
    """Entry point of the `dpverify` command."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed()
    sys.exit(code)


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
    except SystemExit:
        # The library that parses commands exits with 1 on a broken pipe; 1 means refuted here.
        if type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        return _closed()
    except OSError as error:
        return _misuse(f"file={error.filename!r} must be usable: {error.strerror}")
    return code if isinstance(code, int) else 0


def _closed() -> int:
    """Whoever read the output stopped reading; what is still held back must not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _misuse("stdout must stay open: it was closed before all was written")


def _misuse(message: str) -> int:
    sys.stderr.write(f"dpverify: {message}\n")
    return 2
