"""The disclosure as frozen values: what is said of a release, and what is not.

None means "not stated", and is written so. Every field says in one sentence what it holds; the
JSON Schema is made of the same sentences.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

from dpverify.disclosing.form import Reader, asked, described, extra, plain
from dpverify.disclosing.objections import Objection
from dpverify.disclosing.text import Tree, written
from dpverify.errors import InvalidParameter
from dpverify.files import write_whole

FORMAT: Final = "dpverify disclosure"
VERSION: Final = 1

Variant: TypeAlias = Literal["pure", "approximate", "zero-concentrated", "gaussian", "renyi"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What is released, by whom and for what; all of it is given, nothing computed."""

    name: str | None = asked("Name of the data product.")
    curators: tuple[str, ...] | None = asked("Who publishes it.")
    description: str | None = asked("What it is, in a sentence or two.")
    intended_use: str | None = asked("What it is for.")
    kind: str | None = asked("Summary statistics, machine learning model, synthetic data, …")
    region: str | None = asked("Which region the data describe.")
    published: str | None = asked("Date of the first publication, YYYY-MM-DD.")
    sector: str | None = extra("Technology, healthcare, education, government, energy, finance.")
    sources: str | None = extra("Papers, pages and code that describe it.")
    authors: tuple[str, ...] | None = extra("Who filled in this document.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedUnit:
    """What is protected, and which datasets are neighbors.

    The guarantee is about datasets that differ in up to `most_records` records under `relation`.
    """

    protected: str | None = asked("Who or what is protected: person, user, device, event, …")
    record: str | None = asked("What one record stands for: the same as `protected`, or a part.")
    most_records: int | None = asked("Most records that one protected unit holds.", low=1)
    relation: Literal["add-remove", "replace-one"] | None = asked(
        "Neighbors differ by adding or removing a record, or by replacing one."
    )
    details: str | None = extra("Neighbors in the terms of this very dataset.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What is known of the data without looking at them."""

    domain: str | None = asked("Which datasets are protected: actual, possible, counterfactual.")
    records: int | None = asked("Public number of records, against which δ is held.", low=1)
    unprotected: tuple[str, ...] | None = asked("Quantities published without noise; [] if none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoEnds:
    """Both certified ends of one number; "inf" where it has no bound."""

    lower: float | None = asked("The exact value is not below it.", low=0)
    upper: float | None = asked("The exact value is not above it.", low=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePoint:
    """The smallest δ at one ε."""

    epsilon: float | None = asked("At this ε.", low=0)
    delta: TwoEnds | None = asked("The smallest δ that holds.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedGuarantee:
    """The promise, with both ends of what the stated parts cost in the worst case."""

    variant: Variant | None = asked("Which definition of differential privacy.")
    delta: float | None = asked("The δ at which ε is stated; 0 is pure.", low=0, high=1)
    epsilon: TwoEnds | None = asked("The smallest ε at δ; the upper end is what is promised.")
    rho: float | None = extra("ρ of zero-concentrated DP.", low=0)
    mu: float | None = extra("μ of Gaussian DP.", low=0)
    order: float | None = extra("Order of Rényi DP.", low=1)
    profile: tuple[ProfilePoint, ...] | None = asked("Further points (ε, δ) of the same guarantee.")
    tolerance: float | None = extra("How far apart the ends were allowed to be.", low=0)
    theorem: str | None = asked("Name of the theorem that the ends rest on.")
    assumes: tuple[str, ...] | None = asked("What they assume beyond it; [] if nothing.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What the best test of membership finds."""

    false_positive_rate: float | None = asked("At this rate of false alarms.", low=0, high=1)
    true_positive_rate: TwoEnds | None = asked("The largest rate at which it is right.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The highest posterior probability of one record, after the worst possible output."""

    prior: float | None = asked("Who was sure to this degree before.", low=0, high=1)
    posterior: TwoEnds | None = asked("Can become at most so sure.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRisk:
    """What an attacker who knows everything but one record can do."""

    advantage: TwoEnds | None = asked(
        "True minus false positive rate of the best membership attack: δ at ε = 0."
    )
    detection: Detection | None = asked("What a test finds.")
    belief: Belief | None = extra("How sure one can become, where there is a limit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustModel:
    """Who sees what, and how often."""

    model: Literal["central", "local", "shuffle", "federated"] | None = asked("Model of trust.")
    actors: str | None = asked("Who sees the data or the product, and why they are trusted.")
    releases: Literal["one", "many"] | None = asked("Published once, or again over time.")
    refreshed: str | None = extra("When the budget starts anew, and what holds over time.")
    data: Literal["static", "dynamic"] | None = asked("Whether new data come in.")
    access: Literal["interactive", "non-interactive"] | None = asked("Whether people ask queries.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedComposition:
    """How the parts add up."""

    rule: str | None = asked("Name of the theorem by which the parts compose.")
    statement: str | None = asked("How privacy loss adds up, in words.")
    post_processing: str | None = extra("What is done to noisy values before they are published.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPart:
    """One mechanism and how often it runs.

    `name` and `parameters` are those of `dpverify compose`, guarantees included; "pair" means a
    dominating pair in dpverify's own encoding, and `relation` is the one that it is the pair of.
    What is nested is {name, parameters} again.
    """

    label: str | None = asked("The mechanism in words.")
    name: str | None = asked("Name of a mechanism or a guarantee that dpverify knows.")
    parameters: dict[str, Any] | None = asked("Its parameters, sensitivity and noise included.")
    times: int | None = asked("How often it runs.", low=1)
    relation: Literal["add-remove", "replace-one"] | None = extra(
        "Of a pair, the relation that it was made for."
    )
    arithmetic: str | None = asked("Real numbers, floats, or integers on a grid.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defenses:
    """What was done against leaks beside the mechanism, and what happened before it ran."""

    floating_point: str | None = asked("Measures against leaks through the bits of floats.")
    timing: str | None = asked("Measures against leaks through time and resources.")
    security: str | None = extra("How the data themselves are kept.")
    preprocessing: str | None = asked("What was done to the data before, and what it cost.")
    tuning: str | None = asked("How parameters were chosen, and what that cost.")
    justification: str | None = extra("Why these choices.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """Which code made the release, and which wrote this document."""

    dpverify: str | None = asked("Version of dpverify that computed the numbers.")
    version: str | None = asked("Version of the released code, and where it is.")
    file: str | None = extra("File of the released code, beside this document.")
    sha256: str | None = asked("SHA-256 of the released code.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One piece of evidence: a theorem, or a file beside this document.

    Of a file, `sha256` is that of its content. `claim` is what was examined, as (ε, δ), ρ or μ.
    The power of an audit is `most_shown`: the largest ε that so many draws could have shown.
    """

    kind: Literal[
        "theorem",
        "certificate",
        "decision",
        "audit",
        "witness",
        "trace witness",
        "ledger",
        "model",
    ] = field(metadata={"says": "What it is.", "asked": True})
    says: str | None = asked("What it shows, in a sentence.")
    name: str | None = extra("Name of the theorem.")
    source: str | None = extra("Where the theorem is published.")
    proof: str | None = extra("The proof that runs.")
    file: str | None = extra("File beside this document.")
    sha256: str | None = extra("SHA-256 of the file; of a ledger, the hash of its last entry.")
    verdict: str | None = extra("proved, refuted, not refuted, granted.")
    claim: dict[str, Any] | None = extra("The guarantee that was examined.")
    level: float | None = extra("Probability of refuting an honest mechanism.", low=0, high=1)
    delta: float | None = extra("The δ at which the audit's bound holds.", low=0, high=1)
    epsilon_lower: float | None = extra("The audit shows that ε is at least this.", low=0)
    most_shown: float | None = extra("The most that so many draws could have shown.", low=0)
    samples: int | None = extra("Draws on each side.", low=1)
    requests: int | None = extra("Requests that the ledger granted.", low=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """A document that says what one release promises, and on what evidence.

    >>> import dpverify as dpv
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(50.0))
    >>> document = dpv.disclose(spent, delta=1e-6)
    >>> round(document.guarantee.epsilon.upper, 3)
    0.071
    """

    title: ClassVar[str] = "Disclosure of a differentially private release"

    format: Literal["dpverify disclosure"] = field(
        default=FORMAT, metadata={"says": "What this document is.", "asked": True}
    )
    version: Literal[1] = field(
        default=VERSION, metadata={"says": "Version of the format.", "asked": True}
    )
    product: Product | None = asked("Who and what.")
    unit: ProtectedUnit | None = asked("What is protected.")
    data: DataFacts | None = asked("What is known of the data.")
    guarantee: StatedGuarantee | None = asked("What is promised.")
    risk: StatedRisk | None = asked("What that means for an attacker.")
    trust: TrustModel | None = asked("Who is trusted.")
    composition: StatedComposition | None = asked("How the parts add up.")
    mechanisms: tuple[StatedPart, ...] | None = asked("What runs, in any order.")
    defenses: Defenses | None = asked("Against leaks beside the mechanism.")
    code: CodeFacts | None = asked("Which code.")
    evidence: tuple[Exhibit, ...] | None = asked("Why it is true.")
    seal: str | None = asked("SHA-256 of everything above, so that a change shows.")

    @classmethod
    def read(cls, tree: Tree) -> "tuple[Disclosure, tuple[Objection, ...]]":
        """The disclosure in plain values, and an objection to every field not as declared."""
        reader = Reader()
        found = reader.stated(cls, tree)
        return found or cls(), tuple(reader.objections)

    @property
    def digest(self) -> str:
        """SHA-256 of all that is stated, the seal excepted."""
        text = json.dumps(plain(replace(self, seal=None)), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def sealed(self) -> "Disclosure":
        """The same as it will be read again, with its seal."""
        found, objections = self.read(self.to_dict())
        if objections:
            raise InvalidParameter(f"{objections[0].path}: {objections[0].text}")
        return replace(found, seal=found.digest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as YAML and JSON hold them."""
        told: dict[str, Any] = plain(self)
        return told

    def save(self, path: str | Path) -> None:
        """Write it as YAML, or as JSON if the name ends in .json."""
        kind: Literal["yaml", "json"] = "json" if Path(path).suffix == ".json" else "yaml"
        write_whole(path, written(self.to_dict(), kind))


def schema() -> dict[str, Any]:
    """The JSON Schema of the format."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:dpverify:disclosure:{VERSION}",
        "title": Disclosure.title,
        **described(Disclosure),
    }
