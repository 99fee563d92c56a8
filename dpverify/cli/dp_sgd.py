"""`dpverify noise dp-sgd`: noise multiplier, batch size or epochs that a budget allows."""

import math
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import calibration, largest
from dpverify.balls import as_given, rounded_up
from dpverify.errors import InvalidParameter, as_count, as_positive, settle
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.mechanisms import Gaussian, Subsampled
from dpverify.neighbors import Relation
from dpverify.plain import plain, tagged

_MOST_STEPS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Poisson batches of mean size `batch` out of `records`; of the next three one may be open."""

    records: int | None
    batch: int | None
    epochs: float | None
    noise_multiplier: float | None
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.records is None:
            raise InvalidParameter("records=None must be given: how many there are")
        settle(self, records=as_count("records", self.records))
        settle(self, clip=as_positive("clip", self.clip))
        for name, check in (
            ("batch", as_count),
            ("epochs", as_positive),
            ("noise_multiplier", as_positive),
        ):
            if getattr(self, name) is not None:
                settle(self, **{name: check(name, getattr(self, name))})
        if self.batch is not None and self.batch > int(self.records):
            raise InvalidParameter(f"batch={self.batch!r} must not exceed records={self.records!r}")

    @property
    def rate(self) -> float:
        return float(self.batch or 0) / float(self.records or 1)

    @property
    def steps(self) -> int:
        """Batches that hold as many records as the epochs do, rounded up."""
        whole = float(self.epochs or 0) * float(self.records or 0) / float(self.batch or 1)
        return max(math.ceil(whole * (1 - 1e-12)), 1)

    def step(self, noise: float) -> Subsampled:
        sigma, clip = float(noise) * float(self.clip), float(self.clip)
        return Subsampled(Gaussian(sigma=sigma, l2_sensitivity=clip), rate=self.rate)

    def solved(self, budget: ApproxDP, relation: Relation, seconds: float | None) -> "Solved":
        """The plan with its open number, and what it spends."""
        open_ones = [n for n in ("noise_multiplier", "batch", "epochs") if getattr(self, n) is None]
        if len(open_ones) != 1:
            named = " and ".join(open_ones) or "none"
            raise InvalidParameter(
                f"{named} left out: exactly one of noise-multiplier, batch and epochs must be"
            )
        start = Accountant(relation=relation)
        noise = float(self.noise_multiplier or 0)
        match open_ones[0]:
            case "noise_multiplier":
                found = calibration(
                    self.step, budget=budget, relation=relation, times=self.steps, seconds=seconds
                )
                plan, spent = replace(self, noise_multiplier=found.noise), found.spent
            case "batch":
                most = largest(
                    lambda b: _run(start, replace(self, batch=b), noise),
                    budget=budget,
                    relation=relation,
                    most=int(self.records or 1),
                    whole=True,
                    seconds=seconds,
                )
                plan, spent = replace(self, batch=int(most.value)), most.spent
            case _:
                most = largest(
                    lambda n: start.compose(self.step(noise), times=n),
                    budget=budget,
                    relation=relation,
                    most=_MOST_STEPS,
                    whole=True,
                    seconds=seconds,
                )
                epochs = most.value * self.rate
                plan, spent = replace(self, epochs=epochs), most.spent
        return Solved(plan, open_ones[0].replace("_", "-"), spent, budget, relation)


def _run(start: Accountant, plan: TrainingPlan, noise: float) -> Accountant:
    return start.compose(plan.step(noise), times=plan.steps)


@dataclass(frozen=True, slots=True)
class Solved:
    """A plan within a budget."""

    plan: TrainingPlan
    found: str
    spent: Bracket
    budget: ApproxDP
    relation: Relation

    @property
    def answer(self) -> dict[str, Any]:
        plan, noise = self.plan, float(self.plan.noise_multiplier or 0)
        return {
            "version": 1,
            "mechanism": "dp-sgd",
            "found": self.found,
            "relation": self.relation.value,
            "records": plan.records,
            "batch": plan.batch,
            "rate": plan.rate,
            "epochs": plan.epochs,
            "steps": plan.steps,
            "noise_multiplier": noise,
            "clip": plan.clip,
            "sigma": noise * float(plan.clip),
            "budget": plain(tagged(self.budget)),
            "spent": {"lower": plain(self.spent.lower), "upper": plain(self.spent.upper)},
            "theorem": self.spent.theorem.name if self.spent.theorem else None,
            "assumes": list(self.spent.assumes),
        }

    @property
    def headline(self) -> str:
        """The number that was left out."""
        told = self.answer
        return {
            "noise-multiplier": f"noise multiplier = {told['noise_multiplier']!r}",
            "batch": f"batch = {told['batch']}",
            "epochs": f"epochs = {told['epochs']:.6g}",
        }[self.found]

    def show(self, screen: Console) -> None:
        told = self.answer
        screen.print(f"[bold]{self.headline}[/bold]")
        screen.print(
            f"sigma = {told['sigma']!r} on sums of records clipped to norm "
            f"{as_given(self.plan.clip)}",
            markup=False,
        )
        screen.print(
            f"{told['steps']:,} steps of Poisson batches, rate {told['rate']:.8g} "
            f"({self.plan.batch} of {self.plan.records:,} on average)",
            markup=False,
        )
        spent = "δ" if self.budget.epsilon == 0 else "ε"
        screen.print(
            f"within ε = {as_given(self.budget.epsilon)}, δ = {as_given(self.budget.delta)}: "
            f"spends {spent} ≤ {rounded_up(self.spent.upper, digits=10)}, {self.relation.value} "
            f"neighbors [{told['theorem']}]",
            markup=False,
        )
        for assumption in self.spent.assumes:
            screen.print(f"assumes: {assumption}", style="dim", markup=False)
