"""`dpverify fit`: a private model from a table, with the guarantee that holds for it."""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dpverify.balls import as_given, rounded_up
from dpverify.claims import Claim
from dpverify.cli.csv_table import CsvTable, read
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
)
from dpverify.errors import InvalidParameter, check_seed
from dpverify.files import write_whole
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.plain import tagged

EXAMPLE = (
    "Example: dpverify fit data.csv --target y --loss logistic --method objective "
    "--epsilon 1 --delta 1e-6 --norm-bound 1"
)
_VERSION = 2  # of the model file


def fit(
    data: Annotated[Path, typer.Argument(help="CSV file with a header; features are numbers.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    epsilon: Annotated[float, number_option("The budget's ε.")],
    delta: Annotated[float, number_option("The budget's δ; 0 is pure.")] = 0.0,
    loss: Annotated[
        str, typer.Option(help="logistic, svm, squared, poisson, absolute, or a registered loss.")
    ] = "logistic",
    method: Annotated[
        str, typer.Option(help="auto, objective, output, gradient, sgd or statistics.")
    ] = "auto",
    norm_bound: Annotated[float | None, number_option("Bound on every row's ℓ2 norm.")] = None,
    label_bound: Annotated[
        float | None, number_option("For squared and poisson: bound on |target|.")
    ] = None,
    largest_mean: Annotated[
        float | None, number_option("For poisson: cap on means; default: the label bound.")
    ] = None,
    low: Annotated[float | None, number_option("For absolute: least target.")] = None,
    high: Annotated[float | None, number_option("For absolute: largest target.")] = None,
    classes: Annotated[
        str | None, typer.Option(help="Labels that can occur, separated by commas.")
    ] = None,
    relation: Annotated[
        str, typer.Option(help="Neighboring relation: add-remove or replace-one.")
    ] = Relation.ADD_REMOVE.value,
    ridge: Annotated[float | None, number_option("λ of the sum of losses.")] = None,
    radius: Annotated[float | None, number_option("For squared: bound on ‖θ‖.")] = None,
    records: Annotated[int | None, count_option("Public number of records, for gradients.")] = None,
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Fit an intercept.")
    ] = True,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip records beyond a bound; the default refuses them.")
    ] = False,
    seed: Annotated[
        int | None,
        count_option("For experiments only: whoever knows the seed can remove the noise."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where the model goes; default: DATA.model.json.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page about the model to this .html file.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a private model, write it as JSON, and say what it cost and why."""
    check_page(report)
    if seed is not None:
        check_seed(seed)
    with reading("data", data):
        path = data.with_suffix(".model.json") if output is None else output
    check_output("output", path)
    budget = ApproxDP(epsilon=epsilon, delta=delta)
    declared: dict[str, Any] = {
        "budget": PureDP(epsilon=epsilon) if delta == 0 else budget,
        "relation": Relation.parse(relation),
        "clip": clip,
        "random_state": seed,
    }
    options = {
        "method": None if method == "auto" else method,
        "norm_bound": norm_bound,
        "label_bound": label_bound,
        "largest_mean": largest_mean,
        "low": low,
        "high": high,
        "classes": None if classes is None else classes.split(","),
        "ridge": ridge,
        "radius": radius,
        "records": records,
        "fit_intercept": None if intercept else False,
    }
    model = _declared(loss, declared, options)
    with progress("reading and fitting", without="no model was written"):
        with reading("data", data):
            table = read(data, target)
        _fit(model, table)
    answer = _model(loss, table, model)
    text = json_module.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)
    write_whole(path, text + "\n")
    if report is not None:
        with progress(f"writing {report}"):
            _report(answer, model.claim_, report)
    if json:
        print_json(answer)
    else:
        _show(answer, model.claim_, path)
        if report is not None:
            console().print(f"report: {report}", markup=False, soft_wrap=True)


def _report(answer: dict[str, Any], claim: Claim, path: Path) -> None:
    # Slow to import, and needed for pages only.
    from dpverify.cli.verbs.prove import steps_of  # noqa: PLC0415
    from dpverify.reporting.pages.fit import fit_page  # noqa: PLC0415

    page = fit_page(answer, claim, proof=steps_of(claim.theorem), command=command_line())
    write_report(page, path)


def _declared(loss: str, declared: dict[str, Any], options: dict[str, Any]) -> Any:  # noqa: ANN401  # a private model
    """The loss's model, told what was given; what it does not take is refused, not ignored."""
    from solvers.estimators import model_for  # noqa: PLC0415  # scikit-learn is slow to import

    model = model_for(loss)
    own = model.get_params()
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in own:
            flag = "no-intercept" if name == "fit_intercept" else name.replace("_", "-")
            raise InvalidParameter(f"{flag}={value!r} must not be given with --loss {loss}")
    return model.set_params(**declared, **given)


def _fit(model: Any, table: CsvTable) -> None:  # noqa: ANN401  # a private model
    from sklearn.base import is_regressor  # noqa: PLC0415  # slow to import

    labels = table.numeric_labels() if is_regressor(model) else table.labels
    try:
        model.fit(table.features, labels)
    except ValueError as error:  # scikit-learn's checks of the data, like our own, are about input
        raise InvalidParameter(" ".join(str(error).split())) from None


def _model(loss: str, table: CsvTable, model: Any) -> dict[str, Any]:  # noqa: ANN401
    from dpverify import __version__  # noqa: PLC0415  # the package is whole by now

    claim: Claim = model.claim_
    weights: dict[str, Any]
    if hasattr(model, "median_"):
        weights = {"median": model.median_}
    else:
        weights = {
            "coefficients": np.asarray(model.coef_).tolist(),
            "intercept": np.asarray(model.intercept_).tolist(),
        }
    certificate = getattr(model, "certificate_", None)
    return {
        "version": _VERSION,
        "dpverify": __version__,
        "loss": loss,
        "method": getattr(model, "method_", "exponential"),
        "reason": getattr(model, "reason_", None),
        "features": list(table.names),
        "target": table.target,
        "classes": [str(label) for label in getattr(model, "classes_", ())] or None,
        "weights": weights,
        "bounds": {
            name: getattr(model, name)
            for name in ("norm_bound", "label_bound", "largest_mean", "radius", "low", "high")
            if getattr(model, name, None) is not None
        },
        "ridge": getattr(model, "ridge_", None),
        "claim": {
            **tagged(claim.guarantee),
            "relation": None if claim.relation is None else claim.relation.value,
            "theorem": claim.theorem.name,
            "assumes": list(claim.assumes),
        },
        "theorems": [asdict(claim.theorem)],
        "certificate": None
        if certificate is None
        else {
            "distance": certificate.distance,
            "gradient": certificate.gradient,
            "theorem": certificate.theorem.name,
        },
        "utility": None
        if model.utility_ is None
        else {
            "bound": model.utility_.bound,
            "failure": model.utility_.failure,
            "statement": model.utility_.statement,
        },
    }


def _show(answer: dict[str, Any], claim: Claim, path: Path) -> None:
    screen = console()
    cost = f"ε = {as_given(claim.guarantee.epsilon)}"  # type: ignore[union-attr]  # PureDP or ApproxDP
    cost += f", δ = {as_given(answer['claim']['delta'])}" if "delta" in answer["claim"] else ""
    cost += "" if "delta" in answer["claim"] else ", pure DP"
    cost += f" ({answer['claim']['relation']})"
    screen.print(f"[bold]{cost}[/bold] by {answer['method']} perturbation", highlight=False)
    if answer["reason"]:
        screen.print(f"why {answer['method']}: {answer['reason']}", markup=False)
    bounds = ", ".join(f"{name} {as_given(value)}" for name, value in answer["bounds"].items())
    screen.print(f"declared: {bounds}", markup=False)
    screen.print(f"theorem: {claim.theorem}", markup=False)
    if answer["certificate"]:
        distance = rounded_up(answer["certificate"]["distance"], digits=2)
        screen.print(
            f"solver: within {distance} of the exact minimum, which the claim includes",
            markup=False,
        )
    if answer["utility"]:
        screen.print(f"utility: {answer['utility']['statement']}", markup=False)
    for assumption in claim.assumes:
        screen.print(f"assumes: {assumption}", style="dim", markup=False)
    screen.print(f"model: {path}", markup=False, soft_wrap=True)
