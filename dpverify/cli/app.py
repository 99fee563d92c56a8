"""The command and its verbs; where one is asked for, the others are not imported."""

from importlib import import_module
from typing import Annotated

import typer

from dpverify.registry import load_plugins

VERBS = (
    *("compose", "noise", "audit", "merge", "trace", "decide", "disclose", "check"),
    *("fit", "ledger", "prove", "demo"),
)


def application(arguments: list[str]) -> typer.Typer:
    """The command with every verb; with one alone if it comes first: `noise` needs no auditor."""
    app = typer.Typer(
        name="dpverify",
        help="Tell whether a differential-privacy claim is true.",
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(dpverify)
    for verb in [*set(arguments[:1]) & set(VERBS)] or VERBS:
        module = import_module(f"dpverify.cli.verbs.{verb}")
        if hasattr(module, "group"):  # a verb with verbs of its own
            app.add_typer(module.group, name=verb)
        else:
            app.command(epilog=module.EXAMPLE)(getattr(module, verb))
    return app


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
