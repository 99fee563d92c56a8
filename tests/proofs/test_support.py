"""What proofs are built from: verdicts, signs, digits, exact sums."""

from fractions import Fraction

import pytest
import sympy as sp
from flint import arb

from dpverify.errors import InvalidParameter
from dpverify.theorems import Evidence, Step, Theorem
from proofs.support.catalog import find
from proofs.support.digits import agrees, gaussian_profile
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Counterexample, Proof, Verdict
from proofs.support.geometric import Decay, Noise, inner_sum, outer_sum
from proofs.support.laws import joint, rational_laws, rational_pairs
from proofs.support.symbolic import nonnegative, same

LEMMA = Theorem(name="lemma", statement="It is so.", source="a test", proof="proofs/lemma.py")
COUNTEREXAMPLE = Counterexample(claimed="1", instance=("x = 2",), truth="2", correction="2")


def holds() -> Step:
    """1 = 1."""
    return Step("one", Evidence.EXACT, holds=True, scope="one")


def fails() -> Step:
    """1 = 2."""
    return Step("two", Evidence.EXACT, holds=False)


def sampled() -> Step:
    """1 ≈ 1."""
    return Step("three", Evidence.NUMERIC, holds=True)


def proof(
    *steps: object, cites: tuple[str, ...] = (), counterexample: Counterexample | None = None
) -> Proof:
    return Proof(
        theorem=LEMMA,
        steps=steps,  # type: ignore[arg-type]  # step functions
        mutations={"wrong": fails},
        cites=cites,
        counterexample=counterexample,
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (proof(holds), Verdict.PROVED),
        (proof(holds, fails), Verdict.FAILED),
        (proof(), Verdict.FAILED),
        (proof(holds, sampled), Verdict.CITED),
        (proof(holds, cites=("Euclid",)), Verdict.CITED),
        (proof(holds, counterexample=COUNTEREXAMPLE), Verdict.REFUTED),
        (proof(fails, counterexample=COUNTEREXAMPLE), Verdict.FAILED),
    ],
)
def test_verdicts(made: Proof, expected: Verdict) -> None:
    assert made.run().verdict({}) is expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (Verdict.PROVED, Verdict.PROVED),
        (Verdict.CITED, Verdict.CITED),
        (Verdict.REFUTED, Verdict.CITED),
        (Verdict.FAILED, Verdict.FAILED),
    ],
)
def test_a_verdict_is_no_better_than_what_it_uses(used: Verdict, expected: Verdict) -> None:
    other = Theorem(name="other", statement="So is that.", source="a test")
    user = Proof(theorem=LEMMA, steps=(holds,), mutations={"wrong": fails}, uses=(other,))
    assert user.run().verdict({other: used}) is expected


def test_a_run_shows_its_steps() -> None:
    run = proof(holds, sampled, holds).run()
    assert run.evidence == (Evidence.EXACT, Evidence.NUMERIC)
    assert [shown.formula for shown in run.shown] == ["1 = 1.", "1 ≈ 1.", "1 = 1."]
    assert run.holds
    assert run.seconds >= 0


def test_a_mutation_that_passes_is_named() -> None:
    blind = Proof(theorem=LEMMA, steps=(holds,), mutations={"wrong": fails, "blind": holds})
    assert blind.accepted_mutations() == ("blind",)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"name='lemma' must be one of the \d+ theorems in"):
        find("lemma")
    with pytest.raises(InvalidParameter, match="; closest: simulation-lemma"):
        find("simulationlemma")
    with pytest.raises(InvalidParameter, match=r"README\.md$"):
        find("xyzzy")


X, Y = sp.symbols("x y", nonnegative=True)


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
    assert nonnegative(expression, (X, Y)) is expected


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
    assert same(left, right) is expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("3.1415", True), ("3.1416", True), ("3.1418", False), ("3.14e0", True), ("0.0314e2", True)],
)
def test_printed_digits(printed: str, expected: bool) -> None:  # noqa: FBT001
    assert agrees(arb.pi(), printed) is expected


def test_a_wide_ball_agrees_with_nothing() -> None:
    assert not agrees(arb(3, 1), "3.1")
    assert not overlaps(arb(3, 1), arb(3, 1))
    assert overlaps(arb(2).sqrt() ** 2, arb(2), digits=10)
    assert not overlaps(arb(2), arb(2) + arb("1e-8"), digits=10)


def test_profiles_of_inexact_shifts_enclose() -> None:
    exact = gaussian_profile(arb(1), arb(1))
    assert agrees(exact, "0.12693673750664")
    assert gaussian_profile(arb(1, 0.01), arb(1)).contains(exact)


def test_integrals_are_enclosed() -> None:
    assert overlaps(integral(lambda z: z.exp(), arb(0), arb(1)), arb(1).exp() - 1, digits=12)


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
