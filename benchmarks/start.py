"""How long the command takes to start: CPU seconds, the best of several runs.

python benchmarks/start.py [--runs 5]
"""

import argparse
import platform
import resource
import subprocess
import sys

LINES = (
    ["--help"],
    ["--version"],
    *(
        [verb, "--help"]
        for verb in (
            *("compose", "noise", "audit", "trace", "decide", "disclose", "check", "fit", "ledger"),
            *("prove", "demo"),
        )
    ),
    ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "1"],
    ["compose", "gaussian(50)*1000", "--delta", "1e-6", "--relation", "add-remove"],
)


def seconds(command: list[str]) -> float:
    """CPU time of one run, of the user and of the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(f"Python {platform.python_version()}, {platform.machine()}, best of {runs}, CPU seconds")
    whole = [[sys.executable, "-c", "import dpverify"]]
    whole += [[sys.executable, "-m", "dpverify", *line] for line in LINES]
    for command in whole:
        seconds(command)  # compiles what is not compiled yet
        best = min(seconds(command) for _ in range(runs))
        print(f"{best:6.2f}  {' '.join(command[1:])}")


if __name__ == "__main__":
    main()
