"""What a proof is: a theorem, an argument in words, and named steps that run.

A proof file has a docstring, the argument that joins the steps; step functions, whose docstrings
hold the formulas; and one `PROOF`. A step function takes no arguments that have no default, so
that a *mutation*, the same step with a wrong constant, is one call. A step that holds with the
wrong constant as well would prove nothing, so every mutation must be rejected.

What a step is worth is its evidence. SYMBOLIC covers the whole range of its parameters, by an
identity or by an expression whose sign is plain. CERTIFIED covers a stated box or list of points,
by ball arithmetic. EXACT covers a finite set, by rationals. NUMERIC is floats, and no proof.
Steps of the last three kinds also tie the mathematics to the library: they call its functions.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from dpverify.theorems import Evidence, Step, Theorem

StepFunction: TypeAlias = Callable[[], Step]


class Verdict(Enum):
    """The outcome of a proof."""

    PROVED = "proved"
    CITED = "cited"
    REFUTED = "refuted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Why a statement is false: an instance anyone can replay.

    The digits of `truth` are checked by the steps, they are not only printed.
    """

    claimed: str
    instance: tuple[str, ...]
    truth: str
    correction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A theorem with the steps that show it, or show it false if there is a counterexample.

    `uses` are theorems with proofs of their own, `cites` is what is taken from the literature
    without one. With anything cited, by itself or by what it uses, a theorem is not proved here.
    """

    theorem: Theorem
    steps: tuple[StepFunction, ...]
    mutations: Mapping[str, StepFunction]
    uses: tuple[Theorem, ...] = ()
    cites: tuple[str, ...] = ()
    counterexample: Counterexample | None = None

    def run(self) -> "Run":
        """Every step, whether or not an earlier one held."""
        start = time.perf_counter()
        shown = tuple(Shown(step(), _formula(step)) for step in self.steps)
        return Run(self, shown, time.perf_counter() - start)

    def accepted_mutations(self) -> tuple[str, ...]:
        """Names of the wrong constants that a step let pass; must be empty."""
        return tuple(name for name, wrong in self.mutations.items() if wrong().holds)


@dataclass(frozen=True, slots=True)
class Shown:
    """A step that ran, and the formula it is about."""

    step: Step
    formula: str


@dataclass(frozen=True, slots=True)
class Run:
    """The result of running a proof: its steps, and how long they took."""

    proof: Proof
    shown: tuple[Shown, ...]
    seconds: float = field(compare=False)

    @property
    def holds(self) -> bool:
        """Whether there are steps and every one holds."""
        return bool(self.shown) and all(shown.step.holds for shown in self.shown)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The kinds of evidence that the steps give, strongest first, each once."""
        kinds = {shown.step.evidence for shown in self.shown}
        return tuple(kind for kind in Evidence if kind in kinds)

    def verdict(self, used: Mapping[Theorem, Verdict]) -> Verdict:
        """The verdict, given the verdicts of the theorems that the proof uses."""
        if not self.holds or any(used[t] is Verdict.FAILED for t in self.proof.uses):
            return Verdict.FAILED
        if self.proof.counterexample is not None:
            return Verdict.REFUTED
        borrowed = self.proof.cites or Evidence.NUMERIC in self.evidence
        if borrowed or any(used[t] is not Verdict.PROVED for t in self.proof.uses):
            return Verdict.CITED
        return Verdict.PROVED


def _formula(step: StepFunction) -> str:
    """The step's docstring on one line."""
    return " ".join((step.__doc__ or "").split())
