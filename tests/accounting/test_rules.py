"""Rules: a user's own among the library's, and those that have nothing to say."""

from collections.abc import Iterator

import pytest

import dpverify as dpv
from dpverify.accounting.parts import Parts
from dpverify.accounting.rules import RULES, Rule
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.reporting.plots import composition_figure
from dpverify.theorems import Theorem

DOUBLED = Theorem(
    name="doubled", statement="Twice what is needed is enough.", source="nobody, 2026"
)


class Doubled(Rule):
    """Basic composition, twice."""

    name = "doubled"
    theorem = DOUBLED

    def supports(self, parts: Parts) -> bool:
        return len(parts) < 3

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> float | None:
        found = RULES["basic"].epsilon(parts, delta, tolerance)
        return 2 * found if isinstance(found, float) else None

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> float | None:
        raise NotSupported(f"{parts} at {epsilon} within {tolerance}: for epsilon only")


@pytest.fixture
def doubled() -> Iterator[Rule]:
    rule = dpv.register(Doubled())
    yield rule
    RULES.remove("doubled")


def spent(times: int = 10) -> dpv.Accountant:
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    return accountant.compose(dpv.PureDP(epsilon=0.1), times=times)


def test_every_rule_says_what_it_is() -> None:
    for rule in RULES:
        assert rule.name in RULES
        assert rule.theorem.source
        assert isinstance(rule.supports(spent().parts), bool)
    assert "gaussian (lecture notes)" not in RULES.names


@pytest.mark.usefixtures("doubled")
def test_a_registered_rule_is_compared_and_drawn() -> None:
    """That pages and the command line know it too is shown by the recipe of a rule."""
    table = spent().compare(delta=1e-6)
    assert table["doubled"].upper == pytest.approx(2.0)
    figure = composition_figure(spent(), table)
    labels = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]  # type: ignore[union-attr]
    assert "doubled" in labels


@pytest.mark.usefixtures("doubled")
def test_a_rule_that_cannot_answer_is_left_out() -> None:
    assert "doubled" not in {row.rule for row in spent().compare(epsilon=1.0).rows}
    three = spent().compose(dpv.Gaussian(sigma=9.0)).compose(dpv.Laplace(scale=9.0))
    assert "doubled" not in {row.rule for row in three.compare(delta=1e-6).rows}


def test_what_is_no_answer_is_refused() -> None:
    class Broken(Doubled):
        name = "broken"

        def epsilon(self, parts: Parts, delta: float, tolerance: float) -> float | None:
            return -1.0 - len(parts) * delta * tolerance

    dpv.register(Broken())
    try:
        with pytest.raises(
            InvalidParameter, match=r"rule='broken' answered -1\.[0-9e-]*: it must be"
        ):
            spent().compare(delta=1e-6)
    finally:
        RULES.remove("broken")


def test_half_written_rules_are_refused_by_name() -> None:
    class Half:
        name = "half"
        theorem = DOUBLED

        def supports(self, parts: Parts) -> bool:
            return bool(parts)

        def epsilon(self, parts: Parts, delta: float, tolerance: float) -> float:
            return len(parts) * delta * tolerance

    with pytest.raises(InvalidParameter, match="must have delta"):
        dpv.register(Half())
    with pytest.raises(InvalidParameter, match="'basic' must be new"):
        dpv.register(Doubled(), name="basic")
    with pytest.raises(InvalidParameter, match="must be an instance"):
        dpv.register(Doubled, kind="rule")


@pytest.mark.parametrize(
    ("member", "wrong", "message"),
    [
        ("name", "", r"Doubled\.name='' must be a text"),
        ("name", 3, r"Doubled\.name=3 must be a text"),
        ("theorem", "doubling", r"Doubled\.theorem='doubling' must be a Theorem"),
    ],
)
def test_a_rule_has_a_name_and_a_theorem(
    member: str, wrong: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Doubled, member, wrong)
    with pytest.raises(InvalidParameter, match=message):
        dpv.register(Doubled())
