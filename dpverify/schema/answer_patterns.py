"""Answers of queries on which mechanisms often fail: where a search for the worst pair starts.

All +1, all −1, one against the others, half against half: the pairs of StatDP (Ding et al., CCS
2018) and DP-Sniper (Bichsel et al., S&P 2021), and those on which the broken variants of the
sparse vector technique fail (Lyu, Su, Li, VLDB 2017).
"""

import math
from typing import TypeAlias

Answer: TypeAlias = tuple[float, ...]


def bases(d: int, zero: float, unit: float) -> dict[str, Answer]:
    """Answers to start from: equal, split, with one that stands out."""
    one = zero + unit
    half = d // 2
    return {
        "equal answers": (one,) * d,
        "zeros": (zero,) * d,
        "half high, half low": (one,) * half + (zero,) * (d - half),
        "half low, half high": (zero,) * half + (one,) * (d - half),
        "last one high": (zero,) * (d - 1) + (one,),
        "last one low": (one,) * (d - 1) + (zero,),
        "first one high": (one,) + (zero,) * (d - 1),
        "alternating": tuple((zero, one)[i % 2] for i in range(d)),
        "steps": tuple(zero + i * unit for i in range(d)),
        "far apart": (zero,) * (d - 1) + (zero + 10.0 * unit,),
    }


def directions(d: int, norm: float, *, monotone: bool) -> dict[str, Answer]:
    """Ways to move from there, to be scaled to the sensitivity; the most telling first."""
    half = d // 2
    up = (1.0,) * d
    mixed = {
        "half up, half down": (1.0,) * half + (-1.0,) * (d - half),
        "half down, half up": (-1.0,) * half + (1.0,) * (d - half),
        "last down, others up": (1.0,) * (d - 1) + (-1.0,),
        "last up, others down": (-1.0,) * (d - 1) + (1.0,),
        "first down, others up": (-1.0,) + (1.0,) * (d - 1),
        "first up, others down": (1.0,) + (-1.0,) * (d - 1),
        "alternating": tuple((1.0, -1.0)[i % 2] for i in range(d)),
    }
    alone = {
        "first one up": (1.0,) + (0.0,) * (d - 1),
        "first one down": (-1.0,) + (0.0,) * (d - 1),
        "last one up": (0.0,) * (d - 1) + (1.0,),
        "last one down": (0.0,) * (d - 1) + (-1.0,),
    }
    together = {"all up": up, "all down": tuple(-x for x in up)}
    if norm == math.inf:
        return together | ({} if monotone else mixed) | alone
    return alone | together | ({} if monotone else mixed)
