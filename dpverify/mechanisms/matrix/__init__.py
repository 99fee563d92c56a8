"""Matrix mechanisms: correlated noise on a stream of sums."""

from dpverify.mechanisms.matrix.mechanism import MatrixMechanism

__all__ = ["MatrixMechanism"]
