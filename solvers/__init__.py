"""Private empirical risk minimization, with claims that include the solver's own error.

Losses and domains declare their constants under declared `Bounds` on the data. A mechanism here is
a frozen value like those of `dpverify.mechanisms`: it has a `claim`, a vectorized
`sample(data, size, *, rng)`, and a `log_density` where there is a formula; `data` is a pair of
arrays, features and labels.

Names are loaded when they are first used: cvxpy and scikit-learn take a second each.
"""

from importlib import import_module
from typing import Any

# One line a name, so that a new module adds lines and changes none.
_MODULES = {
    "Bounds": "solvers.bounds",
    "Chunks": "solvers.chunks",
    "Loss": "solvers.losses",
    "Logistic": "solvers.losses",
    "HuberHinge": "solvers.losses",
    "Hinge": "solvers.losses",
    "Squared": "solvers.losses",
    "Absolute": "solvers.losses",
    "Quantile": "solvers.losses",
    "Softmax": "solvers.losses",
    "Poisson": "solvers.losses",
    "Domain": "solvers.domains",
    "Ball": "solvers.domains",
    "Box": "solvers.domains",
    "Simplex": "solvers.domains",
    "WholeSpace": "solvers.domains",
    "PrivateLogisticRegression": "solvers.estimators",
    "PrivateSVM": "solvers.estimators",
    "PrivateLinearRegression": "solvers.estimators",
    "PrivatePoissonRegression": "solvers.estimators",
    "PrivateMedian": "solvers.estimators",
    "PrivateStandardizer": "solvers.estimators",
    "PrivateNaiveBayes": "solvers.estimators",
    "PrivatePCA": "solvers.estimators",
    "PrivateKMeans": "solvers.estimators",
    "PrivateForest": "solvers.estimators",
    "PrivatePipeline": "solvers.estimators",
    "PrivateClassifier": "solvers.estimators",
    "PrivateRegressor": "solvers.estimators",
    "Descent": "solvers.estimators",
    "register": "solvers.registry",
    "PrivateSelection": "solvers.selection",
    "PrivateGridSearch": "solvers.selection",
    "Regularizer": "solvers.minimize.regularizers",
    "Ridge": "solvers.minimize.regularizers",
    "Lasso": "solvers.minimize.regularizers",
    "ElasticNet": "solvers.minimize.regularizers",
    "NoRegularizer": "solvers.minimize.regularizers",
    "Problem": "solvers.minimize.problem",
    "Solution": "solvers.minimize.problem",
    "MinimumCertificate": "solvers.minimize.certificate",
    "NotSolved": "solvers.minimize.certificate",
    "OutputPerturbation": "solvers.output_perturbation",
    "ObjectivePerturbation": "solvers.objective_perturbation",
    "ApproximateMinima": "solvers.approximate_minima",
    "ObjectiveRule": "solvers.privacy.objective_rules",
    "Setting": "solvers.privacy.objective_rules",
    "DescentSetting": "solvers.descent",
    "GradientDescent": "solvers.gradient_descent",
    "StochasticGradientDescent": "solvers.sgd",
    "PoissonBatches": "solvers.sgd",
    "FixedBatches": "solvers.sgd",
    "AllocatedBatches": "solvers.sgd",
    "ExponentialQuantile": "solvers.exponential.quantiles",
    "ExponentialERM": "solvers.exponential.candidates",
    "ExponentialOnBall": "solvers.exponential.on_ball",
    "SufficientStatistics": "solvers.sufficient_statistics",
    "SecondMoments": "solvers.second_moments",
    "Lloyd": "solvers.lloyd",
    "RandomTrees": "solvers.random_trees",
    "LeafCounts": "solvers.random_trees",
}

_OLD_NAMES = {"Rule": "ObjectiveRule", "Certificate": "MinimumCertificate"}  # taken in dpverify

__all__ = list(_MODULES | _OLD_NAMES)


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the module has under that name
    name = _OLD_NAMES.get(name, name)
    if name not in _MODULES:
        raise AttributeError(f"module 'solvers' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
