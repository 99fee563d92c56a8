"""Fits on datasets at the edge of their bounds: whether and how fast each ends, by which solver.

    python -m benchmarks.edges 0 20000

draws one problem, mechanism, dataset and neighbor for each number, from norms of 1e-12 to 1e12, and
runs both fits; every tenth certificate is compared with 100 digits. A failure is printed with the
number that replays it, and the exit code is 1.
"""

import argparse
import sys
import time
import traceback
import warnings

from solvers.minimize.problem import Problem
from tests.solvers.edges import case, check

_SHOWN = 250


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    precise = _counted()
    failed, times, checked = 0, [], 0
    for seed in range(given.first, given.last):
        start = time.perf_counter()
        each = case(seed)
        exactly = seed % 10 == 0
        checked += exactly
        try:
            check(each, exactly=exactly)
        except Exception:  # noqa: BLE001  # to be counted, whatever it is
            failed += 1
            print(f"{each}\n{traceback.format_exc(limit=-4)}", flush=True)
        times.append((time.perf_counter() - start, seed))
        if len(times) % _SHOWN == 0:
            print(f"{len(times)} cases, {failed} failed, {precise[0]} solves by balls", flush=True)
    times.sort(reverse=True)
    slowest = ", ".join(f"{seconds:.1f} s (case {seed})" for seconds, seed in times[:5])
    print(
        f"cases {given.first} to {given.last}: {failed} failed; {checked} asked for 100 digits; "
        f"{precise[0]} solves by balls; {sum(t for t, _ in times):.0f} s, slowest {slowest}"
    )
    return int(failed > 0)


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
