"""A search that ends its process in the middle; imports no more than the search does."""

import os
from typing import Any

import numpy as np

from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.schema import Number, Records

Rng = np.random.Generator
UNITS = Records(record=Number(low=0, high=1), length=(0, 5), relation=Relation.ADD_REMOVE)


def counted(data: Any, rng: Rng) -> float:  # noqa: ANN401
    """Too little noise; counts its calls where no checkpoint looks."""
    os.environ["CALLS"] = str(int(os.environ.get("CALLS", "0")) + 1)
    if os.environ["CALLS"] == os.environ.get("LAST_CALL"):
        os._exit(9)
    return float(np.sum(data)) + float(rng.laplace(scale=0.6))


KEPT: dict[str, Any] = {"claim": PureDP(epsilon=1.0), "samples": 500, "seed": 5, "pairs": 4}
KEPT |= {"explore": 300, "minimize": False}
