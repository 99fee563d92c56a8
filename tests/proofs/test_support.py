"""What proofs are built from: verdicts, signs, digits, exact sums."""

from fractions import Fraction

import pytest
import sympy as sp
from flint import arb

from dpverify.errors import InvalidParameter
from dpverify.pairs import FinitePair
from dpverify.theorems import Check, Evidence, Step, Theorem
from proofs.support import checks
from proofs.support.catalog import find
from proofs.support.checks import VACUOUS, at_most, below, equal, every, near, provided, some
from proofs.support.digits import agrees, gaussian_profile
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Counterexample, Proof, Verdict
from proofs.support.geometric import Decay, Noise, inner_sum, outer_sum
from proofs.support.laws import joint, rational_laws, rational_pairs
from proofs.support.notation import notation
from proofs.support.symbolic import nonnegative, positive, same, tends_to

LEMMA = Theorem(
    name="lemma", statement="It is so; and so is that.", source="a test", proof="proofs/lemma.py"
)
X, Y = sp.symbols("x y", nonnegative=True)
TRIVIAL = FinitePair(left=[1], right=[1])


def holds() -> Step:
    """1 = 1."""
    return Step("one", equal(1, 1), "one")


def fails() -> Step:
    """1 = 2."""
    return Step("two", equal(1, 2))


def sampled() -> Step:
    """1 ≈ 1."""
    return Step("three", equal(1.0, 1.0))


def shown() -> Step:
    """x + y ≥ 0."""
    return Step("four", nonnegative(X + Y, (X, Y)), "all x, y ≥ 0")


def raises() -> Step:
    """1/0."""
    return Step("five", equal(1 // 0, 1))


def empty() -> Step:
    """Nothing is compared."""
    return Step("six", VACUOUS & provided(condition=True))


COUNTEREXAMPLE = Counterexample(
    claimed="1", instance=("x = 2",), truth="2", correction="2", by=(holds,), argued="words"
)
WHOLE = "It is so; and so is that."
ARGUED = (
    Clause("It is so", by=(shown,), argued="words"),
    Clause("so is that.", by=(shown,), argued="words"),
)
WORDS = Clause("so is that.", argued="words")
FORMAL = Theorem(
    name="formula", statement="x + y ≥ 0 for all x ≥ 0, y ≥ 0", source="a test", proof="proofs/f.py"
)


def proof(
    *clauses: Clause,
    theorem: Theorem = LEMMA,
    cites: tuple[str, ...] = (),
    uses: tuple[Theorem, ...] = (),
    library: tuple[object, ...] = (),
    counterexample: Counterexample | None = None,
) -> Proof:
    return Proof(
        theorem=theorem,
        clauses=clauses,
        library=library,  # type: ignore[arg-type]  # step functions
        mutations={"wrong": fails},
        cites=cites,
        uses=uses,
        counterexample=counterexample,
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (proof(*ARGUED), Verdict.ARGUED),
        (proof(Clause(FORMAL.statement, by=(shown,)), theorem=FORMAL), Verdict.PROVED),
        (proof(Clause(FORMAL.statement, by=(holds,)), theorem=FORMAL), Verdict.FAILED),
        (proof(Clause(FORMAL.statement, by=(shown, sampled)), theorem=FORMAL), Verdict.FAILED),
        (proof(Clause(WHOLE, by=(shown,))), Verdict.FAILED),  # words are no formula
        (proof(ARGUED[0]), Verdict.FAILED),  # nobody says that so is that
        (proof(*ARGUED, Clause("It is not", argued="words")), Verdict.FAILED),
        (proof(Clause(WHOLE, by=(holds,), checked="one")), Verdict.CHECKED),
        (proof(Clause(WHOLE, by=(sampled,), checked="one")), Verdict.FAILED),
        (proof(Clause(WHOLE, checked="none")), Verdict.FAILED),
        (proof(ARGUED[0], WORDS), Verdict.FAILED),  # from what?
        (proof(ARGUED[0], WORDS, cites=("Euclid",)), Verdict.CITED),
        (proof(Clause(WHOLE, by=(sampled,), argued="words")), Verdict.CHECKED),
        (proof(*ARGUED, library=(sampled,)), Verdict.ARGUED),
        (proof(*ARGUED, library=(fails,)), Verdict.FAILED),
        (proof(*ARGUED, library=(raises,)), Verdict.FAILED),
        (proof(*ARGUED, library=(empty,)), Verdict.FAILED),
        (proof(), Verdict.FAILED),
        (proof(*ARGUED, cites=("Euclid",)), Verdict.CITED),
        (proof(counterexample=COUNTEREXAMPLE), Verdict.REFUTED_ARGUED),
        (proof(counterexample=COUNTEREXAMPLE, library=(fails,)), Verdict.FAILED),
    ],
)
def test_verdicts(made: Proof, expected: Verdict) -> None:
    run = made.run()
    assert run.verdict({}) is expected
    assert bool(run.problems) is (expected is Verdict.FAILED)


def test_a_counterexample_by_floats_alone_is_none() -> None:
    found = Counterexample(
        claimed="1", instance=("x = 2",), truth="2", correction="2", by=(sampled,), argued="words"
    )
    run = proof(counterexample=found).run()
    assert run.verdict({}) is Verdict.FAILED
    assert run.problems == ("the counterexample rests on floats alone",)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (Verdict.PROVED, Verdict.ARGUED),
        (Verdict.ARGUED, Verdict.ARGUED),
        (Verdict.CITED, Verdict.CITED),
        (Verdict.CHECKED, Verdict.CHECKED),
        (Verdict.REFUTED, Verdict.FAILED),
        (Verdict.REFUTED_ARGUED, Verdict.FAILED),
        (Verdict.FAILED, Verdict.FAILED),
    ],
)
def test_a_verdict_is_no_better_than_what_it_uses(used: Verdict, expected: Verdict) -> None:
    other = Theorem(name="other", statement="So is that.", source="a test")
    user = proof(*ARGUED, uses=(other,))
    assert user.run().verdict({other: used}) is expected
    assert user.standing({other: used}) is expected


def test_words_alone_follow_from_what_is_used() -> None:
    other = Theorem(name="other", statement="So is that.", source="a test")
    user = proof(ARGUED[0], Clause("so is that.", argued="by other"), uses=(other,))
    assert user.standing({other: Verdict.PROVED}) is Verdict.ARGUED
    assert user.run().verdict({other: Verdict.PROVED}) is Verdict.ARGUED
    assert proof(ARGUED[0], WORDS).standing({}) is Verdict.FAILED


def test_what_is_missing_is_named() -> None:
    assert proof(ARGUED[0]).missing == ("no clause says: '; and so is that.'",)
    foreign = proof(*ARGUED, Clause("It is not", argued="words"))
    assert foreign.missing == ("not in the statement: 'It is not'",)
    assert proof(*ARGUED).missing == ()


def test_a_run_shows_its_steps() -> None:
    run = proof(*ARGUED, library=(sampled, holds, shown)).run()
    assert run.evidence == (Evidence.SYMBOLIC, Evidence.EXACT, Evidence.NUMERIC)
    assert [each.formula for each in run.shown] == ["x + y ≥ 0.", "1 ≈ 1.", "1 = 1."]
    assert run.problems == ()
    assert run.seconds >= 0


def test_a_step_that_raises_says_so() -> None:
    [problem] = proof(*ARGUED, library=(raises,)).run().problems
    assert problem.startswith("raises raises ZeroDivisionError: ")


def test_a_mutation_names_the_step_and_the_clause_that_reject_it() -> None:
    blind = Proof(
        theorem=LEMMA,
        clauses=(Clause(WHOLE, by=(fails,), argued="words"),),
        library=(holds,),
        mutations={"wrong": lambda: fails(), "blind": lambda: holds()},  # noqa: PLW0108  # by name
    )
    assert blind.accepted_mutations() == ("blind",)
    found = blind.rejections()
    assert (found["wrong"].step, found["wrong"].clauses) == ("fails", (WHOLE,))
    assert (found["blind"].step, found["blind"].clauses) == ("holds", ())


@pytest.mark.parametrize(
    ("check", "evidence"),
    [
        (at_most(1, Fraction(3, 2)), Evidence.EXACT),
        (below(0.5, Fraction(3, 2)), Evidence.NUMERIC),
        (equal(1.0, 1), Evidence.NUMERIC),
        (equal((1, Fraction(1)), (1, 1.0)), Evidence.NUMERIC),
        (equal({1: Fraction(1)}, {1: 1}), Evidence.EXACT),
        (at_most(1, arb(2)), Evidence.CERTIFIED),
        (at_most(1.0, arb(2)), Evidence.CERTIFIED),
        (near(Fraction(1), Fraction(1), 0), Evidence.NUMERIC),  # a tolerance is no equality
        (checks.answered(yes=True), Evidence.NUMERIC),
        (equal(True, True), Evidence.NUMERIC),  # noqa: FBT003  # of who knows what
        (same(X + X, 2 * X), Evidence.SYMBOLIC),
        (same(X + X, 2 * X) & at_most(1, 2), Evidence.EXACT),
        (same(X + X, 2 * X) & provided(condition=True), Evidence.SYMBOLIC),
        (same(sp.sqrt(2) ** 2, 2), Evidence.EXACT),  # nothing ranges
        (every([at_most(1, 2), at_most(1.0, 2.0)]), Evidence.NUMERIC),
        (some([at_most(2, 1), at_most(1, 2)]), Evidence.EXACT),
        (checks.fails(at_most(2, 1)), Evidence.EXACT),
        (checks.dominated(FinitePair.leaky_response(2, 0), TRIVIAL), Evidence.EXACT),
        (tends_to(X / Y, Y, sp.oo, 0), Evidence.SYMBOLIC),
        (positive(X + 1), Evidence.SYMBOLIC),
    ],
)
def test_comparisons_say_what_they_are_worth(check: Check, evidence: Evidence) -> None:
    assert Step("made", check).holds
    assert Step("made", check).evidence is evidence


def test_checks_are_joined_with_an_ampersand() -> None:
    with pytest.raises(TypeError, match="joined with &"):
        bool(at_most(1, 2))
    assert not Step("none", VACUOUS).holds
    assert not checks.fails(nonnegative(X - Y, (X, Y))).holds  # not shown is not refuted


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"name='lemma' must be one of the \d+ theorems in"):
        find("lemma")
    with pytest.raises(InvalidParameter, match="; closest: simulation-lemma"):
        find("simulationlemma")
    with pytest.raises(InvalidParameter, match=r"README\.md$"):
        find("xyzzy")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (X, True),
        (sp.Integer(0) * X, True),
        (X - Y, False),
        (-X, False),
        ((X + 1) / (Y + 2), True),
        ((X - 1) / (X - 1), True),
        (-X / (-Y - 1), True),
        (X / (Y - 1), False),
        (X**2 - 2 * X * Y + Y**2, False),  # true, but not from its signs
        (1 - 1 / (1 + X), True),
    ],
)
def test_nonnegative(expression: object, expected: bool) -> None:  # noqa: FBT001
    assert nonnegative(expression, (X, Y)).holds is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (sp.cosh(X) ** 2 - sp.sinh(X) ** 2, sp.Integer(1), True),
        (sp.exp(X) * sp.exp(-X), sp.Integer(1), True),
        (sp.exp(X), 1 + X, False),
        (sp.log(X), sp.log(X) + sp.Rational(1, 10**9), False),
    ],
)
def test_same(left: object, right: object, expected: bool) -> None:  # noqa: FBT001
    assert same(left, right).holds is expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("3.1415", True), ("3.1416", True), ("3.1418", False), ("3.14e0", True), ("0.0314e2", True)],
)
def test_printed_digits(printed: str, expected: bool) -> None:  # noqa: FBT001
    assert agrees(arb.pi(), printed).holds is expected


def test_a_wide_ball_agrees_with_nothing() -> None:
    assert not agrees(arb(3, 1), "3.1").holds
    assert not overlaps(arb(3, 1), arb(3, 1)).holds
    assert overlaps(arb(2).sqrt() ** 2, arb(2), digits=10).holds
    assert not overlaps(arb(2), arb(2) + arb("1e-8"), digits=10).holds


def test_profiles_of_inexact_shifts_enclose() -> None:
    exact = gaussian_profile(arb(1), arb(1))
    assert agrees(exact, "0.12693673750664").holds
    assert gaussian_profile(arb(1, 0.01), arb(1)).contains(exact)


def test_integrals_are_enclosed() -> None:
    assert overlaps(integral(lambda z: z.exp(), arb(0), arb(1)), arb(1).exp() - 1, digits=12).holds


@pytest.mark.parametrize("two_sided", [False, True])
def test_noise_is_a_law(two_sided: bool) -> None:  # noqa: FBT001
    noise = Noise(Fraction(1, 2), two_sided)
    inside = inner_sum(noise.mass, -5, 5)
    above = outer_sum([noise.point(6)])
    below = outer_sum([noise.point(-6)]) if two_sided else Fraction(0)
    assert inside + above + below == 1
    assert noise.tail(7) == noise.base * noise.tail(6)


def test_outer_sums_expand_complements() -> None:
    """Σ 2^(−n)·(1 − 3^(−n)) = 2 − 6/5."""
    half, third = (
        Decay(Fraction(1), Fraction(1, 2)),
        Decay(Fraction(1), Fraction(1, 3), complement=True),
    )
    assert outer_sum([half, third]) == Fraction(4, 5)


def test_small_laws() -> None:
    laws = rational_laws(3, 4)
    assert len(laws) == len(set(laws)) == 15
    assert all(sum(law) == 1 for law in laws)
    assert len(list(rational_pairs(2, 3))) == 16
    pair = next(iter(rational_pairs(2, 3)))
    assert sum(joint(pair, [pair, pair]).left) == 1


def test_letters_that_a_statement_explains_are_not_explained_again() -> None:
    assert any(each.startswith("β: ") for each in notation("a loss that is β-smooth"))
    assert not any(each.startswith("β: ") for each in notation("at most β, and β = P(W ≥ v)"))
