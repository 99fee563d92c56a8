"""Noisy gradient descent that releases only the last iterate: how much noise it needs, and why.

One step is φ(θ) + noise, projected, with φ(θ) = θ − η·(mean gradient + ridge·θ). For convex losses
of smoothness β all curvatures of the mean lie between the ridge r and β + r, so φ brings points
closer by c = max(|1 − η·r|, |1 − η·(β + r)|) at least, and c ≤ 1 if η ≤ 2/(β + r). The theorem
`last-iterate` then bounds what the last iterate tells, however many steps there were.

- The number of records is public. Where they are added or removed it is not, and with it the
  curvature of their sum, divided by a declared number, has no bound.
- Clipping the slope of a loss of one score a record keeps φ contracting: the clipped slope still
  rises with the score, no faster than before, so it is the slope of another convex, β-smooth loss.
  Clipped vectors of slopes are not, so softmax losses must not be clipped.

*On the grid* no step is φ(θ) + noise exactly: parameters, slopes, sums and noise are rounded, and θ
is computed in floats. With the noise as it was before rounding, one step ends within ρ of the ideal
one from the same θ, and steps contract; so the last iterate is within ρ·Σ cʲ of the ideal one that
the same noise leads to. A last Gaussian noise hides that distance: the pair of ideal iterate and
what is released is an adaptive composition, with μ² = μ₁² + μ₂². [Theorem last-iterate-rounding]
The two noises add up to the least where μ₁² and μ₂² are as the two distances
that they hide.

ρ is the sum of these, for ‖θ‖ ≤ B on the domain, slopes clipped to C, rows within R, d parameters
and noise of standard deviation σ on a sum over n records:

- η·β·√d·B·2^-29: parameters are cut to multiples of 2^-30 of a power of two ≤ 2·‖θ‖;
- η·C·2^-20: half a unit of each slope times its row, units being at most 2·C/R·2^-20; for K classes
  vectors of slopes are cut, and shortened by two units at most: (2·√K + 4) times that;
- η·2^-30·(L + β·(1/R + B)): floats in the slopes, far more than the losses here lose; a loss of
  your own must not lose more, either;
- η·g·√d/n: sums and noise are rounded to steps of g, by half a step each;
- (d + 64)·2^-52·(B + η·(L + r·B + 1024·σ·√d/n)): floats in the step and its projection, as long as
  no coordinate of any noise exceeds 1024·σ. It does with a probability below e^(−2^18) in all, and
  2^-40 of δ is set aside for that.
"""

import math
from dataclasses import dataclass, replace

from flint import arb

from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, NotSupported, check_between
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import LastIterate
from dpverify.neighbors import Relation
from solvers.descent import DescentSetting
from solvers.domains import Ball, Box
from solvers.losses.softmax import classes_of
from solvers.privacy.noise import Budget, LastNoise, noise_ratio

_ROOM = 1.0 + 2.0**-20  # for the floats in which distances are added up
_ASIDE = 2.0**-40  # of δ, for noise beyond _FAR standard deviations
_FAR = 1024.0
_LEAST_DELTA = 2.0**-900
_MOST_EPSILON = 2.0**17  # so that e^ε times what is set aside for is below it, too
_LARGEST = 2.0**500  # what squares without overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPath:
    """The cost of releasing only the last of `steps` iterates, and the noise for it.

    >>> from dpverify import GaussianDP
    >>> from solvers import Bounds, Logistic, WholeSpace
    >>> setting = DescentSetting(
    ...     loss=Logistic(), bounds=Bounds(norm=2.0, labels=(-1, 1)), domain=WholeSpace(),
    ...     relation=Relation.REPLACE_ONE, records=100, ridge=0.25, arithmetic="real")
    >>> path = HiddenPath(setting=setting, budget=GaussianDP(mu=1.0), steps=10**6,
    ...                   learning_rate=0.8, dimension=2)
    >>> path.contraction
    0.8
    >>> round(path.scale, 6)  # (1 + c)/(1 − c) = 9 steps' worth of sensitivity 4
    12.0
    """

    setting: DescentSetting
    budget: Budget
    steps: int
    learning_rate: float
    dimension: int

    def __post_init__(self) -> None:
        setting, on_grid = self.setting, self.setting.arithmetic == "grid"
        if setting.relation is not Relation.REPLACE_ONE:
            raise NotSupported(
                f"relation={setting.relation.value!r} must be {Relation.REPLACE_ONE.value!r} for "
                "accounting='last': unless the number of records is public, nothing bounds the "
                "curvature of their sum"
            )
        if not setting.loss.smooth:
            raise NotSupported(
                f"loss={setting.loss.name!r} must be smooth for accounting='last': steps along a "
                "corner do not contract"
            )
        if isinstance(self.budget, PureDP) or (on_grid and not isinstance(self.budget, ApproxDP)):
            wanted = "ApproxDP" if on_grid else "ApproxDP, GaussianDP or ZeroConcentratedDP"
            raise InvalidParameter(f"budget={self.budget!r} must be {wanted} for accounting='last'")
        if on_grid and not isinstance(setting.domain, Ball | Box):
            raise NotSupported(
                f"domain={setting.domain.name!r} must be a ball or a box for accounting='last', "
                "which bounds the rounding of iterates; arithmetic='real' takes any"
            )
        if isinstance(self.budget, ApproxDP):
            check_between("epsilon", self.budget.epsilon, 0.0, _MOST_EPSILON)
            check_between("delta", self.budget.delta, _LEAST_DELTA, 1.0)
        steepest = enclose(lambda: ball(self.learning_rate) * self._steepest)[1]
        if steepest > 2.0:
            most = enclose(lambda: 2 / self._steepest)[0]
            raise InvalidParameter(
                f"learning_rate={self.learning_rate!r} must be at most {most:.6g} for "
                "accounting='last': longer steps do not contract"
            )
        if classes_of(setting.loss) > 1 and self._lipschitz > self._clip:
            raise NotSupported(
                f"clip={setting.clip!r} must be None or at least {self._lipschitz:.6g} for "
                "accounting='last': clipped gradients of several classes do not contract"
            )
        self._check_sizes(on_grid=on_grid)

    def _check_sizes(self, *, on_grid: bool) -> None:
        setting = self.setting
        if not ball(self.learning_rate) * _LARGEST > ball(self._apart) or (
            on_grid and not self._farthest < _LARGEST
        ):
            raise InvalidParameter(
                f"learning_rate={self.learning_rate!r} and ridge={float(setting.ridge)!r} must be "
                "of a size for accounting='last' at which iterates neither overflow nor underflow"
            )
        # Slopes are off by half a unit, so that refuses more than 2^20 records. As the noise is at
        # least 2^-9 of the clipping norm, no sum is ever held within ±2^61 steps of the grid.
        if on_grid and self._share > 0.5:
            raise InvalidParameter(
                f"records={setting.records!r} must be fewer for accounting='last': rounding moves "
                "the last iterate as far as a record does"
            )

    @property
    def _steepest(self) -> arb:
        """The largest curvature of the mean loss, with the ridge."""
        return ball(self.setting.loss.smoothness(self.setting.bounds)) + ball(self.setting.ridge)

    @property
    def _clip(self) -> float:
        return self.setting.clipping_norm(self.dimension)

    @property
    def _lipschitz(self) -> float:
        return self.setting.loss.lipschitz(self.setting.bounds, self.setting.domain, self.dimension)

    @property
    def contraction(self) -> float:
        """c: how much closer a step without noise brings any two points, rounded up."""
        rate, ridge = ball(self.learning_rate), ball(self.setting.ridge)
        flat, steep = abs(1 - rate * ridge), abs(1 - rate * self._steepest)
        return min(1.0, enclose(lambda: flat.max(steep))[1])

    @property
    def _total(self) -> float:
        """Σ cʲ over all steps, rounded up."""
        c = self.contraction
        if c == 1.0:
            return float(self.steps)
        return enclose(lambda: (1 - ball(c) ** self.steps) / (1 - ball(c)))[1]

    @property
    def _apart(self) -> float:
        """The diameter of the domain times the records, rounded up; 0 if it is unbounded."""
        domain = self.setting.domain
        if not domain.bounded:
            return 0.0
        return enclose(lambda: ball(domain.diameter(self.dimension)) * int(self.setting.records))[1]

    @property
    def _farthest(self) -> float:
        """A bound on the norm of a point before projection, unless a noise is extremely large."""
        setting, d = self.setting, self.dimension
        reach, records = setting.domain.largest_norm(d), int(setting.records)
        noise = _FAR * self._most_scale * math.sqrt(d) / records
        pull = self._lipschitz + float(setting.ridge) * reach + noise
        return reach + float(self.learning_rate) * pull

    @property
    def _most_scale(self) -> float:
        """An upper bound on the noise scale, as the last noise takes at most half of μ²."""
        return 1.6 * self._unit * self._ratio

    @property
    def _unit(self) -> float:
        """√ of the total μ² if every sum had noise of standard deviation 1, rounded up."""
        setting = self.setting
        diameter = None
        if setting.domain.bounded:
            diameter = enclose(lambda: ball(self._apart) / ball(self.learning_rate))[1]
        run = LastIterate(
            sigma=1.0,
            l2_sensitivity=2.0 * self._clip,
            steps=self.steps,
            contraction=self.contraction,
            diameter=diameter,
        )
        return enclose(run.squared_mu.sqrt)[1]

    @property
    def _ratio(self) -> float:
        """1/μ of the budget, after what the grid needs is set aside."""
        budget = self.budget
        if self.setting.arithmetic == "grid" and isinstance(budget, ApproxDP):
            budget = replace(budget, delta=budget.delta * (1.0 - _ASIDE))
        return noise_ratio(budget, 1)

    @property
    def _share(self) -> float:
        """The share of μ² for the last noise, by the distances that the two noises hide."""
        record = 2.0 * self._clip * self.learning_rate / int(self.setting.records)
        return 2.0 * self.step_error / (record + 2.0 * self.step_error)

    @property
    def scale(self) -> float:
        """The standard deviation of the noise on each sum, rounded up."""
        share = self._share if self.setting.arithmetic == "grid" else 0.0
        left = math.nextafter(1.0 - share, 0.0)
        return enclose(lambda: ball(self._unit) * ball(self._ratio) / ball(left).sqrt())[1]

    @property
    def step_error(self) -> float:
        """ρ: a bound on how far a step on the grid ends from the ideal step with the same noise."""
        setting, eta, d = self.setting, float(self.learning_rate), self.dimension
        beta, clip, norm = setting.loss.smoothness(setting.bounds), self._clip, setting.bounds.norm
        reach, records = setting.domain.largest_norm(d), int(setting.records)
        root, classes = math.sqrt(d), classes_of(setting.loss)
        cut = beta * root * reach * 2.0**-29
        units = (1.0 if classes == 1 else 2.0 * math.sqrt(classes) + 4.0) * clip * 2.0**-20
        slopes = 2.0**-30 * (self._lipschitz + beta * (1.0 / norm + reach))
        grid = max(2.0 * clip * 2.0**-20, root * self._most_scale * 2.0**-32) / records
        floats = (d + 64.0) * 2.0**-52 * self._farthest
        return _ROOM * (eta * (cut + units + slopes + grid) + floats)

    @property
    def last_noise(self) -> LastNoise:
        """The noise that hides how far the last iterate, on the grid, is from the ideal one."""
        low = self._share * (1.0 - 2.0**-50)
        return LastNoise(
            error=_ROOM * self.step_error * self._total,
            ratio=enclose(lambda: ball(self._ratio) / ball(low).sqrt())[1],
            gaussian=True,
        )
