"""`python -m tests.accounting.fuzz --cases 5000`: all, or a stretch; exit code 1 on a miss."""

import argparse
import sys
import time
from collections import Counter

from tests.accounting.fuzz.judging import judged
from tests.accounting.fuzz.laws import NoTruth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--start", type=int, default=0, help="resume at this case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="every case, not only misses")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    start, misses, redrawn = time.process_time(), 0, 0
    for index in range(asked.start, asked.start + asked.cases):
        began = time.process_time()
        try:
            found = judged(index, seed=asked.seed)
        except NoTruth as none:
            misses += 1
            print(f"NO TRUTH {none}", flush=True)
            continue
        counts[found.family] += 1
        redrawn += found.redrawn
        misses += bool(found.miss)
        spent = time.process_time() - began
        if found.miss or asked.verbose or spent > 20:
            mark = "MISS" if found.miss else "ok"
            print(
                f"{mark} {index} {spent:.1f} s {found.family}: {found.words} {found.miss}",
                flush=True,
            )
        if (index + 1) % 500 == 0:
            print(
                f"… {index + 1}, {misses} misses, {time.process_time() - start:.0f} s", flush=True
            )
    print(f"{sum(counts.values())} cases, {misses} misses, {redrawn} redrawn for want of a truth")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
