"""Certificates: what was shown of a mechanism, for which data, with the evidence as a file."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from dpverify.certifying.checking import Invalid, parsed, verify
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.errors import InvalidParameter
from dpverify.files import write_whole
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LeakyResponsePair, Pair
from dpverify.plain import CERTIFICATE
from dpverify.theorems import (
    ALIGNMENT,
    BERNSTEIN,
    EXACT_PROFILE,
    GAUSSIAN_FILTER,
    INDUCTION,
    PATH_MASSES,
    Theorem,
)

VERSION = 4
REAL_ARITHMETIC = (
    "real arithmetic: floats stand for the numbers that they were read as, and whole numbers for "
    "which no bounds are declared stay within 32 bits"
)
_MOST_TOLD = 4  # numbers of a record
INTERRUPTED = "interrupted"
PLAIN_TYPES = (
    "numbers are Python's, or of float64 and int64: real ones floats and whole ones ints, in lists "
    "or arrays as the schema draws them; of an output its numbers and texts count, and not whether "
    "they are Python's or NumPy's"
)
NO_OTHER_INPUT = "the output depends on the data and on rng alone"
_GROUNDS: dict[str, tuple[Theorem, ...]] = {  # by method
    "alignment": (ALIGNMENT,),
    "induction": (ALIGNMENT, INDUCTION),
    "exact": (PATH_MASSES, BERNSTEIN),
    "counterexample": (PATH_MASSES,),
    "sums": (GAUSSIAN_FILTER,),
    "gaussian event": (EXACT_PROFILE,),
}
SYMBOLIC_RUN = "the comparisons of the mechanism are those that its symbolic run made"
ASSUMES = (REAL_ARITHMETIC, PLAIN_TYPES, NO_OTHER_INPUT, SYMBOLIC_RUN)
_STATED = {  # by the kind of a claim about releases
    "pure": ("epsilon",),
    "approx": ("epsilon", "delta"),
    "gaussian": ("mu",),
    "zcdp": ("rho",),
    "renyi": ("order", "epsilon"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disproof:
    """A counterexample: two neighbors and an event whose exact probabilities break the claim.

    `left` and `right` are datasets as the mechanism takes them, `event` is what it returns.
    `probability_left` and `probability_right` are floats within one rounding of the exact numbers,
    which `exactly` writes out. With ε as claimed, or at `epsilon` where every ε was claimed.
    """

    left: Any
    right: Any
    event: Any
    probability_left: float
    probability_right: float
    exactly: tuple[str, str]
    epsilon: float

    def __str__(self) -> str:
        return (
            f"P[{self.event} | {brief(self.left)}] = {self.probability_left:.6g} and "
            f"P[{self.event} | {brief(self.right)}] = {self.probability_right:.6g}"
        )


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The result of `certify`.

    `verdict` is "proved", "refuted" or "open"; `scope` says for which data and which ε; `reason`
    what the proof rests on, or which line or inequality is missing. `where` is that line.
    `mechanism` is the name of the function and `source` a digest of what was read of it.
    `suspects` are neighbors on which the claim seemed to break, but no counterexample was accepted.

    >>> import dpverify as dpv
    >>> from dpverify.schema import Number, Records
    >>> unit = Number(low=0, high=1)
    >>> schema = Records(record=unit, length=(0, 3), relation=dpv.Relation.ADD_REMOVE)
    >>> def noisy(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> dpv.certify(noisy, schema, dpv.PureDP(1.0)).verdict
    'proved'
    """

    verdict: Literal["proved", "refuted", "open"]
    scope: str
    reason: str
    claim: Guarantee | None
    method: str
    where: str | None = None
    counterexample: Disproof | None = None
    assumes: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    suspects: tuple[tuple[Any, Any], ...] = ()
    seconds: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict, repr=False)
    mechanism: str = ""
    source: str = ""

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        """The theorems behind the verdict; none if it is open."""
        return () if self.verdict == "open" else _GROUNDS[self.method]

    @property
    def proved(self) -> bool:
        return self.verdict == "proved"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    @property
    def interrupted(self) -> bool:
        """Whether the verdict is open because the user interrupted the work."""
        return self.verdict == "open" and self.reason == INTERRUPTED

    def pair(self, relation: Relation) -> Pair:
        """The dominating pair of a proved mechanism, which composes like any other pair."""
        Relation.parse(relation)
        if not self.proved or not isinstance(self.claim, Guarantee):
            raise InvalidParameter(f"verdict={self.verdict!r} must be proved, for one epsilon")
        schema = self.evidence.get("schema", {})
        declared = schema.get("records" if schema.get("relation") == "move" else "relation")
        if declared is not None and Relation.parse(declared) is not Relation.parse(relation):
            raise InvalidParameter(f"relation={relation!r} must be {declared}, as it was proved")
        if "squared_mu" in self.evidence:
            return GaussianPair(Fraction(self.evidence["squared_mu"]))
        epsilon = getattr(self.claim, "epsilon", None)
        if epsilon is None:
            raise InvalidParameter(f"claim={self.claim!r} must be a pure or approximate guarantee")
        delta = getattr(self.claim, "delta", 0.0)
        return LeakyResponsePair(ApproxDP(epsilon=epsilon, delta=delta))

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, for `check_certificate`."""
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        write_whole(path, text + "\n")

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values for JSON."""
        told = {
            "format": CERTIFICATE,
            "version": VERSION,
            "mechanism": self.mechanism,
            "source": self.source,
            "verdict": self.verdict,
            "scope": self.scope,
            "reason": self.reason,
            "assumes": list(self.assumes),
            "tried": list(self.tried),
        }
        return told | self.evidence

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.scope}" if self.scope else self.verdict
        lines = [head, self.reason]
        if self.counterexample is not None:
            lines.append(str(self.counterexample))
        lines += [f"tried: {text}" for text in self.tried if self.verdict == "open"]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of checking a certificate: whether it shows its verdict, and if not, why.

    `scope`, `data` and `assumes` are the checker's own words, whatever the file says. `mechanism`
    and `source`, a digest, are what the file says: hand over the function to have it compared.
    """

    valid: bool
    verdict: str
    scope: str
    reason: str
    assumes: tuple[str, ...]
    data: str = ""
    mechanism: str = ""
    source: str = ""


def check_certificate(
    certificate: str | Path | dict[str, Any] | Certificate,
    mechanism: Callable[..., Any] | None = None,
) -> Checked:
    """Check a certificate, or its file, by exact arithmetic alone: no solver and no search.

    With `mechanism`, that the file names this function, too: the source and the constants that it
    was computed from are the same. That the evidence was computed from them is the word of whoever
    wrote the file; to know it, certify the function yourself.

    >>> import dpverify as dpv
    >>> from dpverify.schema import Number, Records
    >>> unit = Number(low=0, high=1)
    >>> schema = Records(record=unit, length=(0, 3), relation=dpv.Relation.ADD_REMOVE)
    >>> def noisy(data, rng):
    ...     return sum(data) + rng.laplace(scale=1.0)
    >>> found = dpv.certify(noisy, schema, dpv.PureDP(1.0))
    >>> dpv.check_certificate(found.to_dict()).valid
    True
    """
    read = _read(certificate)
    if read.get("format") != CERTIFICATE or read.get("version") != VERSION:
        raise InvalidParameter(
            f"certificate must be of the format {CERTIFICATE!r}, version {VERSION}, not "
            f"{read.get('version')!r}: certify again to write one"
        )
    told = str(read.get("verdict"))
    if told == "open":
        return Checked(valid=False, verdict=told, scope="", reason="it shows nothing", assumes=())
    scope = data = ""
    try:
        found = verify(read)
        valid, reason = found == told, f"the evidence shows: {found}"
        scope, data = _scope(read), _data(read["schema"])
    except Invalid as error:
        valid, reason = False, str(error)
    except (KeyError, TypeError, ValueError) as error:  # what the proof does not use
        valid, reason = False, f"malformed: {type(error).__name__} {error}"
    name, source = (str(read.get(key, "")) for key in ("mechanism", "source"))
    if valid and mechanism is not None and _digest(mechanism) != source:
        valid, reason = False, f"it is of another function, {name or 'without a name'}"
    return Checked(
        valid=valid,
        verdict=told,
        scope=scope if valid else "",
        reason=reason,
        assumes=ASSUMES,
        data=data if valid else "",
        mechanism=name,
        source=source,
    )


def _digest(mechanism: Callable[..., Any]) -> str | None:
    """A digest of a function's source and constants; None if it is not in the language."""
    from dpverify.certifying.language.checked import Program  # noqa: PLC0415  # slow to import

    try:
        return Program(mechanism).digest
    except NotUnderstood:
        return None


def _data(schema: dict[str, Any]) -> str:
    """The data and the neighbors that the checked evidence is about, in words."""
    low, high = schema["sizes"]
    count = f"{low} or more" if high is None else f"{low}" if low == high else f"{low} to {high}"
    what = ("answer" if schema["relation"] == "move" else "record") + "s" * (count != "1")
    if schema["slots"] is None:
        of = f"one of {len(schema['values'])} values"
    else:
        of = " and ".join(_slot(*slot) for slot in schema["slots"][:_MOST_TOLD])
        of += " …" if len(schema["slots"]) > _MOST_TOLD else ""
    if schema["ball"] is not None:
        of += f", of norm {schema['ball']['norm']} at most {schema['ball']['radius']}"
    if schema["relation"] != "move":
        return f"{count} {what}, each {of}; neighbors: {schema['relation']}"
    ways = ", all in one direction" if schema["monotone"] else ""
    reach = f"at most {schema['reach']} in norm {schema['norm']}{ways}"
    return f"{count} {what}, each {of}; between neighbors they move by {reach}"


def _slot(low: str | None, high: str | None, whole: bool) -> str:  # noqa: FBT001
    ends = f"{'-inf' if low is None else low}, {'inf' if high is None else high}"
    return f"a {'whole ' if whole else ''}number in [{ends}]"


def _scope(read: dict[str, Any]) -> str:
    """The data and the claim of the evidence, from what was checked rather than from the file."""
    claim = read["claim"]
    if read["method"] in {"sums", "gaussian event"}:
        told = ", ".join(f"{name} = {Fraction(claim[name])}" for name in _STATED[claim["kind"]])
    else:
        unit = f"·ln({claim['ratio']})" if claim["unit"] == "log" else ""
        epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
        told = f"epsilon = {epsilon}{unit}"
        if claim["unit"] == "every":
            told = "every epsilon" if epsilon == 1 else f"{epsilon} times every epsilon"
        told += f", delta = {delta}" if delta else ""
    data = "data of any length" if read["method"] == "induction" else "all data"
    return f"{data} that the schema allows, {told}" if read["verdict"] == "proved" else told


def _read(certificate: str | Path | dict[str, Any] | Certificate) -> dict[str, Any]:
    if isinstance(certificate, Certificate):
        made: dict[str, Any] = json.loads(json.dumps(certificate.to_dict()))
        return made
    if isinstance(certificate, dict):
        return certificate
    try:
        read = parsed(Path(certificate).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Invalid) as error:
        raise InvalidParameter(
            f"certificate={str(certificate)!r} must be a JSON file: {error}"
        ) from None
    if not isinstance(read, dict):
        raise InvalidParameter(f"certificate={str(certificate)!r} must hold an object")
    return read


def brief(value: Any) -> str:  # noqa: ANN401
    """A dataset on one short line, for messages."""
    text = str(value.tolist() if hasattr(value, "tolist") else value)
    return text if len(text) <= 60 else text[:57] + "…"
