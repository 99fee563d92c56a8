"""A release: a line of code where data passed through noise, and its cost."""

import math
from dataclasses import dataclass

from dpverify.tracing.recording.events import BY_CLAIM
from dpverify.tracing.recording.laws import Cost
from dpverify.tracing.recording.places import Located, Place

ROUNDING = 2.0**-40  # of shifts, scales and probabilities: what floats may be off by
EDGE = 1e-9  # relative: a probability that is so close to δ may be δ


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Located):
    """A line of code where data passed through noise, and what that cost.

    `shift` is how far the value moves between the two datasets, in the norm that the noise goes by
    (ℓ1 for Laplace, ℓ2 for Gaussian); `loss` is shift/scale: the ε of Laplace noise, the μ of
    Gaussian noise; for choices among finitely many outcomes the largest log ratio. `realized` is
    the privacy loss ln p/p′ of what came out in this run.
    """

    place: Place
    distribution: str
    scale: float
    shift: float
    norm: str
    loss: float
    realized: float
    exact: bool

    def __str__(self) -> str:
        if BY_CLAIM in self.distribution:
            spent = self.distribution
        elif math.isnan(self.shift):
            spent = f"{self.distribution}, loses {self.loss:.6g}"
        else:
            spent = (
                f"moved by {self.shift:.6g}, {self.distribution} noise of scale {self.scale:.6g}"
            )
        return f"{self.place}: {spent}"


@dataclass(frozen=True, slots=True)
class Item:
    """One difference between the runs, its release, and its pairs with and without rounding."""

    release: Release
    seen: tuple[Cost, ...]
    judged: tuple[Cost, ...]
