"""The columns of a data set that comes with statsmodels, as a file of numbers."""

from typing import Any

import measuring
import numpy as np
from statsmodels import datasets


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:  # noqa: ARG001
    found = getattr(datasets, case["data"]).load_pandas().data
    np.save(case["file"], found.to_numpy(float))
    return {"rows": len(found)}


if __name__ == "__main__":
    measuring.REPEATS = 1
    measuring.serve(solve)
