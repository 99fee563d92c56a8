"""Private models with the interface of scikit-learn.

What privacy rests on is declared and has no default: the budget, the relation, and the bounds of
the data. `fit` refuses records outside of the bounds, or clips them if asked to, before any noise
is drawn. A fitted model has `claim_`, and `certificate_` where a solver had to be trusted.
"""

from dpverify.errors import check_member
from solvers.estimators.bayes import PrivateNaiveBayes
from solvers.estimators.classifiers import PrivateClassifier, PrivateLogisticRegression, PrivateSVM
from solvers.estimators.declarations import PrivateEstimator
from solvers.estimators.descent import Descent
from solvers.estimators.forest import PrivateForest
from solvers.estimators.kmeans import PrivateKMeans
from solvers.estimators.median import PrivateMedian
from solvers.estimators.pca import PrivatePCA
from solvers.estimators.pipeline import PrivatePipeline
from solvers.estimators.regression import (
    PrivateLinearRegression,
    PrivatePoissonRegression,
    PrivateRegressor,
)
from solvers.estimators.standardizer import PrivateStandardizer
from solvers.registry import LOSSES

__all__ = [
    "Descent",
    "PrivateClassifier",
    "PrivateForest",
    "PrivateKMeans",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMedian",
    "PrivateNaiveBayes",
    "PrivatePCA",
    "PrivatePipeline",
    "PrivatePoissonRegression",
    "PrivateRegressor",
    "PrivateSVM",
    "PrivateStandardizer",
    "model_for",
]

_MODELS: dict[str, type[PrivateEstimator]] = {
    "logistic": PrivateLogisticRegression,
    "svm": PrivateSVM,
    "squared": PrivateLinearRegression,
    "absolute": PrivateMedian,
    "poisson": PrivatePoissonRegression,
}


def model_for(loss: str) -> PrivateEstimator:
    """The private model of a loss by its name, with nothing declared yet.

    >>> model_for("svm")
    PrivateSVM()
    >>> model_for("huber-hinge")
    PrivateClassifier(loss='huber-hinge')
    """
    if loss in _MODELS:
        return _MODELS[loss]()
    check_member("loss", loss, tuple(dict.fromkeys([*_MODELS, *LOSSES])))
    signs = LOSSES[loss].labels == "signs"
    return PrivateClassifier(loss=loss) if signs else PrivateRegressor(loss=loss)
