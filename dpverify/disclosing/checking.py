"""`check_disclosure`: compute every number again, verify the evidence, find contradictions."""

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import dpverify
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.deadline import OUT_OF_TIME, is_over, time_limit
from dpverify.disclosing.document import (
    Disclosure,
    Exhibit,
    ProtectedUnit,
    StatedGuarantee,
    StatedRisk,
    TwoEnds,
)
from dpverify.disclosing.emitting import is_one_record, theorems_by_name
from dpverify.disclosing.exhibits import Shown, digest_of, shown_by
from dpverify.disclosing.figures import TOLERANCE, mu_of, rho_of, risks
from dpverify.disclosing.form import unstated
from dpverify.disclosing.objections import Objection, Review, Weight
from dpverify.disclosing.parts import composed, is_implied
from dpverify.disclosing.registry import is_registry_entry, review_entry
from dpverify.disclosing.statements import Said, Statements, contradictions, omissions
from dpverify.disclosing.text import Tree, file_text, parsed
from dpverify.errors import DPVerifyError
from dpverify.guarantees import Bracket
from dpverify.neighbors import Relation
from dpverify.theorems import NUMERICAL_COMPOSITION

_SAME = 1e-6  # relative: far below any change that matters, far above what platforms differ by
SECONDS = 60.0
"""How long all numbers may take; what is not known by then is held against wider ends."""


def check_disclosure(
    document: str | Path | Disclosure | dict[str, Any], *, seconds: float = SECONDS
) -> Review:
    """What holds of a disclosure, or of an entry of the public registry: a file, or its values.

    Files of evidence are looked for beside the document, and nowhere else. Nothing is executed.
    """
    if isinstance(document, Disclosure):
        return _Check(document.to_dict(), Path.cwd(), seconds).review()
    if isinstance(document, dict):
        tree: Tree = document
        folder = Path.cwd()
    else:
        tree, folder = parsed(file_text(Path(document))), Path(document).resolve().parent
    if is_registry_entry(tree):
        return review_entry(tree)
    return _Check(tree, folder, seconds).review()


class _Check:
    """One check of one document."""

    def __init__(self, tree: Tree, folder: Path, seconds: float) -> None:
        self.told, objections = Disclosure.read(tree)
        self.folder, self.seconds = folder, seconds
        self.found = list(objections)
        self.numbers = 0
        code = self.told.code
        self.same_version = code is not None and code.dpverify == dpverify.__version__

    def review(self) -> Review:
        self._seal()
        statements = self._statements()
        found, numbers = contradictions(statements)
        self.numbers += numbers
        self.found += found
        self._unit()
        accountant = self._accountant()
        if accountant is not None:
            try:
                with time_limit(self.seconds):
                    self._figures(accountant)
            except (DPVerifyError, ArithmeticError) as error:
                self.open("guarantee", f"not computed again: {error}")
        self._theorem_names()
        for i, exhibit in enumerate(self.told.evidence or ()):
            self._exhibit(exhibit, f"evidence[{i}]")
        self._code()
        said = {each.path for each in (*self.found, *omissions(statements))}
        self.found += omissions(statements)
        self.found += [each for each in unstated(self.told) if each.path not in said]
        product = self.told.product
        ordered = sorted(self.found, key=lambda each: _ORDER[each.weight])
        return Review(
            kind="disclosure",
            name=(product.name if product else None) or "unnamed",
            objections=tuple(dict.fromkeys(ordered)),
            numbers=self.numbers,
        )

    def wrong(self, path: str, text: str) -> None:
        self.found.append(Objection("wrong", path, text))

    def open(self, path: str, text: str) -> None:
        self.found.append(Objection("incomplete", path, text))

    def _seal(self) -> None:
        if self.told.seal is not None and self.told.seal != self.told.digest:
            self.wrong("seal", "does not fit: something was changed after the document was written")

    def _statements(self) -> Statements:
        told = self.told
        guarantee = told.guarantee or StatedGuarantee()
        unit, data = told.unit, told.data
        promised = None if guarantee.epsilon is None else guarantee.epsilon.upper
        composition = told.composition
        return Statements(
            variant=Said(guarantee.variant, "guarantee.variant"),
            epsilon=Said(promised, "guarantee.epsilon.upper"),
            delta=Said(guarantee.delta, "guarantee.delta"),
            rho=Said(guarantee.rho, "guarantee.rho"),
            mu=Said(guarantee.mu, "guarantee.mu"),
            order=Said(guarantee.order, "guarantee.order"),
            records=Said(data.records if data else None, "data.records"),
            unit=Said(unit.protected if unit else None, "unit.protected"),
            relation=Said(unit.relation if unit else None, "unit.relation"),
            composition=Said(composition.rule if composition else None, "composition.rule"),
            model=Said(told.trust.model if told.trust else None, "trust.model"),
        )

    def _unit(self) -> None:
        unit = self.told.unit or ProtectedUnit()
        if not is_one_record(unit) and unit.most_records is None:
            self.wrong(
                "unit",
                f"protected={unit.protected!r} does not match the relation, which is about one "
                f"{unit.record}: state most_records, and the guarantee for as many",
            )

    def _accountant(self) -> Accountant | None:
        """The composition that the document states; None, with an objection, if it states none."""
        told = self.told
        if not told.mechanisms or told.unit is None or told.unit.relation is None:
            self.open("mechanisms", "parts and relation are not stated: no number can be computed")
            return None
        relation = Relation.parse(told.unit.relation)
        stated = []
        for i, part in enumerate(told.mechanisms):
            where = f"mechanisms[{i}]"
            if part.name is None or part.parameters is None or part.times is None:
                self.open(where, "name, parameters or times are not stated: not computed again")
                return None
            try:
                composed([part], relation)
            except (DPVerifyError, ArithmeticError) as error:
                self.wrong(where, str(error))
                return None
            stated.append(part)
        try:
            return composed(stated, relation, told.unit.most_records or 1)
        except (DPVerifyError, ArithmeticError) as error:
            self.open("unit.most_records", f"not computed again: {error}")
            return None

    def _figures(self, accountant: Accountant) -> None:
        """Every number of the guarantee and of the risk, computed again."""
        told = self.told.guarantee or StatedGuarantee()
        tolerance = told.tolerance or TOLERANCE
        if told.epsilon is not None and told.delta is not None:
            found = accountant.epsilon(told.delta, tolerance=tolerance)
            self._held(told.epsilon, found, "guarantee.epsilon", _slack(found, tolerance))
            self._rests_on(found, told.theorem)
        for i, point in enumerate(told.profile or ()):
            if point.epsilon is not None and point.delta is not None:
                again = accountant.delta(point.epsilon, tolerance=tolerance)
                slack = _slack(again, tolerance * again.upper)
                self._held(point.delta, again, f"guarantee.profile[{i}].delta", slack)
        self._held_above(told.mu, mu_of(accountant), "guarantee.mu")
        self._held_above(told.rho, rho_of(accountant), "guarantee.rho")
        if self.told.risk is not None:
            self._risks(accountant, self.told.risk, tolerance)

    def _risks(self, accountant: Accountant, told: StatedRisk, tolerance: float) -> None:
        found = risks(accountant, told, tolerance)
        late = (OUT_OF_TIME,) if is_over() else ()
        share = _slack(found["advantage"], tolerance)
        for path, again in found.items():
            stated: Any = told
            for name in path.split("."):
                stated = getattr(stated, name, None)
            if isinstance(stated, TwoEnds):
                known = replace(again, assumes=(*again.assumes, *late))
                self._held(stated, known, f"risk.{path}", share * again.upper)

    def _held(self, stated: TwoEnds, again: Bracket, path: str, slack: float) -> None:
        """Stated ends against computed ones: false if they exclude them, else equal.

        Other machines may have other ends, by as much as `slack`.
        """
        lower, upper = float(again.lower), float(again.upper)
        self.numbers += (stated.lower is not None) + (stated.upper is not None)
        if stated.upper is not None and stated.upper < lower * (1 - _SAME):
            text = f"{stated.upper!r} must be at least {lower!r}: the exact value is above it"
            self.wrong(f"{path}.upper", text)
        elif stated.upper is not None and not _same(stated.upper, upper):
            self._differs(f"{path}.upper", stated.upper, upper, again, slack)
        if stated.lower is not None and stated.lower > upper * (1 + _SAME):
            text = f"{stated.lower!r} must be at most {upper!r}: the exact value is below it"
            self.wrong(f"{path}.lower", text)
        elif stated.lower is not None and not _same(stated.lower, lower):
            self._differs(f"{path}.lower", stated.lower, lower, again, slack)

    def _held_above(self, stated: float | None, again: float | None, path: str) -> None:
        """A stated parameter against the least that the parts have."""
        if stated is None:
            return
        if again is None:
            self.open(path, "not computed again: the parts do not give it")
            return
        self.numbers += 1
        if stated < again * (1 - _SAME):
            self.wrong(path, f"{stated!r} must be at least {again!r}, which the parts give")
        elif not _same(stated, again):
            self._differs(path, stated, again, Bracket(again, again), 0.0)

    def _differs(
        self, path: str, stated: float, again: float, found: Bracket, slack: float
    ) -> None:
        """Not false, but not what the parts give here: wrong, unless there is a reason for it."""
        text = f"{stated!r} must be {again!r}, which the parts give"
        if OUT_OF_TIME in found.assumes:
            self.open(path, f"not verified in {self.seconds:g} s: {stated!r} is not excluded")
        elif not self.same_version:
            self.found.append(Objection("note", path, f"{text}; it was written by another version"))
        elif abs(stated - again) <= slack:
            self.open(path, f"{text} here; they differ by less than the tolerance")
        else:
            self.wrong(path, text)

    def _rests_on(self, found: Bracket, theorem: str | None) -> None:
        name = None if found.theorem is None else found.theorem.name
        if self.same_version and theorem not in {None, name} and OUT_OF_TIME not in found.assumes:
            self.wrong("guarantee.theorem", f"{theorem!r} must be {name!r}, for these parts")

    def _theorem_names(self) -> None:
        known = theorems_by_name()
        told = self.told
        stated = {
            "guarantee.theorem": told.guarantee.theorem if told.guarantee else None,
            "composition.rule": told.composition.rule if told.composition else None,
        }
        for path, name in stated.items():
            if name is not None and name not in known:
                self.open(path, f"{name!r} is no theorem of dpverify: it was not checked")

    def _exhibit(self, exhibit: Exhibit, path: str) -> None:
        if exhibit.kind == "theorem":
            self._theorem(exhibit, path)
            return
        self._against_guarantee(exhibit, path)
        file = self._beside(exhibit.file, f"{path}.file")
        if file is None:
            return
        try:
            shown = shown_by(file, dataset=exhibit.name if exhibit.kind == "ledger" else None)
        except DPVerifyError as error:
            self.wrong(f"{path}.file", str(error))
            return
        if shown.broken is not None:
            self.wrong(f"{path}.file", shown.broken)
        self._by_file(exhibit, shown, path)
        self._supports(shown, path)
        unit = self.told.unit
        relation = None if shown.relation is None else shown.relation.value
        if relation is not None and unit is not None and unit.relation not in {None, relation}:
            text = f"{exhibit.file} is about {relation}, not {unit.relation}"
            self.wrong(f"{path}.file", text)
        self.found += [Objection("note", path, text) for text in shown.notes]

    def _theorem(self, exhibit: Exhibit, path: str) -> None:
        known = theorems_by_name().get(exhibit.name or "")
        if known is None:
            self.open(path, f"{exhibit.name!r} is no theorem of dpverify: it was not checked")
        elif exhibit.source not in {None, known.source}:
            self.wrong(f"{path}.source", f"{exhibit.source!r} must be {known.source!r}")

    def _by_file(self, exhibit: Exhibit, shown: Shown, path: str) -> None:
        """What is said of a file against what is in it."""
        for item in fields(Exhibit):
            stated, again = getattr(exhibit, item.name), getattr(shown.exhibit, item.name)
            if item.name == "says" or stated is None:
                continue
            self.numbers += isinstance(stated, float | int)
            if not _equal(stated, again):
                self.wrong(f"{path}.{item.name}", f"{stated!r} must be {again!r}, by the file")

    def _supports(self, shown: Shown, path: str) -> None:
        """Whether a mechanism is stated as the guarantee that a file shows, or as a weaker one."""
        file, claim = shown.exhibit, shown.guarantee
        if claim is None or file.kind not in {"certificate", "model", "ledger"}:
            return
        parts = [part for part in self.told.mechanisms or () if is_implied(part, claim)]
        if not parts and file.verdict != "refuted":
            weight: Weight = "incomplete" if file.kind == "certificate" else "wrong"
            text = f"{file.file} shows {claim}: no mechanism is stated as that, or as less"
            self.found.append(Objection(weight, path, text))

    def _against_guarantee(self, exhibit: Exhibit, path: str) -> None:
        """Evidence against what is promised."""
        if exhibit.verdict == "refuted":
            self.wrong(path, f"the evidence refutes the claim: {exhibit.says}")
        told = self.told.guarantee
        if told is None or told.epsilon is None or exhibit.epsilon_lower is None:
            return
        promised, at = told.epsilon.upper, exhibit.delta or 0.0
        if promised is None or told.delta is None or at < told.delta:
            return
        if exhibit.epsilon_lower > promised * (1 + _SAME):
            self.wrong(
                f"{path}.epsilon_lower",
                f"{exhibit.epsilon_lower!r} at delta={at:g} contradicts the promise of "
                f"epsilon={promised!r} at delta={told.delta:g}",
            )

    def _beside(self, name: str | None, path: str) -> Path | None:
        """The file of that name beside the document; no other file is opened."""
        if name is None:
            self.open(path, "not stated: the evidence was not verified")
            return None
        if Path(name).name != name or name in {".", ".."}:
            self.wrong(path, f"{name!r} must be the name of a file beside the document")
            return None
        file = self.folder / name
        if not file.is_file() or file.is_symlink():
            self.open(path, f"{name} is not beside the document: it was not verified")
            return None
        return file

    def _code(self) -> None:
        code = self.told.code
        if code is None or code.file is None:
            return
        file = self._beside(code.file, "code.file")
        if file is not None and code.sha256 is not None and digest_of(file) != code.sha256:
            self.wrong("code.sha256", f"must be that of {code.file}: the code was changed since")


_ORDER = {"wrong": 0, "incomplete": 1, "note": 2}


def _slack(found: Bracket, width: float) -> float:
    """How far ends may differ between machines: not at all where they are closed forms."""
    return width if found.theorem is NUMERICAL_COMPOSITION else 0.0


def _same(stated: float, again: float) -> bool:
    return stated == again or math.isclose(stated, again, rel_tol=_SAME)


def _equal(stated: object, again: object) -> bool:
    if isinstance(stated, float) and isinstance(again, float):
        return _same(stated, again)
    if isinstance(stated, dict) and isinstance(again, dict):
        return stated.keys() == again.keys() and all(_equal(stated[k], again[k]) for k in stated)
    return stated == again
