"""Losses of generalized linear models, each with its constants under declared bounds."""

from solvers.losses.base import Loss
from solvers.losses.hinge import Hinge, HuberHinge
from solvers.losses.logistic import Logistic
from solvers.losses.poisson import Poisson
from solvers.losses.quantile import Absolute, Quantile
from solvers.losses.softmax import Softmax
from solvers.losses.squared import Squared

__all__ = [
    "Absolute",
    "Hinge",
    "HuberHinge",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
]
