"""How long the command takes to start: CPU seconds, the best of several runs.

python benchmarks/start.py [--runs 5]
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = ("numpy", "scipy.special", "sympy")  # what verbs that take longer wait for

MECHANISM = "def half(data, rng):\n    return sum(data) + rng.laplace(scale=0.5)\n"
SCHEMA = """{"kind": "records", "length": [0, 3], "relation": "add-remove",
 "record": {"kind": "number", "low": 0, "high": 1}}"""
RELATION = ["--relation", "add-remove"]
PAIR = ["--left", "left.json", "--right", "right.json", "--epsilon"]
CERTIFICATE = ["--certificate", "certificate.json"]
MADE = (  # what is checked afterwards
    ["trace", "mine.py:half", *PAIR, "1", "--save-witness", "trace-witness.json"],
    ["audit", "mine.py:half", *PAIR, "1", "--save-witness", "audit-witness.json"],
    ["decide", "mine.py:half", "--schema", "schema.json", "--epsilon", "2", *CERTIFICATE],
    ["disclose", "gaussian(50)*10", "--delta", "1e-6", *RELATION, "--output", "disclosure.yaml"],
    ["ledger", "open", "budget.ledger", "--epsilon", "3", *RELATION],
)
HELP = (
    ["--help"],
    ["--version"],
    *(
        [verb, "--help"]
        for verb in (
            *("compose", "noise", "audit", "trace", "decide", "disclose", "check", "fit", "ledger"),
            *("prove", "demo"),
        )
    ),
)
PLAIN = (
    ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "1"],
    ["compose", "gaussian(50)*1000", "--delta", "1e-6", *RELATION],
    ["ledger", "status", "budget.ledger"],
    ["check", "certificate.json"],
    ["check", "disclosure.yaml"],
    ["check", "trace-witness.json"],
    ["check", "audit-witness.json"],
    ["prove", "laplace"],
)


def seconds(command: list[str], folder: str) -> float:
    """CPU time of one run, of the user and of the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    print(f"Python {platform.python_version()}, {platform.machine()}, best of {runs}, CPU seconds")
    start = [sys.executable, "-m", "dpverify"]
    whole = [[sys.executable, "-c", f"import {name}"] for name in ("dpverify", *LIBRARIES)]
    whole += [[*start, *line] for line in (*HELP, *PLAIN)]
    with tempfile.TemporaryDirectory() as folder:
        files = {"mine.py": MECHANISM, "schema.json": SCHEMA}
        for name, text in (files | {"left.json": "[0]", "right.json": "[1]"}).items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for line in MADE:
            subprocess.run([*start, *line], check=False, stdout=subprocess.DEVNULL, cwd=folder)
        for command in whole:
            seconds(command, folder)  # compiles what is not compiled yet
            best = min(seconds(command, folder) for _ in range(runs))
            print(f"{best:6.2f}  {' '.join(command[1:])}")


if __name__ == "__main__":
    main()
