"""Every table, after making the peers' environment where there is none.

python benchmarks/run.py [--full] [--json FOLDER]
"""

import argparse
from collections.abc import Callable, Sequence

import accounting
import adult
import allocation
import composition
import environment
import erm
import options

TABLES: dict[str, Callable[[Sequence[str]], None]] = {
    "composition": composition.main,
    "accounting": accounting.main,
    "allocation": allocation.main,
    "erm": erm.main,
    "adult": adult.main,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run every benchmark table.")
    options.add_common(parser)
    given = parser.parse_args()
    environment.make()
    if given.json:
        given.json.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        arguments = ["--time-limit", str(given.time_limit)]
        arguments += ["--full"] if given.full else []
        arguments += ["--json", str(given.json / f"{name}.json")] if given.json else []
        table(arguments)


if __name__ == "__main__":
    main()
