"""Check sums of noisy answers: both neighbors' runs side by side, release by release.

Each release is data plus fresh Gaussian noise. Both runs are followed with the same earlier
releases; cases are split where a branch is open. Per release, multipliers bound by b how far the
noise-free parts are apart: it is (b/σ)-GDP given the ones before. Where Σ(b/σ)² ≤ μ² on every way,
all releases together are μ-GDP. [proofs/gaussian_filter.py]
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dpverify.certifying.checking.exactly import check_neighbors, number_of
from dpverify.certifying.checking.forms import (
    ONE,
    ZERO,
    Fact,
    Form,
    Json,
    form,
    impossible,
    need,
    negated,
    plus,
    rational,
)
from dpverify.certifying.checking.normal import gaussian_delta, normal
from dpverify.certifying.checking.numbers import ClaimUnit, exp_bounds
from dpverify.certifying.checking.trees import NeighborCase, branches, goals, noises, placed, told

UNIT = ClaimUnit({"unit": "one", "ratio": None, "epsilon": 0, "delta": 0})


def check_sums(read: Json) -> str:
    """Raise unless all releases together keep the claim for all neighbors."""
    square = squared_mu(claimed(read))
    need("datasets" not in read, "sums are of symbols")
    for case, goal in zip(read["proof"], goals(read), strict=True):
        for spent in followed(case, Runs(**vars(goal))):
            need(spent <= square, "the releases cost too much")
    return "proved"


@dataclass(frozen=True)
class Runs(NeighborCase):
    """The state of both runs, the number of releases so far, and Σ(b/σ)² over them."""

    count: int = 0
    spent: Fraction = ZERO

    def known(self, *facts: Fact) -> "Runs":
        return replace(self, facts=[*self.facts, *facts])

    def moved(self, side: int, tree: Json, **symbols: Form) -> "Runs":
        """One of the runs at another tree, with more symbols."""
        trees, maps = [*self.trees], [*self.maps]
        trees[side], maps[side] = tree, maps[side] | symbols
        return replace(self, trees=(trees[0], trees[1]), maps=(maps[0], maps[1]))

    def forms(self) -> tuple[Form, Form]:
        left, right = (placed(t["form"], m) for t, m in zip(self.trees, self.maps, strict=True))
        return left, right


def followed(case: Json, runs: Runs) -> Iterator[Fraction]:
    """The cost of each way that both runs can take; each step is checked."""
    left, right = runs.trees
    if "impossible" in case:
        impossible(runs.facts, case["impossible"])
    elif "split" in case:
        test = form(case["split"])
        yield from followed(case["yes"], runs.known((test, False)))
        yield from followed(case["no"], runs.known(negated(test, runs.whole)))
    elif "go" in case:  # one run takes a branch, since the other one is impossible
        tree, values = runs.trees[case["go"]], runs.maps[case["go"]]
        both = dict(branches(tree, runs.whole, values))
        impossible([*runs.facts, both["no" if case["branch"] == "yes" else "yes"]], case["not"])
        then = runs.known(both[case["branch"]]).moved(case["go"], tree[case["branch"]])
        yield from followed(case["then"], then)
    elif "clamp" in case:
        yield from followed(case["then"], clamped(case, runs))
    elif "draw" in left:
        need(left["draw"] == right["draw"], "the runs draw differently")
        UNIT.weights(json.dumps(left["draw"]))
        for inner, a, b in zip(case["draw"], left["then"], right["then"], strict=True):
            yield from followed(inner, runs.moved(0, a).moved(1, b))
    elif "release" in left:
        yield from followed(case["then"], released(case, runs))
    else:
        a, b = (told(t["output"], m) for t, m in zip(runs.trees, runs.maps, strict=True))
        need(a == b, "the output may change")
        yield runs.spent


def released(case: Json, runs: Runs) -> Runs:
    """Both runs after a release whose noise-free parts are at most `bound` apart."""
    left, right = runs.trees
    need(left["law"] == right["law"] and left["law"]["kind"] == "gaussian", "the noises differ")
    need(left["scale"] == right["scale"], "the noises differ")
    a, b = runs.forms()
    bound, width = rational(case["bound"]), rational(left["scale"]) * deviation(left["law"])
    need(width > 0, "there is no noise")
    for one, other, key in ((a, b, "above"), (b, a, "below")):
        gap = plus(plus(one, other, -ONE), {"": -bound})
        impossible([*runs.facts, (gap, True)], case[key])
    symbol: Form = {f"r{runs.count}": ONE}
    after = runs.moved(0, left["then"], **{left["release"]: symbol})
    after = after.moved(1, right["then"], **{right["release"]: symbol})
    return replace(after, count=runs.count + 1, spent=runs.spent + (bound / width) ** 2)


def clamped(case: Json, runs: Runs) -> Runs:
    """One run after a minimum or maximum with a constant, which gets a symbol of its own.

    A minimum is below both; it is above `bound` if the constant is, and the other cannot be below.
    """
    side = case["clamp"]
    tree, values = runs.trees[side], runs.maps[side]
    inner, constant = placed(tree["form"], values), {"": rational(tree["constant"])}
    sign = {"max": ONE, "min": -ONE}[tree["operation"]]
    terms = sorted((n, str(c)) for n, c in inner.items())
    symbol: Form = {json.dumps([tree["operation"], terms, str(constant[""])]): ONE}
    facts = [(plus({}, plus(symbol, part, -ONE), sign), False) for part in (constant, inner)]
    if case["bound"] is not None:
        bound = {"": rational(case["bound"])}
        beyond = plus({}, plus(inner, bound, -ONE), sign)
        need(sign * (constant[""] - bound[""]) <= 0, "no bound of the constant")
        impossible([*runs.facts, (beyond, True)], case["within"])
        facts.append((plus({}, plus(bound, symbol, -ONE), sign), False))
    return runs.known(*facts).moved(side, tree["then"], **{tree["clamp"]: symbol})


def deviation(law: Json) -> Fraction:
    """The standard deviation of Gaussian noise."""
    number = law["parameter"]
    plain = number["power"] == 0 and len(number["num"]) == len(number["den"]) == 1
    need(plain, "no rational scale")
    return rational(number["num"][0]) / rational(number["den"][0])


def claimed(read: Json) -> Json:
    """The claim, with ε and δ as plain numbers."""
    claim = read["claim"]
    need(ClaimUnit(claim).kind == "one" and rational(claim.get("mu", 0)) >= 0, "no claim")
    return claim


def squared_mu(claim: Json) -> Fraction:
    """A μ² for which μ-GDP keeps the claim; raise if the claim's own μ does not."""
    kind = claim["kind"]
    if kind == "zcdp":
        return 2 * rational(claim["rho"])
    if kind == "renyi":
        need(rational(claim["order"]) > 1, "no claim")
        return 2 * rational(claim["epsilon"]) / rational(claim["order"])
    need(kind in {"gaussian", "approx"} and rational(claim["mu"]) > 0, "no claim for such noise")
    if kind == "approx":
        delta = gaussian_delta(rational(claim["mu"]), rational(claim["epsilon"]))
        need(delta <= rational(claim["delta"]), "δ is too small")
    return rational(claim["mu"]) ** 2


def check_gaussian_event(read: Json) -> str:
    """Check a counterexample with Gaussian noise: on one side, x ≥ t (or x ≤ t) is too likely."""
    check_neighbors(read)
    noises(read)
    (low, _), (_, high) = (normal_end(tree, read) for tree in read["trees"])
    claim, excess = claimed(read), ZERO
    if claim["kind"] == "gaussian":
        excess = low - high - rational(claim["mu"])
    else:
        need(claim["kind"] in {"pure", "approx"}, "no event breaks such a claim")
        factor = exp_bounds(rational(claim["epsilon"]), 200)[1]
        excess = normal(low)[0] - factor * normal(high)[1] - rational(claim["delta"])
    need(excess > 0, "the event is not too likely")
    return "refuted"


def normal_end(tree: Json, read: Json) -> tuple[Fraction, Fraction]:
    """Rational bounds on the z for which the event has probability Φ(z)."""
    at, sign = rational(read["at"]), rational(read["sign"])
    need(sign in {1, -1}, "unknown sign")
    value = number_of(tree["output"]) or {}
    laws = {name: read["laws"][name] for name in value if name}
    need(all(law["kind"] == "gaussian" for law in laws.values()), "the noise is not Gaussian")
    variance = sum(((value[n] * deviation(law)) ** 2 for n, law in laws.items()), ZERO)
    root = math.isqrt(math.floor(variance * 10**120))
    need(root > 0, "there is no noise")
    gap = sign * (value.get("", ZERO) - at) * 10**60
    return min(gap / root, gap / (root + 1)), max(gap / root, gap / (root + 1))
