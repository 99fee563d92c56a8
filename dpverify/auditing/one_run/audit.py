"""Audit a training procedure with canaries, from one run of it.

Every canary is put into the data or left out by its own fair coin, training runs once, and the
canaries with the highest scores are guessed to have been in, those with the lowest to have been
out. How many guesses can be right under a claim is known exactly (`guessing`), so too many right
ones refute it. [Steinke, Nasr, Jagielski, NeurIPS 2023]

How many canaries to guess must be settled before looking. Several numbers may be tried, each with
its share of the level; or guesses in tiers, of which the surest weigh most, are one test that uses
the order of all scores (`tiers`).
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Mask
from dpverify.auditing.one_run.as_it_goes import AsItGoes, Played
from dpverify.auditing.one_run.guessing import Guessed
from dpverify.auditing.one_run.limits import (
    Tiered,
    one_run_epsilon,
    one_run_mu,
    one_run_p_value,
)
from dpverify.auditing.one_run.tiers import Tiers
from dpverify.auditing.one_run.verdict import GuessPlan, OneRunVerdict, Plan
from dpverify.auditing.statistics.binomial import LARGEST_EPSILON
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import AuditClaim, Claimable, read_claim
from dpverify.errors import InvalidParameter, check_between, check_count, check_level, check_seed
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.neighbors import Relation

_SHARES = ((1 / 64, 1 / 64), (1 / 8, 1 / 8), (1 / 16, 0.0))  # of the canaries, in and out
_TIERS, _WEIGHTS = (0.005, 0.015, 0.02), (5, 3, 1)  # of the canaries, for Gaussian claims
_FEWEST = 8  # guesses in a default plan, or in its first tier
_DELTA = 1e-5  # where a claim names none
_MOST_CANARIES = 10**8  # of all runs


def audit_one_run(  # noqa: PLR0913  # a front door
    train: Callable[[Any, np.random.Generator], Any],
    *,
    canaries: int | Sequence[Any],
    claim: Claimable,
    score: Callable[[Any, Any], float] | None = None,
    plans: Sequence[Plan | tuple[int, int]] | None = None,
    runs: int = 1,
    delta: float | None = None,
    level: float = 0.01,
    seed: int = 0,
) -> OneRunVerdict:
    """Try to refute `claim` for adding or removing one record, from one run of `train`, or a few.

    Parameters
    ----------
    train
        `train(included, rng)`, called once a run. `included` is an array of bools if `canaries` is
        a number, else the list of those canaries that are in. Returns the scores of all canaries,
        in order, larger for what looks included; or, if `score` is given, whatever that takes.
    canaries
        How many, or the canaries themselves.
    score
        `score(trained, canary)`; the canary is its index if `canaries` is a number.
    plans
        How many of the highest scores to guess in and of the lowest out: one pair or several, each
        with an equal share of the level. By default a 64th and an eighth of the canaries at both
        ends, and a 16th at the top. Or guesses in `Tiers`, the surest first: the default, about
        4 % of the canaries in three tiers, where the claim is Gaussian DP. Or `AsItGoes`, where
        each guess is chosen, or withheld, by what the earlier ones showed.
    runs
        How often to train, each time with fresh coins. The canaries of all runs are judged as if
        there had been one run with all of them: each coin moves one run only.
    delta
        At which δ `epsilon_lower` is stated; the claim's own, or 1e-5, if None.

    Scores must depend on nothing but what training released and the canaries themselves.

    >>> def leaky(included, rng): return included + rng.normal(size=len(included))
    >>> found = audit_one_run(leaky, canaries=2000, claim=PureDP(epsilon=0.5), seed=1)
    >>> found.refuted
    True
    """
    start = time.perf_counter()
    check_level(level)
    check_seed(seed)
    if not callable(train):
        raise InvalidParameter(f"train={train!r} must be a callable train(included, rng)")
    if not isinstance(canaries, (int, np.integer)) and not hasattr(canaries, "__len__"):
        raise InvalidParameter(f"canaries={canaries!r} must be a number or a list of records")
    count = canaries if isinstance(canaries, (int, np.integer)) else len(canaries)
    check_count("canaries", count)
    check_count("runs", runs)
    if int(count) * int(runs) > _MOST_CANARIES:
        raise InvalidParameter(
            f"canaries times runs, {int(count) * int(runs)}, must be at most {_MOST_CANARIES:,}"
        )
    promised = read_claim(claim, Relation.ADD_REMOVE)
    if claimed_delta(promised, LARGEST_EPSILON) >= 1.0:
        raise InvalidParameter(f"claim={promised!r} must be finite: no guesses could refute it")
    each, count = int(count), int(count) * int(runs)
    chosen = _plans(plans, count, promised)
    seeds = np.random.SeedSequence(int(seed)).spawn(3)
    coins, training, ties = (np.random.Generator(np.random.PCG64(child)) for child in seeds)
    included = coins.random(count) < 0.5
    parts = included.reshape(int(runs), each)
    scores = np.concatenate([_scores(train, canaries, score, part, training) for part in parts])
    order = np.lexsort((ties.random(count), scores))
    counted = [_counted(plan, scores, order, included) for plan in chosen]
    share, at = level / len(chosen), _delta(promised, delta)
    values = [_p_value(seen, promised, share) for seen in counted]
    best = int(np.argmin(values))
    return OneRunVerdict(
        claim=promised,
        level=float(level),
        p_value=min(1.0, values[best] * len(chosen)),
        epsilon_lower=max(_epsilon(guessed, at, share) for guessed in counted),
        delta=at,
        mu_lower=_mu(counted, share) if isinstance(promised, GaussianDP) else None,
        best=chosen[best],
        correct=counted[best].correct,
        guesses=counted[best].guesses,
        canaries=count,
        included=int(included.sum()),
        plans=chosen,
        seed=int(seed),
        seconds=time.perf_counter() - start,
    )


_Seen: TypeAlias = Guessed | Tiered | Played


def _counted(plan: Plan, scores: Floats, order: NDArray[np.int64], included: Mask) -> _Seen:
    count = len(included)
    match plan:
        case Tiers():
            return Tiered(plan, plan.wrong(order, included), count)
        case AsItGoes():
            return Played(plan.play(scores, order, included), count)
        case GuessPlan(guesses=guesses):
            right = plan.right(order, included)
            return Guessed(guesses=guesses, correct=right, canaries=count)


def _p_value(seen: _Seen, claim: AuditClaim, level: float) -> float:
    match seen:
        case Tiered():
            return seen.p_value(claim)
        case Played():
            return seen.p_value(claim, level)
        case Guessed():
            return one_run_p_value(seen, claim)


def _epsilon(seen: _Seen, delta: float, level: float) -> float:
    if isinstance(seen, Tiered | Played):
        return seen.epsilon(delta, level)
    return one_run_epsilon(
        guesses=seen.guesses,
        correct=seen.correct,
        canaries=seen.canaries,
        delta=delta,
        level=level,
    )


def _mu(counted: Sequence[_Seen], level: float) -> float:
    return max(
        g.mu(level)
        if isinstance(g, Tiered | Played)
        else one_run_mu(guesses=g.guesses, correct=g.correct, canaries=g.canaries, level=level)
        for g in counted
    )


def _delta(claim: AuditClaim, delta: float | None) -> float:
    """The δ asked for, else the claim's, else the customary one."""
    if delta is not None:
        check_between("delta", delta, 0.0, 1.0)
        return float(delta)
    match claim:
        case PureDP():
            return 0.0
        case ApproxDP(delta=own):
            return float(own)
        case _:
            return _DELTA


def _plans(
    plans: Sequence[Plan | tuple[int, int]] | None, canaries: int, claim: AuditClaim
) -> tuple[Plan, ...]:
    if plans is None:
        return _default_plans(canaries, claim)
    found = [
        plan if isinstance(plan, GuessPlan | Tiers | AsItGoes) else GuessPlan(*plan)
        for plan in plans
    ]
    if not found:
        raise InvalidParameter(f"plans={plans!r} must not be empty")
    for plan in found:
        if plan.guesses > canaries:
            raise InvalidParameter(f"plans={plan!r} must guess at most canaries={canaries}")
    return tuple(dict.fromkeys(found))


def _default_plans(canaries: int, claim: AuditClaim) -> tuple[Plan, ...]:
    tiers = tuple(round(share * canaries) for share in _TIERS)
    if isinstance(claim, GaussianDP) and tiers[0] >= _FEWEST:
        return (Tiers(tiers, _WEIGHTS),)
    least = min(_FEWEST, canaries)
    numbers = [tuple(math.ceil(share * canaries) for share in shares) for shares in _SHARES]
    found = [GuessPlan(*n) for n in numbers if least <= sum(n) <= canaries]
    return tuple(dict.fromkeys(found)) or (GuessPlan(canaries - canaries // 2, canaries // 2),)


def _scores(
    train: Callable[[Any, np.random.Generator], Any],
    canaries: int | Sequence[Any],
    score: Callable[[Any, Any], float] | None,
    included: Mask,
    rng: np.random.Generator,
) -> Floats:
    listed = range(len(included)) if isinstance(canaries, (int, np.integer)) else canaries
    if listed is canaries:
        trained = train([c for c, inside in zip(listed, included, strict=True) if inside], rng)
    else:
        trained = train(included.copy(), rng)
    raw = trained if score is None else [score(trained, canary) for canary in listed]
    try:
        scores = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if scores.shape != included.shape or np.isnan(scores).any():
        raise InvalidParameter(
            f"scores of shape {scores.shape} must be {len(included)} numbers, one a canary, "
            "none of them NaN"
        )
    return scores
