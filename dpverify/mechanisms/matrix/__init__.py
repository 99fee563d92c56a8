"""Matrix mechanisms: correlated noise on a stream of sums."""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.mechanisms.matrix.mechanism import MatrixMechanism

__all__ = ["MatrixMechanism"]

_HOME = {
    "MatrixMechanism": "mechanism",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
