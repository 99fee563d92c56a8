"""Recompute the truths that the cases carry, independently of dpverify.

With M(z) = E e^{zL} for the privacy loss L of the whole composition, and any c > 0 where M is
finite,

    δ(ε) = 1/(2πi) ∫ M(z) e^{−zε} / (z (z + 1)) dz    over Re z = c,

because 1/(z(z+1)) is the Laplace transform of (1 − e^{−x})₊. Summing with step h adds δ at the
points ε + 2πn/h, weighted e^{2πnc/h}: nothing, when 2π/h is hundreds. Two contours c must agree.
Equal responses are lattice variables, on which the integrand does not decay: there the binomial
sum is done in high precision.

    python benchmarks/truth.py [NAME …]
"""

import argparse
import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
from accounting import CASES as ACCOUNTING
from cases import Case, Part, subsampled
from composition import CASES as COMPOSITION
from scipy.optimize import brentq

from dpverify.arrays import Complex

STEP = 0.02  # of the contour: 2π/h = 314
NODES = 40  # to a standard deviation: trapezoid sums of an analytic function


def log_transform(part: Part, z: Complex, *, adding: bool) -> Complex:
    """ln E e^{zL} of one run of a part; `adding` turns the two distributions around."""
    match part["kind"]:
        case "gaussian":
            return z * (z + 1) / (2 * float(part["sigma"]) ** 2)
        case "laplace":
            loss = 1 / float(part["scale"])
            up, down = np.exp(z * loss), np.exp(-loss - z * loss)
            return np.asarray(np.log(up / 2 + down / 2 + (up - down) / (2 * (2 * z + 1))))
        case "response":
            epsilon = float(part["epsilon"])
            truthful = 1 / (1 + math.exp(-epsilon))
            kept = truthful * np.exp(z * epsilon) + (1 - truthful) * np.exp(-z * epsilon)
            return np.asarray(np.log(kept) + math.log1p(-part["delta"]))
        case "subsampled":
            return _log_subsampled(part["sigma"], part["rate"], z, adding=adding)
        case _:
            raise ValueError(f"part={part!r} must be of a kind that this tool knows")


def _log_subsampled(sigma: float, rate: float, z: Complex, *, adding: bool) -> Complex:
    """Under N(0, σ²) the ratio of the distributions is r(x) = 1 − q + q e^{(2x − 1)/(2σ²)}.

    Hence E r^{z+1} when a record is removed and E r^{−z} when one is added. Where r is about
    (1 − q) the integrand has its hump at 0, where it is about q e^… at the exponent's real part.
    """
    power = -z if adding else z + 1
    far = max(0.0, float(power.real.max()))
    nodes = np.arange(-14 * sigma, far + 14 * sigma, sigma / NODES)
    log_density = -((nodes / sigma) ** 2) / 2 - math.log(NODES * math.sqrt(2 * math.pi))
    log_ratio = np.log1p(rate * np.expm1((2 * nodes - 1) / (2 * sigma**2)))
    found = np.empty_like(z)
    for start in range(0, z.size, 500):
        piece = slice(start, start + 500)
        exponents = np.outer(power[piece], log_ratio) + log_density
        top = exponents.real.max()
        found[piece] = np.log(np.exp(exponents - top).sum(axis=1)) + top
    return found


@dataclass(frozen=True)
class Contour:
    """The composition's transform on one line, for one direction."""

    parts: list[Part]
    delta: float
    adding: bool

    def epsilon(self, share: float) -> float:
        """ε at δ, from the line at `share` of the best exponential bound's."""
        saddle = min(np.geomspace(0.05, 100, 200), key=self.chernoff)
        z = share * saddle + 1j * np.arange(0, self.reach(share * saddle), STEP)
        values = self.log_transform(z) - np.log(z * (z + 1))

        def log_ratio(epsilon: float) -> float:
            terms = np.exp(values - z * epsilon).real
            return math.log((terms.sum() - terms[0] / 2) * STEP / math.pi / self.excess)

        bound = self.chernoff(saddle)
        return float(brentq(log_ratio, bound - 2, bound, xtol=1e-13))

    @property
    def excess(self) -> float:
        """δ without the leak."""
        stay = sum(part["times"] * math.log1p(-part.get("delta", 0.0)) for part in self.parts)
        return self.delta + math.expm1(stay)

    def log_transform(self, z: Complex) -> Complex:
        logs = (p["times"] * log_transform(p, z, adding=self.adding) for p in self.parts)
        return sum(logs, np.zeros_like(z))

    def chernoff(self, c: float) -> float:
        """An ε that δ(ε) ≤ M(c)·e^{−cε}·c^c/(1+c)^{1+c} proves."""
        height = float(self.log_transform(np.array([c + 0j]))[0].real)
        return (height + c * math.log(c) - (1 + c) * math.log1p(c) - math.log(self.excess)) / c

    def reach(self, c: float) -> float:
        """How far up the line the integrand is above 1e-18 of its largest value.

        Atoms make it come back after long quiet stretches, so all of the line is looked at.
        """
        smooth = any(part["kind"] in {"gaussian", "subsampled"} for part in self.parts)
        line: Complex = np.asarray(c + 1j * np.arange(0, 200 if smooth else 16000, 0.25))
        heights = self.log_transform(line).real - 2 * np.log(np.abs(line))
        return float(line.imag[heights > heights[0] - 41][-1]) + 0.25


def binomial_epsilon(part: Part, delta: float) -> float:
    """ε at δ of k equal responses, in 60 digits. [KOV15 Thm 3.3]"""
    mp.mp.dps = 60
    own, k = mp.mpf(part["epsilon"]), part["times"]
    truthful = 1 / (1 + mp.exp(-own))
    stay = (1 - mp.mpf(part["delta"])) ** k

    def value(epsilon: mp.mpf) -> mp.mpf:
        count = int(mp.floor((epsilon / own + k) / 2)) + 1
        log_mass = mp.loggamma(k + 1) - mp.loggamma(count + 1) - mp.loggamma(k - count + 1)
        log_mass += count * mp.log(truthful) + (k - count) * mp.log(1 - truthful)
        mass, total = mp.exp(log_mass), mp.mpf(0)
        while count <= k:
            term = mass * -mp.expm1(epsilon - (2 * count - k) * own)
            total += term
            if term < total * mp.mpf(10) ** -40:
                break
            mass *= mp.exp(own) * (k - count) / (count + 1)
            count += 1
        return 1 - stay + stay * total

    low, high = mp.mpf(0), own * k
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if value(middle) <= delta else (middle, high)
    return float(high)


def epsilons(parts: list[Part], delta: float) -> list[float]:
    """The worse direction, on two contours."""
    return [
        max(Contour(parts, delta, adding).epsilon(share) for adding in (False, True))
        for share in (1.0, 0.8)
    ]


def noises(case: Case) -> list[float]:
    """σ at which ε equals the budget, on two contours."""
    (part,) = case.parts

    def gap(sigma: float, which: int) -> float:
        found = epsilons([subsampled(sigma, part["rate"], part["times"])], case.delta)
        return found[which] - float(case.epsilon or 0)

    return [float(brentq(gap, 4.2, 4.4, args=(which,), xtol=1e-12)) for which in (0, 1)]


def truths(case: Case) -> list[float]:
    if case.question == "noise":
        return noises(case)
    if len(case.parts) == 1 and case.parts[0]["kind"] == "response":
        return [binomial_epsilon(case.parts[0], case.delta)]
    return epsilons(case.parts, case.delta)


def main() -> None:
    parser = argparse.ArgumentParser(description="Recompute the truths of the benchmark cases.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all of them by default")
    names = parser.parse_args().names
    for case in (*ACCOUNTING, *COMPOSITION):
        if not names or case.name in names:
            stored = case.truth and case.truth.value
            print(
                f"{case.name:12} {' '.join(map(repr, truths(case)))}  stored {stored!r}", flush=True
            )


if __name__ == "__main__":
    main()
