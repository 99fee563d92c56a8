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
    StatedPart,
    StatedRisk,
    TwoEnds,
)
from dpverify.disclosing.emitting import is_one_record, theorems_by_name
from dpverify.disclosing.exhibits import (
    NO_PROOF,
    Shown,
    contradiction,
    digest_of,
    of_theorem,
    shown_by,
)
from dpverify.disclosing.figures import TOLERANCE, mu_of, rho_of, risks
from dpverify.disclosing.form import unstated
from dpverify.disclosing.objections import Objection, Review, Weight
from dpverify.disclosing.parts import PAIR, composed, is_implied, label_of
from dpverify.disclosing.registry import is_registry_entry, review_entry
from dpverify.disclosing.statements import Said, Statements, contradictions, omissions
from dpverify.disclosing.text import Tree, file_text, parsed
from dpverify.errors import DPVerifyError
from dpverify.guarantees import Bracket
from dpverify.mechanisms.registered import GUARANTEES
from dpverify.neighbors import Relation
from dpverify.theorems import NUMERICAL_COMPOSITION
from dpverify.waiting import telling

_SAME = 1e-6  # relative: far below any change that matters, far above what platforms differ by
SECONDS = 60.0
"""How long all numbers may take; what is not known by then is held against wider ends."""


@telling("checking the disclosure")
def check_disclosure(
    document: str | Path | Disclosure | dict[str, Any], *, seconds: float = SECONDS
) -> Review:
    """Check a disclosure, or an entry of the public registry: a file, or its values.

    Files of evidence are looked for beside the document, and nowhere else. Nothing is executed.

    >>> import dpverify as dpv
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(50.0))
    >>> dpv.check_disclosure(dpv.disclose(spent, delta=1e-6)).verdict
    'incomplete'
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
        self.excluded: set[str] = set()  # paths of ends that are false
        self.spent: Bracket | None = None  # ε, as the parts give it
        self.shown: dict[str, Shown] = {}  # by path: files of evidence that could be read
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
        self._unverified()
        self._labels()
        self._rule()
        self._assumptions()
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

    def unlike(self, path: str, text: str) -> None:
        """What this version derives otherwise: another version may have had other words for it."""
        if self.same_version:
            self.wrong(path, text)
        else:
            self.open(path, f"{text}; it was written by another version")

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
            self._pair_relation(part, told.unit.relation, f"{where}.relation")
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

    def _pair_relation(self, part: StatedPart, relation: str, path: str) -> None:
        """A pair is that of one relation: under another one the mechanism has another pair."""
        if part.relation not in {None, relation}:
            text = f"the part is stated for {part.relation}, not for {relation}"
            self.wrong(path, f"{text}, and may cost more there")
        elif part.name == PAIR and part.relation is None:
            self.open(path, "not stated: a pair is that of one relation, here of an unknown one")

    def _figures(self, accountant: Accountant) -> None:
        """Every number of the guarantee and of the risk, computed again."""
        told = self.told.guarantee or StatedGuarantee()
        stated = told.tolerance or TOLERANCE
        # A document does not choose how well it is checked: what it states must hold of ends as
        # close as the default; ends that were allowed to be further apart must be those again.
        for tolerance in sorted({min(stated, TOLERANCE), stated}):
            is_last = tolerance == stated
            if told.epsilon is not None and told.delta is not None:
                found = accountant.epsilon(told.delta, tolerance=tolerance)
                slack = _slack(found, tolerance)
                self._held(told.epsilon, found, "guarantee.epsilon", slack, whole=is_last)
                self.spent = found
            for i, point in enumerate(told.profile or ()):
                if point.epsilon is not None and point.delta is not None:
                    again = accountant.delta(point.epsilon, tolerance=tolerance)
                    slack = _slack(again, tolerance * again.upper)
                    path = f"guarantee.profile[{i}].delta"
                    self._held(point.delta, again, path, slack, whole=is_last)
            if self.told.risk is not None:
                self._risks(accountant, self.told.risk, tolerance, whole=is_last)
        if self.spent is not None:
            self._rests_on(self.spent, told.theorem)
        self._held_above(told.mu, mu_of(accountant), "guarantee.mu")
        self._held_above(told.rho, rho_of(accountant), "guarantee.rho")

    def _risks(
        self, accountant: Accountant, told: StatedRisk, tolerance: float, *, whole: bool
    ) -> None:
        found = risks(accountant, told, tolerance)
        late = (OUT_OF_TIME,) if is_over() else ()
        share = _slack(found["advantage"], tolerance)
        for path, again in found.items():
            stated: Any = told
            for name in path.split("."):
                stated = getattr(stated, name, None)
            if isinstance(stated, TwoEnds):
                known = replace(again, assumes=(*again.assumes, *late))
                self._held(stated, known, f"risk.{path}", share * again.upper, whole=whole)

    def _held(
        self, stated: TwoEnds, again: Bracket, path: str, slack: float, *, whole: bool
    ) -> None:
        """Stated ends against computed ones: false if they exclude them; if `whole`, else equal.

        Other machines may have other ends, by as much as `slack`.
        """
        lower, upper = float(again.lower), float(again.upper)
        self.numbers += whole * ((stated.lower is not None) + (stated.upper is not None))
        if stated.upper is not None and f"{path}.upper" not in self.excluded:
            if stated.upper < lower * (1 - _SAME):
                text = f"{stated.upper!r} must be at least {lower!r}: the exact value is above it"
                self.wrong(f"{path}.upper", text)
                self.excluded.add(f"{path}.upper")
            elif whole and not _same(stated.upper, upper):
                better = stated.upper < upper
                self._differs(f"{path}.upper", stated.upper, upper, again, slack, better=better)
        if stated.lower is not None and f"{path}.lower" not in self.excluded:
            if stated.lower > upper * (1 + _SAME):
                text = f"{stated.lower!r} must be at most {upper!r}: the exact value is below it"
                self.wrong(f"{path}.lower", text)
                self.excluded.add(f"{path}.lower")
            elif whole and not _same(stated.lower, lower):
                better = stated.lower > lower
                self._differs(f"{path}.lower", stated.lower, lower, again, slack, better=better)

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
            self._differs(path, stated, again, Bracket(again, again), 0.0, better=False)

    def _differs(  # noqa: PLR0913  # two numbers, and why they may differ
        self,
        path: str,
        stated: float,
        again: float,
        found: Bracket,
        slack: float,
        *,
        better: bool,
    ) -> None:
        """Not false, but not what the parts give here: wrong, unless there is a reason for it.

        A bound that is `better` than what the parts give is not known to hold.
        """
        text = f"{stated!r} must be {again!r}, which the parts give"
        if OUT_OF_TIME in found.assumes:
            self.open(path, f"not verified in {self.seconds:g} s: {stated!r} is not excluded")
        elif not self.same_version:
            weight: Weight = "incomplete" if better else "note"
            self.found.append(Objection(weight, path, f"{text}; it was written by another version"))
        elif abs(stated - again) <= slack:
            self.open(path, f"{text} here; they differ by less than the tolerance")
        else:
            self.wrong(path, text)

    def _rests_on(self, found: Bracket, theorem: str | None) -> None:
        name = None if found.theorem is None else found.theorem.name
        if theorem not in {None, name} and OUT_OF_TIME not in found.assumes:
            self.unlike("guarantee.theorem", f"{theorem!r} must be {name!r}, for these parts")

    def _labels(self) -> None:
        """What mechanisms are called, against their parameters and the evidence."""
        unit = self.told.unit
        if unit is None or unit.relation is None:
            return
        by_files = {each.label for each in self.shown.values()}
        for i, part in enumerate(self.told.mechanisms or ()):
            try:
                given = label_of(part, Relation.parse(unit.relation))
            except (DPVerifyError, ArithmeticError):
                continue  # no such mechanism: told above
            path = f"mechanisms[{i}].label"
            if part.label in {None, given}:
                continue
            if given is not None:
                self.unlike(path, f"{part.label!r} must be {given!r}, by the parameters")
            elif part.label not in by_files:
                text = "neither the parameters nor a file of evidence give these words"
                self.open(path, f"{part.label!r} was not verified: {text}")

    def _rule(self) -> None:
        """By which theorem the parts are said to compose, against the one that was used."""
        told, spent = self.told.composition, self.spent
        if told is None or told.rule is None or spent is None or OUT_OF_TIME in spent.assumes:
            return
        theorems = [spent.theorem, *(each.theorem for each in self.shown.values())]
        used = {each.name: each for each in theorems if each is not None}
        rule = theorems_by_name().get(told.rule) or used.get(told.rule)
        parts = self.told.mechanisms or ()
        if told.rule not in used:
            listed = ", ".join(used) or "not stated"
            if len(parts) == 1 and parts[0].times == 1 and parts[0].name in GUARANTEES:
                self.open("composition.rule", f"{told.rule!r} was not verified: no file shows it")
            else:
                self.unlike("composition.rule", f"{told.rule!r} must be {listed}, for these parts")
        if rule is not None and told.statement not in {None, rule.statement}:
            text = f"{told.statement!r} must be {rule.statement!r}, as {rule.name} says"
            self.unlike("composition.statement", text)

    def _assumptions(self) -> None:
        """Whether all is named that the numbers and the evidence assume."""
        told, spent = self.told.guarantee, self.spent
        if told is None or told.assumes is None:
            return
        needed = [text for each in self.shown.values() for text in each.assumes]
        if spent is not None and OUT_OF_TIME not in spent.assumes:
            needed += spent.assumes
        for text in dict.fromkeys(needed):
            if text not in told.assumes:
                self.unlike("guarantee.assumes", f"must name what the promise rests on: {text}")

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
        self.shown[path] = shown
        if shown.broken is not None:
            self.wrong(f"{path}.file", shown.broken)
        self._by_file(exhibit, shown, path)
        self._supports(shown, path)
        unit = self.told.unit
        relation = None if shown.relation is None else shown.relation.value
        if relation is not None and unit is not None and unit.relation not in {None, relation}:
            text = f"{exhibit.file} is about {relation}, not {unit.relation}"
            self.wrong(f"{path}.file", text)

    def _unverified(self) -> None:
        """What files say and do not show; a decision's proof may be beside it."""
        proved = [
            each.guarantee
            for each in self.shown.values()
            if each.exhibit.kind == "certificate" and each.exhibit.verdict == "proved"
        ]
        for path, each in self.shown.items():
            for text in each.unverified:
                if text != NO_PROOF or each.guarantee not in proved:
                    self.open(path, text)

    def _theorem(self, exhibit: Exhibit, path: str) -> None:
        known = theorems_by_name().get(exhibit.name or "")
        if known is None:
            self.open(path, f"{exhibit.name!r} is no theorem of dpverify: it was not checked")
            return
        again = of_theorem(known)
        for name in ("says", "source", "proof"):
            stated, given = getattr(exhibit, name), getattr(again, name)
            if stated not in {None, given}:
                self.unlike(f"{path}.{name}", f"{stated!r} must be {given!r}")

    def _by_file(self, exhibit: Exhibit, shown: Shown, path: str) -> None:
        """What is said of a file against what is in it."""
        for item in fields(Exhibit):
            stated, again = getattr(exhibit, item.name), getattr(shown.exhibit, item.name)
            if stated is None:
                continue
            self.numbers += isinstance(stated, float | int)
            if item.name == "says" and stated != again:
                self.unlike(f"{path}.says", f"{stated!r} must be {again!r}, by the file")
            elif not _equal(stated, again):
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
        text = contradiction(exhibit, self.told.guarantee)
        if text is not None:
            self.wrong(f"{path}.epsilon_lower", text)

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
