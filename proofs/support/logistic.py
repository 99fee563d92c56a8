"""Perturbed logistic regression in one dimension, where densities can be written down."""

from collections.abc import Iterable

from flint import arb

from dpverify.balls import ball


def noise_at(theta: arb, records: Iterable[float], ridge: arb) -> tuple[arb, arb]:
    """The noise b for which θ minimizes Σ ln(1 + e^(−vθ)) + λθ²/2 + bθ, and −db/dθ there."""
    noise, curvature = -ridge * theta, ridge
    for record in records:
        v = ball(record)
        noise += v / (1 + (v * theta).exp())
        curvature += v * v / ((v * theta).exp() + 2 + (-v * theta).exp())
    return noise, curvature
