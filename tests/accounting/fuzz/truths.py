"""Profiles of products of laws by four methods, each returned between two numbers.

With M(z) = E e^{zL} of the whole product, δ(ε) = 1/(2πi) ∫ M(z)·e^{−zε}/(z(z+1)) dz over Re z = c,
since 1/(z(z+1)) is the Laplace transform of (1 − e^{−x})₊. Closed forms, sums over all outcomes and
sums of residues carry 90 digits; contour integrals carry about ten, and say so.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np
from scipy.optimize import minimize_scalar

from tests.accounting.fuzz.laws import (
    DIGITS,
    Atoms,
    Exponential,
    Law,
    Normal,
    NoTruth,
    Sampled,
    exactly,
)

Parts: TypeAlias = Sequence[tuple[Law, int]]
Interval: TypeAlias = tuple[Any, Any]
Profile: TypeAlias = Callable[[float], Interval]

_EXACT = 1e-30  # relative error allowed to what is computed with 90 digits
_LEAST_AGREEMENT = 1e-8  # relative; contours that agree less are no truth
_MOST_POINTS = 12_000


def worse(parts: Parts) -> Profile:
    """δ(ε) of the product in the worse of its two directions."""
    forth, back = one_way(parts), one_way([(law.reversed, times) for law, times in parts])

    def profile(epsilon: float) -> Interval:
        (low, high), (other_low, other_high) = forth(epsilon), back(epsilon)
        return max(low, other_low), max(high, other_high)

    return profile


def one_way(parts: Parts) -> Profile:
    """The method that suits the laws."""
    laws = [law for law, _ in parts]
    if all(isinstance(law, Normal) for law in laws):
        return lambda epsilon: _known(normal(parts, epsilon))
    if all(isinstance(law, Atoms) for law in laws):
        return lambda epsilon: _known(summed(parts, epsilon))
    if all(isinstance(law, Atoms | Exponential) for law in laws):
        return lambda epsilon: _known(residues(parts, epsilon))
    if len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], Sampled):
        law = parts[0][0]
        return lambda epsilon: _known(sampled_once(law, epsilon))
    return lambda epsilon: contour(parts, epsilon)


def _known(value: Any) -> Interval:  # noqa: ANN401  # an mpf
    with mp.workdps(DIGITS):
        return value * (1 - mp.mpf(_EXACT)), value * (1 + mp.mpf(_EXACT))


def normal(parts: Parts, epsilon: float) -> Any:  # noqa: ANN401  # an mpf
    """Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    total = sum((law.square * times for law, times in parts if isinstance(law, Normal)), start=0)
    with mp.workdps(DIGITS + int(epsilon) + 200):
        mu, e = mp.sqrt(exactly(total)), exactly(epsilon)
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def summed(parts: Parts, epsilon: float) -> Any:  # noqa: ANN401  # an mpf
    """Σ (p − e^ε·q)₊ over all outcomes, equal ones counted by multinomials."""
    with mp.workdps(DIGITS):
        ratio = mp.exp(exactly(epsilon))
        whole = [(mp.mpf(1), mp.mpf(1))]
        for law, times in parts:
            power = _power(law, times)
            whole = [(p * r, q * s) for p, q in whole for r, s in power]
        return mp.fsum(p - ratio * q for p, q in whole if p > ratio * q)


def _power(law: Law, times: int) -> list[tuple[Any, Any]]:
    outcomes = law.outcomes if isinstance(law, Atoms) else ()
    found = []
    for cuts in itertools.combinations(range(times + len(outcomes) - 1), len(outcomes) - 1):
        edges = [-1, *cuts, times + len(outcomes) - 1]
        counts = [high - low - 1 for low, high in itertools.pairwise(edges)]
        weight, left = 1, times
        for count in counts:
            weight *= int(mp.binomial(left, count))
            left -= count
        p = q = mp.mpf(weight)
        for count, (one, other) in zip(counts, outcomes, strict=True):
            p, q = p * one**count, q * other**count
        found.append((p, q))
    return found


def residues(parts: Parts, epsilon: float) -> Any:  # noqa: ANN401  # an mpf
    """Laplace noise and atoms: M is a sum of e^{ws}/w^j, w = z + ½, and each term's residues.

    For s > ε they are 2^j·e^{s/2} at z = 0, −(−2)^j·e^{ε − s/2} at z = −1, and at w = 0 the
    coefficient of w^{j−1} in −4·e^{ε/2}·e^{w(s−ε)}/(1 − 4w²); for s ≤ ε there are none.
    """
    with mp.workdps(DIGITS + 60):
        e, total = exactly(epsilon), mp.mpf(0)
        leak = mp.mpf(1)
        terms: list[tuple[Any, list[Any]]] = [(mp.mpf(0), [mp.mpf(1)])]
        for law, times in parts:
            leak *= (1 - law.singular) ** times
            terms = [
                (s + t, _convolved(one, other))
                for (s, one), (t, other) in itertools.product(terms, _expanded(law, times))
            ]
        for s, coefficients in terms:
            if s > e:
                total += mp.fsum(c * _residue(s, j, e) for j, c in enumerate(coefficients))
        return 1 - leak + total


def _expanded(law: Law, times: int) -> list[tuple[Any, list[Any]]]:
    """E e^{zL} to a power, as coefficients of 1/w^j for every exponent."""
    if isinstance(law, Atoms):
        known = [(p, q) for p, q in _power(law, times) if p > 0 and q > 0]
        return [(mp.log(p / q), [p * mp.sqrt(q / p)]) for p, q in known]
    a = exactly(law.shift) if isinstance(law, Exponential) else mp.nan
    half, quarter, scale = mp.mpf(1) / 2, mp.mpf(1) / 4, mp.exp(-a * times / 2)
    rising, falling = [[mp.mpf(1)]], [[mp.mpf(1)]]
    for _ in range(times):
        rising.append(_convolved(rising[-1], [half, quarter]))
        falling.append(_convolved(falling[-1], [half, -quarter]))
    return [
        (
            a * (2 * i - times),
            [scale * mp.binomial(times, i) * c for c in _convolved(rising[i], falling[times - i])],
        )
        for i in range(times + 1)
    ]


def _convolved(one: list[Any], other: list[Any]) -> list[Any]:
    result = [mp.mpf(0)] * (len(one) + len(other) - 1)
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            result[i + j] += x * y
    return result


def _residue(s: Any, j: int, epsilon: Any) -> Any:  # noqa: ANN401  # mpf's
    outer = mp.mpf(2) ** j * mp.exp(s / 2) - mp.mpf(-2) ** j * mp.exp(epsilon - s / 2)
    gap, inner = s - epsilon, mp.mpf(0)
    for m in range((j - 1) // 2 + 1 if j else 0):
        inner += mp.mpf(4) ** m * gap ** (j - 1 - 2 * m) / mp.factorial(j - 1 - 2 * m)
    return outer - 4 * mp.exp(epsilon / 2) * inner


def sampled_once(law: Sampled, epsilon: float) -> Any:  # noqa: ANN401  # an mpf
    """One Poisson sample, from the definition: q·δ_B at e^ε′ = 1 + (e^ε − 1)/q, or its mirror."""
    with mp.workdps(DIGITS):
        q, x = exactly(law.rate), mp.exp(exactly(epsilon))
        if law.mode == "removed":
            return q * _base(law.base, 1 + (x - 1) / q)
        if law.mode == "added":
            rest = 1 - x * (1 - q)
            return rest * _base(law.base, x * q / rest) if rest > 0 else mp.mpf(0)
        return _replaced(law.base, q, x)


def _base(base: Normal | Exponential, x: Any) -> Any:  # noqa: ANN401  # mpf's
    """sup P(E) − x·Q(E) of the noise itself, x ≥ 1."""
    if isinstance(base, Exponential):
        return max(1 - mp.sqrt(x) * mp.exp(-exactly(base.shift) / 2), mp.mpf(0))
    mu, e = mp.sqrt(exactly(base.square)), mp.log(x)
    return mp.ncdf(mu / 2 - e / mu) - x * mp.ncdf(-mu / 2 - e / mu)


def _replaced(base: Normal | Exponential, q: Any, x: Any) -> Any:  # noqa: ANN401  # mpf's
    """Both distributions mixed, in opposite directions: P beats x·Q from one point on.

    With r = e^{l(y)} the ratio to the middle, 1 − q + q·r > x·(1 − q + q/r·…) rises in y.
    """
    if isinstance(base, Normal):
        # 1 − q + q·t·g > x(1 − q + q·g/t) with t = e^{μy}, g = e^{−μ²/2}: a quadratic in t.
        mu = mp.sqrt(exactly(base.square))
        g = mp.exp(-mu * mu / 2)
        b = (1 - q) * (x - 1)
        t = (b + mp.sqrt(b * b + 4 * q * g * x * q * g)) / (2 * q * g)
        y = mp.log(t) / mu
        up, middle, down = mp.ncdf(mu - y), mp.ncdf(-y), mp.ncdf(-mu - y)
        return max((1 - q) * middle + q * up - x * ((1 - q) * middle + q * down), mp.mpf(0))
    a = exactly(base.shift)

    def gain(y: Any) -> Any:  # noqa: ANN401
        def above(center: Any) -> Any:  # noqa: ANN401
            d = y - center
            return mp.exp(-d) / 2 if d > 0 else 1 - mp.exp(d) / 2

        return (
            (1 - q) * above(mp.mpf(0))
            + q * above(a)
            - x * ((1 - q) * above(mp.mpf(0)) + q * above(-a))
        )

    def density(y: Any) -> Any:  # noqa: ANN401
        one, middle, other = (mp.exp(-abs(y - c)) for c in (a, mp.mpf(0), -a))
        return (1 - q) * middle + q * one - x * ((1 - q) * middle + q * other)

    if density(a) <= 0:
        return mp.mpf(0)
    low, high = -a, a
    for _ in range(8 * DIGITS):
        y = (low + high) / 2
        low, high = (low, y) if density(y) > 0 else (y, high)
    return max(gain(high), mp.mpf(0))


def contour(parts: Parts, epsilon: float) -> Interval:
    """By the integral above through the saddle, in doubles; two step sizes must agree."""

    def log_moment(z: Any) -> Any:  # noqa: ANN401  # an array
        total = np.zeros(z.shape, dtype=np.complex128)
        for law, times in parts:
            total += times * law.log_moment(z)
        return total

    def height(log_c: float) -> float:
        c = np.array([np.exp(log_c) + 0j])
        value = float((log_moment(c) - c * epsilon - np.log(c * (c + 1))).real[0])
        return value if np.isfinite(value) else 1e300

    found = minimize_scalar(height, bounds=(-7.0, 7.0), method="bounded", options={"xatol": 1e-4})
    c, peak = float(np.exp(found.x)), float(found.fun)
    step = _spacing(c, peak)
    coarse, fine = (_integral(log_moment, c, epsilon, peak, h) for h in (step, step / 2))
    if not fine > 0 or abs(coarse - fine) > _LEAST_AGREEMENT * fine:
        raise NoTruth(f"contours give {coarse} and {fine}")
    error = 10 * abs(coarse - fine) / fine + 1e-9 + 1e-14 * sum(times for _, times in parts)
    with mp.workdps(DIGITS):
        leak = mp.mpf(1)
        for law, times in parts:
            leak *= (1 - law.singular) ** times
        value = mp.exp(peak) * mp.mpf(fine)
        return 1 - leak + value * (1 - error), 1 - leak + value * (1 + error)


def _spacing(c: float, peak: float) -> float:
    """A step at which the sum's images, e^{−2πc/h} of at most 1 each, do not matter beside δ."""
    if not peak > -700:
        raise NoTruth(f"δ is about e^{peak}")
    return float(2 * np.pi * c / (45.0 - min(peak, 0.0)))


def _integral(
    log_moment: Callable[[Any], Any], c: float, epsilon: float, peak: float, step: float
) -> float:
    """(1/π)·∫₀^∞ Re(…) dt over e^peak, until nothing is left."""
    total, start, size = 0.0, 0, 256
    while start < _MOST_POINTS:
        t = step * np.arange(start, start + size)
        z = c + 1j * t
        logs = log_moment(z) - z * epsilon - np.log(z) - np.log(z + 1) - peak
        values = np.exp(logs)
        total += float(values.real.sum()) - (0.5 * float(values.real[0]) if start == 0 else 0.0)
        if float(np.abs(values[-64:]).max()) * max(t[-1], 1.0) < 1e-13 * step * abs(total):
            return total * step / np.pi
        start += size
    raise NoTruth("the integrand does not fade")
