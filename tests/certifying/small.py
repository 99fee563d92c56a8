"""Small mechanisms, each with a tight claim: what their certificates say is easily found out anew.

`python -m tests.certifying.small` writes the certificates to the folder beside this file; the tests
of the checker read them there, so that they need no search.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import dpverify as dpv
from dpverify.certifying import certify
from dpverify.schema import Vector
from tests.certifying.schemas import Answers, Category, Number, Records, Schema

FOLDER = Path(__file__).parent / "certificates"
Rng: TypeAlias = np.random.Generator
Data: TypeAlias = Any
Out: TypeAlias = Any


def response(bit: Data, rng: Rng) -> Out:
    return bit if rng.random() < 0.75 else 1 - bit


def response_every(bit: Data, rng: Rng, epsilon: float) -> Out:
    return bit if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - bit


def die(count: Data, rng: Rng) -> Out:
    return count + rng.integers(3)


def clipped(count: Data, rng: Rng) -> Out:
    return min(max(count + int(rng.geometric(0.5)) - int(rng.geometric(0.5)), 0), 2)


def clipped_every(count: Data, rng: Rng, epsilon: float) -> Out:
    p = 1 - math.exp(-epsilon)
    return min(max(count + int(rng.geometric(p)) - int(rng.geometric(p)), 0), 1)


def geometric_max(scores: Data, rng: Rng) -> Out:
    p = 1 - math.exp(-0.5)
    noisy = [int(s) + int(rng.geometric(p)) for s in scores]
    return noisy.index(max(noisy))


def threshold(answer: Data, rng: Rng) -> Out:
    return bool(answer + rng.laplace(scale=1.0) >= 1)


def threshold_in_bits(answer: Data, rng: Rng) -> Out:
    return bool(answer + rng.laplace(scale=0.75 / math.log(2)) >= 0.25)


def two_thresholds(answer: Data, rng: Rng) -> Out:
    noisy = answer + rng.laplace(scale=1.0)
    return 0 if noisy < 0 else 1 if noisy <= 1 else 2


def noisy_bit(bit: Data, rng: Rng) -> Out:
    return bit + rng.laplace(scale=1.0)


def sometimes(answer: Data, rng: Rng) -> Out:
    return answer + rng.laplace(scale=1.0) >= 0 if rng.random() < 0.5 else True


def exponential_max(scores: Data, rng: Rng) -> Out:
    noisy = [s + rng.exponential(scale=2.0) for s in scores]
    return noisy.index(max(noisy))


def total(values: Data, rng: Rng) -> Out:
    return float(sum(values[:]) + rng.laplace(scale=1.0))


def larger(scores: Data, rng: Rng) -> Out:
    return scores[0] + rng.laplace(scale=2.0) >= scores[1] + rng.laplace(scale=2.0)


def largest(scores: Data, rng: Rng) -> Out:
    return max(scores[0], scores[1]) + rng.laplace(scale=1.0)


def labels(count: Data, rng: Rng) -> Out:
    side = count + rng.integers(3)
    return ["low", None] if side == 0 else ["high", None] if side == 1 else [str(side), 1.5]


def both(scores: Data, rng: Rng) -> Out:
    return [scores[0] + rng.laplace(scale=1.0), scores[1] + rng.laplace(scale=1.0)]


def noisy_sum(values: Data, rng: Rng) -> Out:
    return (
        float(sum(values) + rng.normal(scale=2.0)) if len(values) else rng.normal(scale=2.0) + 0.0
    )


def clipped_sums(values: Data, rng: Rng) -> Out:
    kept = [min(max(v, 0.0), 1.0) for v in values]
    return [sum(kept) + rng.normal(scale=2.0), kept[0] + kept[1] + rng.normal(scale=4.0)]


def norm_sum(rows: Data, rng: Rng) -> Out:
    return float(rows[0][0] + rows[0][1] + rng.laplace(scale=4.0))


def clipped_floats(count: Data, rng: Rng) -> Out:
    return [float(clipped(count, rng)), "of a list"]


def mixed(bit: Data, rng: Rng) -> Out:
    """Outputs of many forms: lists of several lengths, texts, nothing, an infinite number."""
    return [[1 - bit], [bit, 0], (bit, None), "text", None, math.inf][int(rng.integers(6))]


def flagged(bit: Data, rng: Rng) -> Out:
    return bit, rng.laplace(scale=1.0)


PERSON = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)
COUNT = Answers(sensitivity=1, integer=True, low=0, high=2)
FAR = Answers(sensitivity=2, integer=True, low=0, high=2)
SCORES = Answers(dimension=2, sensitivity=1, integer=True, low=0, high=2)
ANY_SCORES = Answers(dimension=2, sensitivity=1, integer=True)
ONE = Answers(sensitivity=1.0)
TWO = Answers(dimension=2, sensitivity=1.0)
UNITS = Records(record=Number(low=0.0, high=1.0), length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
WIDE = Records(record=Number(low=-5.0, high=5.0), length=2, relation=dpv.Relation.REPLACE_ONE)
PLANE = Records(
    record=Vector(dimension=2, radius=2.0, norm=2), length=1, relation=dpv.Relation.REPLACE_ONE
)


def pure(epsilon: float) -> dpv.PureDP:
    return dpv.PureDP(epsilon=epsilon)


SMALL: dict[str, tuple[Callable[..., Out], Schema, Any]] = {
    "response": (response, PERSON, pure(math.log(3))),
    "response for every epsilon": (response_every, PERSON, dpv.PureDP),
    "die": (die, COUNT, dpv.ApproxDP(epsilon=0.0, delta=1 / 3)),
    "clipped": (clipped, COUNT, pure(math.log(2))),
    "clipped for every epsilon": (clipped_every, COUNT, dpv.PureDP),
    "geometric max": (geometric_max, SCORES, pure(1.0)),
    "geometric max, aligned": (geometric_max, ANY_SCORES, pure(1.0)),
    "noisy bit": (noisy_bit, PERSON, pure(1.0)),
    "threshold": (threshold, ONE, pure(1.0)),
    "two thresholds": (two_thresholds, ONE, pure(1.0)),
    "two thresholds of whole data": (two_thresholds, COUNT, pure(1.0)),
    "sometimes": (sometimes, ONE, pure(1.0)),
    "exponential max": (exponential_max, TWO, pure(1.0)),
    "total": (total, UNITS, pure(1.0)),
    "larger": (larger, TWO, pure(1.0)),
    "largest": (largest, TWO, pure(1.0)),
    "both, in norm 1": (both, Answers(dimension=2, sensitivity=1.0, norm=1), pure(1.0)),
    "both, monotone": (both, Answers(dimension=2, sensitivity=0.5, monotone=True), pure(1.0)),
    "noisy sum": (noisy_sum, UNITS, dpv.GaussianDP(mu=0.5)),
    "noisy sum, delta": (noisy_sum, UNITS, dpv.ApproxDP(epsilon=1.0, delta=0.01)),
    "noisy sum, zcdp": (noisy_sum, UNITS, dpv.ZeroConcentratedDP(rho=0.125)),
    "noisy sum, renyi": (noisy_sum, UNITS, dpv.RenyiDP(order=4.0, epsilon=0.5)),
    "clipped sums": (clipped_sums, WIDE, dpv.GaussianDP(mu=0.6)),
    "less response": (response, PERSON, pure(math.log(2))),
    "less die": (die, COUNT, dpv.ApproxDP(epsilon=0.0, delta=0.25)),
    "clipped floats": (clipped_floats, COUNT, pure(math.log(2))),
    "less die, far": (die, FAR, dpv.ApproxDP(epsilon=0.0, delta=0.5)),
    "less mixed": (mixed, PERSON, pure(1.0)),
    "less flagged": (flagged, PERSON, pure(1.0)),
    "less labels": (labels, FAR, dpv.ApproxDP(epsilon=0.0, delta=0.5)),
    "less clipped": (clipped, COUNT, pure(0.5)),
    "less geometric max": (geometric_max, SCORES, pure(0.75)),
    "less threshold": (threshold, ONE, pure(0.5)),
    "less threshold, ln 2": (threshold_in_bits, ONE, pure(math.log(2))),
    "less total": (total, UNITS, pure(0.5)),
    "less larger": (larger, TWO, pure(0.5)),
    "less both": (both, TWO, pure(1.0)),
    "less exponential max": (exponential_max, TWO, pure(0.5)),
    "less in a ball": (norm_sum, PLANE, pure(0.5)),
    "less noisy sum": (noisy_sum, UNITS, dpv.GaussianDP(mu=0.4)),
    "less noisy sum, delta": (noisy_sum, UNITS, dpv.ApproxDP(epsilon=0.1, delta=0.01)),
}


def any_sum(values: Data, rng: Rng) -> Out:
    total = 0.0
    for value in values:
        total += min(value, 1.0)
    return total + rng.laplace(scale=1.0)


def any_sparse(answers: Data, rng: Rng) -> Out:
    bar = rng.laplace(scale=2.0)
    told = []
    for answer in answers:
        if answer + rng.laplace(scale=4.0) >= bar:
            told.append(True)
            return told
        told.append(False)
    return told


def any_count(bits: Data, rng: Rng) -> Out:
    count = 0
    for bit in bits:
        if bit == 1:
            count += 1
    return count + rng.laplace(scale=1.0)


def any_mean(values: Data, rng: Rng) -> Out:
    return sum(values) / len(values) + rng.laplace(scale=1 / len(values))


def any_answers(answers: Data, rng: Rng) -> Out:
    return [answer + rng.laplace(scale=1.0) for answer in answers]


def any_two_loops(values: Data, rng: Rng) -> Out:
    count, total = 0, 0.0
    for _ in values:
        count += 1
    noisy = count + rng.laplace(scale=2.0)
    for value in values:
        total += value
    if noisy > 3:
        return noisy, total + rng.laplace(scale=2.0)
    return noisy, 0.0


def any_early(answers: Data, rng: Rng) -> Out:
    bar = rng.exponential(2.0)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=2.0) >= bar:
            return i
    return -1


MANY = Records(record=Number(low=0.0, high=1.0), length=(0, None), relation=dpv.Relation.ADD_REMOVE)
FIXED = Records(
    record=Number(low=0.0, high=1.0), length=(1, None), relation=dpv.Relation.REPLACE_ONE
)
BITS = Records(record=Category(values=(0, 1)), length=(0, None), relation=dpv.Relation.ADD_REMOVE)
OTHERS = Records(
    record=Category(values=(0, 1)), length=(1, None), relation=dpv.Relation.REPLACE_ONE
)
QUERIES = Answers(dimension=(1, None), sensitivity=1.0)
INDUCED: dict[str, tuple[Callable[..., Out], Schema, Any]] = {
    "any sum": (any_sum, MANY, pure(1.0)),
    "any sum, replaced": (any_sum, FIXED, pure(1.0)),
    "any sparse vector": (any_sparse, QUERIES, pure(1.0)),
    "any count": (any_count, BITS, pure(1.0)),
    "any count, replaced": (any_count, OTHERS, pure(1.0)),
    "any mean": (any_mean, FIXED, pure(1.0)),
    "any answers": (any_answers, Answers(dimension=(1, None), sensitivity=1.0, norm=1), pure(1.0)),
    "any two loops": (any_two_loops, MANY, pure(1.0)),
    "any early, upwards": (
        any_early,
        Answers(dimension=(1, None), sensitivity=1.0, monotone=True),
        pure(1.0),
    ),
}
"""For data of any length, by induction."""


def certificate(name: str) -> Any:  # noqa: ANN401
    """The certificate in its file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(names: Iterable[str]) -> None:
    for name in names:
        found = certify(*(SMALL | INDUCED)[name])
        wanted = "refuted" if name.startswith("less") else "proved"
        if found.verdict != wanted:
            raise RuntimeError(f"{name}: {found}")
        found.save(FOLDER / f"{name}.json")
        sys.stdout.write(f"{name}: {found.method}\n")


if __name__ == "__main__":
    write(sys.argv[1:] or SMALL | INDUCED)
