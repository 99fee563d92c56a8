"""`disclose`: what is known of a release, as one document; what is not known is said not to be."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import dpverify
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Composable
from dpverify.claims import Claim
from dpverify.disclosing.document import (
    CodeFacts,
    Disclosure,
    Exhibit,
    ProtectedUnit,
    StatedComposition,
    StatedGuarantee,
    StatedPart,
)
from dpverify.disclosing.exhibits import Shown, contradiction, digest_of, of_theorem, shown_by
from dpverify.disclosing.figures import TOLERANCE, guarantee_of, risk_of
from dpverify.disclosing.parts import composed, seen_part, stated_part
from dpverify.disclosing.text import Tree
from dpverify.errors import InvalidParameter, as_between, as_positive
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import Theorem
from dpverify.waiting import telling

if TYPE_CHECKING:
    from dpverify.ledger import Ledger

Disclosable: TypeAlias = (
    "Accountant | Composable | Sequence[tuple[Composable, int]] | Ledger | Path | Any"
)
"""An accountant, a mechanism, parts and how often they run, a ledger, a fitted model, a file."""

_COMPUTED = ("guarantee", "risk", "mechanisms", "evidence", "seal", "format", "version")


@telling("computing the disclosure")
def disclose(  # noqa: PLR0913  # all that a document rests on
    subject: Disclosable,
    *,
    relation: Relation | str | None = None,
    delta: float | None = None,
    given: dict[str, Any] | None = None,
    evidence: Iterable[str | Path] = (),
    arithmetic: str | None = None,
    dataset: str | None = None,
    tolerance: float = TOLERANCE,
) -> Disclosure:
    """Make the disclosure of an accountant, a ledger, a fitted model, or an evidence file.

    `relation` and `delta` are needed where the subject does not state them. `given` is what only
    people know, by section, as in the document: product, unit, data, trust, composition, defenses
    and code; `arithmetic` says how the noise was computed. `evidence` are files that the document
    is kept beside: certificates, witnesses, the JSON of audits, models and ledgers; `dataset` is
    which one of a ledger is meant.

    >>> from dpverify.mechanisms import Gaussian
    >>> made = disclose(Gaussian(sigma=5.0), relation="add-remove", delta=1e-6)
    >>> round(made.guarantee.epsilon.upper, 4), made.product is None
    (0.8341, True)
    """
    tolerance = float(as_positive("tolerance", tolerance))
    people = _given(given)
    shown = tuple(shown_by(Path(path)) for path in evidence)
    own = _shown(subject, dataset)
    relation = _relation(relation, own, subject, people)
    parts = _parts(subject, own, relation)
    delta = _delta(delta, own, subject)
    unit = _unit(people.unit or ProtectedUnit(), relation)
    accountant = composed(parts, relation, unit.most_records or 1)
    if not accountant.parts:
        raise InvalidParameter("parts=() must not be empty: compose something first")
    guarantee = guarantee_of(accountant, delta, tolerance)
    files = (*shown, *(() if own is None else (own,)))
    _check_evidence(files, guarantee)
    assumed = [*(guarantee.assumes or ()), *(text for each in files for text in each.assumes)]
    guarantee = replace(guarantee, assumes=tuple(dict.fromkeys(assumed)))
    theorem = _theorem(guarantee.theorem)
    theorems = [
        each for each in (theorem, None if own is None else own.theorem) if each is not None
    ]
    exhibits = [*map(of_theorem, dict.fromkeys(theorems)), *(each.exhibit for each in shown)]
    if own is not None and own.exhibit.file is not None:
        exhibits.append(own.exhibit)
    made = replace(
        people,
        unit=unit,
        guarantee=guarantee,
        risk=risk_of(accountant, tolerance),
        composition=_composition(people.composition, theorems),
        mechanisms=tuple(replace(part, arithmetic=arithmetic) for part in parts),
        code=_code(people.code),
        evidence=_distinct(exhibits),
    )
    return made.sealed()


def _check_evidence(files: Iterable[Shown], guarantee: StatedGuarantee) -> None:
    """Refuse to promise what the evidence refutes, and evidence that is not valid."""
    for each in files:
        exhibit = each.exhibit
        name = f"evidence={exhibit.file!r}"
        if each.broken is not None:
            raise InvalidParameter(f"{name} must be valid: {each.broken}")
        if exhibit.verdict == "refuted":
            raise InvalidParameter(f"{name} must not refute what is disclosed: {exhibit.says}")
        text = contradiction(exhibit, guarantee)
        if text is not None:
            raise InvalidParameter(f"{name} must not refute what is disclosed: ε ≥ {text}")


def _distinct(exhibits: Iterable[Exhibit]) -> tuple[Exhibit, ...]:
    """Each once; a file may be given as evidence of itself."""
    found: list[Exhibit] = []
    for each in exhibits:
        if each not in found:
            found.append(each)
    return tuple(found)


def _given(tree: Tree) -> Disclosure:
    """What people state; what is computed they must leave out."""
    if tree is None:
        return Disclosure()
    if not isinstance(tree, dict):
        raise InvalidParameter("given must be an object with sections, such as product and unit")
    for name in _COMPUTED:
        if name in tree:
            raise InvalidParameter(f"given.{name} must be left out: dpverify fills it in")
    composition = tree.get("composition")
    for name in ("rule", "statement"):
        if isinstance(composition, dict) and name in composition:
            raise InvalidParameter(
                f"given.composition.{name} must be left out: dpverify fills it in"
            )
    blank = Disclosure().to_dict()
    found, objections = Disclosure.read(
        {"format": blank["format"], "version": blank["version"], **tree}
    )
    if objections:
        raise InvalidParameter(f"given.{objections[0].path}: {objections[0].text}")
    return found


def _shown(subject: Disclosable, dataset: str | None) -> Shown | None:
    """What a file, a ledger or a fitted model shows; None for what is composed."""
    from dpverify.ledger import Ledger  # noqa: PLC0415  # checks do without it

    if isinstance(subject, Ledger):
        return shown_by(subject.path, dataset=dataset)
    if isinstance(subject, str | Path):
        return shown_by(Path(subject), dataset=dataset)
    claim = subject if isinstance(subject, Claim) else getattr(subject, "claim_", None)
    if not isinstance(claim, Claim):
        return None
    method = getattr(subject, "method_", None)
    name = "a claim" if isinstance(subject, Claim) else type(subject).__name__
    return Shown(
        exhibit=Exhibit(kind="model"),
        guarantee=claim.guarantee,
        relation=claim.relation,
        theorem=claim.theorem,
        label=name if method is None else f"{name}, {method} perturbation",
        assumes=claim.assumes,
    )


def _relation(
    asked: Relation | str | None, own: Shown | None, subject: Disclosable, people: Disclosure
) -> Relation:
    """The one relation that is stated; two that differ are refused."""
    stated = {
        "relation": None if asked is None else Relation.parse(asked),
        "given.unit.relation": None
        if people.unit is None or people.unit.relation is None
        else Relation.parse(people.unit.relation),
        "subject": subject.relation
        if isinstance(subject, Accountant)
        else getattr(own, "relation", None),
    }
    found = {name: each for name, each in stated.items() if each is not None}
    if not found:
        raise InvalidParameter("relation=None must be add-remove or replace-one")
    if len(set(found.values())) > 1:
        told = ", ".join(f"{name}={each.value}" for name, each in found.items())
        raise InvalidParameter(f"{told} must be one and the same relation")
    return next(iter(found.values()))


def _parts(subject: Disclosable, own: Shown | None, relation: Relation) -> tuple[StatedPart, ...]:
    if own is not None:
        if own.guarantee is None:
            raise InvalidParameter("evidence must be about one guarantee to be disclosed")
        return (stated_part(own.guarantee, 1, relation, own.label),)
    if isinstance(subject, Accountant):
        return tuple(seen_part(part, relation) for part in subject.parts)
    listed: Any = subject if isinstance(subject, list | tuple) else [(subject, 1)]
    return tuple(stated_part(part, times, relation) for part, times in listed)


def _delta(delta: float | None, own: Shown | None, subject: Disclosable) -> float:
    if delta is not None:
        return float(as_between("delta", delta, 0.0, 1.0))
    match own.guarantee if own is not None else subject:
        case PureDP():
            return 0.0
        case list() as parts if all(isinstance(part, PureDP) for part, _ in parts):
            return 0.0
        case ApproxDP(delta=stated):
            return float(stated)
        case _:
            raise InvalidParameter("delta=None must be given: the δ at which ε is stated")


def _unit(unit: ProtectedUnit, relation: Relation) -> ProtectedUnit:
    """What is protected; a unit of several records must say how many."""
    if unit.most_records is None and not is_one_record(unit):
        raise InvalidParameter(
            f"given.unit.most_records must be stated: one {unit.protected} may hold more than one "
            f"{unit.record}"
        )
    return replace(unit, relation=relation.value, most_records=unit.most_records or 1)


def is_one_record(unit: ProtectedUnit) -> bool:
    """Whether what is protected is a record, or either is not stated."""
    names = [_word(unit.protected), _word(unit.record)]
    return None in names or names[0] == names[1]


def _word(text: str | None) -> str | None:
    """A unit's name without what is written in many ways: case, -level, plural."""
    if text is None:
        return None
    return text.strip().lower().removesuffix("level").rstrip(" _-").removesuffix("s")


def _theorem(name: str | None) -> Theorem | None:
    return None if name is None else theorems_by_name().get(name)


def theorems_by_name() -> dict[str, Theorem]:
    """Every theorem that the library names."""
    from dpverify import theorems  # noqa: PLC0415  # as a module: all that is in it

    return {each.name: each for each in vars(theorems).values() if isinstance(each, Theorem)}


def _composition(told: StatedComposition | None, theorems: Sequence[Theorem]) -> StatedComposition:
    """By which theorem parts compose: that of a ledger or a model, else that of the ends."""
    stated = told or StatedComposition()
    if not theorems:
        return stated
    rule = theorems[-1]
    return replace(stated, rule=rule.name, statement=rule.statement)


def _code(told: CodeFacts | None) -> CodeFacts:
    """The version of dpverify, and the digest of a file of code that is named."""
    stated = replace(told or CodeFacts(), dpverify=dpverify.__version__)
    if stated.file is None:
        return stated
    path = Path(stated.file)
    if not path.is_file():
        raise InvalidParameter(f"given.code.file={stated.file!r} must be a file")
    return replace(stated, file=path.name, sha256=digest_of(path))
