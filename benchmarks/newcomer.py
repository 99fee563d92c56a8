"""Play the new user: twenty tasks in a fresh environment, with lines of the documentation only.

    python benchmarks/newcomer.py [--python INTERPRETER]

Makes an environment, installs this checkout into it, and runs each task in a folder of its own:
files are the titled blocks of a page, commands its `$` lines, found by how they begin. Exit code 1
if one does not do what its page says.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r'^```(\w+)(?: title="([^"\n]*)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
TASKS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("what do 1,000 Gaussian releases cost?", "README.md", ("dpverify compose",)),
    ("how much noise does a budget need?", "README.md", ("dpverify noise gaussian",)),
    ("account for training in Python", "README.md", ("step = dpv.Subsampled",)),
    ("refute a false claim", "README.md", ("def private_sum",)),
    ("see a privacy test fail", "README.md", ("pytest test_release.py",)),
    ("compose a survey", "docs/tutorial.md", ("dpverify compose",)),
    ("audit somebody's function", "docs/tutorial.md", ("verdict = dpv.audit",)),
    ("find the line that leaks", "docs/tutorial.md", ("found = dpv.trace",)),
    (
        "refute it and prove the mended one",
        "docs/tutorial.md",
        ("dpverify decide theirs", "dpverify decide mended"),
    ),
    ("keep it true by a test", "docs/tutorial.md", ("pytest test_mended.py",)),
    ("plan a training run", "docs/noise.md", ("dpverify noise dp-sgd",)),
    (
        "save a witness and replay it",
        "docs/audit.md",
        (
            "dpverify audit release:private_mean --left",
            "dpverify audit release:private_mean --replay",
        ),
    ),
    ("write a page of a trace", "docs/trace.md", ("dpverify trace release:mended --left",)),
    (
        "write a certificate and check it",
        "docs/decide.md",
        ("dpverify decide sparse:variant_1", "dpverify check proof.json"),
    ),
    ("fit a private model", "docs/fit.md", ("dpverify fit",)),
    (
        "keep a budget in a file",
        "docs/ledger.md",
        ("dpverify ledger open", "dpverify ledger spend", "dpverify ledger status"),
    ),
    ("disclose and check", "docs/disclose.md", ("dpverify disclose", "dpverify check disclosure")),
    ("run a proof", "docs/proofs.md", ("dpverify prove",)),
    ("a page with sliders", "docs/meaning.md", ("dpverify compose",)),
    ("read JSON", "docs/json.md", ("dpverify noise laplace --epsilon 1 --l1",)),
)


def environment(folder: Path) -> Path:
    """A fresh environment with this checkout in it."""
    made = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    wanted = f"{ROOT}[testing,certify]"
    subprocess.run([str(made), "-m", "pip", "install", "--quiet", wanted], check=True)
    return made


def steps(page: str, beginnings: tuple[str, ...], folder: Path) -> list[tuple[list[str], int]]:
    """What to run for a task, each with its exit code; the page's files are written before."""
    found = FENCE.findall((ROOT / page).read_text("utf-8"))
    lines: list[tuple[str, list[str], int]] = []
    for language, title, text in found:
        if title and not title.startswith("needs "):
            (folder / title).write_text(text, encoding="utf-8")
        elif language == "python" and not title:
            lines.append((text, ["python", "-c", text], 0))
        elif language == "console":
            for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
                command, _, note = line.partition("  # ")
                code = re.search(r"exit (\d)", note)
                lines.append((command, shlex.split(command), int(code[1]) if code else 0))
    return [
        next((command, code) for text, command, code in lines if beginning in text)
        for beginning in beginnings
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="of an environment that has dpverify")
    given = parser.parse_args().python
    with tempfile.TemporaryDirectory() as made:
        return play(given or environment(Path(made)))


def play(python: Path) -> int:
    """All tasks, each with how long it took; 1 if one fails."""
    beside = os.environ | {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    beside.pop("PYTHONPATH", None)
    failed = 0
    for number, (what, page, beginnings) in enumerate(TASKS, start=1):
        told, start = "ok", time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            for command, code in steps(page, beginnings, Path(folder)):
                here = [str(python), *command[1:]] if command[0] == "python" else command
                here = [str(python), "-m", *here] if here[0] in {"dpverify", "pytest"} else here
                done = subprocess.run(
                    here, check=False, capture_output=True, text=True, cwd=folder, env=beside
                )
                if done.returncode != code:
                    told = f"exit code {done.returncode}, not {code}: {done.stderr[-300:]}"
                    failed += 1
                    break
        print(f"{number:>2}. {time.perf_counter() - start:5.1f} s  {what} ({page}): {told}")
    print(f"{len(TASKS) - failed} of {len(TASKS)} tasks done")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
