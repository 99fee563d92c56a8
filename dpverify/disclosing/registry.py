"""The format of the public registry of deployments: read, checked, written from a disclosure.

The fields are those of its schema, in three tiers. Prose is not interpreted, with two exceptions:
which neighboring relation a text names, and whether it says that something is unknown.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from dpverify.disclosing.document import (
    DataFacts,
    Defenses,
    Disclosure,
    Product,
    ProtectedUnit,
    StatedComposition,
    StatedGuarantee,
    TrustModel,
)
from dpverify.disclosing.form import Reader, asked, extra, unstated
from dpverify.disclosing.objections import Objection, Review
from dpverify.disclosing.statements import Said, Statements, contradictions, omissions
from dpverify.disclosing.text import Tree
from dpverify.errors import InvalidParameter, shown

KINDS = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_SHORT = 300  # characters: a longer text says something
_REQUIRED = "Required by the registry."
_VARIANTS = {
    "Pure DP": "pure",
    "Approximate DP": "approximate",
    "Zero-concentrated DP": "zero-concentrated",
    "Renyi DP": "renyi",
    "Custom": "custom",
}
_UNKNOWN = re.compile(
    r"\s*(n/?a|none|unknown|varies|not (available|specified|stated|provided|known)"
    r"|no information (was|is) (provided|available)[^.]*)[.\s]*",
    re.IGNORECASE,
)
_SILENT = re.compile(
    r"\W*(the \w+ )?(does|did) not (\w+ )?(mention|state|specify)\b", re.IGNORECASE
)
_ADD_REMOVE = re.compile(
    r"\b(add\w*|presence|inclusion)\b[^.]{0,30}\b(remov\w*|delet\w*|absence|exclusion)\b"
    r"|symmetric distance|\bunbounded\b",
    re.IGNORECASE,
)
_REPLACE_ONE = re.compile(
    r"change-one|bounded neighbors|\b(modification|replacement|substitution) of\b"
    r"|\breplac\w+ one\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\s*(hourly|daily|weekly|monthly|quarterly|yearly|annually)[.\s]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basic:
    name: str | None = asked(_REQUIRED)
    data_curators: tuple[str, ...] | None = asked(_REQUIRED)
    intended_use: str | None = asked(_REQUIRED)
    data_product_type: str | None = asked(_REQUIRED)
    data_product_region: str | None = asked(_REQUIRED)
    description: str | None = asked(_REQUIRED)
    publication_date: str | None = asked(_REQUIRED)
    data_product_sector: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    variant_name: (
        Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"] | None
    ) = None
    data_domain: str | None = None
    unprotected_quantities: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameters:
    epsilon: float | None = extra("ε.", low=0)
    delta: Any = None
    rho: float | None = extra("ρ.", low=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    privacy_unit: str | None = None
    privacy_unit_details: str | None = None
    privacy_parameters: _Parameters | None = None
    privacy_parameters_details: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    model_name: Literal["Local", "Central", "Shuffle", "Federated", "Varies"] | None = None
    model_name_details: str | None = None
    actors: str | None = None
    release_type: Literal["One release", "Many releases"] | None = None
    release_type_details: str | None = None
    data_source_type: Literal["Static", "Dynamic"] | None = None
    data_source_type_details: Any = None
    access_type: Literal["Interactive", "Non-interactive"] | None = None
    access_type_details: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accounting:
    post_processing: str | None = None
    composition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Implementation:
    preprocessing_and_hyperparameter_tuning: str | None = None
    mechanisms: str | None = None
    justification: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Administrative:
    registry_authors: tuple[str, ...] | None = asked(_REQUIRED)
    sources: str | None = None
    notes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deployment:
    basic: _Basic | None = asked(_REQUIRED)
    dp_variant: _Variant | None = None
    privacy_loss: _Loss | None = None
    deployment_model: _Model | None = None
    accounting: _Accounting | None = None
    implementation: _Implementation | None = None
    administrative: _Administrative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    url_slug: str | None = asked(_REQUIRED)
    status: str | None = asked(_REQUIRED)
    tier: Literal[1, 2, 3] | None = asked(_REQUIRED)
    deployment: _Deployment | None = asked(_REQUIRED)


def is_registry_entry(tree: Tree) -> bool:
    """Whether plain values are an entry of the registry."""
    return isinstance(tree, dict) and "deployment" in tree and "format" not in tree


def review_entry(tree: Tree) -> Review:
    """What holds of an entry: its fields, its contradictions, and what it leaves open."""
    reader = Reader()
    entry = reader.stated(_Entry, tree)
    deployment = entry.deployment or _Deployment()
    said, formula = _statements(deployment)
    found, numbers = contradictions(said)
    objections = [*reader.objections, *found, *formula]
    objections += _releases(deployment.deployment_model or _Model())
    known = {each.path for each in objections}
    missing = (*unstated(entry), *omissions(said))
    objections += [each for each in missing if each.path not in known]
    return Review(
        kind="registry entry",
        name=(deployment.basic or _Basic()).name or "unnamed",
        objections=tuple(objections),
        numbers=numbers,
    )


def _statements(entry: _Deployment) -> tuple[Statements, list[Objection]]:
    """What an entry says of its guarantee; a δ that is a formula is no number."""
    at = "deployment.privacy_loss"
    loss, variant = entry.privacy_loss or _Loss(), entry.dp_variant or _Variant()
    parameters = loss.privacy_parameters or _Parameters()
    formula: list[Objection] = []
    delta = parameters.delta
    if isinstance(delta, str):
        text = f"{shown(delta)} is a formula: nothing can be computed from it without its numbers"
        formula.append(Objection("incomplete", f"{at}.privacy_parameters.delta", text))
        delta = None
    elif delta is not None and (
        isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta <= 1
    ):
        text = f"{shown(delta)} must be a number from 0 to 1"
        formula.append(Objection("wrong", f"{at}.privacy_parameters.delta", text))
        delta = None
    composition = (entry.accounting or _Accounting()).composition
    model = (entry.deployment_model or _Model()).model_name
    said = Statements(
        variant=Said(
            _VARIANTS.get(variant.variant_name or ""), "deployment.dp_variant.variant_name"
        ),
        epsilon=Said(parameters.epsilon, f"{at}.privacy_parameters.epsilon"),
        delta=Said(delta, f"{at}.privacy_parameters.delta"),
        rho=Said(parameters.rho, f"{at}.privacy_parameters.rho"),
        mu=Said(None, f"{at}.privacy_parameters.mu"),
        order=Said(None, f"{at}.privacy_parameters.order"),
        records=Said(None, f"{at}.records"),
        unit=Said(_known(loss.privacy_unit), f"{at}.privacy_unit"),
        relation=Said(relation_in(loss.privacy_unit_details), f"{at}.privacy_unit_details"),
        composition=Said(_known(composition), "deployment.accounting.composition"),
        model=Said(_known(model), "deployment.deployment_model.model_name"),
    )
    return said, formula


def _releases(model: _Model) -> list[Objection]:
    again = model.release_type_details
    if model.release_type != "One release" or again is None or not _AGAIN.fullmatch(again):
        return []
    text = (
        f"'One release' contradicts release_type_details={again.strip()!r}: what is published "
        "again costs again, and no composition over time is stated"
    )
    return [Objection("wrong", "deployment.deployment_model.release_type", text)]


def relation_in(text: str | None) -> str | None:
    """The neighboring relation that a text names; None if it names none, or both.

    >>> relation_in("Adjacent datasets differ by the addition or removal of one user.")
    'add-remove'
    """
    if text is None:
        return None
    adds, replaces = bool(_ADD_REMOVE.search(text)), bool(_REPLACE_ONE.search(text))
    if adds == replaces:
        return None
    return "add-remove" if adds else "replace-one"


def _known(text: str | None) -> str | None:
    """The text, unless it says that nothing is known."""
    short = text is not None and len(text) <= _SHORT
    if text is None or (short and _UNKNOWN.fullmatch(text)) or _SILENT.match(text):
        return None
    return text


def entry_of(disclosure: Disclosure) -> dict[str, Any]:
    """A disclosure as an entry of the registry: a draft, with every text that the format has."""
    product = disclosure.product or Product()
    guarantee = disclosure.guarantee or StatedGuarantee()
    basic = {
        "name": _needed("name", product.name),
        "data_curators": list(_needed("curators", product.curators)),
        "intended_use": _needed("intended_use", product.intended_use),
        "data_product_type": _listed("kind", product.kind, KINDS),
        "data_product_region": _needed("region", product.region),
        "description": _needed("description", product.description),
        "publication_date": _date(_needed("published", product.published)),
    }
    if product.sector is not None:
        basic["data_product_sector"] = _listed("sector", product.sector, SECTORS)
    unit, data = disclosure.unit or ProtectedUnit(), disclosure.data or DataFacts()
    names = {ours: theirs for theirs, ours in _VARIANTS.items()}
    epsilon = guarantee.epsilon.upper if guarantee.epsilon else None
    composition = disclosure.composition or StatedComposition()
    administrative = {
        "sources": product.sources,
        "notes": f"Written by dpverify from evidence; SHA-256 of the disclosure: {disclosure.seal}",
        "registry_authors": list(product.authors or product.curators or ()),
    }
    deployment = {
        "basic": basic,
        "dp_variant": {
            "variant_name": names.get(guarantee.variant or "", "Custom"),
            "data_domain": data.domain,
            "unprotected_quantities": _items(data.unprotected, "None."),
        },
        "privacy_loss": {
            "privacy_unit": None if unit.protected is None else f"{unit.protected}-level",
            "privacy_unit_details": _neighbors(unit),
            "privacy_parameters": _stated(
                {"epsilon": epsilon, "delta": guarantee.delta, "rho": guarantee.rho}
            ),
            "privacy_parameters_details": _ends(guarantee),
        },
        "deployment_model": _model(disclosure.trust or TrustModel()),
        "accounting": {
            "post_processing": composition.post_processing,
            "composition": _composition(composition),
        },
        "implementation": _implementation(disclosure),
        "administrative": administrative,
    }
    slugged = (product.name, "-".join(product.curators or ()), str(product.published)[:4])
    slug = "-".join(re.sub(r"[\W_]+", "-", str(each).lower()) for each in slugged)
    told = {name: _stated(section) for name, section in deployment.items()}
    kept = {name: section for name, section in told.items() if section}
    return {"url_slug": slug, "status": "Draft", "tier": 3, "deployment": kept}


def _stated(section: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in section.items() if value not in (None, {}, "")}


def _needed(name: str, value: Any) -> Any:  # noqa: ANN401  # a text or texts
    if not value:
        raise InvalidParameter(f"product.{name} must be given: the registry requires it")
    return value


def _listed(name: str, value: str | None, allowed: tuple[str, ...]) -> str:
    found = next((each for each in allowed if each.lower() == (value or "").lower()), None)
    if found is None:
        raise InvalidParameter(
            f"product.{name}={value!r} must be one that the registry has: {', '.join(allowed)}"
        )
    return found


def _date(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise InvalidParameter(f"product.published={text!r} must be a date, YYYY-MM-DD")
    return text


def _neighbors(unit: ProtectedUnit) -> str | None:
    said = {
        "add-remove": "the addition or removal of",
        "replace-one": "the replacement of",
    }.get(unit.relation or "")
    if said is None:
        return unit.details
    count = f"up to {unit.most_records} records" if (unit.most_records or 1) > 1 else "one record"
    of = "" if unit.record is None else f" (a record is one {unit.record})"
    told = f"Adjacent datasets differ by {said} {count}{of}."
    return told if unit.details is None else f"{told} {unit.details}"


def _ends(guarantee: StatedGuarantee) -> str | None:
    if guarantee.epsilon is None:
        return None
    ends, theorem = guarantee.epsilon, guarantee.theorem
    lines = [
        f"The exact epsilon at delta = {guarantee.delta!r} lies in [{ends.lower!r}, {ends.upper!r}]"
        + ("." if theorem is None else f", by {theorem}.")
    ]
    lines += [
        f"At epsilon = {point.epsilon!r}, delta is at most {point.delta.upper!r}."
        for point in guarantee.profile or ()
        if point.delta is not None
    ]
    return "\n".join(lines)


def _composition(told: StatedComposition) -> str | None:
    return ": ".join(filter(None, (told.rule, told.statement))) or None


def _model(trust: TrustModel) -> dict[str, Any]:
    releases = {"one": "One release", "many": "Many releases"}
    return {
        "model_name": None if trust.model is None else trust.model.capitalize(),
        "actors": trust.actors,
        "release_type": releases.get(trust.releases or ""),
        "release_type_details": trust.refreshed,
        "data_source_type": None if trust.data is None else trust.data.capitalize(),
        "access_type": None if trust.access is None else trust.access.capitalize(),
    }


def _implementation(disclosure: Disclosure) -> dict[str, Any]:
    defenses, code = disclosure.defenses or Defenses(), disclosure.code
    parts = [
        f"{part.times} × {part.label}" + (f" ({part.arithmetic})" if part.arithmetic else "")
        for part in disclosure.mechanisms or ()
    ]
    told = {
        "Against floating-point leaks": defenses.floating_point,
        "Against timing leaks": defenses.timing,
        "Security of the data": defenses.security,
        "Code": None if code is None else code.version,
        "SHA-256 of the code": None if code is None else code.sha256,
    }
    before = {"Pre-processing": defenses.preprocessing, "Tuning": defenses.tuning}
    shown_by = [
        f"{each.kind}: {each.says}" + (f" ({each.file})" if each.file else "")
        for each in disclosure.evidence or ()
    ]
    reasons = [] if defenses.justification is None else [defenses.justification]
    return {
        "preprocessing_and_hyperparameter_tuning": _items(_pairs(before)),
        "mechanisms": _items((*parts, *_pairs(told))),
        "justification": _items((*reasons, *shown_by)),
    }


def _pairs(told: dict[str, str | None]) -> tuple[str, ...]:
    return tuple(f"{name}: {text or 'not stated'}" for name, text in told.items())


def _items(texts: tuple[str, ...] | None, none: str | None = None) -> str | None:
    if texts is None:
        return None
    return "".join(f"- {text}\n" for text in texts) or none
