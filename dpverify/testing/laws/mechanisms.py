"""Laws of every mechanism: its claim, pair, density and draws agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.auditing import audit
from dpverify.auditing.statistics.points import implied_points
from dpverify.errors import NotSupported
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.testing.laws.law import Law, require

_DRAWS = 200
_ROUNDING = 1e-6  # of a log density, which grids and floats round


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A mechanism on two neighboring inputs; `level` bounds the false alarms of all audits.

    A mechanism without a sampler, such as a subsampled one, has its pair tried alone.
    """

    mechanism: Any
    relation: Relation
    left: Any = None
    right: Any = None
    level: float = 1e-9
    samples: int = 4_000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A mechanism whose outputs are rounded, which is post-processing."""

    mechanism: Any

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return np.round(np.asarray(self.mechanism.sample(data, size, rng=rng), dtype=np.float64))


def mechanism_laws(trial: Trial) -> tuple[Law, ...]:
    """The laws that apply to what this mechanism provides."""
    has = {name: hasattr(trial.mechanism, name) for name in ("claim", "pair", "sample")}
    found = []
    if has["claim"] and has["pair"]:
        found.append(Law(PAIR, pair_keeps_the_claim))
    if has["sample"]:
        found.append(Law(SEED, draws_follow_the_seed))
    if has["claim"] and has["sample"]:
        found += [Law(AUDIT, audit_does_not_refute), Law(POST, post_processing_keeps_the_claim)]
        if hasattr(trial.mechanism, "log_density"):
            found.append(Law(DENSITY, density_keeps_the_claim))
    if has["pair"]:
        found.append(Law(BOTH, pair_serves_both_sides))
    return tuple(found)


def pair_keeps_the_claim(trial: Trial) -> None:
    pair = trial.mechanism.pair(trial.relation)
    for side in (pair, pair.reversed):
        for point in implied_points(trial.mechanism.claim.guarantee):
            found = side.delta_bracket(point.epsilon)
            holds = found.lower <= point.delta
            require(holds, PAIR, trial, f"δ({point.epsilon}) = {found} > {point.delta}")


def pair_serves_both_sides(trial: Trial) -> None:
    """Both directions have the same δ at ε = 0."""
    pair = trial.mechanism.pair(trial.relation)
    one, other = pair.delta_bracket(0.0), pair.reversed.delta_bracket(0.0)
    holds = one.lower <= other.upper and other.lower <= one.upper
    require(holds, BOTH, trial, f"total variation {one} one way, {other} the other")


def draws_follow_the_seed(trial: Trial) -> None:
    def draw(seed: int) -> Any:  # noqa: ANN401
        rng = np.random.default_rng(seed)
        return np.asarray(trial.mechanism.sample(trial.left, _DRAWS, rng=rng))

    same = np.array_equal(draw(trial.seed), draw(trial.seed))
    require(same, SEED, trial, "two draws from one seed differ")
    require(len(draw(trial.seed)) == _DRAWS, SEED, trial, "not as many draws as were asked for")


def audit_does_not_refute(trial: Trial) -> None:
    _audit(trial, trial.mechanism, AUDIT)


def post_processing_keeps_the_claim(trial: Trial) -> None:
    _audit(trial, _Rounded(trial.mechanism), POST)


def density_keeps_the_claim(trial: Trial) -> None:
    """For a pure claim, no drawn output is more than e^ε times likelier on one side."""
    guarantee = trial.mechanism.claim.guarantee
    if not isinstance(guarantee, PureDP):
        return
    for data in (trial.left, trial.right):
        outputs = trial.mechanism.sample(data, _DRAWS, rng=np.random.default_rng(trial.seed))
        try:
            left, right = (
                np.asarray(trial.mechanism.log_density(outputs, side))
                for side in (trial.left, trial.right)
            )
        except NotSupported:  # there is no formula for this setting
            return
        worst = float(np.max(np.abs(left - right)))
        holds = worst <= guarantee.epsilon + _ROUNDING
        require(holds, DENSITY, trial, f"a log ratio of {worst} > {guarantee.epsilon}")


def _audit(trial: Trial, mechanism: Any, law: str) -> None:  # noqa: ANN401
    verdict = audit(
        mechanism,
        left=trial.left,
        right=trial.right,
        claim=trial.mechanism.claim.guarantee,
        level=trial.level / 2.0,
        samples=trial.samples,
        seed=trial.seed,
    )
    require(not verdict.refuted, law, trial, str(verdict))


PAIR = "the dominating pair keeps the claim"
BOTH = "both directions of the pair have the same total variation"
SEED = "draws follow the seed"
AUDIT = "an audit does not refute the claim"
POST = "nor one of rounded outputs"
DENSITY = "the density keeps a pure claim"
