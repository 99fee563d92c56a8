"""Evidence as files: what each kind shows, found when a disclosure is written and again when it is
checked. Nothing in a file is executed: certificates and witnesses are verified by arithmetic.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpverify.balls import ball, enclose
from dpverify.claims import claim_from_dict
from dpverify.disclosing.document import Exhibit, StatedGuarantee
from dpverify.disclosing.form import plain
from dpverify.errors import DPVerifyError, InvalidParameter, as_between
from dpverify.guarantees import (
    GUARANTEES,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.neighbors import Relation
from dpverify.plain import CERTIFICATE, tagged
from dpverify.theorems import Theorem

_LARGEST = 100_000_000  # bytes of a file of evidence
_NOT_REPLAYED = "not replayed: that takes the mechanism, which a check does not run"
NO_PROOF = (
    "not verified: the proof is in the file of its certificate, which is evidence by itself; "
    "disclose that"
)
_LEDGER = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a file of evidence shows: the exhibit, what it is about, and why it is not valid.

    `unverified` says what cannot be seen from the file, so that nothing rests on it.
    """

    exhibit: Exhibit
    guarantee: Guarantee | None = None
    relation: Relation | None = None
    theorem: Theorem | None = None
    label: str | None = None
    assumes: tuple[str, ...] = ()
    broken: str | None = None
    unverified: tuple[str, ...] = ()


def shown_by(path: Path, *, dataset: str | None = None) -> Shown:
    """What a file shows, whichever kind of evidence it is."""
    if not path.is_file():
        raise InvalidParameter(f"evidence={str(path)!r} must be a file")
    if path.stat().st_size > _LARGEST:
        raise InvalidParameter(f"evidence={str(path)!r} must have at most {_LARGEST:,} bytes")
    with path.open("rb") as opened:
        if opened.read(len(_LEDGER)) == _LEDGER:
            return _ledger(path, dataset)
    held = _object(path)
    if held.get("format") == CERTIFICATE:
        return _certificate(path, held)
    if held.get("kind") == "trace witness":
        return _trace_witness(path)
    if "rungs" in held and "verdict" in held:
        return _decision(path, held)
    if "refuted" in held and "samples" in held:
        return _audit(path, held)
    if "event" in held and "counts" in held:
        return _witness(path, held)
    if "weights" in held and "claim" in held:
        return _model(path, held)
    raise InvalidParameter(
        f"evidence={str(path)!r} must be a certificate, a witness, the JSON of an audit or of a "
        "decision, a model that `dpverify fit` wrote, or a ledger"
    )


def of_theorem(theorem: Theorem) -> Exhibit:
    return Exhibit(
        kind="theorem",
        says=theorem.statement,
        name=theorem.name,
        source=theorem.source,
        proof=theorem.proof,
    )


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _object(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise InvalidParameter(
            f"evidence={str(path)!r} must be a JSON file with an object, or a ledger"
        )
    return held


def _certificate(path: Path, held: dict[str, Any]) -> Shown:
    from dpverify.certifying import check_certificate  # noqa: PLC0415  # slow to import

    found = check_certificate(path)
    guarantee = _certified(held["claim"]) if found.valid else None
    exhibit = Exhibit(
        kind="certificate",
        says=f"{found.verdict} for {found.scope}" if found.valid else "shows nothing",
        file=path.name,
        sha256=digest_of(path),
        verdict=found.verdict,
        claim=_told(guarantee),
    )
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        relation=_declared(held) if found.valid else None,
        label=f"the mechanism of {path.name}",
        assumes=found.assumes,
        broken=None if found.valid else f"the certificate is not valid: {found.reason}",
    )


def _certified(claim: dict[str, Any]) -> Guarantee | None:
    """The guarantee that a valid certificate is about, rounded up; None for "every ε"."""

    def number(name: str) -> float:
        return enclose(lambda: ball(Fraction(claim[name])))[1]

    match claim.get("kind"):
        case "pure":
            return PureDP(number("epsilon"))
        case "approx":
            return ApproxDP(number("epsilon"), number("delta"))
        case "gaussian":
            return GaussianDP(number("mu"))
        case "zcdp":
            return ZeroConcentratedDP(number("rho"))
        case "renyi":
            return RenyiDP(number("order"), number("epsilon"))
        case _:
            return _aligned(claim, number("epsilon"), number("delta"))


def _aligned(claim: dict[str, Any], epsilon: float, delta: float) -> Guarantee | None:
    """That of a certificate in units of 1, of a logarithm, or of every ε."""
    if claim["unit"] == "every":
        return None
    if claim["unit"] == "log":
        ratio, factor = Fraction(claim["ratio"]), Fraction(claim["epsilon"])
        epsilon = enclose(lambda: ball(ratio).log() * ball(factor))[1]
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def _declared(held: dict[str, Any]) -> Relation | None:
    """The relation of the records that a certificate's schema declares, if it does."""
    schema = held.get("schema", {})
    told = schema.get("records" if schema.get("relation") == "move" else "relation")
    return None if told is None else Relation.parse(told)


def _decision(path: Path, held: dict[str, Any]) -> Shown:
    """The JSON of `decide`: what the rung that spoke rests on, as far as the file holds it.

    A proof is in the file of its certificate, so that a decision alone proves nothing.
    """
    with _reading(path):
        claim = claim_from_dict(held["claim"])
        verdict, rung = str(held["verdict"]), str(held["rung"])
        level = float(as_between("level", held["level"], 0.0, 1.0))
        last = held["rungs"][-1]
        basis = dict(last["evidence"] or {})
        spoken = _spoken(rung, basis)
        broken = None
        if rung != last["rung"] or verdict != spoken:
            said = f"{rung!r} said {verdict!r}"
            broken = f"{said} must be what its last rung rests on: {spoken or 'nothing'}"
        elif rung == "certify" and verdict == "refuted" and not _is_exceeded(claim, basis):
            broken = f"the probabilities of its counterexample do not exceed {claim}"
        elif rung == "certify" and not _is_about(claim, str(basis["scope"])):
            broken = f"its evidence is for {basis['scope']}, not for {claim}"
        elif rung == "trace" and claim_from_dict(basis.get("claim", held["claim"])) != claim:
            broken = f"its trace is about {basis['claim']}, not {claim}"
    guarantee = claim if isinstance(claim, GUARANTEES) else None
    if rung == "audit" and broken is None:
        shown = _audit(path, basis)
        if shown.guarantee != guarantee:
            broken = f"its audit is about {shown.guarantee}, not {claim}"
        exhibit = replace(shown.exhibit, kind="decision")
        return replace(shown, exhibit=exhibit, broken=broken or shown.broken)
    is_proof = rung == "certify" and verdict == "proved"
    exhibit = Exhibit(
        kind="decision",
        says=f"{rung} said of {claim}: {verdict}",
        file=path.name,
        sha256=digest_of(path),
        verdict=None if is_proof or broken else verdict,
        claim=_told(guarantee),
        level=level,
    )
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        broken=broken,
        label=f"the mechanism of {path.name}",
        unverified=(NO_PROOF if is_proof else _NOT_REPLAYED,),
    )


def _spoken(rung: str, basis: dict[str, Any]) -> str | None:
    """What a rung says by what it rests on; None where it says nothing."""
    verdict = basis.get("verdict")
    if rung == "certify":
        return str(verdict) if verdict in {"proved", "refuted"} else None
    if basis.get("refuted") is True:
        return "refuted"
    silent = rung == "trace" and verdict != "shown"
    return None if silent or rung not in {"trace", "audit"} else "not refuted"


def _is_about(claim: object, scope: str) -> bool:
    """Whether the scope of a certificate, as a decision repeats it, ends in the claim itself."""
    if isinstance(claim, PureDP | ApproxDP) and "epsilon = " in scope:
        return scope.endswith(f"epsilon = {claim.epsilon:g}")
    return scope.endswith((str(claim), "every epsilon"))


def _is_exceeded(claim: object, basis: dict[str, Any]) -> bool:
    """Whether the probabilities of a counterexample contradict an (ε, δ) claim."""
    if not isinstance(claim, PureDP | ApproxDP):
        return True
    epsilon, delta = claim.epsilon, getattr(claim, "delta", 0.0)
    first, second = (
        float(as_between("probability", p, 0.0, 1.0))
        for p in basis["counterexample"]["probabilities"]
    )
    return max(first, second) > math.exp(epsilon) * min(first, second) + delta


def contradiction(exhibit: Exhibit, told: StatedGuarantee | None) -> str | None:
    """Why a lower bound of the evidence and a promise cannot both be true; None if they can."""
    if told is None or told.epsilon is None or exhibit.epsilon_lower is None:
        return None
    promised, at = told.epsilon.upper, exhibit.delta or 0.0
    if promised is None or told.delta is None or at < told.delta:
        return None
    if exhibit.epsilon_lower <= promised * (1 + 1e-6):
        return None
    return (
        f"{exhibit.epsilon_lower!r} at delta={at!r} contradicts the promise of "
        f"epsilon={promised!r} at delta={told.delta!r}"
    )


def _audit(path: Path, held: dict[str, Any]) -> Shown:
    """The JSON of a verdict; its power is computed anew, and its bound where draws are counted."""
    from dpverify.auditing.statistics.binomial import Counts, epsilon_lower  # noqa: PLC0415

    with _reading(path):
        claim = claim_from_dict(held["claim"])
        samples, level, delta = int(held["samples"]), float(held["level"]), float(held["delta"])
        refuted = bool(held["refuted"])
        counted = held["witness"]["counts"]["trials"] if held.get("witness") else 0
        most_drawn = max(samples, int(counted))  # bets may refute before a witness is counted
        sure = Counts(hits=most_drawn, trials=most_drawn, other_hits=0, other_trials=most_drawn)
        most = epsilon_lower(sure, delta=delta, level=level)
        least, told = float(held["epsilon_lower"]), float(held["most_shown"])
        guarantee = claim if isinstance(claim, GUARANTEES) else None
        exhibit = Exhibit(
            kind="audit",
            says=(
                f"{claim} is refuted at level {level:g}"
                if refuted
                else f"{claim} is not refuted, which is no proof of it"
            ),
            file=path.name,
            sha256=digest_of(path),
            verdict="refuted" if refuted else "not refuted",
            claim=_told(guarantee),
            level=level,
            delta=delta,
            epsilon_lower=least,
            most_shown=most,
            samples=samples,
        )
    broken = None
    if not math.isclose(most, told, rel_tol=1e-9):
        broken = f"most_shown={told!r} must be {most!r}: that is what {most_drawn} draws can show"
    elif least > most * (1 + 1e-9):
        broken = f"epsilon_lower={least!r} must not exceed most_shown={most!r}"
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        broken=broken,
        label=f"the mechanism of {path.name}",
        unverified=(_NOT_REPLAYED,),
    )


def _witness(path: Path, held: dict[str, Any]) -> Shown:
    """A witness of an audit: its counts alone must reject the claim, if drawn for that."""
    from dpverify.auditing.statistics.binomial import rejects  # noqa: PLC0415  # slow to import
    from dpverify.auditing.verdict import Witness, point_of  # noqa: PLC0415

    with _reading(path):
        witness = Witness.load(path)
        guarantee = witness.claim if isinstance(witness.claim, GUARANTEES) else None
        least, told, counts = witness.epsilon_lower, held.get("epsilon_lower"), witness.counts
        point = point_of(witness)
        rejected = witness.fresh and rejects(
            counts, epsilon=point.epsilon, delta=point.delta, level=witness.level
        )
    exhibit = Exhibit(
        kind="witness",
        says=f"{witness.event}, too likely on one side, refutes {witness.claim}",
        file=path.name,
        sha256=digest_of(path),
        verdict="refuted" if rejected else None,
        claim=_told(guarantee),
        level=float(witness.level),
        delta=float(witness.delta),
        epsilon_lower=least,
        samples=counts.trials,
    )
    broken = None
    if not isinstance(told, float | int) or not math.isclose(least, told, rel_tol=1e-9):
        broken = f"epsilon_lower={told!r} must be {least!r}: the counts show that"
    elif witness.fresh and not rejected:
        broken = f"its counts do not reject {witness.claim} at level {witness.level:g}"
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        label=f"the mechanism of {path.name}",
        broken=broken,
        unverified=(_NOT_REPLAYED,),
    )


def _trace_witness(path: Path) -> Shown:
    """A witness of a trace: for a pure claim its numbers show it, for others the mechanism must."""
    from dpverify.tracing import TraceWitness  # noqa: PLC0415  # slow to import

    witness = TraceWitness.load(path)
    claim = witness.claim
    guarantee = claim if isinstance(claim, GUARANTEES) else None
    is_pure = isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0)
    adds_up = witness.arithmetic()
    exhibit = Exhibit(
        kind="trace witness",
        says=f"a transcript whose privacy loss refutes {claim}",
        file=path.name,
        sha256=digest_of(path),
        verdict="refuted" if is_pure and adds_up else None,
        claim=_told(guarantee),
        epsilon_lower=max(0.0, abs(witness.loss.lower)) if is_pure else None,
    )
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        label=f"the mechanism of {path.name}",
        broken=None if adds_up else "the loss of its transcript does not exceed the claim",
        unverified=(_NOT_REPLAYED,),
    )


def _ledger(path: Path, dataset: str | None) -> Shown:
    from dpverify.ledger import Ledger  # noqa: PLC0415  # slow to import

    ledger = Ledger(path)
    head, budget = ledger.verify(), ledger.filter(dataset)
    name = dataset or ledger.datasets[0]
    exhibit = Exhibit(
        kind="ledger",
        says=f"every request for dataset {name!r} was charged before it ran",
        name=name,
        file=path.name,
        sha256=head,
        verdict="granted",
        claim=_told(budget.budget),
        requests=sum(entry.kind == "spend" for entry in ledger.history(name)),
    )
    return Shown(
        exhibit=exhibit,
        guarantee=budget.budget,
        relation=budget.relation,
        theorem=budget.theorem,
        label=f"all requests that the ledger grants for dataset {name!r}, together",
    )


def _model(path: Path, held: dict[str, Any]) -> Shown:
    with _reading(path):
        claim = dict(held["claim"])
        kinds = {kind.__name__: kind for kind in (PureDP, ApproxDP)}
        kind = kinds[claim["kind"]]
        names = [name for name in ("epsilon", "delta") if name in claim]
        guarantee = kind(**{name: claim[name] for name in names})
        bounds = ", ".join(f"{name} {value:g}" for name, value in held["bounds"].items())
        label = f"{held['method']} perturbation of the {held['loss']} loss; declared: {bounds}"
        (theorem,) = (Theorem(**each) for each in held["theorems"])
        relation = Relation.parse(claim["relation"])
    exhibit = Exhibit(
        kind="model",
        says=f"the released model, with the claim that {theorem.name} gives it",
        file=path.name,
        sha256=digest_of(path),
        claim=_told(guarantee),
    )
    return Shown(
        exhibit=exhibit,
        guarantee=guarantee,
        relation=relation,
        theorem=theorem,
        label=label,
        assumes=tuple(map(str, claim["assumes"])),
    )


def _told(guarantee: Guarantee | None) -> dict[str, Any] | None:
    if guarantee is None:
        return None
    told: dict[str, Any] = plain(tagged(guarantee))
    return told


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What a file lacks, in a sentence."""
    try:
        yield
    except DPVerifyError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidParameter(
            f"evidence={str(path)!r} must be as it was written: {error!r}"
        ) from None
