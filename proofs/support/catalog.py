"""Every proof there is, by the name of its theorem."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

from dpverify.errors import InvalidParameter
from dpverify.theorems import REGISTRY, Theorem
from proofs.support.form import Proof, Run, Verdict

ROOT = Path(__file__).parents[2]
_DECLARED = re.compile(r'Theorem\(\s*name="([\w-]+)",.*?proof="(proofs/[\w/]+\.py)"', re.DOTALL)


def files() -> list[Path]:
    """The proof files: whatever lies in proofs/ and is not support."""
    folders = (ROOT / "proofs", ROOT / "proofs" / "refuted", ROOT / "proofs" / "published")
    found = [path for folder in folders for path in folder.glob("*.py")]
    return sorted(path for path in found if path.name != "__init__.py")


@cache
def homes() -> dict[str, str]:
    """Where each theorem is proved, by name; read off the sources, so that nothing is imported."""
    declared = [ROOT / "dpverify" / "theorems.py", ROOT / "solvers" / "privacy" / "theorems.py"]
    found: dict[str, str] = {}
    for path in (*declared, *files()):
        found |= dict(_DECLARED.findall(path.read_text(encoding="utf-8")))
    return found


@cache
def proofs() -> dict[str, Proof]:
    """Proofs by name: the library's theorems in their order, then the rest by file."""
    listed = [_proof(path.relative_to(ROOT).as_posix()) for path in files()]
    order = {theorem.name: i for i, theorem in enumerate(REGISTRY)}
    listed.sort(key=lambda p: (p.counterexample is not None, order.get(p.theorem.name, len(order))))
    return {proof.theorem.name: proof for proof in listed}


def find(name: str) -> Proof:
    """The proof of one theorem, its file alone imported; raises with the names that come closest."""
    if name not in homes():
        near = get_close_matches(name, homes(), n=3, cutoff=0.4)
        closest = f"; closest: {', '.join(near)}" if near else ""
        raise InvalidParameter(
            f"name={name!r} must be one of the {len(homes())} theorems in proofs/README.md{closest}"
        )
    return _proof(homes()[name])


def run_with_uses(
    names: Iterator[str] | list[str], done: dict[Theorem, tuple[Run, Verdict]]
) -> Iterator[tuple[Run, Verdict]]:
    """Run proofs and, before each, those it uses; `done` remembers what ran already."""
    for name in names:
        proof = find(name)
        if proof.theorem not in done:
            for _ in run_with_uses([used.name for used in proof.uses], done):
                pass
            run = proof.run()
            verdict = run.verdict({used: done[used][1] for used in proof.uses})
            done[proof.theorem] = run, verdict
        yield done[proof.theorem]


def standing(proof: Proof) -> Verdict:
    """The verdict if every step holds, without running it; what the map of the notes shows."""
    if proof.counterexample is not None:
        return Verdict.REFUTED
    used = (standing(find(theorem.name)) for theorem in proof.uses)
    borrowed = bool(proof.cites) or any(verdict is not Verdict.PROVED for verdict in used)
    return Verdict.CITED if borrowed else Verdict.PROVED


def borrowed(proof: Proof) -> dict[str, str]:
    """What a proof takes from the literature, by itself or by what it uses, and who cites it."""
    found = dict.fromkeys(proof.cites, proof.theorem.name)
    for theorem in proof.uses:
        for cited, name in borrowed(find(theorem.name)).items():
            found.setdefault(cited, name)
    return found


def citations(proof: Proof) -> list[str]:
    """`borrowed` in words: what others cite is marked with their name."""
    own = proof.theorem.name
    return [cited if by == own else f"{by}: {cited}" for cited, by in borrowed(proof).items()]


@cache
def _proof(path: str) -> Proof:
    module = import_module(path.removesuffix(".py").replace("/", "."))
    proof = module.PROOF
    if not isinstance(proof, Proof) or proof.theorem.proof != path:
        raise InvalidParameter(f"PROOF={proof!r} must be the proof of a theorem that names {path}")
    return proof
