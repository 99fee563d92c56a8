"""`dpverify demo`: the main jobs, once, with nothing to configure."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console

from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_page,
    command_line,
    console,
    print_json,
    progress,
)
from dpverify.errors import NotSupported

EXAMPLE = "Example: dpverify demo --report demo.html"

_REPORT = Path("dpverify-demo.html")
_PACKAGE = Path(__file__).parents[2]


def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the page that the demonstration ends with.")
    ] = _REPORT,
    json: Json = False,
) -> None:
    """Run the main jobs once: two audits, a composition, the noise for a budget, and more."""
    from dpverify.disclosing import check_disclosure  # noqa: PLC0415  # slow to import

    check_page(report)
    screen = Console(quiet=True) if json else console()
    example = _example()
    told = []
    for number, (title, story) in enumerate(example.STORIES.items(), start=1):
        screen.print()
        screen.print(f"{number}. {title}", style="bold cyan", markup=False)
        with progress(title):
            told.append(story())
        for line in told[-1].lines:
            _show(screen, line)
        if any(map(_was_interrupted, told[-1].lines)):
            raise KeyboardInterrupt
    screen.print()
    screen.print("5. What was promised, as a document that anybody can check", style="bold cyan")
    run = next(each.kept["run"] for each in told if "run" in each.kept)
    files = example.documents(run, report)
    screen.print(str(check_disclosure(files[0])), markup=False)
    screen.print(f"The document: {files[0]}", markup=False)
    screen.print(f"The same for the public registry of deployments: {files[1]}", markup=False)
    with progress(f"writing {report}"):
        page = example.page(told, command_line())
        write_report(page, report)
    screen.print()
    screen.print(f"A page with the pictures and the witnesses: {report}", markup=False)
    if json:
        disclosure = [str(file) for file in files]
        print_json({"version": 1, **page.data, "disclosure": disclosure, "report": str(report)})


def _was_interrupted(line: object) -> bool:
    """Whether a line is the partial verdict that an audit gives when the user stops it."""
    stopped = getattr(line, "stopped", None)
    return stopped is not None and stopped.why == "interrupt"


def _example() -> ModuleType:
    """examples/demo.py: packed into the wheel, or beside the package in a checkout."""
    is_checkout = (_PACKAGE.parent / "pyproject.toml").is_file()
    path = (_PACKAGE.parent if is_checkout else _PACKAGE) / "examples" / "demo.py"
    spec = spec_from_file_location("dpverify_demo", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise NotSupported(f"{path} must be there: reinstall dpverify")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its mechanisms can be found again by name
    spec.loader.exec_module(module)
    return module


def _show(screen: Console, line: Any) -> None:  # noqa: ANN401  # a text or what prints as one
    """A text as it is; of a verdict the first line stands out, red if it refutes.

    A table of rules that has no room is laid out as `compose` does it.
    """
    if hasattr(line, "tightest") and screen.width < max(map(len, str(line).split("\n"))):
        from dpverify.cli.verbs.compose import rules  # noqa: PLC0415  # for narrow terminals only

        screen.print(rules(line, screen.width))
        return
    if not hasattr(line, "refuted"):
        screen.print(str(line), markup=False)
        return
    first, *rest = str(line).split("\n")
    screen.print(first, style="bold red" if line.refuted else "bold", markup=False)
    for each in rest:
        screen.print(f"  {each}", markup=False)
