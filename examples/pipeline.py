"""A clinic cleans, clips, aggregates, normalizes and releases; one line looks at the data again.

The 442 diabetes patients of scikit-learn's set, in four age groups: missing values filled, blood
pressure clipped to declared bounds, sums by group with noise, and shares of the total. The first
version is what a careful author would write. It fills missing values with the mean of the column,
and it divides by the true total: nothing that one sees by reading, nothing that the noise pays for.
A trace of one pair names the one line, and says by how much the other one overspends; an audit of a
thousand draws sees nothing.

python examples/pipeline.py
"""

import numpy as np
from sklearn.datasets import load_diabetes

import dpverify as dpv

LOW, HIGH = 60.0, 140.0  # blood pressure, declared
GROUPS = ((0, 40), (40, 50), (50, 60), (60, 120))
CLAIM = dpv.PureDP(epsilon=1.0)


def clean(pressure: np.ndarray) -> np.ndarray:
    """Fill what is missing, clip to the declared bounds, scale to [0, 1]."""
    filled = np.where(np.isnan(pressure), np.nanmean(pressure), pressure)
    return (np.clip(filled, LOW, HIGH) - LOW) / (HIGH - LOW)


def clean_by_constants(pressure: np.ndarray) -> np.ndarray:
    """The same, filled with a constant that was declared."""
    filled = np.where(np.isnan(pressure), (LOW + HIGH) / 2, pressure)
    return (np.clip(filled, LOW, HIGH) - LOW) / (HIGH - LOW)


def by_group(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    ages = table[:, 0]
    return np.array([values[(ages >= a) & (ages < b)].sum() for a, b in GROUPS])


def first_version(table: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Shares of four groups in the total; a patient is in one group, so scale 1 is enough."""
    sums = by_group(table, clean(table[:, 1]))
    noisy = sums + rng.laplace(scale=1.0 / CLAIM.epsilon, size=len(GROUPS))
    return (noisy / sums.sum()).tolist()


def second_version(table: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Normalized by the noisy total; missing values are still filled with the mean."""
    sums = by_group(table, clean(table[:, 1]))
    noisy = np.maximum(sums + rng.laplace(scale=1.0 / CLAIM.epsilon, size=len(GROUPS)), 0.0)
    return [*noisy, *(noisy / max(noisy.sum(), 1e-9))]


def third_version(table: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Every constant is declared."""
    sums = by_group(table, clean_by_constants(table[:, 1]))
    noisy = np.maximum(sums + rng.laplace(scale=1.0 / CLAIM.epsilon, size=len(GROUPS)), 0.0)
    return [*noisy, *(noisy / max(noisy.sum(), 1e-9))]


def main() -> None:
    table = load_diabetes(scaled=False).data[:, [0, 3]]  # age and mean blood pressure
    table[::9, 1] = np.nan  # every ninth patient was not measured
    right = np.vstack([table, [65.0, HIGH]])  # one more patient, with high blood pressure
    for name, mechanism in (
        ("first version", first_version),
        ("second version", second_version),
        ("third version", third_version),
    ):
        traced = dpv.trace(mechanism, left=table, right=right, claim=CLAIM, confirm=False)
        print(f"{name}: {traced.verdict}, {traced.executions} executions")
        for found in traced.leaks or traced.releases[:1]:
            print(f"  {found}")
    verdict = dpv.audit(second_version, left=table, right=right, claim=CLAIM, samples=1000, seed=1)
    told = "refuted" if verdict.refuted else "not refuted"
    print(f"an audit of the second version, {verdict.samples:,} draws a side: {told}")


if __name__ == "__main__":
    main()
