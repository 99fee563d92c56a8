"""What holds of the entries of the public registry of deployments.

    git clone https://github.com/opendp/deployments-registry-data
    python benchmarks/registry.py deployments-registry-data

The argument is a folder of entries, a clone, or a git directory without a work tree. Every entry
that contradicts itself is listed with what was computed from it; the others are counted by what
they leave out. Then the entry that `dpverify demo` writes, or what --entry names, is held against
the registry's own schema; this needs jsonschema.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from dpverify.disclosing import Review, check_disclosure
from dpverify.disclosing.text import parsed
from dpverify.errors import DPVerifyError

FOLDER = "deployments"
SCHEMA = "schemas/deployments-schema.yaml"


def entries(source: Path) -> Iterator[tuple[str, str]]:
    """Name and text of every entry."""
    if (source / "HEAD").is_file():
        listed = _git(source, "ls-tree", "--name-only", "HEAD", f"{FOLDER}/").splitlines()
        for name in listed:
            if name.endswith((".yaml", ".yml")):
                yield Path(name).name, _git(source, "show", f"HEAD:{name}")
        return
    folder = source / FOLDER if (source / FOLDER).is_dir() else source
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        yield path.name, path.read_text(encoding="utf-8")


def accepted(source: Path, files: list[Path]) -> bool:
    """Whether the registry's own schema accepts entries; what it objects to is printed."""
    kind = import_module("jsonschema").Draft7Validator
    if (source / "HEAD").is_file():
        schema = parsed(_git(source, "show", f"HEAD:{SCHEMA}"))
    else:
        schema = parsed((source / SCHEMA).read_text(encoding="utf-8"))
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    fine = True
    for file in files:
        errors = list(validator.iter_errors(parsed(file.read_text(encoding="utf-8"))))
        fine &= not errors
        print(f"{file.name}: {'accepted' if not errors else 'refused'} by {SCHEMA}")
        for error in errors:
            print(f"  {'.'.join(map(str, error.path))}: {error.message}")
    return fine


def of_the_demo(folder: Path) -> list[Path]:
    """The entry that the demonstration writes."""
    subprocess.run(
        [sys.executable, "-m", "dpverify", "demo", "--report", str(folder / "demo.html")],
        check=True,
        capture_output=True,
    )
    return [folder / "demo_registry.yaml"]


def _git(source: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={source}", *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def report(reviews: dict[str, Review]) -> str:
    """The table: contradictions first, then what is left out, by field."""
    counted = Counter(review.verdict for review in reviews.values())
    lines = [
        f"{len(reviews)} entries",
        *(f"  {counted[name]:>3}  {name}" for name in ("wrong", "incomplete", "stands")),
        "",
        "wrong: contradictory, with what was computed",
    ]
    for name, review in reviews.items():
        lines += [f"  {name}\n    {each.path}\n    {each.text}" for each in review.wrong]
    missing = Counter(each.path for review in reviews.values() for each in review.incomplete)
    lines += ["", "not stated, or not as a number:"]
    lines += [f"  {count:>3}  {path}" for path, count in missing.most_common()]
    lines += ["", "stands: no contradiction found, which is no proof"]
    lines += [f"  {name}" for name, review in reviews.items() if review.verdict == "stands"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="folder, clone or git directory of the registry")
    parser.add_argument(
        "--entry", type=Path, action="append", help="entry to check, not the demo's"
    )
    arguments = parser.parse_args()
    source = arguments.source
    reviews = {}
    for name, text in entries(source):
        try:
            reviews[name] = check_disclosure(parsed(text))
        except DPVerifyError as error:
            print(f"{name}: {error}", file=sys.stderr)
    if not reviews:
        print(f"source={str(source)!r} must hold entries in YAML", file=sys.stderr)
        return 2
    print(report(reviews), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        fine = accepted(source, arguments.entry or of_the_demo(Path(folder)))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
