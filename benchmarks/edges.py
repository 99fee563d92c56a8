"""Fits on datasets at the edge of their bounds: whether and how fast each ends, by which solver.

    python -m benchmarks.edges 0 20000
    python -m benchmarks.edges 0 20000 --models

The first draws one problem, mechanism, dataset and neighbor for each number, from norms of 1e-12 to
1e12, and runs both fits; every tenth certificate is compared with 100 digits. The second does so
with the estimators, by all their methods: what is refused must be refused on neighbors alike, in
the same words. A failure is printed with the number that replays it, and the exit code is 1.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter

from solvers.minimize.problem import Problem
from tests.solvers.edges import case, check
from tests.solvers.fitted_edges import check_fitted, fitted_case

_SHOWN = 250


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--models", action="store_true", help="estimators, not mechanisms")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    precise = _counted()
    failed, times, told = 0, [], Counter[str]()
    for seed in range(given.first, given.last):
        start = time.process_time()
        try:
            told[_judged(seed, models=given.models)] += 1
        except Exception:  # noqa: BLE001  # to be counted, whatever it is
            failed += 1
            each = fitted_case(seed) if given.models else case(seed)
            print(f"{each}\n{traceback.format_exc(limit=-4)}", flush=True)
        times.append((time.process_time() - start, seed))
        if len(times) % _SHOWN == 0:
            print(f"{len(times)} cases, {failed} failed, {precise[0]} solves by balls", flush=True)
    times.sort(reverse=True)
    slowest = ", ".join(f"{seconds:.1f} s (case {seed})" for seconds, seed in times[:5])
    print(
        f"cases {given.first} to {given.last}: {failed} failed; {dict(told)}; {precise[0]} solves "
        f"by balls; {sum(t for t, _ in times):.0f} s of CPU, slowest {slowest}"
    )
    return int(failed > 0)


def _judged(seed: int, *, models: bool) -> str:
    """What became of a case; raises if something is wrong."""
    if models:
        return "ends" if check_fitted(fitted_case(seed)) == "ends" else "refused by public numbers"
    exactly = seed % 10 == 0
    check(case(seed), exactly=exactly)
    return "asked for 100 digits" if exactly else "ends"


def _counted() -> list[int]:
    """Counts the solves that floats do not certify and ball arithmetic takes over, from here on."""
    count, solve = [0], Problem._precise  # noqa: SLF001

    def counting(*args: object) -> object:
        count[0] += 1
        return solve(*args)  # type: ignore[arg-type]

    Problem._precise = counting  # type: ignore[assignment,method-assign]  # noqa: SLF001
    return count


if __name__ == "__main__":
    sys.exit(main())
