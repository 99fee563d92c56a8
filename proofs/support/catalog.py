"""Every proof there is, by the name of its theorem, and what came of running it."""

import re
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType

from dpverify.errors import InvalidParameter
from dpverify.theorems import REGISTRY, Theorem
from proofs.support.form import RAISED, BrokenProof, Circle, Proof, Run, Verdict

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds after which a proof, or the import of its file, is taken not to end."""

_CONSTANT = re.compile(r'^(\w+) = Theorem\(\s*name="([\w-]+)"', re.MULTILINE)
_USES = re.compile(r"^    uses=\((.*?)\),$", re.MULTILINE | re.DOTALL)
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
        for name, home in _DECLARED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, home)
    return found


def proofs() -> dict[str, Proof]:
    """Proofs by name: the library's theorems in their order, then the rest by file."""
    return _loaded()[0]


def broken() -> dict[str, str]:
    """Files whose proof cannot be run, and why, in one line each."""
    return _loaded()[1]


@cache
def _loaded() -> tuple[dict[str, Proof], dict[str, str]]:
    listed: list[Proof] = []
    unusable: dict[str, str] = {}
    names: dict[str, str] = {}
    for path in (each.relative_to(ROOT).as_posix() for each in files()):
        try:
            proof = _proof(path)
        except BrokenProof as error:
            unusable[path] = str(error)
            continue
        name = proof.theorem.name
        if name in names:
            unusable[path] = f"{path} names the theorem {name}, as {names[name]} does"
            continue
        names[name] = path
        listed.append(proof)
    order = {theorem.name: i for i, theorem in enumerate(REGISTRY)}
    listed.sort(key=lambda p: (p.counterexample is not None, order.get(p.theorem.name, len(order))))
    return {proof.theorem.name: proof for proof in listed}, unusable


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
    names: Iterable[str],
    done: dict[Theorem, tuple[Run, Verdict]],
    above: tuple[str, ...] = (),
) -> Iterator[tuple[Run, Verdict]]:
    """Run proofs and, before each, those it uses; `done` remembers what ran already.

    `above` are the theorems that wait for this one; one that waits for itself rests on nothing.
    """
    for name in names:
        proof = find(name)
        if name in above:
            raise Circle(f"{name} rests on itself: {' uses '.join((*above, name))}")
        if proof.theorem not in done:
            used = {theorem: _used(theorem, done, (*above, name)) for theorem in proof.uses}
            with within(PATIENCE, name):
                run = proof.run()
            done[proof.theorem] = run, _agreed(run, run.verdict(used))
        yield done[proof.theorem]


def _agreed(run: Run, verdict: Verdict) -> Verdict:
    """The verdict, unless another checker finds a goal false: then neither this nor what uses it stands."""
    from proofs.support import second  # noqa: PLC0415  # sympy is slow

    doubted = second.disagreements(shown.step for shown in run.shown)
    return Verdict.FAILED if doubted else verdict


def _used(
    theorem: Theorem, done: dict[Theorem, tuple[Run, Verdict]], above: tuple[str, ...]
) -> Verdict:
    """The verdict of a theorem that another one uses; one that cannot be run is no support.

    Neither is one whose name is proved, but whose statement is another.
    """
    try:
        run, verdict = next(run_with_uses([theorem.name], done, above))
    except Circle:
        raise
    except BrokenProof:
        return Verdict.FAILED
    return verdict if run.proof.theorem == theorem else Verdict.FAILED


def unsupported(proof: Proof, done: dict[Theorem, tuple[Run, Verdict]]) -> list[str]:
    """What a proof uses and must not: theorems that fail, are false, or are stated otherwise."""
    found = []
    for theorem in proof.uses:
        verdict = done[theorem][1] if theorem in done else None
        if verdict is None:
            found.append(f"it uses {theorem.name}, which cannot be run or says something else")
        elif verdict in {Verdict.FAILED, Verdict.REFUTED, Verdict.REFUTED_ARGUED}:
            found.append(f"it uses {theorem.name}, which is {verdict.value}")
    return found


def standing(proof: Proof) -> Verdict:
    """The verdict if every step holds, without running it; what the map of the notes shows."""
    return proof.standing({used: standing(find(used.name)) for used in proof.uses})


def users(theorem: Theorem) -> list[str]:
    """The names of the theorems whose proofs use this one, read off the sources."""
    constant = _constants().get(theorem.name)
    return [] if constant is None else _mentions()[0].get(constant, [])


def code(theorem: Theorem) -> list[str]:
    """The files of the library that name this theorem."""
    constant = _constants().get(theorem.name)
    return [] if constant is None else _mentions()[1].get(constant, [])


@cache
def _constants() -> dict[str, str]:
    """The constant that holds each theorem, by the theorem's name."""
    declared = [ROOT / "dpverify" / "theorems.py", ROOT / "solvers" / "privacy" / "theorems.py"]
    sources = (path.read_text(encoding="utf-8") for path in (*declared, *files()))
    return {name: constant for text in sources for constant, name in _CONSTANT.findall(text)}


@cache
def _mentions() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By constant: the theorems whose proofs use it, and the files of the library that name it."""
    names = {home: name for name, home in homes().items()}
    used: dict[str, list[str]] = {}
    named: dict[str, list[str]] = {}
    for path in files():
        listed = _USES.search(path.read_text(encoding="utf-8"))
        user = names.get(path.relative_to(ROOT).as_posix())
        for constant in re.findall(r"\w+", listed[1]) if listed and user else []:
            used.setdefault(constant, []).append(str(user))
    constants = set(_constants().values())
    for path in (*ROOT.glob("dpverify/**/*.py"), *ROOT.glob("solvers/**/*.py")):
        if path.name != "theorems.py":
            words = set(re.findall(r"\b[A-Z][A-Z_]+\b", path.read_text(encoding="utf-8")))
            for constant in words & constants:
                named.setdefault(constant, []).append(path.relative_to(ROOT).as_posix())
    return used, {constant: sorted(paths) for constant, paths in named.items()}


def borrowed(proof: Proof) -> dict[str, str]:
    """What a proof takes from the literature, by itself or by what it uses, and who cites it."""
    found: dict[str, str] = {}
    waiting, seen = [proof], {proof.theorem.name}
    while waiting:
        each = waiting.pop(0)
        for cited in each.cites:
            found.setdefault(cited, each.theorem.name)
        fresh = [theorem.name for theorem in each.uses if theorem.name not in seen]
        waiting += [find(name) for name in dict.fromkeys(fresh)]
        seen.update(fresh)
    return found


def citations(proof: Proof) -> list[str]:
    """`borrowed` in words: what others cite is marked with their name."""
    own = proof.theorem.name
    return [cited if by == own else f"{by}: {cited}" for cited, by in borrowed(proof).items()]


@cache
def _proof(path: str) -> Proof:
    try:
        with within(PATIENCE, path):
            proof = import_module(path.removesuffix(".py").replace("/", ".")).PROOF
    except BrokenProof:
        raise
    except RAISED as error:  # whatever a proof file does, the others can still be run
        raise BrokenProof(f"{path} raises {type(error).__name__}: {error}") from error
    if not isinstance(proof, Proof) or proof.theorem.proof != path:
        raise BrokenProof(f"{path} must have a PROOF of a theorem that names {path}")
    return proof


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Stop what does not end; only in the main thread of systems that have alarms."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        raise BrokenProof(f"{what} does not end within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
