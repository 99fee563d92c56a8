"""Atoms on the grid: the integrals that `cells` has for ramps, for point masses of the loss."""

import math

import numpy as np

from dpverify.accounting.numerical.cells import ROUNDINGS, Cells, Tilt
from dpverify.arrays import Floats
from dpverify.pairs.loss_law import CutLaw
from dpverify.pairs.ramps import UNIT


def place(law: CutLaw, nodes: Floats, step: float, tilt: Tilt) -> Cells:
    """The lifts and drops of the law's atoms; those within their error of a node count as on it."""
    where = np.clip((law.losses - nodes[0]) / step, 0.0, len(nodes) - 1.0)
    cell = np.minimum(where.astype(np.int64), len(nodes) - 2)
    above = np.clip(law.losses - nodes[cell], 0.0, step)
    near = law.loss_error + 16.0 * UNIT * (1.0 + np.abs(law.losses))
    at_low = above <= near
    at_high = (step - above <= near) & ~at_low
    between = ~(at_low | at_high)
    left = above < step / 2.0
    growth, count = math.exp(tilt.rate * step), len(nodes) - 1
    weights = np.exp(law.log_masses + tilt.exponent(nodes[cell]))
    lift = weights * -np.expm1(-above) * between
    drop = weights * growth * np.expm1(np.where(between, step - above, 0.0))

    def gather(amounts: Floats) -> Floats:
        return np.bincount(cell, amounts, minlength=count).astype(float)

    on_node = np.zeros(count + 1)
    on_node[:-1] += gather(weights * at_low)
    on_node[1:] += gather(weights * growth * at_high)
    return Cells(
        lift_left=gather(lift * left),
        lift_right=gather(lift * ~left),
        drop_left=gather(drop * left),
        drop_right=gather(drop * ~left),
        on_node=on_node,
        step_ratio=np.full(count, math.expm1(step)),
        errors=_errors(law, tilt.size(nodes)),
    )


def _errors(law: CutLaw, sizes: Floats) -> Floats:
    largest = np.maximum(sizes[1:], sizes[:-1]) + float(np.abs(law.log_masses).max())
    # Atoms that share a cell are added up one by one.
    return law.mass_error + UNIT * (ROUNDINGS + 4.0 * largest + len(law.losses))
