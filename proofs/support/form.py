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

The verdict is computed: that of the weakest clause, and no better than those of the theorems used.

A refutation is computed, too. The false statement is given as a *claim*, code that takes an instance:
what the statement asks of it, and what it then says. At the counterexample all that is asked for must hold and
what is said be certainly false, in rationals or balls; at a *control*, an instance or a corrected constant for which
the statement is right, the same code must say yes, since a claim that is never true would refute anything. If
the statement is a formula, letter by letter, and the claim reads that formula, it is *refuted*. Otherwise words
say how the code follows from the statement, or, where no instance decides, how the steps contradict it: it
is *refuted with argument*, and the words are printed.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

from dpverify.theorems import Check, Evidence, Step, Theorem

StepFunction: TypeAlias = Callable[[], Step]

RAISED = (Exception, SystemExit)
"""What a proof may raise, and the others still run: only a user who interrupts ends them all."""


class BrokenProof(Exception):
    """A proof file that cannot be run: it raises, does not end, or names another file's theorem."""


class Circle(BrokenProof):
    """A theorem that rests on itself, through those that it uses."""


class Verdict(Enum):
    """The outcome of a proof, strongest first; a refutation is a success of its own kind."""

    PROVED = "proved"
    ARGUED = "proved with argument"
    CITED = "cited"
    CHECKED = "checked on instances"
    REFUTED = "refuted"
    REFUTED_ARGUED = "refuted with argument"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the statement, the steps behind it, and how they amount to it."""

    says: str
    by: tuple[StepFunction, ...] = ()
    argued: str = ""
    checked: str = ""

    def standing(self, steps: Mapping[StepFunction, Step], *, sources: tuple[str, ...]) -> Verdict:
        """What the clause is worth, once its steps ran.

        Words alone are worth something only where they name one of the `sources`, theorems that they
        follow from. Words on floats alone are worth no more than the floats.
        """
        own = [steps[function] for function in self.by]
        if not all(step.holds for step in own):
            return Verdict.FAILED
        tried = any(step.evidence is not Evidence.NUMERIC for step in own)
        if self.argued and own:
            return Verdict.ARGUED if tried else Verdict.CHECKED
        if self.argued:
            return _by_words(self.argued, sources)
        if self.checked:
            return Verdict.CHECKED if tried else Verdict.FAILED
        goals = (goal for step in own for goal in step.check.goals)
        whole = all(step.evidence is Evidence.SYMBOLIC for step in own)
        shown = whole and any(_says(goal, self.says) for goal in goals)
        return Verdict.PROVED if shown else Verdict.FAILED


class Claimed(Protocol):
    """A false statement as code: what it asks of an instance, and what it says of it."""

    @property
    def words(self) -> tuple[str, str]: ...
    def asks(self, instance: Any) -> Check: ...  # noqa: ANN401  # whatever the claim is about
    def says(self, instance: Any) -> Check: ...  # noqa: ANN401


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that an author wrote: the statement at an instance, or what follows from it there.

    That the code says what the words say is for a reader to judge.
    """

    asked: Callable[[Any], Check]
    said: Callable[[Any], Check]

    @property
    def words(self) -> tuple[str, str]:
        """What the code asks for and says, in the words of its docstrings."""
        return _formula(self.asked), _formula(self.said)

    def asks(self, instance: Any) -> Check:  # noqa: ANN401
        return self.asked(instance)

    def says(self, instance: Any) -> Check:  # noqa: ANN401
        return self.said(instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Why a statement is false: an instance anyone can replay, and the steps that show it.

    The digits of `truth` are checked by the steps, they are not only printed. `claim` is the statement
    as code, false `at` the counterexample and true at the `control`; `argued` says how the statement's
    words amount to it.
    """

    claimed: str
    instance: tuple[str, ...]
    truth: str
    correction: str
    by: tuple[StepFunction, ...]
    claim: Claimed | None = None
    at: object = None
    control: object = None
    argued: str = ""

    def problems(self, statement: str) -> tuple[str, ...]:
        """Why the statement is not refuted by its own code; empty if it is, or if words alone say so."""
        is_formula = self.is_formula(statement)
        silent = not self.argued and not is_formula
        found = ["nothing says how the counterexample contradicts the statement"] if silent else []
        if self.claim is None:
            return tuple(found)
        asked, said = (_tried(part, self.at) for part in (self.claim.asks, self.claim.says))
        told = [_tried(part, self.control) for part in (self.claim.asks, self.claim.says)]
        if not _is_certain(asked, yes=True):
            found.append("the counterexample is not shown to be what the statement asks for")
        if not _is_certain(said, yes=False):
            found.append("the statement is not certainly false at the counterexample")
        if not all(_is_certain(each, yes=True) for each in told):
            found.append("the statement's code is not true at its control, so it may never be")
        return tuple(found)

    def is_formula(self, statement: str) -> bool:
        """Whether the claim reads the very formula that the statement is."""
        from proofs.support.symbolic import Formula  # noqa: PLC0415  # sympy is slow

        return isinstance(self.claim, Formula) and self.claim.text == statement.rstrip(".") != ""


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
    def sources(self) -> tuple[str, ...]:
        """What words without a step can follow from: names of theorems, or whatever is cited."""
        return ("",) if self.cites else tuple(theorem.name for theorem in self.uses)

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
            rest = rest.replace(clause.says, _SHOWN, 1)
        # A sign or a word beside a formula may turn it around, and so may a formula that touches it.
        first, *between = rest.split(_SHOWN)
        joint = _BETWEEN_FORMULAS if is_formal else _BETWEEN_CLAUSES
        ends = {0: _BEFORE_FORMULAS, len(between): _AFTER_FORMULAS} if is_formal else {}
        pieces = [
            piece
            for i, piece in enumerate((first, *between))
            if not ends.get(i, joint).fullmatch(piece)
        ]
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
        own = [_promised(clause, sources=self.sources) for clause in self.clauses]
        return self._joined(own, used)

    def _joined(self, own: list[Verdict], used: Mapping[Theorem, Verdict]) -> Verdict:
        """No better than the weakest clause, than what is cited and than what is used."""
        others = [used[theorem] for theorem in self.uses]
        if {Verdict.FAILED} & {*own, *others} or _FALSE & {*others}:
            return Verdict.FAILED
        if self.counterexample is not None:
            formal = self.counterexample.is_formula(self.theorem.statement)
            return Verdict.REFUTED if formal and not self.cites else Verdict.REFUTED_ARGUED
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
            names = {wrong.__name__, *wrong.__code__.co_names}
            broken = next((f.__name__ for f in self.steps if f.__name__ in names), "")
            clauses = tuple(clause.says for clause in self.clauses_of(broken))
            try:
                step = wrong()
                # No step is called, or no comparison sees it, but a guard.
                passed = step.holds or not step.check.broken or not broken
            except BrokenProof:  # it does not end
                raise
            except RAISED:  # whatever it is, the step did not see what is wrong
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
        if found is not None:
            failed.extend(found.problems(self.proof.theorem.statement))
        return (*failed, *self.proof.missing, *weak)

    def _standing(self, clause: Clause) -> Verdict:
        ran = {function: shown.step for function, shown in self.steps.items()}
        return clause.standing(ran, sources=self.proof.sources)

    def verdict(self, used: Mapping[Theorem, Verdict]) -> Verdict:
        """The verdict, given the verdicts of the theorems that the proof uses."""
        if self.problems:
            return Verdict.FAILED
        own = [self._standing(clause) for clause in self.proof.clauses]
        return self.proof._joined(own, used)  # noqa: SLF001  # one rule for both


_FALSE = frozenset({Verdict.REFUTED, Verdict.REFUTED_ARGUED})
_BETWEEN_CLAUSES = re.compile(r"[\s.,;:]*(and|so|or)?[\s.,;:]*")
_BEFORE_FORMULAS, _AFTER_FORMULAS = re.compile(r"\s*"), re.compile(r"\.?\s*")
_BETWEEN_FORMULAS = re.compile(r"[.,;]?\s+(and\s+)?")
_SHOWN = "\0"  # in place of a clause


def _says(goal: object, text: str) -> bool:
    """Whether the goal is this text, and another checker shows what the text says, wherever it is said."""
    from proofs.support.second import shows_everywhere  # noqa: PLC0415  # few proofs need it

    return shows_everywhere(goal, text)


def _by_words(argued: str, sources: tuple[str, ...]) -> Verdict:
    """Words without a step follow from a theorem that they name, or from what is cited."""
    return Verdict.ARGUED if any(name in argued for name in sources) else Verdict.FAILED


def _tried(part: Callable[[Any], Check], instance: object) -> Check:
    """What a claim's code says; where it raises, nothing."""
    try:
        return part(instance)
    except BrokenProof:  # it does not end
        raise
    except RAISED:  # said as a problem, and the other proofs still run
        return Check(holds=False, evidence=Evidence.NUMERIC)


def _is_certain(check: Check, *, yes: bool) -> bool:
    """Whether numbers that are exact, or balls, say yes, or say no."""
    settled = check.holds if yes else check.denied
    return settled and check.count > 0 and check.evidence is not Evidence.NUMERIC


def _promised(clause: Clause, *, sources: tuple[str, ...]) -> Verdict:
    """What a clause is worth if its steps hold, and are more than floats."""
    if clause.argued:
        return Verdict.ARGUED if clause.by else _by_words(clause.argued, sources)
    return Verdict.CHECKED if clause.checked else Verdict.PROVED


def _taken(function: StepFunction) -> Step:
    """The step; one that raises does not hold, and says so."""
    try:
        return function()
    except BrokenProof:  # it does not end
        raise
    except RAISED as error:  # the other proofs still run
        raised = f"raises {type(error).__name__}: {error}"
        return Step(f"{function.__name__} {raised}", Check(holds=False, evidence=Evidence.NUMERIC))


def _formula(step: Callable[..., object]) -> str:
    """The step's docstring on one line."""
    return " ".join((step.__doc__ or "").split())
