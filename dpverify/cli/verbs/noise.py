"""`dpverify noise`: how much noise does a budget need?"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

import dpverify as dpv
from dpverify.balls import as_given, rounded_up
from dpverify.cli.options import Report
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_page,
    command_line,
    console,
    count_option,
    number_option,
    print_json,
    progress,
)
from dpverify.cli.what_if import Accuracy, grid, measured, unstated
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.neighbors import Relation
from dpverify.plain import plain, tagged

if TYPE_CHECKING:
    from dpverify.accounting.parts import Composable

EXAMPLE = "Example: dpverify noise gaussian --epsilon 1 --delta 1e-6 --l2-sensitivity 1 --times 100"

Maker: TypeAlias = Callable[[float], "Composable"]


class Kind(StrEnum):
    """The mechanisms whose noise can be computed."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    NORM = "norm"
    RANDOMIZED_RESPONSE = "randomized-response"
    DP_SGD = "dp-sgd"


def noise(
    mechanism: Annotated[Kind, typer.Argument(help="Which noise; dp-sgd plans a training run.")],
    epsilon: Annotated[float, number_option("The budget's ε, for all runs together.")],
    delta: Annotated[float, number_option("The budget's δ, for all runs together.")] = 0.0,
    times: Annotated[
        int | None, count_option("How many runs share the budget; 1 by default.")
    ] = None,
    l2_sensitivity: Annotated[float | None, number_option("For gaussian.")] = None,
    l1_sensitivity: Annotated[float | None, number_option("For laplace.")] = None,
    sensitivity: Annotated[float | None, number_option("For norm, in that norm.")] = None,
    norm: Annotated[
        float | None, number_option("For norm: p of the p-norm, 1 to inf; 2 by default.")
    ] = None,
    rate: Annotated[float | None, number_option("Poisson sampling rate of each run.")] = None,
    relation: Annotated[
        str, typer.Option(help="add-remove or replace-one; matters with --rate.")
    ] = Relation.ADD_REMOVE.value,
    records: Annotated[int | None, count_option("For dp-sgd: how many there are.")] = None,
    batch: Annotated[int | None, count_option("For dp-sgd: mean size of a Poisson batch.")] = None,
    epochs: Annotated[float | None, number_option("For dp-sgd: passes over the records.")] = None,
    noise_multiplier: Annotated[
        float | None, number_option("For dp-sgd: noise over clipping norm, to find another number.")
    ] = None,
    clip: Annotated[float | None, number_option("For dp-sgd: clipping norm; 1 by default.")] = None,
    seconds: Annotated[float | None, number_option("How long it may take.")] = None,
    report: Report = None,
    accuracy: Accuracy = None,
    json: Json = False,
) -> None:
    """Find the smallest noise with which all runs together stay within (ε, δ).

    For dp-sgd, one of --noise-multiplier, --batch and --epochs is left out, and found.
    """
    check_page(report)
    given = {
        "l2-sensitivity": l2_sensitivity,
        "l1-sensitivity": l1_sensitivity,
        "sensitivity": sensitivity,
    }
    planned = {
        "records": records,
        "batch": batch,
        "epochs": epochs,
        "noise-multiplier": noise_multiplier,
        "clip": clip,
    }
    _check_taken(mechanism, {**given, **planned, "norm": norm, "rate": rate, "times": times})
    page = Written(report, Relation.parse(relation), seconds, measured(accuracy, report))
    if mechanism is Kind.DP_SGD:
        from dpverify.cli.dp_sgd import TrainingPlan  # noqa: PLC0415  # slow to import

        plan = TrainingPlan(
            records=records,
            batch=batch,
            epochs=epochs,
            noise_multiplier=noise_multiplier,
            clip=1.0 if clip is None else clip,
        )
        with progress("calibrating", without="no noise was found yet"):
            solved = plan.solved(ApproxDP(epsilon, delta), Relation.parse(relation), seconds)
        step = solved.plan.step(float(solved.plan.noise_multiplier or 0))
        page.write(
            step, solved.plan.steps, solved.budget, solved.spent, solved.headline, solved.answer
        )
        print_json(solved.answer) if json else solved.show(console())
        page.tell(silent=json)
        return
    declared, times = _declared(mechanism, given), 1 if times is None else times
    budget = ApproxDP(epsilon=epsilon, delta=delta)
    maker = _maker(mechanism, declared, norm)
    if rate is not None:
        check_between("rate", rate, 0.0, 1.0)
        maker = _subsampled(mechanism, declared, rate)
    with progress("calibrating", without="no noise was found yet"):
        found = dpv.calibration(
            maker, budget=budget, times=times, relation=Relation.parse(relation), seconds=seconds
        )
    answer = _answer(mechanism, found, budget, times)
    answer |= {"relation": Relation.parse(relation).value, "rate": rate, "sensitivity": declared}
    headline = _headline(mechanism, answer)
    page.write(maker(found.noise), times, budget, found.spent, headline, answer)
    if json:
        print_json(answer)
    else:
        _show(mechanism, answer, found, budget, times)
    page.tell(silent=json)


_SENSITIVITY = {
    Kind.GAUSSIAN: "l2-sensitivity",
    Kind.LAPLACE: "l1-sensitivity",
    Kind.NORM: "sensitivity",
}
_TAKEN = {
    Kind.GAUSSIAN: ("l2-sensitivity", "rate", "times"),
    Kind.LAPLACE: ("l1-sensitivity", "rate", "times"),
    Kind.NORM: ("sensitivity", "norm", "times"),
    Kind.RANDOMIZED_RESPONSE: ("times",),
    Kind.DP_SGD: ("records", "batch", "epochs", "noise-multiplier", "clip"),
}


def _check_taken(mechanism: Kind, given: dict[str, float | None]) -> None:
    """Refuse what a mechanism does not take, rather than leave it out in silence."""
    for name, value in given.items():
        if value is not None and name not in _TAKEN[mechanism]:
            taken = ", ".join(f"--{own}" for own in _TAKEN[mechanism])
            raise InvalidParameter(
                f"{name}={value!r} must not be given: {mechanism.value} takes {taken}"
            )


def _declared(mechanism: Kind, given: dict[str, float | None]) -> float | None:
    """The sensitivity in the mechanism's own norm, if it has one."""
    own = _SENSITIVITY.get(mechanism)
    if own is None:
        return None
    value = given[own]
    if value is None:
        raise InvalidParameter(
            f"{own}=None must be declared: how far one record can move the answer, in that norm"
        )
    return value


def _maker(mechanism: Kind, sensitivity: float | None, norm: float | None) -> Maker:
    declared = 1.0 if sensitivity is None else sensitivity
    p = 2.0 if norm is None else norm
    makers: dict[Kind, Maker] = {
        Kind.GAUSSIAN: lambda s: dpv.Gaussian(sigma=s, l2_sensitivity=declared),
        Kind.LAPLACE: lambda s: dpv.Laplace(scale=s, l1_sensitivity=declared),
        Kind.NORM: lambda s: dpv.NormMechanism(scale=s, sensitivity=declared, norm=p),
        # Here more "noise" is a smaller ε per answer; s is its inverse.
        Kind.RANDOMIZED_RESPONSE: lambda s: dpv.RandomizedResponse(epsilon=1.0 / s),
    }
    return makers[mechanism]


def _subsampled(mechanism: Kind, sensitivity: float | None, rate: float) -> Maker:
    declared = 1.0 if sensitivity is None else sensitivity

    def made(s: float) -> dpv.Subsampled:
        noisy = (
            dpv.Gaussian(sigma=s, l2_sensitivity=declared)
            if mechanism is Kind.GAUSSIAN
            else dpv.Laplace(scale=s, l1_sensitivity=declared)
        )
        return dpv.Subsampled(noisy, rate=rate)

    return made


def _answer(
    mechanism: Kind, found: "dpv.Calibration", budget: ApproxDP, times: int
) -> dict[str, Any]:
    name = {Kind.GAUSSIAN: "sigma", Kind.RANDOMIZED_RESPONSE: "epsilon_each"}.get(
        mechanism, "scale"
    )
    is_response = mechanism is Kind.RANDOMIZED_RESPONSE
    value = 1.0 / found.noise if is_response else found.noise
    answer: dict[str, Any] = {
        "version": 1,
        "mechanism": mechanism.value,
        name: value,
        "budget": plain(tagged(_stated(budget))),
        "times": times,
        "spent": {"lower": plain(found.spent.lower), "upper": plain(found.spent.upper)},
        "relative_gap": found.relative_gap,
        "theorem": found.spent.theorem.name if found.spent.theorem else None,
        "assumes": list(found.spent.assumes),
    }
    if is_response:
        answer["truth_probability"] = 1.0 / (1.0 + math.exp(-value))
    return answer


@dataclass(frozen=True, slots=True)
class Written:
    """The page that was asked for, if any."""

    report: Path | None
    relation: Relation
    seconds: float | None
    accuracy: tuple[tuple[float, float], ...]

    def tell(self, *, silent: bool) -> None:
        if self.report is not None and not silent:
            console().print(f"\nreport: {self.report}", markup=False)

    def write(  # what a page shows
        self,
        part: "Composable",
        times: int,
        budget: ApproxDP,
        spent: Bracket,
        headline: str,
        answer: dict[str, Any],
    ) -> None:
        if self.report is None:
            return
        # Slow to import, and needed for pages only.
        from dpverify.cli.verbs.prove import steps_of  # noqa: PLC0415
        from dpverify.reporting.pages.noise import noise_page  # noqa: PLC0415

        run = [(part, times)]
        known = None if budget.epsilon == 0 else spent  # there it is δ that was found
        points = grid(run, self.relation, budget.delta, self.seconds, self.accuracy, known)
        with progress(f"writing {self.report}"):
            page = noise_page(
                dpv.Accountant(relation=self.relation).compose(part, times=times),
                replace(spent, assumes=(*unstated(run), *spent.assumes)),
                verdict=headline,
                lead=f"All runs together stay within {_words(budget)}, the most that it allows.",
                grid=points,
                seconds=self.seconds,
                proof=None if spent.theorem is None else steps_of(spent.theorem),
                command=command_line(),
                data=answer,
            )
        write_report(page, self.report)


def _headline(mechanism: Kind, answer: dict[str, Any]) -> str:
    """What was found, in a few words."""
    if mechanism is Kind.RANDOMIZED_RESPONSE:
        return (
            f"epsilon = {answer['epsilon_each']!r} each "
            f"(the truth with probability {answer['truth_probability']:.8g})"
        )
    name = "sigma" if mechanism is Kind.GAUSSIAN else "scale"
    return f"{name} = {answer[name]!r}"


def _show(
    mechanism: Kind, answer: dict[str, Any], found: "dpv.Calibration", budget: ApproxDP, times: int
) -> None:
    screen = console()
    runs = "1 run" if times == 1 else f"{times:,} runs"
    screen.print(f"[bold]{_headline(mechanism, answer)}[/bold]")
    spent = "δ" if budget.epsilon == 0 else "ε"
    screen.print(
        f"{runs} within {_words(budget)}: "
        f"spends {spent} ≤ {rounded_up(found.spent.upper, digits=10)} [{answer['theorem']}]",
        markup=False,
    )
    screen.print(f"assumes: {_assumed(mechanism, answer)}", markup=False)
    gap = rounded_up(max(found.relative_gap, 1e-15), digits=1)
    screen.print(f"noise smaller by a fraction of {gap} provably breaks the budget", style="dim")


def _stated(budget: ApproxDP) -> ApproxDP | PureDP:
    """The budget as what it is: with δ = 0 it is pure."""
    return PureDP(epsilon=budget.epsilon) if budget.delta == 0 else budget


def _words(budget: ApproxDP) -> str:
    pure = f"ε = {as_given(budget.epsilon)}"
    return f"{pure} (pure DP)" if budget.delta == 0 else f"{pure}, δ = {as_given(budget.delta)}"


def _assumed(mechanism: Kind, answer: dict[str, Any]) -> str:
    """Everything that the noise was computed for, in words."""
    parts = [f"{answer['relation']} neighbors"]
    norm = {Kind.GAUSSIAN: "ℓ2 sensitivity", Kind.LAPLACE: "ℓ1 sensitivity"}
    if answer["sensitivity"] is not None:
        parts.append(f"{norm.get(mechanism, 'sensitivity')} {as_given(answer['sensitivity'])}")
    if answer["rate"] is not None:
        parts.append(f"Poisson batches of rate {as_given(answer['rate'])}")
    return ", ".join(parts)
