"""The six walks through the code: which files a reader passes, in the order in which they run.

    python benchmarks/walks.py            how many files each walk visits
    python benchmarks/walks.py compose    the files of one walk, in order
    python benchmarks/walks.py --write    the files of all walks, into ARCHITECTURE.md

A file is visited when one of its functions runs during the walk; importing it does not count.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import FrameType

import numpy as np

ROOT = Path(__file__).parents[1]
MAP = ROOT / "ARCHITECTURE.md"
FIRST, LAST = "<!-- walks -->", "<!-- end of walks -->"
ROOMS = ("dpverify", "solvers", "proofs")
TITLES = {
    "compose": "`Accountant.compose(Subsampled(Gaussian(…))).epsilon(delta)`",
    "audit": "`dpv.audit(mechanism, left=…, right=…, claim=…)`",
    "fit": "`PrivateLogisticRegression(…).fit(X, y)`",
    "test": "a function decorated with `@satisfies(…)`",
    "prove": "`dpverify prove basic-composition`",
    "report": "`dpverify compose … --report page.html`",
}


def compose() -> None:
    import dpverify as dpv

    step = dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.004)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=1000)
    spent.epsilon(delta=1e-5)


def noisy_sum(data: list[float], rng: np.random.Generator) -> float:
    return float(sum(data) + rng.laplace(scale=0.5))


def audit() -> None:
    import dpverify as dpv

    claim = dpv.PureDP(epsilon=1.0)
    dpv.audit(noisy_sum, left=[0.0, 1.0], right=[1.0, 1.0], claim=claim, samples=2_000, seed=7)


def fit() -> None:
    import dpverify as dpv
    import solvers

    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (200, 3))
    labels = np.where(rows @ np.array([1.0, -1.0, 0.5]) > 0, 1, -1)
    model = solvers.PrivateLogisticRegression(
        budget=dpv.ApproxDP(epsilon=1, delta=1e-5),
        norm_bound=1.0,
        relation=dpv.Relation.ADD_REMOVE,
        random_state=0,
    )
    model.fit(rows, labels).predict(rows)


def decorated_test() -> None:
    from hypothesis import settings
    from hypothesis import strategies as st

    import dpverify as dpv
    from dpverify.testing import PrivacyViolation, neighbors, satisfies

    pairs = neighbors(st.lists(st.floats(0, 1), max_size=4), relation="add-remove")
    steady = settings(derandomize=True, database=None)
    test: Callable[[], None] = steady(satisfies(dpv.PureDP(epsilon=1.0), on=pairs)(noisy_sum))
    try:
        test()
    except PrivacyViolation:
        return
    raise AssertionError("the flawed sum must not pass")


def command(*words: str) -> None:
    from dpverify.cli import run

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = run(list(words))
    if code:
        raise RuntimeError(f"dpverify {' '.join(words)}: exit {code}")


def prove() -> None:
    command("prove", "basic-composition")


def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        words = ("gaussian(sigma=50)*1000", "--delta", "1e-6", "--relation", "add-remove")
        command("compose", *words, "--report", page)


WALKS: dict[str, Callable[[], None]] = {
    "compose": compose,
    "audit": audit,
    "fit": fit,
    "test": decorated_test,
    "prove": prove,
    "report": report,
}


def imported() -> None:
    """Import the whole library, so that what runs at import is on no walk."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if not name.endswith("__main__"):
                import_module(name.removesuffix(".__init__"))


def visited(walk: Callable[[], None]) -> list[str]:
    """The library's files in which a function ran, in the order of their first call."""
    found: dict[str, None] = {}

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            found.setdefault(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        walk()
    finally:
        sys.setprofile(None)
    rooms = [str(ROOT / room) for room in ROOMS]
    return [str(Path(name).relative_to(ROOT)) for name in found if name.startswith(tuple(rooms))]


def lines() -> None:
    for room in ROOMS:
        texts = (path.read_text("utf-8") for path in (ROOT / room).rglob("*.py"))
        print(f"{room:<10}{sum(len(text.splitlines()) for text in texts):>8,} lines")


def written(found: dict[str, list[str]]) -> str:
    """The walks as ARCHITECTURE.md shows them."""
    walks = [
        f"**{name}**, {TITLES[name]} ({len(files)} files): "
        + " → ".join(f"`{_short(file)}`" for file in files)
        for name, files in found.items()
    ]
    return "\n\n".join(walks)


def _short(file: str) -> str:
    return file.removeprefix("dpverify/").removesuffix(".py")


def _alone(name: str) -> list[str]:
    """The files of a walk in a process of its own: what others loaded or cached does not count."""
    command = [sys.executable, __file__, name]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return [line.strip() for line in told.stdout.splitlines()[1:]]


def write() -> None:
    text = MAP.read_text("utf-8")
    before, _, rest = text.partition(FIRST)
    _, _, after = rest.partition(LAST)
    walks = written({name: _alone(name) for name in WALKS})
    MAP.write_text(f"{before}{FIRST}\n\n{walks}\n\n{LAST}{after}", "utf-8")


def main() -> None:
    imported()
    if "--write" in sys.argv:
        write()
        return
    asked = sys.argv[1:] or list(WALKS)
    for name in asked:
        files = visited(WALKS[name])
        print(f"{name:<10}{len(files):>8} files")
        if sys.argv[1:]:
            print("\n".join(f"  {file}" for file in files))
    if not sys.argv[1:]:
        lines()


if __name__ == "__main__":
    main()
