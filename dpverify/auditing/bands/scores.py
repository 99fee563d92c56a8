"""Scores: one number per output, larger where the left side is likelier.

A score is chosen on draws that are not used again, so it may be anything: a bad one costs power,
never soundness. The best is the privacy loss itself, where densities are known.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.classifiers import boosted, logistic
from dpverify.auditing.attacks.draws import Draws, Explore, numeric_features
from dpverify.auditing.attacks.events import Linear, Trees
from dpverify.auditing.sampling.drawing import LOSS
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined

_FEATURES = 12  # columns that are tried by themselves
_VALUES = 4096  # distinct outputs beyond which their frequencies say little
_RATIOS = np.exp(np.array([0.0, 0.5, 1.0, 2.0, 3.0]))


@dataclass(frozen=True, slots=True)
class Score:
    """A function of outputs, and the name under which it is printed."""

    name: str
    of: Callable[[Outputs], Floats]
    missing: float = -np.inf

    def values(self, outputs: Outputs) -> Floats:
        """The score of each output; an output without one, such as an exception, gets `missing`."""
        raw = self.of(outputs)
        return np.where(np.isnan(raw), self.missing, raw)


def learned_score(seen: Explore) -> Score:
    """The score that tells the sides apart best, compared on draws that it was not fitted to."""
    if LOSS in seen.left.columns:
        return _column(LOSS, 1.0)
    fit, check = seen.halves()
    best = max(_candidates(fit), key=lambda score: separation(score, check))
    # The winner, fitted to all draws.
    again = {score.name: score for score in _candidates(Draws(seen.left, seen.right))}
    return again.get(best.name, best)


def separation(score: Score, draws: Draws) -> float:
    """Sum over ratios of the largest P(score ≥ x) − ratio·Q(score ≥ x), and the other way."""
    left, right = (np.sort(score.values(side)) for side in (draws.left, draws.right))
    cuts = np.unique(np.concatenate([left, right]))
    above = [1.0 - np.searchsorted(s, cuts, side="left") / len(s) for s in (left, right)]
    below = [np.searchsorted(s, cuts, side="right") / len(s) for s in (left, right)]
    total = 0.0
    for ratio in _RATIOS.tolist():
        total += max(0.0, float(np.max(above[0] - ratio * above[1])))
        total += max(0.0, float(np.max(below[1] - ratio * below[0])))
    return total


def _candidates(fit: Draws) -> Iterator[Score]:
    names = numeric_features(Explore(fit))
    for name in names[:_FEATURES]:
        lacking = any(np.isnan(side.column(name)).any() for side in (fit.left, fit.right))
        for sign in (1.0, -1.0):
            yield _column(name, sign)
            if lacking:
                yield replace(
                    _column(name, sign), name=f"{sign:+.0f}·{name}, or none", missing=np.inf
                )
    for learn in (logistic, boosted):
        model: Linear | Trees | None = learn(fit.left, fit.right, names) if names else None
        if model is not None:
            yield Score(learn.__name__, model.score)
    ratios = _value_ratios(fit)
    if ratios is not None:
        yield ratios
    yield Score("nothing", lambda outputs: np.zeros(outputs.size))


def _column(name: str, sign: float) -> Score:
    return Score(name if sign > 0 else f"-{name}", lambda outputs: sign * outputs.column(name))


def _value_ratios(fit: Draws) -> Score | None:
    """ln of the ratio of frequencies of each whole output; None if outputs hardly ever repeat."""
    both = joined([fit.left, fit.right])
    keys = both.keys(WHOLE)
    distinct, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    if len(distinct) > min(_VALUES, len(keys) // 4):
        return None
    counts = [
        np.bincount(part, minlength=len(distinct)) for part in np.split(codes, [fit.left.size])
    ]
    ratio = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    known = dict(zip(both.pick(first).text(WHOLE).tolist(), ratio.tolist(), strict=True))
    return Score(
        "frequencies of values",
        lambda outputs: np.array([known.get(text, 0.0) for text in outputs.text(WHOLE).tolist()]),
    )
