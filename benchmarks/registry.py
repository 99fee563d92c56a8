"""What holds of the entries of the public registry of deployments.

    git clone https://github.com/opendp/deployments-registry-data
    python benchmarks/registry.py deployments-registry-data

The argument is a folder of entries, a clone, or a git directory without a work tree. Every entry
that contradicts itself is listed with what was computed from it; the others are counted by what
they leave out.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dpverify.disclosing import Review, check_disclosure
from dpverify.disclosing.text import parsed
from dpverify.errors import DPVerifyError

FOLDER = "deployments"


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
    source = parser.parse_args().source
    reviews = {}
    for name, text in entries(source):
        try:
            reviews[name] = check_disclosure(parsed(text))
        except DPVerifyError as error:
            print(f"{name}: {error}", file=sys.stderr)
    if not reviews:
        print(f"source={str(source)!r} must hold entries in YAML", file=sys.stderr)
        return 2
    print(report(reviews))
    return 0


if __name__ == "__main__":
    sys.exit(main())
