"""The two errors of lecture notes, end to end: what examples/lecture_notes.py tells is so."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, PureDP
from examples.lecture_notes import (
    Headline,
    LinearExponentialERM,
    LinearObjectivePerturbation,
    erm_radius,
    main,
    objective_perturbation,
)
from proofs.support.catalog import find, standing
from proofs.support.form import Verdict


@pytest.mark.parametrize("tell", [objective_perturbation, erm_radius])
def test_the_printed_constant_is_refuted_and_the_right_one_is_not(
    tell: Callable[[], Headline],
) -> None:
    """Seeds are fixed, so this cannot fail by chance; at another seed with probability 1/100."""
    story = tell()
    assert story.holds
    assert story.verdict.refuted
    claimed = story.claim.epsilon  # type: ignore[union-attr]  # both claims have one
    assert claimed < story.verdict.epsilon_lower <= story.true_epsilon.upper
    assert claimed < story.verdict.witness.epsilon_lower
    assert story.repaired.epsilon_lower <= claimed
    assert story.true_epsilon.width < 1e-12
    proof = find(story.refutation)
    assert standing(proof) is Verdict.REFUTED_ARGUED
    assert proof.counterexample is not None
    assert proof.counterexample.truth in story.counterexample
    assert standing(find(story.theorem.name)) is Verdict.ARGUED


def test_the_digits_of_theorem_14_3() -> None:
    """σ² = 10·ln(1000)/16, so μ² = 4/σ² and δ = H(2, μ), by scipy."""
    story = objective_perturbation()
    mu = 2.0 / math.sqrt(10 * math.log(1000) / 16)
    delta = norm.cdf(mu / 2 - 2 / mu) - math.exp(2) * norm.cdf(-mu / 2 - 2 / mu)
    assert story.truth.startswith(f"δ = {delta:.5f} at ε = 2")
    assert story.claim == ApproxDP(epsilon=2.0, delta=1e-3)
    at = story.true_epsilon.upper
    exact = norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu)
    assert exact == pytest.approx(1e-3, rel=1e-9)


def test_the_digits_of_theorem_2_5() -> None:
    """Densities k·e^(−kw)/(2·sinh k) at w = 1, k = 3 and 2."""
    story = erm_radius()
    ratio = (2 * math.exp(-2) / math.sinh(2)) / (3 * math.exp(-3) / math.sinh(3))
    assert story.true_epsilon.upper == pytest.approx(math.log(ratio), rel=1e-12)
    assert story.claim == PureDP(epsilon=1.0)
    assert "0.68888" in story.correction


def test_a_story_is_reproducible_and_too_few_draws_are_refused() -> None:
    first, second = (erm_radius() for _ in range(2))
    assert first.verdict.witness.counts == second.verdict.witness.counts
    with pytest.raises(NotSupported, match="samples=200 must be more"):
        erm_radius(samples=200)


@pytest.mark.false_alarm(3e-9)
@pytest.mark.parametrize("total", [-2.0, 0.0, 5.0])
def test_the_truncated_exponential_has_its_law(total: float) -> None:
    mechanism = LinearExponentialERM(epsilon=1.0, loss_bound=1.0)
    k = total / 2

    def law(w: Any) -> Any:  # noqa: ANN401  # a float, or an array of them
        inside = np.clip(w, -1.0, 1.0) + 1.0
        return inside / 2 if k == 0 else np.expm1(-k * inside) / math.expm1(-2 * k)

    drawn = mechanism.sample(np.array([total]), 20_000, rng=np.random.default_rng(3))
    assert kstest(drawn, law).pvalue > 1e-9


@pytest.mark.false_alarm(1e-9)
def test_the_linear_minimizer_has_its_law() -> None:
    mechanism = LinearObjectivePerturbation(sigma=2.0, regularization=4.0)
    drawn = mechanism.sample(np.array([1.0, 2.0]), 20_000, rng=np.random.default_rng(4))
    assert kstest(drawn, norm(-0.75, 0.5).cdf).pvalue > 1e-9


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_bad_parameters_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidParameter, match="sigma="):
        LinearObjectivePerturbation(sigma=wrong)
    with pytest.raises(InvalidParameter, match="loss_bound="):
        LinearExponentialERM(epsilon=1.0, loss_bound=wrong)


def test_the_example_tells_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    shown = capsys.readouterr().out
    assert shown.count("REFUTED at level 0.01") == 2
    assert shown.count("not refuted by the same audit") == 2
    assert "Theorem 14.3" in shown
    assert "Theorem 2.5" in shown


def test_a_story_that_does_not_hold_is_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = erm_radius()
    story = replace(told, repaired=told.verdict)
    assert not story.holds
    monkeypatch.setattr("examples.lecture_notes.erm_radius", lambda: story)
    monkeypatch.setattr("examples.lecture_notes.objective_perturbation", lambda: story)
    assert main() == 1
    assert "REFUTED" in capsys.readouterr().out
