"""False theorems that are smuggled in by the form of a proof, with every step true.

`test_sabotage` leaves the form alone and falsifies statements. Here texts, signs, claims, sources
and mutations are not what they look like.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sympy as sp
from flint import arb

from dpverify.theorems import LAPLACE, Check, Evidence, Step, Theorem
from proofs.support import catalog, recheck
from proofs.support.catalog import proofs, run_with_uses
from proofs.support.checks import VACUOUS, at_most, below, equal, fails, provided
from proofs.support.form import BrokenProof, Claim, Clause, Counterexample, Proof, Verdict
from proofs.support.spelling import read
from proofs.support.symbolic import (
    Formula,
    Goal,
    claimed,
    never_negative,
    nonnegative,
    positive,
    same,
)

A, B = sp.symbols("a b", nonnegative=True)
X, Y = sp.symbols("x y", real=True)
P = sp.Symbol("p", positive=True)
SUM = nonnegative(A + B, (A, B))
SUM_TEXT = "a + b ≥ 0 for all a ≥ 0, b ≥ 0"
FALSE = "every mechanism is 0-DP"


def theorem(statement: str) -> Theorem:
    return Theorem(name="smuggled", statement=statement, source="nobody", proof="proofs/s.py")


def formal(statement: str, check: Check) -> Verdict:
    """The verdict on a statement whose one clause has no words beside it."""

    def step() -> Step:
        return Step("a step", check, "all")

    made = Proof(theorem=theorem(statement), clauses=(Clause(statement, by=(step,)),), mutations={})
    return made.run().verdict({})


# Texts that are not what was shown


@pytest.mark.parametrize(
    "statement",
    [
        "a + b ≥ 0 for all a, b",  # a quantifier over more
        "a + b ≥ 0 for all a ≥ 0, b",
        "a + b ≥ 0",
        "a + b > 0 for all a ≥ 0, b ≥ 0",
        "a - b ≥ 0 for all a ≥ 0, b ≥ 0",
        "a + b ≥ 0 for all b ≥ 0, a ≥ 0, c",
        "a + b ≥ 1 for all a ≥ 0, b ≥ 0",
        "a·b ≥ a + b ≥ 0 for all a ≥ 0, b ≥ 0",
        "а + b ≥ 0 for all а ≥ 0, b ≥ 0".replace("0 for", "00 for"),  # look-alikes
        "0 ≥ a + b for all a ≥ 0, b ≥ 0",
        "a + b ≥ 0 for some a ≥ 0, b ≥ 0",
        "a + b ≥ 0 for all a ≥ 0, b ≥ 0, and every mechanism is 0-DP",
    ],
)
def test_a_text_that_was_not_shown_is_not_proved(statement: str) -> None:
    assert formal(SUM_TEXT, SUM) is Verdict.PROVED
    assert formal(statement, SUM) is Verdict.FAILED


class Liar(Goal):
    """A goal that is true and says something else."""

    def __str__(self) -> str:
        return FALSE


class Masked(sp.Symbol):  # type: ignore[misc]  # sympy has no types
    """A name that prints as a formula."""

    def _sympystr(self, _: object) -> str:
        return "x"


def forged(goal: object) -> Check:
    return Check(holds=True, evidence=Evidence.SYMBOLIC, goals=(goal,))


FORGED = [
    forged(Liar(A + B, "≥", sp.Integer(0), (A, B))),
    forged(Goal(A - B, "≥", sp.Integer(0), (A, B))),  # false
    forged(Goal(A, ">", sp.Integer(0), (A,))),
    forged(Goal(X, "≥", sp.Integer(0), (X,))),
    forged(Goal(X**2 - X, "≥", sp.Integer(0), (X,))),
    forged(Goal((A + B) ** 2, "=", A**2 + B**2, (A, B))),
    forged(Goal(A + B, "≥", sp.Integer(0), ())),  # variables that nobody declares
    forged(
        Goal(P + X**2, ">", sp.Integer(0), (P, sp.Symbol("p", real=True), X))
    ),  # two of one name
    forged(Goal(Masked("q", real=True) ** 2, "≥", sp.Integer(0), (Masked("q", real=True),))),
    never_negative(sp.Symbol("z", zero=True) + A),
    positive(sp.Symbol("n", integer=True, positive=True) + P),
    positive(sp.Symbol("k", even=True, positive=True) - 1 + P),
    same((X**2 - 1) / (X - 1), X + 1),  # not where x = 1
    nonnegative(1 / A, (A,)),  # not where a = 0
    same(sp.sqrt(X**2), sp.Abs(X)),  # more than arithmetic
]


@pytest.mark.parametrize("check", FORGED)
def test_a_goal_that_says_more_than_holds_is_not_proved(check: Check) -> None:
    for goal in check.goals or ("x ≥ 0 for all x",):
        assert formal(str(goal), check) is Verdict.FAILED


READ = sp.Symbol("x")  # a name without any sign, as text is read
READ_Y = sp.Symbol("y")

SPELLED = [
    nonnegative("x != 5 and x", (READ,)),  # false at x = 5; sympy reads text as Python
    nonnegative("x - 5 and x", (READ,)),
    nonnegative("x in [x] and x", (READ,)),
    nonnegative("x if 1 else 0 - 5", (READ,)),
    nonnegative("(x, x)[0]", (READ,)),
    nonnegative("S(1)/3*x", (READ,)),  # a name that nobody declares
    same(sp.Mul(X, 1 / X, evaluate=False), 1),  # a pole that sympy cancels when it reads
    same(sp.Mul(X - Y, 1 / (X - Y), evaluate=False), 1),
    same(sp.Add(1 / X, X, -1 / X, evaluate=False), X),
    forged(Goal(sp.Symbol("atom0"), "=", sp.pi, (sp.Symbol("atom0"),))),  # a name that checkers use
    forged(Goal(sp.I * X, "=", sp.I * X, (X,))),  # not of reals
    forged(Goal("x # - 5", "=", "x", (READ,))),
    forged(Goal(sp.Symbol("𝑥") - READ + 1, ">", 0, (READ, sp.Symbol("𝑥")))),  # 𝑥
    forged(Goal(sp.Symbol("True"), "=", 1, (sp.Symbol("True"),))),
    forged(Goal(X**100_000, "≥", 0, (X,))),
]


@pytest.mark.parametrize("check", SPELLED, ids=lambda check: str(check.goals[0]))
def test_a_text_says_what_it_spells_to_whoever_has_no_sympy(check: Check) -> None:
    assert formal(str(check.goals[0]), check) is Verdict.FAILED


@pytest.mark.parametrize("joint", ["", ".", "-", "|", " or ", "\0"])
def test_formulas_that_touch_say_something_else(joint: str) -> None:
    """y + 1 > 0 for all y > 0−x·(y − 1) = … is false at x = −1, y = −2, and both parts are true."""
    q = sp.Symbol("y", positive=True)
    parts = [positive(q + 1), same(-X * (Y - 1), -X * Y + X)]
    texts = [str(part.goals[0]) for part in parts]
    steps: list[Callable[[], Step]] = [
        lambda: Step("", parts[0], ""),
        lambda: Step("", parts[1], ""),
    ]
    clauses = tuple(Clause(text, by=(step,)) for text, step in zip(texts, steps, strict=True))
    glued = Proof(theorem=theorem(joint.join(texts)), clauses=clauses, mutations={})
    assert glued.run().verdict({}) is Verdict.FAILED
    apart = replace(glued, theorem=theorem("; ".join(texts) + "."))
    assert apart.run().verdict({}) is Verdict.PROVED


@pytest.mark.parametrize(
    "text",
    [
        "x + y/2 ≥ 0 for all x ≥ 0, y > 0",
        "x**(-2) > 0 for all x > 0",
        "-x**2*(-1) = x**2 for all x",
        "beta - beta = 0 for all beta",
    ],
)
def test_a_formula_is_read_without_sympy(text: str) -> None:
    goal = read(text)
    assert goal is not None
    assert recheck.holds(goal)
    assert recheck.has_no_poles(goal)


@pytest.mark.parametrize("number", ["0x10", "0b1", "1_0", "1e1", "2x", "1j"])
def test_numbers_are_digits(number: str) -> None:
    assert read(f"{number} = {number} for all x") is None


# Refutations of what is true, or of nothing


@pytest.mark.parametrize(
    "true",
    [
        claimed(1 / X, "≠", 0),  # no relation that is known
        claimed(1 / X, "> 0 or <", 0),
        Formula(Goal("x**2 - y**2 == (x - y)*(x + y) or -x", "≥", 0, (READ, READ_Y))),
        claimed(X, "≤ x**2 + 1 or x >", 5),
    ],
)
def test_what_is_true_as_it_reads_is_not_refuted(true: Formula) -> None:
    below_zero, above = ({str(name): value for name in true.goal.variables} for value in (-1, 1))
    for at, control in ((below_zero, above), (above, below_zero)):
        made = refuted(str(true.goal), true, at=at, control=control)
        assert made.run().verdict({}) is Verdict.FAILED


def shown() -> Step:
    """1 < 2."""
    return Step("true", below(1, 2), "one")


def refuted(statement: str, claim: Any = None, **more: Any) -> Proof:  # noqa: ANN401
    found = Counterexample(
        claimed="",
        instance=(),
        truth="",
        correction="",
        by=(shown,),
        claim=claim,
        **more,
    )
    return Proof(theorem=theorem(statement), mutations={}, counterexample=found)


def yes(_: object) -> Check:
    return at_most(1, 2)


def no(_: object) -> Check:
    return at_most(2, 1)


def small(x: object) -> Check:
    """Is x at most 1?"""
    return at_most(x, 1)


def boom(_: object) -> Check:
    raise ValueError("no")


TRUE = "Laplace noise of scale b on a query of ℓ1 sensitivity Δ is (Δ/b)-DP"
REFUTATIONS: dict[str, Proof] = {
    "nothing says why": refuted(TRUE),
    "never true": refuted(TRUE, Claim(yes, no), at=1, control=1, argued="so"),
    "always true": refuted(TRUE, Claim(yes, yes), at=1, control=1, argued="so"),
    "not decided": refuted(TRUE, Claim(yes, small), at=arb(1, 1), control=0, argued="so"),
    "control not decided": refuted(TRUE, Claim(yes, small), at=2, control=arb(1, 1), argued="so"),
    "floats": refuted(TRUE, Claim(yes, small), at=2.0, control=0, argued="so"),
    "control in floats": refuted(TRUE, Claim(yes, small), at=2, control=0.0, argued="so"),
    "not what is asked for": refuted(TRUE, Claim(small, small), at=2, control=0, argued="so"),
    "nothing is asked for": refuted(
        TRUE, Claim(lambda _: VACUOUS, small), at=2, control=0, argued="so"
    ),
    "only a guard": refuted(
        TRUE,
        Claim(yes, lambda x: provided(x != 2)),
        at=2,
        control=0,
        argued="so",
    ),
    "it raises": refuted(TRUE, Claim(yes, boom), at=2, control=0, argued="so"),
    "the hypothesis raises": refuted(TRUE, Claim(boom, small), at=2, control=0, argued="so"),
    "without words": refuted(TRUE, Claim(yes, small), at=2, control=0),
    "a true formula": refuted(
        SUM_TEXT, claimed(A + B, "≥", sp.Integer(0)), at={"a": 1, "b": 1}, control={"a": 0, "b": 0}
    ),
    "a true formula, off its range": refuted(
        SUM_TEXT, claimed(A + B, "≥", sp.Integer(0)), at={"a": -1, "b": 0}, control={"a": 0, "b": 0}
    ),
    "a value too few": refuted(
        "a - b ≥ 0 for all a ≥ 0, b ≥ 0",
        claimed(A - B, "≥", sp.Integer(0)),
        at={"a": 1},
        control={},
    ),
    "another formula": refuted(
        SUM_TEXT, claimed(A - B, "≥", sp.Integer(0)), at={"a": 0, "b": 1}, control={"a": 1, "b": 0}
    ),
    "a goal that lies": refuted(
        FALSE,
        Formula(Liar(A - B, "≥", sp.Integer(0), (A, B))),
        at={"a": 0, "b": 1},
        control={"a": 1, "b": 0},
    ),
}


@pytest.mark.parametrize("name", REFUTATIONS)
def test_what_is_not_computed_to_be_false_is_not_refuted(name: str) -> None:
    run = REFUTATIONS[name].run()
    assert run.verdict({}) is Verdict.FAILED
    assert run.problems


class Pretender:
    """A claim that calls itself a formula."""

    text = TRUE
    words = ("", "")
    asks = staticmethod(yes)
    says = staticmethod(small)


def test_a_formula_is_refuted_and_words_are_refuted_with_argument() -> None:
    """Code may be wrong about words, which no machine sees; so it never says refuted."""
    difference = claimed(A - B, "≥", sp.Integer(0))
    points: dict[str, Any] = {"at": {"a": 0, "b": 1}, "control": {"a": 1, "b": 0}}
    formula = refuted("a - b ≥ 0 for all a ≥ 0, b ≥ 0.", difference, **points)
    assert formula.run().verdict({}) is Verdict.REFUTED
    assert replace(formula, cites=("Euclid",)).run().verdict({}) is Verdict.REFUTED_ARGUED
    words = refuted(TRUE, difference, argued="so", **points)
    assert words.run().verdict({}) is Verdict.REFUTED_ARGUED
    pretended = refuted(TRUE, Pretender(), at=2, control=0, argued="so")
    assert pretended.run().verdict({}) is Verdict.REFUTED_ARGUED
    assert refuted(TRUE, Pretender(), at=2, control=0).run().verdict({}) is Verdict.FAILED


CLAIMED = {
    name: proof
    for name, proof in proofs().items()
    if proof.counterexample is not None and proof.counterexample.claim is not None
}


@pytest.mark.parametrize("name", [name for name in CLAIMED if name != "published-default-grid"])
def test_a_control_is_no_counterexample(name: str) -> None:
    """With control and counterexample exchanged nothing is refuted: the code tells them apart."""
    found = CLAIMED[name].counterexample
    assert found is not None
    exchanged = replace(found, at=found.control, control=found.at)
    told = exchanged.problems(CLAIMED[name].theorem.statement)
    assert "the statement is not certainly false at the counterexample" in told


def test_most_refutations_are_computed() -> None:
    false = [proof for proof in proofs().values() if proof.counterexample is not None]
    silent = sorted(p.theorem.name for p in false if p.theorem.name not in CLAIMED)
    assert silent == [
        "notes-midpoint-convexity",
        "notes-norm-mechanism-sign",
        "notes-squared-rho",
        "notes-supporting-lines",
    ]


# Sources that are none


@pytest.mark.parametrize(
    "statement", ["¬({})", "− {}", "{} < 0", "{}²", "0 = {}", "({})/2", "1 − {}", "{} ?"]
)
def test_a_sign_beside_a_clause_is_missed_by_no_one(statement: str) -> None:
    clause = Clause("Everything is private", by=(shown,), argued="words")
    made = Proof(
        theorem=theorem(statement.format("Everything is private")), clauses=(clause,), mutations={}
    )
    assert made.run().verdict({}) is Verdict.FAILED


def test_words_without_a_step_must_name_what_they_follow_from() -> None:
    clauses = (
        Clause("It is so", by=(shown,), argued="words"),
        Clause("so is that", argued="surely"),
    )
    made = Proof(
        theorem=theorem("It is so; so is that"), clauses=clauses, mutations={}, uses=(LAPLACE,)
    )
    assert made.run().verdict({LAPLACE: Verdict.PROVED}) is Verdict.FAILED
    named = replace(made, clauses=(clauses[0], Clause("so is that", argued="by laplace")))
    assert named.run().verdict({LAPLACE: Verdict.PROVED}) is Verdict.ARGUED


def library(monkeypatch: pytest.MonkeyPatch, **uses: tuple[Theorem, ...]) -> Callable[[str], Proof]:
    """Proofs of theorems with these names, which use these theorems."""
    made = {
        name: Proof(
            theorem=replace(theorem("It is so"), name=name),
            clauses=(Clause("It is so", by=(shown,), argued="words"),),
            mutations={},
            uses=used,
        )
        for name, used in uses.items()
    }
    monkeypatch.setattr(catalog, "find", lambda name: made[name])
    return made.__getitem__


def so(name: str) -> Theorem:
    return replace(theorem("It is so"), name=name)


@pytest.mark.parametrize(
    "uses",
    [
        {"one": (so("one"),)},
        {"one": (so("two"),), "two": (so("one"),)},
        {"one": (so("two"),), "two": (so("three"),), "three": (so("two"),)},
    ],
)
def test_a_theorem_that_rests_on_itself_is_said(
    uses: dict[str, tuple[Theorem, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    library(monkeypatch, **uses)
    with pytest.raises(BrokenProof, match="rests on itself: one uses "):
        list(run_with_uses(["one"], {}))


def test_what_another_checker_denies_supports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A goal that is false, and that sympy was said to show, in a theorem that another one uses."""
    find = library(monkeypatch, one=(so("two"),), two=())
    false = forged(Goal(A - B, "=", A + B, (A, B)))

    def denied() -> Step:
        return Step("denied", false, "")

    two = find("two")
    wrong = replace(two, clauses=(Clause("It is so", by=(denied,), argued="words"),))
    monkeypatch.setattr(catalog, "find", {"one": find("one"), "two": wrong}.__getitem__)
    for name in ("one", "two"):
        assert [verdict for _, verdict in run_with_uses([name], {})] == [Verdict.FAILED]


def test_another_statement_under_a_proved_name_is_no_support(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stronger = replace(so("two"), statement=FALSE)
    find = library(monkeypatch, one=(stronger,), two=())
    done: dict[Theorem, Any] = {}
    [(_, verdict)] = run_with_uses(["one"], done)
    assert verdict is Verdict.FAILED
    assert catalog.unsupported(find("one"), done) == [
        "it uses two, which cannot be run or says something else"
    ]


# Mutations that are rejected for no reason of their own


def guarded(wrong: int = 1) -> Step:
    """1 ≤ 2, unless a guard says no."""
    return Step("guarded", at_most(1, 2) & provided(wrong == 1), "one")


def test_a_mutation_that_a_guard_rejects_passes() -> None:
    clauses = (Clause("It is so", by=(guarded,), argued="words"),)
    blind = Proof(
        theorem=theorem("It is so"),
        clauses=clauses,
        mutations={
            "a guard": lambda: guarded(wrong=2),
            "no step at all": lambda: Step("other", equal(1, 2), "one"),
        },
    )
    assert blind.run().verdict({}) is Verdict.ARGUED
    assert blind.accepted_mutations() == ("a guard", "no step at all")


@pytest.mark.parametrize("compare", [at_most, below, equal])
def test_balls_that_decide_nothing_refute_nothing(compare: Callable[..., Check]) -> None:
    undecided = compare(arb(0, 1), 0)
    assert not undecided.holds
    assert not undecided.denied
    assert not fails(undecided).holds
    assert fails(compare(arb(2), 1)).holds


@pytest.mark.parametrize(("small", "large"), [("10", "9"), ((0, 100), (1, 0)), ([0, 9], [1, 1])])
@pytest.mark.parametrize("compare", [at_most, below])
def test_digits_and_vectors_have_no_order(
    compare: Callable[..., Check], small: object, large: object
) -> None:
    """Python says yes to all of these, by the alphabet and by first entries."""
    with pytest.raises(TypeError, match="must be numbers"):
        compare(small, large)
