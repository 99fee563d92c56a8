r"""White-box audits of DP-SGD steps: each is a Gaussian pair, so a few steps show a lot.

**Claim.** Step t releases X_t = s_t + 1[canary in]·g_t + C·σ·N(0, I), where s_t is the sum of the
other records' gradients, each clipped to norm C, and g_t the canary's, clipped to C; the noise of
each step is fresh. Who sees the model and the batch knows s_t and g_t, so the residual
R_t = (X_t − s_t − 1[canary in]·g_t)/(C·σ) is N(0, I_d) and independent of the past.

The tests, each with an exact law under the claim:

- Along s_t the residual is N(0, 1): it is not where gradients are divided by a private batch size.
- Across s_t its squared norm is χ² with d − 1 degrees of freedom, in each step and in all together:
  less where noise is forgotten or too small, more where something else was clipped.
- ⟨R_t, R_{t+1}⟩/‖R_t‖, given the past, is N(0, 1): it is far away where noise is used twice.
- Along ĝ_t = g_t/‖g_t‖ the mean of ⟨X_t − s_t, ĝ_t⟩ over steps with the canary, less that over
  steps without it, has mean at most C and variance C²σ²(1/a + 1/b) for a and b steps: it is too
  large where one record moves the sum by more than C.

P-values are exact but for Bonferroni's inequality over tests and steps. `mu_lower` is another
matter: the shift over the noise, seen through ĝ_t, by the noncentral t distribution. It assumes
Gaussian noise of one size, and nothing of the claim.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpverify.arrays import Floats, Mask
from dpverify.auditing.batches import BatchTest
from dpverify.errors import InvalidParameter, check_level, check_positive

_LEAST_P = 1e-300
_LARGEST_RATIO = 1e5  # of shift and noise: beyond, the noncentral t distribution is not computed
_ROUNDING = 1e-12  # of the noncentral t distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsVerdict:
    """Whether steps contradict the accounted clipping and noise.

    `mu_lower` exceeds the μ of one step with probability at most `level`, if noise is Gaussian of
    one size: μ-GDP with μ = 1/σ is what is accounted for. Not refuted does not mean private, and
    refuted does not mean that it is not: more noise than is claimed is not what is claimed either.

    >>> import dpverify as dpv
    >>> rng = np.random.default_rng(1)
    >>> sums, included = np.zeros((40, 10)), np.arange(40) % 2 == 0
    >>> found = dpv.audit_steps(
    ...     0.5 * rng.normal(size=sums.shape), sums, canary=np.ones(10), included=included,
    ...     clip=1.0, noise_multiplier=2.0)
    >>> found.refuted
    True
    """

    refuted: bool
    level: float
    clip: float
    noise_multiplier: float
    steps: int
    parameters: int
    mu_lower: float
    tests: tuple[BatchTest, ...]

    def __str__(self) -> str:
        head = "refuted" if self.refuted else "not refuted"
        share = self.level / len(self.tests)
        claimed = (
            f"gradients clipped to {self.clip:g} and noise {self.noise_multiplier:g} times that"
        )
        lines = [f"{head}: {claimed} ({self.steps:,} steps, level {self.level:g})"]
        lines += [f"  {test}" for test in self.tests if test.p_value <= share]
        accounted = 1.0 / self.noise_multiplier
        shown = f"one step has μ ≥ {self.mu_lower:.3f} if its noise is Gaussian of one size"
        lines.append(f"{shown}; accounted for is {accounted:.3f}")
        return "\n".join(lines)


def audit_steps(  # noqa: PLR0913  # what a step is made of
    released: Any,  # noqa: ANN401
    others: Any,  # noqa: ANN401
    *,
    canary: Any,  # noqa: ANN401
    included: Any,  # noqa: ANN401
    clip: float,
    noise_multiplier: float,
    level: float = 0.001,
) -> StepsVerdict:
    """Try to refute that steps release sums of clipped gradients with the claimed noise.

    Parameters
    ----------
    released
        The noisy sums of gradients, before any division: one row a step.
    others
        The same sums without noise and without the canary, from gradients that are clipped as
        they should be.
    canary
        The canary's gradient, one row a step or one for all; it is clipped here.
    included
        For each step, whether the canary was in.
    clip
        The norm to which each record's gradient is clipped.
    noise_multiplier
        The standard deviation of the noise over `clip`.
    level
        Bound on the probability that steps that are as claimed are refuted.

    >>> rng = np.random.default_rng(0)
    >>> others, canary, included = rng.normal(size=(60, 20)), np.ones(20), np.arange(60) % 2 == 0
    >>> sums = others + included[:, None] * canary / np.linalg.norm(canary)
    >>> def judged(noise): return audit_steps(
    ...     sums + noise * rng.normal(size=sums.shape), others, canary=canary, included=included,
    ...     clip=1.0, noise_multiplier=1.0)
    >>> judged(1.0).refuted, judged(0.8).refuted
    (False, True)
    """
    check_level(level)
    check_positive("clip", clip)
    check_positive("noise_multiplier", noise_multiplier)
    seen = _Steps.read(released, others, canary, included, clip, noise_multiplier)
    tests = tuple(sorted(seen.tests(), key=lambda test: test.p_value))
    return StepsVerdict(
        refuted=any(test.p_value <= level / len(tests) for test in tests),
        level=float(level),
        clip=float(clip),
        noise_multiplier=float(noise_multiplier),
        steps=len(seen.included),
        parameters=seen.sums.shape[1],
        mu_lower=seen.mu_lower(level),
        tests=tests,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """In units of the noise: sums without the canary, releases minus these sums, and canaries."""

    sums: Floats
    rest: Floats
    canary: Floats
    included: Mask
    clip: float

    @classmethod
    def read(  # noqa: PLR0913, PLR0917
        cls,
        released: Any,  # noqa: ANN401
        others: Any,  # noqa: ANN401
        canary: Any,  # noqa: ANN401
        included: Any,  # noqa: ANN401
        clip: float,
        multiplier: float,
    ) -> "_Steps":
        noisy, sums = _matrix("released", released), _matrix("others", others)
        if noisy.shape != sums.shape or noisy.shape[1] < 2 or len(noisy) < 4:
            raise InvalidParameter(
                f"released of shape {noisy.shape} and others of shape {sums.shape} must be alike, "
                "with 4 steps and 2 parameters at least"
            )
        rows = np.atleast_2d(np.asarray(canary, dtype=np.float64))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if rows.shape not in {noisy.shape, (1, noisy.shape[1])} or not (norms > 0).all():
            raise InvalidParameter(
                f"canary of shape {rows.shape} must be one gradient, or one a step, none of them 0"
            )
        inside = np.asarray(included)
        if inside.dtype != np.bool_ or inside.shape != (len(noisy),):
            raise InvalidParameter(f"included must be {len(noisy)} bools, one a step")
        if not 2 <= inside.sum() <= len(noisy) - 2:
            raise InvalidParameter(
                f"included, true in {inside.sum()} of {len(inside)} steps, must be true in 2 at "
                "least, and false in 2"
            )
        unit = clip * multiplier
        clipped = np.broadcast_to(rows * np.minimum(1.0, clip / norms) / unit, noisy.shape)
        return cls(sums / unit, (noisy - sums) / unit, clipped, inside, 1.0 / multiplier)

    @property
    def residuals(self) -> Floats:
        return self.rest - self.included[:, None] * self.canary

    def tests(self) -> "list[BatchTest]":
        residuals = self.residuals
        lengths = np.linalg.norm(self.sums, axis=1)
        some = lengths > 0.0
        directions = np.divide(
            self.sums, lengths[:, None], out=np.zeros_like(self.sums), where=some[:, None]
        )
        along = (residuals * directions).sum(axis=1)
        across = ((residuals - along[:, None] * directions) ** 2).sum(axis=1)
        freedom = residuals.shape[1] - some.astype(np.float64)
        scaled = float(scipy.stats.chi2.sf((along[some] ** 2).sum(), max(some.sum(), 1)))
        return [
            _test("sums of gradients are scaled, as by a private batch size", scaled),
            *_sizes(across, freedom),
            *_repeats(residuals),
            self._shift(),
        ]

    def _sides(self) -> tuple[Floats, Floats]:
        directions = self.canary / np.linalg.norm(self.canary, axis=1, keepdims=True)
        seen = (self.rest * directions).sum(axis=1)
        return seen[self.included], seen[~self.included]

    def _shift(self) -> BatchTest:
        inside, outside = self._sides()
        spread = math.sqrt(1.0 / len(inside) + 1.0 / len(outside))
        found = float(inside.mean() - outside.mean())
        p = float(scipy.stats.norm.sf((found - self.clip) / spread))
        return _test(f"the canary moves sums by {found / self.clip:.2f} times the clipping norm", p)

    def mu_lower(self, level: float) -> float:
        """The smallest μ under which so large a t is not rejected at the level."""
        inside, outside = self._sides()
        a, b = len(inside), len(outside)
        spread = math.sqrt(1.0 / a + 1.0 / b)
        square = ((inside - inside.mean()) ** 2).sum() + ((outside - outside.mean()) ** 2).sum()
        shift, deviation = float(inside.mean() - outside.mean()), math.sqrt(square / (a + b - 2))
        if shift <= 0.0:
            return 0.0
        deviation = max(deviation, shift / _LARGEST_RATIO)  # more of it shows less

        def tail(mu: float) -> float:
            found = scipy.special.nctdtr(a + b - 2, mu / spread, shift / deviation / spread)
            return 1.0 - float(found) + _ROUNDING

        low, high = 0.0, shift / deviation
        if not tail(low) <= level:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if tail(middle) <= level else (low, middle)
        return low


def _sizes(squares: Floats, freedom: Floats) -> list[BatchTest]:
    """Tests on the size of the noise: over all steps, and of the step that has least."""
    freedom_of_all = float(freedom.sum())
    total, law = float(squares.sum()), scipy.stats.chi2(freedom_of_all)
    share = math.sqrt(total / freedom_of_all)
    steps = np.asarray(scipy.stats.chi2.cdf(squares, freedom))
    least = int(np.argmin(steps))
    lowest = math.sqrt(squares[least] / freedom[least])
    off = f"sums are off those of clipped gradients by {share:.3g} times the noise, or it is larger"
    return [
        _test(f"noise is {share:.3g} times what is claimed", float(law.cdf(total))),
        _test(off, float(law.sf(total))),
        _test(f"step {least + 1} has {lowest:.3g} times the noise", steps[least] * len(steps)),
    ]


def _repeats(residuals: Floats) -> list[BatchTest]:
    """Tests whether the noise of a step is related to that of the step before."""
    norms = np.linalg.norm(residuals[:-1], axis=1)
    products = (residuals[:-1] * residuals[1:]).sum(axis=1)
    along = np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0.0)
    mean = float(along.sum()) / math.sqrt(len(along))
    largest = float(np.abs(along).max())
    return [
        _test("noise of successive steps is related", 2.0 * scipy.stats.norm.sf(abs(mean))),
        _test("noise of a step is used again", 2.0 * len(along) * scipy.stats.norm.sf(largest)),
    ]


def _test(seen: str, p: float) -> BatchTest:
    return BatchTest(seen, float(min(max(p, _LEAST_P), 1.0)))


def _matrix(name: str, values: Any) -> Floats:  # noqa: ANN401
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidParameter(f"{name} must be rows of finite numbers, one row a step")
    return rows
