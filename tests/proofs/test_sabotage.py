"""False theorems made of true steps: none is printed as proved.

Each takes a real proof and makes its statement say more: a constant that is too good, another
quantifier, a hypothesis less, a clause that nothing shows. The saboteur is given every help: all
steps hold, symbolically, for all parameters. What is left is what the form of a proof sees.
"""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import Check, Evidence, Step, Theorem
from proofs.support.catalog import find, proofs
from proofs.support.checks import equal, some
from proofs.support.form import Clause, Proof, Run, Shown, Verdict
from proofs.support.symbolic import never_negative, nonnegative, positive, same

A, B = sp.symbols("a b", nonnegative=True)
HELPED = Step("a true step", nonnegative(A + B, (A, B)), "all a, b ≥ 0")

CONSTANTS = [
    ("laplace", "(Δ/b)-DP", "(Δ/(2b))-DP"),
    ("norm-mechanism", "(Δ/b)-DP", "(Δ/(2b))-DP"),
    ("randomized-response", "odds e^ε : 1", "odds e^(2ε) : 1"),
    ("pure-to-zcdp", "(ε²/2)-zCDP", "(ε²/4)-zCDP"),
    ("gdp-to-zcdp", "(μ²/2)-zCDP", "(μ²/4)-zCDP"),
    ("pure-to-gdp", "2Φ⁻¹", "Φ⁻¹"),
    ("gaussian-composition", "√(Σμᵢ²)-GDP", "½·√(Σμᵢ²)-GDP"),
    ("zcdp-composition", "(Σρᵢ)-zCDP", "(Σρᵢ²)-zCDP"),
    ("basic-composition", "(Σεᵢ, Σδᵢ)-DP", "(Σεᵢ, 0)-DP"),
    ("exponential-mechanism", "exp(ε·score/(2Δ))", "exp(2ε·score/Δ)"),
    ("noisy-max", "scale 2Δ/ε", "scale Δ/(2ε)"),
    ("sparse-vector", "2cΔ/ε₂", "Δ/ε₂"),
    ("clopper-pearson", "at most level.", "at most level²."),
    ("perturbed-minimum", "≤ g/m", "≤ g/(2m)"),
    ("minimizer-sensitivity", "2L/(nλ)", "L/(2nλ)"),
    ("determinant-ratio", "≤ 1 + β/λ;", "≤ 1 + β/(2λ);"),
    ("output-perturbation", "Δ + 2η", "Δ + η"),
    ("erm-convex-losses", "at most 2Δ·d/(εn);", "at most Δ·d/(εn);"),
    ("low-frequencies", "64 units", "4 units"),
]
QUANTIFIERS = [
    ("blackwell", "for every ratio", "for some ratio"),
    ("classical-gaussian", "every ε in (0, 1]", "every ε > 0"),
    ("advanced-composition", "for every δ′ in (0, 1]", "for every δ′ ≥ 0"),
    ("without-replacement", "at every ε ≥ 0", "at every real ε"),
    ("trade-off", "inf over x > 0", "sup over x > 0"),
    ("post-processing", "applied to both sides", "applied to one side"),
    ("determined-output", "on both sides", "on one side"),
    ("simulation-lemma", "one kernel maps", "two kernels map"),
    ("attack-risk", "no output makes anyone surer", "some output makes everyone less sure"),
    ("renyi-monotone", "every larger order", "every smaller order"),
    ("exact-profile", "sup over events", "inf over events"),
]
HYPOTHESES = [
    ("betting", ", λ ≥ 0 and λ·(e^ε + δ) ≤ 1", ""),
    ("gaussian-filter", ", where μₖ may depend on these but Σμₖ² ≤ μ² always", ""),
    ("basic-filter", "and nothing is run that would make Σεᵢ > ε or Σδᵢ > δ, ", ""),
    ("plan-filter", ", each taken at most once,", ""),
    ("kifer-smith-thakurta", " and λ ≥ 2β/ε", ""),
    ("uniform-convergence", "independent records", "records"),
    ("gradient-descent", "unbiased gradients", "gradients"),
    ("exponential-mechanism", " for scores of sensitivity Δ", ""),
    ("alignment", ", and different translations never meet,", ""),
    ("one-run", "its own fair coin", "its own coin"),
    ("private-selection", ", by a score of the output alone,", ""),
    ("matrix-mechanism", " that come before all those they enter", ""),
    ("lipschitz-losses", " on a set of diameter D varies", " varies"),
    ("objective-perturbation", "twice differentiable, convex", "twice differentiable"),
    ("renyi-filter", "still add up to at most Bⱼ", "still add up"),
    ("leaky-filter", ", Σδᵢ ≤ L always,", ""),
    ("erm-convex-body", "a convex body C", "a body C"),
    ("private-learning", ", α₀ + β₀ < 1/2", ""),
    ("convexity", "and a continuous function", "and a function"),
    ("noisy-batches", ", whatever came before", ""),
]
EDITS = CONSTANTS + QUANTIFIERS + HYPOTHESES
MADE_UP = [
    "Every mechanism is 0-DP.",
    "Every mechanism with noise is ε-DP.",
    "There is a mechanism that is not (ε, δ)-DP for any δ < 1.",
    "P = NP.",
]


def helped(proof: Proof) -> Run:
    """A run in which every step holds, for all values of its symbols."""
    return Run(proof, {function: Shown(HELPED, "a + b ≥ 0") for function in proof.steps}, 0.0)


def verdict(proof: Proof) -> Verdict:
    return helped(proof).verdict(dict.fromkeys(proof.uses, Verdict.PROVED))


def restated(proof: Proof, statement: str, clauses: tuple[Clause, ...]) -> Proof:
    return replace(proof, theorem=replace(proof.theorem, statement=statement), clauses=clauses)


def falsified(name: str, old: str, new: str) -> tuple[Proof, str]:
    proof = find(name)
    assert old in proof.theorem.statement
    return proof, proof.theorem.statement.replace(old, new, 1)


def test_there_are_enough_of_them() -> None:
    assert len(EDITS) + len(MADE_UP) >= 40


@pytest.mark.parametrize(("name", "old", "new"), EDITS)
def test_a_statement_that_says_more_than_its_clauses_fails(name: str, old: str, new: str) -> None:
    proof, statement = falsified(name, old, new)
    made = restated(proof, statement, proof.clauses)
    assert verdict(made) is Verdict.FAILED
    assert any("not in the statement" in problem for problem in helped(made).problems)


@pytest.mark.parametrize(("name", "old", "new"), EDITS)
def test_clauses_that_say_it_too_are_words_and_no_formula(name: str, old: str, new: str) -> None:
    proof, statement = falsified(name, old, new)
    mute = tuple(Clause(clause.says.replace(old, new, 1), by=clause.by) for clause in proof.clauses)
    made = restated(proof, statement, mute)
    assert verdict(made) is Verdict.FAILED


@pytest.mark.parametrize(("name", "old", "new"), EDITS)
def test_with_the_old_argument_it_is_not_called_proved(name: str, old: str, new: str) -> None:
    """The argument no longer fits, which no machine sees; so it is printed, beside the clause."""
    proof, statement = falsified(name, old, new)
    kept = tuple(replace(clause, says=clause.says.replace(old, new, 1)) for clause in proof.clauses)
    found = verdict(restated(proof, statement, kept))
    assert found in {Verdict.ARGUED, Verdict.CITED, Verdict.FAILED}
    assert all(clause.argued for clause in kept)


SPLIT = [name for name, proof in proofs().items() if len(proof.clauses) > 1]


@pytest.mark.parametrize("name", SPLIT)
def test_a_clause_that_is_left_out_is_missed(name: str) -> None:
    proof = find(name)
    for place, left_out in enumerate(proof.clauses):
        rest = (*proof.clauses[:place], *proof.clauses[place + 1 :])
        made = replace(proof, clauses=rest)
        assert verdict(made) is Verdict.FAILED
        assert any("no clause says" in problem for problem in made.missing), left_out.says


def test_many_clauses_were_left_out() -> None:
    assert sum(len(proofs()[name].clauses) for name in SPLIT) >= 80


def unrelated() -> Step:
    """Randomized response with odds 2 has δ = 1/3 at ε = 0."""
    pair = FinitePair.leaky_response(2, 0)
    return Step("unrelated", equal(3 * pair.delta_at_ratio(Fraction(1)), 1), "one pair")


@pytest.mark.parametrize("statement", MADE_UP)
@pytest.mark.parametrize("clauses", [0, 1, 2])
def test_one_true_step_proves_nothing_else(statement: str, clauses: int) -> None:
    theorem = Theorem(name="made-up", statement=statement, source="a test", proof="proofs/m.py")
    given = (
        (),
        (Clause(statement, by=(unrelated,)),),
        (Clause(statement.split(maxsplit=1)[0], by=(unrelated,), argued="obviously"),),
    )[clauses]
    made = Proof(theorem=theorem, clauses=given, library=(unrelated,), mutations={})
    assert made.run().verdict({}) is Verdict.FAILED


# Formulas: the text of a goal, turned around or said of more than was shown

FORMULA = "a + b ≥ 0 for all a ≥ 0, b ≥ 0"
NEGATIVE = sp.Symbol("x", negative=True)
WHOLE = sp.Symbol("k", integer=True, positive=True)
REAL = sp.Symbol("y", real=True)
SENTENCE = sp.Symbol("every mechanism, which is 0-DP, has δ", positive=True)


def formal(statement: str, clause: str, check: Check) -> Verdict:
    """The verdict on a statement with one clause, which is a formula."""

    def step() -> Step:
        return Step("a step", check, "all")

    theorem = Theorem(name="false", statement=statement, source="nobody")
    proof = Proof(theorem=theorem, clauses=(Clause(clause, by=(step,)),), mutations={})
    return proof.run().verdict({})


def test_a_formula_that_was_shown_is_proved() -> None:
    assert formal(f"{FORMULA}.", FORMULA, nonnegative(A + B, (A, B))) is Verdict.PROVED


@pytest.mark.parametrize(
    "statement", ["-{}", "¬({}).", "{} or 1 = 0", "it is false that {}", "{}²"]
)
def test_a_formula_is_not_turned_around(statement: str) -> None:
    check = nonnegative(A + B, (A, B))
    assert formal(statement.format(FORMULA), FORMULA, check) is Verdict.FAILED


@pytest.mark.parametrize(
    "check",
    [
        some((nonnegative(A, (A,)), nonnegative(-A - 1, (A,)))),
        some((nonnegative(A, (A,)), never_negative(-sp.exp(A)))),
        positive(-NEGATIVE),
        positive(-NEGATIVE * sp.exp(REAL)),
        never_negative(WHOLE - 1),
        same(sp.exp(REAL) * (7 * REAL - 2), 0, by=lambda _: sp.Integer(0)),
        same(REAL * 0, 0, by=lambda _: sp.Integer(0)),
        positive(SENTENCE),
        never_negative(sp.exp(REAL)),
    ],
)
def test_a_goal_that_says_more_than_was_shown_is_no_clause(check: Check) -> None:
    texts = [str(goal) for goal in check.goals] or ["-a - 1 ≥ 0 for all a ≥ 0"]
    assert formal(texts[0], texts[0], check) is Verdict.FAILED


def test_text_is_no_goal() -> None:
    made = Check(holds=True, evidence=Evidence.SYMBOLIC, goals=("every mechanism is private",))
    assert (
        formal("every mechanism is private", "every mechanism is private", made) is Verdict.FAILED
    )


@pytest.mark.parametrize(
    "error", [RuntimeError, AssertionError, NotImplementedError, OSError, SystemExit]
)
def test_a_step_or_a_mutation_that_raises_is_said(error: type[BaseException]) -> None:
    def raises() -> Step:
        raise error("no")

    theorem = Theorem(name="raising", statement="nothing", source="nobody")
    clauses = (Clause("nothing", by=(raises,), argued="it is"),)
    proof = Proof(theorem=theorem, clauses=clauses, mutations={"raises": raises})
    assert any(error.__name__ in problem for problem in proof.run().problems)
    assert proof.accepted_mutations() == ("raises",)
