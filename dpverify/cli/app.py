"""The verbs, gathered."""

from typing import Annotated

import typer

from dpverify.cli import audit, check, compose, decide, demo, fit, ledger, noise, prove, trace
from dpverify.registry import load_plugins

app = typer.Typer(
    name="dpverify",
    help="Tell whether a differential-privacy claim is true.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=compose.EXAMPLE)(compose.compose)
app.command(epilog=noise.EXAMPLE)(noise.noise)
app.command(epilog=audit.EXAMPLE)(audit.audit)
app.command(epilog=trace.EXAMPLE)(trace.trace)
app.command(epilog=decide.EXAMPLE)(decide.decide)
app.command(epilog=check.EXAMPLE)(check.check)
app.command(epilog=fit.EXAMPLE)(fit.fit)
app.command(epilog=prove.EXAMPLE)(prove.prove)
app.command(epilog=demo.EXAMPLE)(demo.demo)
app.add_typer(ledger.app, name="ledger")


@app.callback(invoke_without_command=True)
def dpverify(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="Module that registers rules, mechanisms or attacks; may be repeated."),
    ] = None,
) -> None:
    """Tell whether a differential-privacy claim is true."""
    if version:
        from dpverify import __version__  # noqa: PLC0415  # the package is whole by now

        typer.echo(f"dpverify {__version__}")
        raise typer.Exit
    load_plugins(plugin or ())
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
