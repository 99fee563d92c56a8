"""Integer noise on integer answers, by exact samplers."""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.mechanisms.discrete.gaussian import DiscreteGaussian
    from dpverify.mechanisms.discrete.laplace import DiscreteLaplace

__all__ = ["DiscreteGaussian", "DiscreteLaplace"]

_HOME = {
    "DiscreteGaussian": "gaussian",
    "DiscreteLaplace": "laplace",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
