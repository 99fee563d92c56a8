"""What an audit sees in outputs of every kind: a planted leak, and no leak where there is none.

    python -m benchmarks.kinds leaks
    python -m benchmarks.kinds honest RESULTS.jsonl [--audits 200] [--share 1/4] [--seconds 600]
    python -m benchmarks.kinds table RESULTS.jsonl …

`leaks` audits every kind of `tests.auditing.kinds` with a leak of ε = 10 against a claim of 1.
`honest` audits the same kinds with ε = 1 exactly against that claim, at level 0.1, and writes one
line a batch of audits; it goes on from what the file holds, so it may be killed at any time, and
shares may run on several machines. `table` counts what several files hold.

A kind is refuted too often if so many refutations or more have probability below 0.001 / kinds
under Bin(audits, 0.1): over the whole table, an honest auditor fails with probability 0.001.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from scipy.stats import binom

from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.kinds import BITS, LEVEL, NUMBERS, ODD, Hidden, is_refuted

KINDS = (*NUMBERS, *BITS, *ODD)
_BATCH = 10
_TOLERANCE = 1e-3


def leaks() -> bool:
    found = 0
    for kind in KINDS:
        start = time.process_time()
        verdict = audit(
            Hidden(kind, 10.0),
            left=0,
            right=1,
            claim=PureDP(epsilon=1.0),
            samples=200,
            seed=1,
            arithmetic="float" if kind in ODD else "real",
        )
        found += verdict.refuted
        told = "refuted" if verdict.refuted else "NOT REFUTED"
        took = time.process_time() - start
        print(f"{kind:36} {told:12} {verdict.samples:4} draws a side {took:6.2f} s", flush=True)
    print(f"{found} of {len(KINDS)} kinds refuted")
    return found == len(KINDS)


def known(files: list[Path]) -> dict[tuple[str, int], int]:
    """Refutations by kind and number of the batch; a line that was cut short is left out."""
    found: dict[tuple[str, int], int] = {}
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else []:
            try:
                told = json.loads(line)
            except ValueError:
                continue
            found[told["kind"], told["batch"]] = told["refuted"]
    return found


def honest(file: Path, audits: int, share: int, of: int, seconds: float) -> None:
    end, done = time.monotonic() + seconds, known([file])
    batches = [(kind, i) for i in range(audits // _BATCH) for kind in KINDS]
    for kind, batch in batches[share - 1 :: of]:
        if (kind, batch) in done:
            continue
        if time.monotonic() > end:
            return
        refuted = sum(is_refuted(kind, batch * _BATCH + i) for i in range(_BATCH))
        with file.open("a") as out:
            out.write(json.dumps({"kind": kind, "batch": batch, "refuted": refuted}) + "\n")


def table(files: list[Path]) -> bool:
    refuted: Counter[str] = Counter()
    audits: Counter[str] = Counter()
    for (kind, _), number in known(files).items():
        refuted[kind] += number
        audits[kind] += _BATCH
    fine = True
    for kind in KINDS:
        most = int(binom.isf(_TOLERANCE / len(KINDS), audits[kind], LEVEL))
        fine = fine and refuted[kind] <= most
        mark = "" if refuted[kind] <= most else "  TOO OFTEN"
        print(f"{kind:36} {refuted[kind]:3} of {audits[kind]:4} refuted, at most {most}{mark}")
    total = sum(refuted.values()), sum(audits.values())
    print(f"{len(KINDS)} kinds: {total[0]} of {total[1]:,} refuted at level {LEVEL}")
    return fine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["leaks", "honest", "table"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--share", default="1/1")
    parser.add_argument("--seconds", type=float, default=1e9)
    asked = parser.parse_args()
    if asked.part == "leaks":
        sys.exit(not leaks())
    if asked.part == "table":
        sys.exit(not table(asked.files))
    share, of = map(int, asked.share.split("/"))
    honest(asked.files[0], asked.audits, share, of, asked.seconds)


if __name__ == "__main__":
    main()
