"""`dpverify audit`: is the claimed ε true of this callable?"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpverify as dpv
from dpverify.cli.exits import INTERRUPTED
from dpverify.cli.options import (
    Delta,
    Epsilon,
    Left,
    Mu,
    Order,
    Report,
    Rho,
    Right,
    Samples,
    SaveWitness,
    SchemaFile,
    Seed,
    claim_of,
    where_of,
)
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    console,
    count_option,
    number_option,
    print_json,
    progress,
    reading,
    tell,
)
from dpverify.cli.solver_targets import is_solver, solver, worst_pair
from dpverify.cli.targets import load_target
from dpverify.errors import InvalidParameter
from dpverify.plain import plain
from dpverify.waiting import is_live, waiting

if TYPE_CHECKING:
    from dpverify.auditing import Progress

EXAMPLE = (
    "Example: dpverify audit package.module:callable --left D.json --right D2.json "
    "--epsilon 1 --level 0.01"
)

_LEVEL = 0.01
_LEAST_BAND = 4000  # draws a side, below which a band shows nothing


def audit(
    target: Annotated[
        str,
        typer.Argument(
            help="package.module:name or path/file.py:name of a mechanism, or a solver: "
            "objective-perturbation, …"
        ),
    ],
    left: Left = None,
    right: Right = None,
    schema: SchemaFile = None,
    relation: Annotated[
        str | None, typer.Option(help="For a solver: add-remove or replace-one.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    mu: Mu = None,
    order: Order = None,
    level: Annotated[
        float | None,
        number_option("Probability of refuting an honest mechanism; 0.01, or that of the witness."),
    ] = None,
    samples: Samples = None,
    seed: Seed = 0,
    method: Annotated[str, typer.Option(help="both, anytime or fixed.")] = "both",
    arithmetic: Annotated[
        str, typer.Option(help="real, or float to judge the bits of outputs too.")
    ] = "real",
    timeout: Annotated[
        float | None,
        number_option("Seconds after which one call counts as a time-out."),
    ] = None,
    seconds: Annotated[
        float | None,
        number_option("Seconds for the audit; then it tells what it found."),
    ] = None,
    exceptions: Annotated[
        str, typer.Option(help="count, or ignore to look for leaks besides exceptions.")
    ] = "count",
    workers: Annotated[int, count_option("Processes that draw; same verdict.")] = 1,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="Draw in a process of its own, which may die.")
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File that keeps the draws; run again to go on.")
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(help="3/10: draw the third tenth of the draws into the checkpoint, no more."),
    ] = None,
    save_witness: SaveWitness = None,
    replay: Annotated[
        Path | None, typer.Option(help="Judge the event of a saved witness on fresh draws.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the wealth of the bets to this file.")
    ] = None,
    band: Annotated[
        Path | None,
        typer.Option(help="Draw profile and trade-off, with confidence bands, to this file."),
    ] = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Try to refute a claim with samples; exit code 1 if it is refuted."""
    for name, path in (("save-witness", save_witness), ("plot", plot), ("band", band)):
        check_output(name, path)
    _check_files(plot, band, report)
    claim = claim_of(epsilon, delta, rho, mu, order)
    if is_solver(target):
        mechanism, claim = solver(target, epsilon, delta, relation), None
        pair = dict(zip(("left", "right"), worst_pair(target, relation), strict=True))
    else:
        mechanism, pair = load_target(target), {}
        if relation is not None:
            raise InvalidParameter(
                f"relation={relation!r} must be left out: {target} is no solver of dpverify, and "
                "the pair or the schema says which datasets are neighbors"
            )
    history: list[Progress] = []
    if replay is not None:
        size = 10_000 if samples is None else samples
        with reading("replay", replay):
            witness = dpv.Witness.load(replay)
        verdict = witness.replay(mechanism, samples=size, seed=seed, level=level, timeout=timeout)
        where: dict[str, Any] = {}
    else:
        level = _LEVEL if level is None else level
        where = where_of(left, right, schema, pair)
        asked: dict[str, Any] = {
            **where,
            "claim": claim,
            "level": level,
            "seed": seed,
            "samples": samples,
            "method": method,
            "arithmetic": arithmetic,
            "timeout": timeout,
            "seconds": seconds,
            "exceptions": exceptions,
            "workers": workers,
            "isolate": isolate,
            "checkpoint": checkpoint,
        }
        if share is not None:
            _check_alone(share, report=report, plot=plot, band=band, save_witness=save_witness)
            return _draw_share(mechanism, share, asked, json=json)
        with live_line(history) as tell:
            verdict = dpv.audit(mechanism, **asked, progress=tell)
    _show(verdict, json=json)
    if save_witness is not None and verdict.witness is not None:
        verdict.witness.save(save_witness)
    bets = 0.0 if level is None or replay is not None else _bets(level, method)
    told = history if bets > 0.0 else []
    if plot is not None:
        _draw(told, bets, plot)
    if band is not None:
        _draw_band(mechanism, verdict, where, band)
    if report is not None:
        _report(mechanism, verdict, target, seed, told, bets, report)
    return exit_code(verdict)


def _bets(level: float, method: str) -> float:
    """The share of the level that is bet, which the plot of wealth shows."""
    from dpverify.auditing.procedure.state import Levels  # noqa: PLC0415  # slow to import

    return Levels.of(level, method).bets  # type: ignore[arg-type]  # checked by the audit


def _check_alone(share: str, **written: Path | None) -> None:
    """Refuse files about a verdict where there will be none."""
    for name, path in written.items():
        if path is not None:
            raise InvalidParameter(
                f"{name}={str(path)!r} must be left out with share={share!r}: a share is drawn and "
                "not judged"
            )


def _draw_share(mechanism: Any, share: str, asked: dict[str, Any], *, json: bool) -> int:  # noqa: ANN401
    """The draws of one job of several; 2 if time was over before they were all drawn."""
    found = re.fullmatch(r"(\d+)/(\d+)", share)
    if found is None:
        raise InvalidParameter(f"share={share!r} must be two whole numbers, as in 3/10")
    if "left" not in asked or asked["checkpoint"] is None:
        raise InvalidParameter(f"share={share!r} must come with left, right and a checkpoint")
    number, of = (int(part) for part in found.groups())
    now = [dpv.DrawnShare(number, of, 0, 0)]
    with progress(lambda: str(now[0])):
        drawn = dpv.draw_share(
            mechanism, share=number, of=of, **asked, progress=lambda told: now.__setitem__(0, told)
        )
    if json:
        print_json(plain(drawn))
    else:
        console().print(str(drawn), markup=False)
    if not drawn.complete:
        sys.stderr.write("dpverify: seconds were over before its share was drawn; run it again\n")
    return 0 if drawn.complete else 2


def _check_files(plot: Path | None, band: Path | None, report: Path | None) -> None:
    for picture in (plot, band):
        if picture is not None:
            from dpverify.reporting.plots import check_plot  # noqa: PLC0415  # slow to import

            check_plot(picture)
    check_page(report)


def _draw_band(mechanism: Any, verdict: "dpv.Verdict", where: dict[str, Any], path: Path) -> None:  # noqa: ANN401
    """Bands from fresh draws on the pair that was audited, or on the one that was found."""
    from dpverify.auditing.bands.estimation import estimate_profile  # noqa: PLC0415
    from dpverify.reporting.band_plots import draw_band  # noqa: PLC0415  # slow to import

    found = verdict.witness
    pair = where if "left" in where else {}
    if found is not None:
        pair = {"left": found.left, "right": found.right}
    if not pair:
        raise InvalidParameter(
            f"band={str(path)!r} must be left out: it shows one pair, and there is none"
        )
    with progress(f"drawing {path}"):
        drawn = estimate_profile(
            mechanism,
            left=pair["left"],
            right=pair["right"],
            draws=max(verdict.samples, _LEAST_BAND),
            level=verdict.level,
            seed=1 if found is None else found.seed + 1,
        )
        draw_band(drawn, verdict.claim, path)


def _draw(history: list["Progress"], bets: float, path: Path) -> None:
    from dpverify.reporting.plots import wealth_figure  # noqa: PLC0415  # slow to import

    if not history:
        raise InvalidParameter(
            f"plot={str(path)!r} must be left out: this audit placed no bets to draw"
        )
    wealth_figure(history, bets).savefig(path, dpi=150)


def _report(
    mechanism: Any,  # noqa: ANN401  # what was audited
    verdict: "dpv.Verdict",
    target: str,
    seed: int,
    history: list["Progress"],
    bets: float,
    path: Path,
) -> None:
    # Slow to import, and needed for pages only.
    from dpverify.reporting.pages.audit import audit_page  # noqa: PLC0415
    from dpverify.reporting.picture import Picture, picture  # noqa: PLC0415
    from dpverify.reporting.plots import (  # noqa: PLC0415
        outputs_figure,
        verdict_figure,
        wealth_figure,
    )

    caption = (
        "The ε that is claimed, the one that was shown, and the most that these draws can show."
    )
    pictures: list[Picture] = [picture(verdict_figure(verdict), caption, followed=False)]
    if verdict.witness is not None:
        outputs = outputs_figure(mechanism, verdict.witness)
        caption = "Fresh outputs on the two datasets; the event is shaded."
        pictures += [] if outputs is None else [picture(outputs, caption, followed=False)]
    if history:
        caption = "The wealth of the bets against the claim, over the draws on each side."
        pictures.append(picture(wealth_figure(history, bets), caption))
    page = audit_page(verdict, target=target, pictures=tuple(pictures), command=command_line())
    write_report(page, path, seed=seed)


def exit_code(verdict: "dpv.Verdict") -> int:
    """1 refuted; 130 interrupted; 2 if the audit could not be carried out as asked; else 0.

    What could be found is told in every case. A limit in seconds is part of what was asked.
    """
    if verdict.refuted:
        return 1
    stopped = verdict.stopped
    if stopped is not None and stopped.why == "interrupt":
        return INTERRUPTED
    trouble = list(verdict.unusable)
    if stopped is not None and stopped.why != "time":
        trouble.insert(0, f"the verdict is partial: {stopped}")
    for sentence in trouble:
        sys.stderr.write(f"dpverify: {sentence}\n")
    return 2 if trouble else 0


def _show(verdict: "dpv.Verdict", *, json: bool) -> None:
    if json:
        print_json(verdict.to_dict())
    else:
        tell(str(verdict))


@contextmanager
def live_line(history: list["Progress"]) -> Iterator[Callable[["Progress"], None]]:
    """Keeps the last progress message, and shows it on standard error if that is a terminal."""
    if not is_live():
        yield history.append
        return
    from rich.console import Console  # noqa: PLC0415  # only on a terminal
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn())
    with waiting(None), Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("drawing", total=None)

        def tell(now: "Progress") -> None:
            history.append(now)
            bar.update(task, description=str(now), completed=now.samples, total=now.budget)

        yield tell
