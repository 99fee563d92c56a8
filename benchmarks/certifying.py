"""Certificates: each benchmark program proved or refuted, with its time and the size of its file.

python benchmarks/certifying.py [--case NAME] [--audit] [--mutants] [--any] [--part I/N]
                                [--random N [--seed S]] [--json F]

Seconds are those of the processor. All is done in one thread, so that on a machine with nothing
else to do they are those of the clock. `--any` takes the programs on data of any length.

Published times stand beside ours for the programs that the papers treat: ShadowDP, at most 3 s each
for annotated programs (arXiv 1903.12254v2, abstract), CheckDP, at most 70 s each in a language of
its own (arXiv 2008.07485v2). Times of single programs, and those of LightDP and DiPC, were not at
hand: a dash. Programs, mutants and random programs are those of tests/certifying, with their true
verdicts.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

HEADER = (
    *("program", "expected", "verdict", "by", "seconds", "check", "kB", "audit"),
    *("LightDP", "ShadowDP", "CheckDP", "DiPC"),
)
LIMIT = 60.0
MANY = 100_000  # draws of a second audit, where those of the first do not show it

SHADOWDP = {  # the case studies of both papers, by the names that their programs have here
    *("sparse vector 1", "sparse vector 1, two hits", "numerical sparse vector"),
    *("gap sparse vector", "noisy max", "noisy max, loop", "noisy max, numpy"),
    *("partial sum", "prefix sums", "smart sum"),
}
CHECKDP = SHADOWDP - {"prefix sums"} | {
    *("sparse vector 3", "sparse vector 4", "sparse vector 5", "sparse vector 6"),
    "sparse vector, monotone answers",
    *("noisy max with its value", "partial sum, told twice", "smart sum, half of the noise"),
}


def published(name: str) -> tuple[str, ...]:
    """LightDP, ShadowDP, CheckDP, DiPC."""
    return ("–", "≤ 3" if name in SHADOWDP else "–", "≤ 70" if name in CHECKDP else "–", "–")


def row(program: Any, *, audited: bool, seconds: float) -> dict[str, Any]:  # noqa: ANN401
    """One program: what is found, how long it took, how long its file takes to check."""
    import dpverify as dpv  # the help must not wait for it

    start = time.process_time()
    found = dpv.certify(program.mechanism, program.schema, program.claim, seconds=seconds)
    took = time.process_time() - start
    start = time.process_time()
    valid = found.verdict == "open" or dpv.check_certificate(found).valid
    checked = time.process_time() - start
    shown = found.counterexample
    confirmed = None
    if audited and shown is not None:
        for samples in (None, MANY):
            verdict = dpv.audit(
                program.mechanism,
                left=shown.left,
                right=shown.right,
                claim=program.claim,
                samples=samples,
                seed=0,
            )
            confirmed = verdict.refuted
            if confirmed:
                break
    return {
        "program": program.name,
        "expected": program.verdict,
        "verdict": found.verdict if valid else "not valid",
        "by": found.method,
        "seconds": took,
        "check": checked,
        "kB": len(json.dumps(found.to_dict())) / 1e3,
        "audit": confirmed,
    }


def at_any_length(program: Any) -> Any:  # noqa: ANN401
    """The program for data of any length; None where they are no sequence."""
    from dataclasses import replace

    from dpverify.certifying.symbolic.schemas import endless

    schema = endless(program.schema)
    return None if schema is None else replace(program, schema=schema)


def shown(found: dict[str, Any]) -> tuple[str, ...]:
    audit = {None: "–", True: "refuted", False: "not refuted"}[found["audit"]]
    wrong = "" if found["verdict"] in {found["expected"], "open"} else "  WRONG"
    return (
        found["program"],
        found["expected"],
        found["verdict"] + wrong,
        found["by"],
        f"{found['seconds']:.2f}",
        f"{found['check']:.2f}",
        f"{found['kB']:.1f}",
        audit,
        *published(found["program"]),
    )


def random_programs(count: int, seed: int, seconds: float) -> dict[str, Any]:
    """Verdicts on random programs beside exhaustive enumeration."""
    import dpverify as dpv
    from tests.certifying.random_programs import cases

    seen: Counter[str] = Counter()
    others: list[str] = []
    start = time.process_time()
    for case in cases(count, seed):
        found = dpv.certify(
            case.program.mechanism, case.schema, case.claim.guarantee, seconds=seconds
        )
        truth = "proved" if case.decision.true else "refuted"
        right = (
            "open" if found.verdict == "open" else "right" if found.verdict == truth else "WRONG"
        )
        seen[f"{truth}: {right}"] += 1
        if right != "right":
            others.append(f"seed {case.program.seed}, {truth}: {right}, {found.reason}")
    return {
        "random": dict(seen),
        "others": others,
        "seconds": time.process_time() - start,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", help="only programs whose name has this in it")
    parser.add_argument("--audit", action="store_true", help="audit each counterexample")
    parser.add_argument("--mutants", action="store_true", help="also the edited programs")
    parser.add_argument("--any", action="store_true", help="on data of any length")
    parser.add_argument("--seconds", type=float, default=LIMIT, help="of the clock, for each")
    parser.add_argument(
        "--random", type=int, default=0, metavar="N", help="so many random programs"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first random program")
    parser.add_argument(
        "--part", default="1/1", metavar="I/N", help="every N-th program, from I on"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    given = parser.parse_args(arguments)

    from tables import aligned

    from tests.certifying.mutations import MUTANTS
    from tests.certifying.programs import PROGRAMS

    programs = [*PROGRAMS, *(MUTANTS if given.mutants else ())]
    if given.case:
        programs = [p for p in programs if any(text in p.name for text in given.case)]
    if given.random and not given.case:
        programs = []
    if given.any:
        programs = [p for p in map(at_any_length, programs) if p is not None]
    part, parts = map(int, given.part.split("/"))
    programs = programs[part - 1 :: parts]
    rows = [row(program, audited=given.audit, seconds=given.seconds) for program in programs]
    results: dict[str, Any] = {"programs": rows}
    if rows:
        print(aligned(HEADER, [shown(r) for r in rows], words=4))
        decided = sum(r["verdict"] == r["expected"] for r in rows)
        wrong = sum(r["verdict"] not in {r["expected"], "open"} for r in rows)
        slow = [r["program"] for r in rows if r["seconds"] > LIMIT]
        print(f"\n{decided} of {len(rows)} decided as they are, {wrong} wrong; over 60 s: {slow}")
    if given.random:
        results |= random_programs(given.random, given.seed, given.seconds)
        print(results["random"], f"{results['seconds']:.0f} s", *results["others"], sep="\n")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
