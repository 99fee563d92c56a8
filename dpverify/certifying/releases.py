"""Claims on sums of noisy answers, with Gaussian noise too: proved by bounds, refuted by tails."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

import scipy

from dpverify.certifying.certificate import (
    ASSUMES,
    INTERRUPTED,
    Certificate,
    Disproof,
)
from dpverify.certifying.checking import Invalid, verify
from dpverify.certifying.checking.forms import Form, form
from dpverify.certifying.checking.sums import deviation
from dpverify.certifying.extraction import Extraction
from dpverify.certifying.rehearsal import rehearse
from dpverify.certifying.searching.sums import bound_releases
from dpverify.certifying.symbolic.exact import ONE, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.outputs import is_noisy_number
from dpverify.certifying.symbolic.plain import plain_laws, plain_schema, plain_tree
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Leaf, Limits
from dpverify.certifying.symbolic.schemas import (
    Rows,
    concrete,
    grid_rows,
    lengths,
    narrowed,
    pattern_rows,
    plain_rows,
    rational,
)
from dpverify.errors import NotSupported
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.schema import Schema

_FINE = 10**12
_MARGIN = Fraction(1, 10**9)
_MOST_PAIRS = 100


@dataclass
class SumsAttempt:
    """One claim on a mechanism that releases data plus noise."""

    mechanism: Callable[..., Any]
    schema: Schema
    claim: Guarantee
    seconds: float
    tried: list[str] = field(default_factory=list)

    def certificate(self) -> Certificate:
        self.start = time.monotonic()
        where = None
        for method in (self._proved, self._refuted):
            try:
                found = method()
            except NotUnderstood as reason:
                where = where or reason.where
                self.tried.append(str(reason))
                continue
            except (NotSupported, Invalid) as reason:
                self.tried.append(str(reason))
                continue
            except KeyboardInterrupt:
                self.tried.insert(0, INTERRUPTED)
                break
            if found is not None:
                return found
        return Certificate(
            verdict="open",
            scope="",
            reason=self.tried[0] if self.tried else "nothing was decided",
            claim=self.claim,
            method="none",
            where=where,
            tried=tuple(self.tried),
            seconds=time.monotonic() - self.start,
            evidence={"method": "none"},
        )

    def _extraction(self, *, releasing: bool) -> Extraction:
        limits = Limits(seconds=min(20.0, self.seconds / 2))
        stated = self.claim.epsilon if isinstance(self.claim, (PureDP, ApproxDP)) else None
        epsilon = ONE if stated is None else ExactNumber.of(rational(stated))
        made = Extraction(self.mechanism, self.schema, EpsilonUnit(), epsilon, limits, releasing)
        if made.more and stated is None:
            raise NotUnderstood(
                "the claim has no epsilon that mechanism(data, rng, epsilon) could be called with: "
                "give it a default"
            )
        return made

    def _proved(self) -> Certificate:
        extraction = self._extraction(releasing=True)
        found = dict(extraction.on_symbols(n) for n in lengths(self.schema))
        trees = {str(n): plain_tree(tree) for n, tree in found.items()}
        rehearse(extraction)
        if _releases(trees) != {"gaussian"}:
            raise NotUnderstood("releases have noises of several kinds, or none that is Gaussian")
        evidence: dict[str, Any] = {
            "method": "sums",
            "schema": plain_schema(self.schema),
            "laws": plain_laws(extraction.shared.laws),
            "trees": trees,
        }
        evidence["proof"], square = bound_releases(evidence)
        mu = _root_above(square)
        evidence["claim"] = self._plain_claim(mu)
        evidence = json.loads(json.dumps(evidence))
        try:
            verify(evidence)
        except Invalid as error:
            raise NotUnderstood(f"the releases together are {float(mu):.6g}-GDP: {error}") from None
        evidence["squared_mu"] = str(square)
        return Certificate(
            verdict="proved",
            scope=f"all data that the schema allows, {self.claim}",
            reason=f"the releases together are {float(mu):.6g}-GDP",
            claim=self.claim,
            method="sums",
            assumes=ASSUMES,
            seconds=time.monotonic() - self.start,
            evidence=evidence,
        )

    def _plain_claim(self, mu: Fraction) -> dict[str, Any]:
        return _ANY_CLAIM | self._own_claim(mu)

    def _own_claim(self, mu: Fraction) -> dict[str, str]:
        match self.claim:
            case PureDP(epsilon=epsilon):
                return {"kind": "pure", "epsilon": str(rational(epsilon)), "delta": "0"}
            case ApproxDP(epsilon=epsilon, delta=delta):
                told = {"epsilon": str(rational(epsilon)), "delta": str(rational(delta))}
                return {"kind": "approx", "mu": str(mu), **told}
            case GaussianDP(mu=claimed):
                return {"kind": "gaussian", "mu": str(rational(claimed))}
            case ZeroConcentratedDP(rho=rho):
                return {"kind": "zcdp", "rho": str(rational(rho))}
            case RenyiDP(order=order, epsilon=epsilon):
                return {
                    "kind": "renyi",
                    "order": str(rational(order)),
                    "epsilon": str(rational(epsilon)),
                }

    def _refuted(self) -> Certificate | None:
        """Look for a pair of neighbors on which one noisy number breaks the claim."""
        extraction = self._extraction(releasing=False)
        end = self.start + self.seconds
        pairs = [
            *islice(pattern_rows(self.schema), _MOST_PAIRS),
            *grid_rows(self.schema, _MOST_PAIRS),
        ]
        for left, right in pairs:
            if time.monotonic() > end:
                return None
            for one, other in ((left, right), (right, left)):
                found = self._told(extraction, one, other)
                if found is not None:
                    return found
        return None

    def _told(self, extraction: Extraction, left: Rows, right: Rows) -> Certificate | None:
        trees = [extraction.on(left), extraction.on(right)]
        if not all(isinstance(tree, Leaf) and is_noisy_number(tree.output) for tree in trees):
            return None
        laws = plain_laws(extraction.shared.laws)
        plain = [plain_tree(tree) for tree in trees]
        one, other = (form(tree["output"][1][1]) for tree in plain)
        for at in self._thresholds(one, other, laws):
            for sign in (1, -1):
                evidence = {
                    "method": "gaussian event",
                    "schema": plain_schema(narrowed(self.schema, left, right)),
                    "laws": laws,
                    "claim": self._stricter(),
                    "datasets": [plain_rows(left), plain_rows(right)],
                    "trees": plain,
                    "at": str(at),
                    "sign": str(sign),
                }
                try:
                    verify(json.loads(json.dumps(evidence)))
                except Invalid:
                    continue
                rehearse(extraction, [left, right])
                return self._disproof(evidence | {"claim": self._plain_claim(_ONE)}, left, right)
        return None

    def _thresholds(self, left: Form, right: Form, laws: dict[str, Any]) -> list[Fraction]:
        """Thresholds where one side may be too likely: near a density ratio of e^ε."""
        a, b = left.get("", Fraction(0)), right.get("", Fraction(0))
        variance = sum((c * deviation(laws[n])) ** 2 for n, c in left.items() if n)
        best = [(a + b) / 2 + self._epsilon() * variance / (a - b)] if a != b else []
        return [*best, a, b, (a + b) / 2]

    def _epsilon(self) -> Fraction:
        return rational(getattr(self.claim, "epsilon", 0.0))

    def _stricter(self) -> dict[str, Any]:
        """The claim with a margin for the rounding of floats."""
        claim = self._own_claim(_ONE)
        wider = {k: str(Fraction(v) * (1 + _MARGIN)) for k, v in claim.items() if k != "kind"}
        return _ANY_CLAIM | claim | wider

    def _disproof(self, evidence: dict[str, Any], left: Rows, right: Rows) -> Certificate:
        evidence = json.loads(json.dumps(evidence))
        verify(evidence)
        sign, at = int(evidence["sign"]), float(Fraction(evidence["at"]))
        masses = [_probability(tree, evidence["laws"], at, sign) for tree in evidence["trees"]]
        disproof = Disproof(
            left=concrete(self.schema, left),
            right=concrete(self.schema, right),
            event=f"{'≥' if sign > 0 else '≤'} {at:g}",
            probability_left=masses[0],
            probability_right=masses[1],
            exactly=("Φ of a rational over a root", "Φ of a rational over a root"),
            epsilon=getattr(self.claim, "epsilon", math.nan),
        )
        return Certificate(
            verdict="refuted",
            scope=str(self.claim),
            reason="an event is more likely than the claim allows",
            claim=self.claim,
            method="gaussian event",
            counterexample=disproof,
            assumes=ASSUMES,
            tried=tuple(self.tried),
            seconds=time.monotonic() - self.start,
            evidence=evidence,
        )


_ONE = Fraction(1)
_ANY_CLAIM: dict[str, Any] = {"unit": "one", "epsilon": "1", "delta": "0", "ratio": None}


def _probability(tree: dict[str, Any], laws: dict[str, Any], at: float, sign: int) -> float:
    value = form(tree["output"][1][1])
    variance = sum(float(c * deviation(laws[n])) ** 2 for n, c in value.items() if n)
    return float(scipy.special.ndtr(sign * (float(value.get("", 0)) - at) / math.sqrt(variance)))


def _root_above(square: Fraction) -> Fraction:
    """A rational number just above the root."""
    scaled = math.ceil(square * _FINE**2)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), _FINE)


def _releases(value: Any) -> set[str]:  # noqa: ANN401
    """The kinds of noise in all releases of the trees."""
    if not isinstance(value, (dict, list)):
        return set()
    parts = value.values() if isinstance(value, dict) else value
    own = {value["law"]["kind"]} if isinstance(value, dict) and "release" in value else set()
    return own.union(*map(_releases, parts))
