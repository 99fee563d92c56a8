"""The command and its verbs; a verb is imported when it is asked for, and no other."""

import shutil
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dpverify.registry import load_plugins

_NARROW = 52  # columns below which the parser would write lines that are too long

VERBS = {
    "compose": "What do these parts cost together?",
    "noise": "How much noise does a budget need?",
    "audit": "Try to refute a claim with samples.",
    "merge": "Join the draws of several machines for one audit.",
    "trace": "Find the line of code that spends ε, and how much.",
    "decide": "Try to prove a claim, then trace it, then audit it.",
    "disclose": "Write down what a release promises, with evidence.",
    "check": "Is a certificate, a witness or a disclosure right?",
    "fit": "Fit a private model, and say what it cost and why.",
    "ledger": "Keep a budget in a file, and spend from it.",
    "prove": "Run the proofs that the numbers rest on.",
    "demo": "See the main jobs once, with nothing to configure.",
}


class Verbs(TyperGroup):
    """Lists every verb by its line above, and imports the one that is run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # of the parser
        if args[0] in VERBS:
            self.commands[args[0]] = _loaded(args[0])
        return super().resolve_command(ctx, args)


def application() -> typer.Typer:
    """The command with all its verbs, none of them imported yet."""
    app = typer.Typer(
        name="dpverify",
        cls=Verbs,
        help="Tell whether a differential-privacy claim is true.",
        epilog="dpverify VERB --help has the options of a verb, and an example.",
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "terminal_width": _narrow()},
    )
    app.callback(invoke_without_command=True)(dpverify)
    for verb, words in VERBS.items():
        app.command(verb, short_help=words)(_not_loaded)
    return app


def _narrow() -> int | None:
    """The columns of a terminal that is narrower than the parser foresees; else None."""
    columns = shutil.get_terminal_size().columns
    return columns if columns < _NARROW else None


def _not_loaded() -> None:
    """Stands for a verb in the list."""


def _loaded(verb: str) -> Any:  # noqa: ANN401  # a command of the parser
    module = import_module(f"dpverify.cli.verbs.{verb}")
    if hasattr(module, "group"):  # a verb with verbs of its own
        return typer.main.get_command(module.group)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(verb, epilog=module.EXAMPLE)(getattr(module, verb))
    return typer.main.get_command(alone)


def dpverify(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE",
            help="Module that registers rules, mechanisms or attacks; may be repeated.",
        ),
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
