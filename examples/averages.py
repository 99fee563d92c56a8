"""A clinic publishes averages of its 442 diabetes patients, one for each of ten measurements.

A first version of the code takes the sensitivity of a mean for 1/n; with a record replaced it is
2/n. The audit finds out. Then: how much noise do ten averages need, and does the mended code keep
its promise?

python examples/averages.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import dpverify as dpv

RELATION = dpv.Relation.REPLACE_ONE
CLAIM = dpv.PureDP(epsilon=1.0)


def first_version(data: np.ndarray, rng: np.random.Generator) -> float:
    """The mean of numbers in [-1, 1], with noise for a sensitivity of 1/n."""
    return float(data.mean() + rng.laplace(scale=1.0 / (len(data) * CLAIM.epsilon)))


class Mean:
    """The mean of numbers in [-1, 1]: noise for 2/n, safe in floats, many draws at once."""

    def sample(self, data: np.ndarray, size: int, *, rng: np.random.Generator) -> np.ndarray:
        noise = dpv.Laplace(scale=2.0 / len(data), l1_sensitivity=2.0 / len(data))
        return noise.sample(float(data.mean()), size, rng=rng)


def main() -> None:
    features = load_diabetes(scaled=False).data
    age = np.clip((features[:, 0] - 50.0) / 50.0, -1.0, 1.0)  # ages from 0 to 100, declared
    left, right = age.copy(), age.copy()
    left[0], right[0] = -1.0, 1.0  # one patient, newborn or a hundred years old
    for name, mechanism in (("first version", first_version), ("mended", Mean())):
        verdict = dpv.audit(mechanism, left=left, right=right, claim=CLAIM, seed=1, samples=20_000)
        found = "REFUTED" if verdict.refuted else "not refuted"
        print(f"{name}: {found} at ε = 1; shown: ε ≥ {verdict.epsilon_lower:.2f}")
        if verdict.witness is not None:
            again = verdict.witness.replay(mechanism, samples=10_000, seed=2)
            print(f"  the witness on fresh draws: {'refuted' if again.refuted else 'not refuted'}")
    averages = features.shape[1]
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    sensitivity = 2.0 / len(age)
    for name, factory in (
        ("Laplace", lambda s: dpv.Laplace(scale=s, l1_sensitivity=sensitivity)),
        ("Gaussian", lambda s: dpv.Gaussian(sigma=s, l2_sensitivity=sensitivity)),
    ):
        noise = dpv.calibrate(factory, times=averages, budget=budget, relation=RELATION)
        deviation = noise * (2.0**0.5 if name == "Laplace" else 1.0)
        print(f"{averages} averages within ε = 1, δ = 1e-6: {name} noise of {deviation:.4f} each")


if __name__ == "__main__":
    main()
