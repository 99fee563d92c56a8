"""Private models with the interface of scikit-learn.

What privacy rests on is declared and has no default: the budget, the relation, and the bounds of
the data. `fit` refuses records outside of the bounds, or clips them if asked to, before any noise
is drawn. A fitted model has `claim_`, and `certificate_` where a solver had to be trusted.
"""

from solvers.estimators.classifiers import PrivateLogisticRegression, PrivateSVM
from solvers.estimators.median import PrivateMedian
from solvers.estimators.regression import PrivateLinearRegression

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivateMedian", "PrivateSVM"]
