"""What a proof is: a statement, taken apart into clauses, and what stands behind each of them.

A proof file has a docstring, the argument; step functions, whose docstrings hold the formulas; and
one `PROOF`. A step function takes no arguments that have no default, so that a *mutation*, the same
step with a wrong constant, is one call. A step that holds with the wrong constant as well would prove
nothing, so every mutation must be rejected.

A *clause* is a part of the statement, in the statement's words; together the clauses are all of it,
or the proof fails and says which words nobody stands for. Words cannot be executed. So a clause is one
of three:

- *formal*: its text is a formula that one of its steps has shown for all values of its symbols, letter
  by letter, as the checker writes it; the symbols are real, or signs say which part of the reals, and
  the formula is one of arithmetic alone. Nobody else's word is needed.
- *argued*: `argued` says in words how the clause follows from the steps, from what the proof uses and
  from definitions. The steps were executed; that they amount to the clause is for the reader to judge.
  With no step of its own it must have a theorem or a citation to follow from; with floats alone it is
  no better than checked.
- *checked*: `checked` says on which instances the clause was tried; nothing says that it holds beyond.

The verdict is computed: that of the weakest clause, and no better than those of the theorems used. A
statement is refuted if the steps of a counterexample hold; that these contradict it is argued, in the
words of the counterexample.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from dpverify.theorems import Check, Evidence, Step, Theorem

StepFunction: TypeAlias = Callable[[], Step]


class BrokenProof(Exception):
    """A proof file that cannot be run: it raises, does not end, or names another file's theorem."""


class Verdict(Enum):
    """The outcome of a proof, strongest first; a refutation is a success of its own kind."""

    PROVED = "proved"
    ARGUED = "proved with argument"
    CITED = "cited"
    CHECKED = "checked on instances"
    REFUTED = "refuted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the statement, the steps behind it, and how they amount to it."""

    says: str
    by: tuple[StepFunction, ...] = ()
    argued: str = ""
    checked: str = ""

    def standing(self, steps: Mapping[StepFunction, Step], *, borrows: bool) -> Verdict:
        """What the clause is worth, once its steps ran.

        Words alone are worth something only where the proof `borrows`: uses or cites something that
        they can follow from. Words on floats alone are worth no more than the floats.
        """
        own = [steps[function] for function in self.by]
        if not all(step.holds for step in own):
            return Verdict.FAILED
        tried = any(step.evidence is not Evidence.NUMERIC for step in own)
        if self.argued and own:
            return Verdict.ARGUED if tried else Verdict.CHECKED
        if self.argued:
            return Verdict.ARGUED if borrows else Verdict.FAILED
        if self.checked:
            return Verdict.CHECKED if tried else Verdict.FAILED
        goals = {str(goal) for step in own for goal in step.check.goals if _is_plain(goal)}
        whole = all(step.evidence is Evidence.SYMBOLIC for step in own)
        return Verdict.PROVED if whole and self.says in goals else Verdict.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Why a statement is false: an instance anyone can replay, and the steps that show it.

    The digits of `truth` are checked by the steps, they are not only printed.
    """

    claimed: str
    instance: tuple[str, ...]
    truth: str
    correction: str
    by: tuple[StepFunction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A theorem with what stands behind its clauses, or with a counterexample to it.

    `library` are steps that tie the theorem to the code that uses it; they must hold, and no clause
    rests on them. `uses` are theorems with proofs of their own, `cites` is what is taken from the
    literature without one.
    """

    theorem: Theorem
    clauses: tuple[Clause, ...] = ()
    library: tuple[StepFunction, ...] = ()
    mutations: Mapping[str, StepFunction]
    uses: tuple[Theorem, ...] = ()
    cites: tuple[str, ...] = ()
    counterexample: Counterexample | None = None

    @property
    def borrows(self) -> bool:
        """Whether there is something besides the steps that a clause can follow from."""
        return bool(self.uses or self.cites)

    @property
    def steps(self) -> tuple[StepFunction, ...]:
        """Every step once, in the order of the clauses."""
        shown = () if self.counterexample is None else self.counterexample.by
        listed = [step for clause in self.clauses for step in clause.by]
        return tuple(dict.fromkeys((*shown, *listed, *self.library)))

    @property
    def missing(self) -> tuple[str, ...]:
        """Words of the statement that no clause quotes, and quotes that are not in it."""
        if self.counterexample is not None:
            return ()
        rest, foreign = self.theorem.statement, []
        is_formal = any(not clause.argued and not clause.checked for clause in self.clauses)
        for clause in sorted(self.clauses, key=lambda each: -len(each.says)):
            if clause.says not in rest:
                foreign.append(f"not in the statement: {clause.says!r}")
            rest = rest.replace(clause.says, " | ", 1)
        pieces = rest.split("|")
        if is_formal:  # a sign or a word in front of a formula may turn it around
            pieces = [piece for piece in pieces if not _BETWEEN_FORMULAS.fullmatch(piece)]
        else:
            pieces = [piece for piece in pieces if set(_WORD.findall(piece)) - _JOINTS]
        return (*(f"no clause says: {piece.strip()!r}" for piece in pieces), *foreign)

    def run(self) -> "Run":
        """Every step, whether or not an earlier one held."""
        start = time.perf_counter()
        shown = {function: Shown(_taken(function), _formula(function)) for function in self.steps}
        return Run(self, shown, time.perf_counter() - start)

    def standing(self, used: Mapping[Theorem, Verdict]) -> Verdict:
        """The verdict if every step holds, without running one; what maps and pages show."""
        if self.missing:
            return Verdict.FAILED
        own = [_promised(clause, borrows=self.borrows) for clause in self.clauses]
        return self._joined(own, used)

    def _joined(self, own: list[Verdict], used: Mapping[Theorem, Verdict]) -> Verdict:
        """No better than the weakest clause, than what is cited and than what is used."""
        others = [used[theorem] for theorem in self.uses]
        if Verdict.FAILED in {*own, *others} or Verdict.REFUTED in others:
            return Verdict.FAILED
        if self.counterexample is not None:
            return Verdict.REFUTED
        taken = [Verdict.CITED] if self.cites else []
        ranked = list(Verdict)
        return max([*own, *others, *taken], key=ranked.index, default=Verdict.FAILED)

    def clauses_of(self, step: str) -> tuple[Clause, ...]:
        """The clauses that rest on the step function of this name."""
        return tuple(
            clause
            for clause in self.clauses
            if any(function.__name__ == step for function in clause.by)
        )

    def rejections(self) -> Mapping[str, "Rejection"]:
        """What came of every mutation: the step that rejected it, and the clauses that rest on it."""
        found = {}
        for name, wrong in self.mutations.items():
            names = set(wrong.__code__.co_names)
            broken = next((f.__name__ for f in self.steps if f.__name__ in names), "")
            clauses = tuple(clause.says for clause in self.clauses_of(broken))
            try:
                passed = wrong().holds
            except BrokenProof:  # it does not end
                raise
            except Exception:  # noqa: BLE001  # whatever it is, the step did not see what is wrong
                passed = True
            found[name] = Rejection(broken, clauses, passed=passed)
        return found

    def accepted_mutations(self) -> tuple[str, ...]:
        """Names of the wrong constants that a step let pass; must be empty."""
        return tuple(name for name, each in self.rejections().items() if each.passed)


@dataclass(frozen=True, slots=True)
class Rejection:
    """What became of a wrong constant: the step that saw it and the clauses that rest on that step."""

    step: str
    clauses: tuple[str, ...]
    passed: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A step that ran, and the formula it is about."""

    step: Step
    formula: str


@dataclass(frozen=True, slots=True)
class Run:
    """The result of running a proof: its steps, and how long they took."""

    proof: Proof
    steps: Mapping[StepFunction, Shown]
    seconds: float = field(compare=False)

    @property
    def shown(self) -> tuple[Shown, ...]:
        return tuple(self.steps.values())

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The kinds of evidence that the steps give, strongest first, each once."""
        kinds = {shown.step.evidence for shown in self.shown}
        return tuple(kind for kind in Evidence if kind in kinds)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the proof fails, in words; empty if it does not."""
        failed = [f"{s.step.name} does not hold" for s in self.shown if not s.step.holds]
        weak = [
            f"nothing shows: {clause.says!r}"
            for clause in self.proof.clauses
            if self._standing(clause) is Verdict.FAILED
            and all(self.steps[function].step.holds for function in clause.by)
        ]
        if not self.steps:
            failed.append("there are no steps")
        found = self.proof.counterexample
        if found is not None and not any(
            self.steps[function].step.evidence is not Evidence.NUMERIC for function in found.by
        ):
            failed.append("the counterexample rests on floats alone")
        return (*failed, *self.proof.missing, *weak)

    def _standing(self, clause: Clause) -> Verdict:
        ran = {function: shown.step for function, shown in self.steps.items()}
        return clause.standing(ran, borrows=self.proof.borrows)

    def verdict(self, used: Mapping[Theorem, Verdict]) -> Verdict:
        """The verdict, given the verdicts of the theorems that the proof uses."""
        if self.problems:
            return Verdict.FAILED
        own = [self._standing(clause) for clause in self.proof.clauses]
        return self.proof._joined(own, used)  # noqa: SLF001  # one rule for both


_WORD = re.compile(r"[^\W_]+")
_JOINTS = frozenset({"and", "so", "or"})
_BETWEEN_FORMULAS = re.compile(r"[\s.,;]*(and)?[\s.,;]*")


def _is_plain(goal: object) -> bool:
    """Whether the goal's text says all that was shown, and another checker can show it, too."""
    return bool(getattr(goal, "is_plain", False))


def _promised(clause: Clause, *, borrows: bool) -> Verdict:
    """What a clause is worth if its steps hold, and are more than floats."""
    if clause.argued:
        return Verdict.ARGUED if clause.by or borrows else Verdict.FAILED
    return Verdict.CHECKED if clause.checked else Verdict.PROVED


def _taken(function: StepFunction) -> Step:
    """The step; one that raises does not hold, and says so."""
    try:
        return function()
    except BrokenProof:  # it does not end
        raise
    except Exception as error:  # noqa: BLE001  # the other proofs still run
        raised = f"raises {type(error).__name__}: {error}"
        return Step(f"{function.__name__} {raised}", Check(holds=False, evidence=Evidence.NUMERIC))


def _formula(step: StepFunction) -> str:
    """The step's docstring on one line."""
    return " ".join((step.__doc__ or "").split())
