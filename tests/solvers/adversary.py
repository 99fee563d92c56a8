"""An adversary that looks for the neighbors on which a mechanism leaks most, by its exact density.

A pair is a point of a space: a few records within the bounds that both sides have, the one that
differs, and labels. For a pair, δ at the claimed ε is E_left(1 − e^(ε − loss))₊, the loss being
the log of the ratio of the two densities. Its mean over draws is an unbiased estimate; draws come
from a mechanism with more noise, weighted by the ratio of the densities, which is bounded, so that
tails of probability δ are seen often. Under pure budgets the loss itself is made as large as
possible, over pairs and outputs at once. The search uses the same random numbers for all pairs, and
what it finds is judged on fresh ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import (
    Bounds,
    GradientDescent,
    HuberHinge,
    Logistic,
    ObjectivePerturbation,
    OutputPerturbation,
    Problem,
    Ridge,
    Softmax,
    SufficientStatistics,
    WholeSpace,
)
from solvers.descent import DescentSetting, path_of
from solvers.sgd import AllocatedBatches, StochasticGradientDescent

_TIE = 1e-12  # of a mean loss, beside δ

Records: TypeAlias = tuple[Floats, Floats]
Pair: TypeAlias = tuple[Records, Records]


class Exact(Protocol):
    """A mechanism whose density is known."""

    @property
    def claim(self) -> Claim: ...
    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Floats: ...  # noqa: ANN401
    def log_density(self, outputs: Any, data: Any) -> Floats: ...  # noqa: ANN401


Family: TypeAlias = Callable[[PureDP | ApproxDP], Exact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """All neighbors with `common` shared records of `features` numbers within the ball of `norm`.

    Each shared record is there `copies` times, so that a few numbers can move a minimum far. Labels
    are among `labels`, or anywhere within ±`label_bound`.
    """

    relation: Relation
    features: int
    common: int
    copies: int = 1
    norm: float = 1.0
    labels: tuple[float, ...] | None = None
    label_bound: float = 1.0

    @property
    def records(self) -> int:
        return self.common + (2 if self.relation is Relation.REPLACE_ONE else 1)

    @property
    def size(self) -> int:
        """How many numbers describe a pair."""
        return self.records * (self.features + (self.labels is None))

    def drawn_labels(self, rng: np.random.Generator) -> Floats:
        """Labels from the set, which a search by small steps cannot change."""
        chosen: Floats = rng.choice(np.array(self.labels or (0.0,), float), self.records)
        return chosen

    def at(self, point: Floats, labels: Floats) -> Pair:
        """The neighbors that a point stands for; every point stands for some."""
        rows = point.reshape(self.records, -1)
        if self.labels is None:
            rows, labels = rows[:, 1:], self.label_bound * np.tanh(2.0 * rows[:, 0])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        inside = self.norm * rows / np.maximum(lengths, 1.0)
        shared = [*range(self.common)] * self.copies
        left = [*shared, self.common]
        right = shared if self.relation is Relation.ADD_REMOVE else [*shared, self.common + 1]
        return (inside[left], labels[left]), (inside[right], labels[right])


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """δ as a mean over draws, its standard error, the largest weight, and the mean loss."""

    value: float
    error: float
    draws: int
    largest: float
    loss: float

    @property
    def merit(self) -> tuple[float, float]:
        """What a search compares: δ, and the mean loss where no draw shows any δ."""
        return self.value, self.loss

    def lower(self, level: float) -> float:
        """A bound that δ is below with probability at most `level`, if no weight is larger.

        [Empirical Bernstein: Maurer, Pontil, COLT 2009, Theorem 4]
        """
        room = math.log(2.0 / level)
        spread = self.error * math.sqrt(2.0 * room)
        return self.value - spread - 7.0 * self.largest * room / (3.0 * (self.draws - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary:
    """Searches the pairs of a family of mechanisms, one for each budget, at the claimed one.

    Outputs have `outputs` numbers, by which draws come from a mechanism with less ε: weights would
    grow with their number otherwise.
    """

    family: Family
    pairs: Pairs
    budget: PureDP | ApproxDP
    outputs: int

    @property
    def wide(self) -> Exact:
        """A mechanism with more noise, to draw from."""
        times = 1.0 + 1.5 / math.sqrt(self.outputs)
        return self.family(replace(self.budget, epsilon=self.budget.epsilon / times))

    def delta(self, pair: Pair, draws: int, seed: int) -> Estimate:
        """δ at the claimed ε for a pair, of the larger of its two directions."""
        first, second = pair
        both = [self._one_way(*way, draws, seed) for way in ((first, second), (second, first))]
        return max(both, key=lambda found: found.merit)

    def _one_way(self, left: Records, right: Records, draws: int, seed: int) -> Estimate:
        exact, wide = self.family(self.budget), self.wide
        outputs = wide.sample(left, draws, rng=np.random.default_rng(seed))
        logs = exact.log_density(outputs, left)
        weights = np.exp(logs - wide.log_density(outputs, left))
        losses = logs - exact.log_density(outputs, right)
        shares = -weights * np.expm1(np.minimum(self.budget.epsilon - losses, 0.0))
        return Estimate(
            value=float(shares.mean()),
            error=float(shares.std(ddof=1)) / math.sqrt(draws),
            draws=draws,
            largest=float(weights.max()),
            loss=float((weights * losses).mean()),
        )

    def worst_delta(
        self, *, starts: int, evaluations: int, draws: int, fresh: int, seed: int
    ) -> tuple[Estimate, Pair]:
        """The largest δ that the search finds, judged on fresh draws; and where it is."""

        def goal(pair: Pair) -> float:
            value, loss = self.delta(pair, draws, seed).merit
            return value + _TIE * loss

        pair = self._searched(goal, starts, evaluations, seed)
        return self.delta(pair, fresh, seed + 1), pair

    def worst_loss(self, *, starts: int, evaluations: int, draws: int, seed: int) -> float:
        """The largest loss that the search finds, over pairs and outputs."""

        def most(pair: Pair) -> float:
            exact = self.family(self.budget)
            outputs = exact.sample(pair[0], draws, rng=np.random.default_rng(seed))
            # Losses are largest far out, where hardly any draw comes: outputs are stretched, too.
            far = np.concatenate([outputs, 4.0 * outputs, 16.0 * outputs])
            losses = exact.log_density(far, pair[0]) - exact.log_density(far, pair[1])
            return float(np.abs(losses).max())

        return most(self._searched(most, starts, evaluations, seed))

    def _searched(
        self, goal: Callable[[Pair], float], starts: int, evaluations: int, seed: int
    ) -> Pair:
        """Nelder and Mead's search from several starts; the best of all."""

        def cost(point: Floats, labels: Floats) -> float:
            return -goal(self.pairs.at(point, labels))

        rng = np.random.default_rng(seed)
        best: tuple[float, Pair] | None = None
        for start in range(starts):
            labels = self.pairs.drawn_labels(rng)
            point = rng.normal(size=self.pairs.size)
            if start % 2:  # records that hardly count beside the one that differs
                rows = point.reshape(self.pairs.records, -1)
                rows[: self.pairs.common] *= 1e-3
                rows[-1] = -rows[self.pairs.common]  # opposite, if it is another one
            found = minimize(
                cost,
                point,
                args=(labels,),
                method="Nelder-Mead",
                options={"maxfev": evaluations, "xatol": 1e-3, "fatol": 0.0},
            )
            if best is None or -found.fun > best[0]:
                best = -float(found.fun), self.pairs.at(found.x, labels)
        if best is None:
            raise ValueError(f"starts={starts!r} must be positive")
        return best[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A method to be attacked: its mechanisms by budget, its pairs, and its number of outputs."""

    name: str
    family: Family
    pairs: Pairs
    outputs: int

    def under(self, budget: PureDP | ApproxDP) -> Adversary:
        return Adversary(family=self.family, pairs=self.pairs, budget=budget, outputs=self.outputs)

    def spoiled(self, budget: PureDP | ApproxDP, times: float) -> Adversary:
        """The adversary of a mechanism that spends that many times the ε that it claims."""
        return replace(
            self.under(budget),
            family=lambda given: self.family(replace(given, epsilon=times * given.epsilon)),
        )


def objective(relation: Relation, features: int, *, ridge: float = 2.0) -> Target:
    """Logistic regression with noise in the objective."""
    problem = Problem(
        loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(ridge)
    )
    return Target(
        name="objective, logistic",
        family=lambda budget: ObjectivePerturbation(
            problem=problem, budget=budget, relation=relation, arithmetic="real"
        ),
        # A label is a sign of its record: one label is all of them.
        pairs=Pairs(relation=relation, features=features, common=1, labels=(1.0,)),
        outputs=features,
    )


def softmax(relation: Relation, features: int, *, copies: int = 1) -> Target:
    """Three classes with noise in the objective; `copies` of others can hold a slope fixed."""
    problem = Problem(
        loss=Softmax(3),
        bounds=Bounds(norm=1.0, labels=(0, 1, 2)),
        regularizer=Ridge(8.0 if copies == 1 else 4.0),
    )
    return Target(
        name="objective, softmax" if copies == 1 else f"softmax, {copies} of each other",
        family=lambda budget: ObjectivePerturbation(
            problem=problem, budget=budget, relation=relation, arithmetic="real"
        ),
        pairs=Pairs(
            relation=relation,
            features=features,
            common=1 if copies == 1 else 2,
            copies=copies,
            labels=(0.0, 1.0, 2.0),
        ),
        outputs=3 * features,
    )


def output(relation: Relation, features: int) -> Target:
    """A smoothed hinge with noise on the minimum."""
    problem = Problem(
        loss=HuberHinge(width=0.1), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(10.0)
    )
    return Target(
        name="output, huber-hinge",
        family=lambda budget: OutputPerturbation(
            problem=problem, budget=budget, relation=relation, arithmetic="real"
        ),
        pairs=Pairs(relation=relation, features=features, common=1, labels=(1.0,)),
        outputs=features,
    )


def gradient(relation: Relation, features: int) -> Target:
    """All of three noisy, clipped gradients, from which any iterate follows."""
    setting = DescentSetting(
        loss=Logistic(),
        bounds=Bounds(norm=1.0, labels=(-1, 1)),
        domain=WholeSpace(),
        relation=relation,
        records=2,
        clip=0.5,
        arithmetic="real",
    )
    return Target(
        name="three gradients, logistic",
        family=lambda budget: (
            GradientDescent(setting, budget=budget, steps=3, learning_rate=1.0).transcript
        ),
        pairs=Pairs(relation=relation, features=features, common=1, labels=(1.0,)),
        outputs=3 * features,
    )


@dataclass(frozen=True, slots=True)
class AllocatedRuns:
    """All noisy sums of one epoch of allocated batches, with their density."""

    method: StochasticGradientDescent

    @property
    def claim(self) -> Claim:
        return self.method.claim

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Floats:  # noqa: ANN401
        return self.method.transcript.sample(data, size, rng=rng)

    def log_density(self, outputs: Any, data: Any) -> Floats:  # noqa: ANN401
        """The mean of the densities over all ways in which records can draw their batches."""
        sums, steps = self.method.setting.sums(data), int(self.method.steps)
        noise, path = self.method.noise(sums.dimension), path_of(self.method, sums.dimension)
        logs = []
        for places in product(range(steps), repeat=sums.records):
            place, log = path.start(len(outputs), sums.dimension), np.zeros(len(outputs))
            for step in range(steps):
                chosen = np.tile(np.array(places, np.int64) == step, (len(outputs), 1))
                totals = sums.total(place.parameters, chosen)
                log += noise.log_density(outputs[:, step], totals, sums.exponent)
                place = path.after(place, outputs[:, step])
            logs.append(log)
        found: Floats = logsumexp(np.array(logs), axis=0) - math.log(len(logs))
        return found


def allocated(relation: Relation, features: int) -> Target:
    """One epoch of two batches, of which every record draws one."""
    setting = DescentSetting(
        loss=Logistic(),
        bounds=Bounds(norm=1.0, labels=(-1, 1)),
        domain=WholeSpace(),
        relation=relation,
        records=2,
        clip=0.5,
        arithmetic="real",
    )
    return Target(
        name="allocated batches",
        family=lambda budget: AllocatedRuns(
            StochasticGradientDescent(
                setting, budget=budget, batches=AllocatedBatches(2), steps=2, learning_rate=1.0
            )
        ),
        pairs=Pairs(relation=relation, features=features, common=1, labels=(1.0,)),
        outputs=2 * features,
    )


def statistics(relation: Relation, features: int) -> Target:
    """Noisy XᵀX and Xᵀy."""
    bounds = Bounds(norm=1.0, label_bound=1.0)
    return Target(
        name="statistics",
        family=lambda budget: (
            SufficientStatistics(
                bounds=bounds, budget=budget, relation=relation, arithmetic="real"
            ).statistics
        ),
        pairs=Pairs(relation=relation, features=features, common=1),
        outputs=features * (features + 3) // 2,
    )
