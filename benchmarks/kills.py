"""Audits that are killed, run out of disk, or find their checkpoint damaged: is anything lost?

    python -m benchmarks.kills [--times 50] [--seed 0] [--parts kills disks tails]

- `kills`: an audit and a search with a checkpoint are ended by SIGKILL at random moments, and gone
  on with; every other one is killed a second time on its way.
- `disks`: the file may not grow beyond a random size, as on a full disk.
- `tails`: the checkpoint of a whole audit is cut, or ends in zeros, garbage, a record of length
  2^62, or has one byte changed, at a random place.

What must come out is the verdict of an audit that nothing happened to, or a refusal in one
sentence that names the checkpoint.
"""

import argparse
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.auditing import audit, audit_over
from dpverify.auditing.verdict import Verdict
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP
from dpverify.schema import Number, Records

_SCHEMA = Records(record=Number(low=0, high=1), length=(0, 4), relation="add-remove")


def flawed(data: list[float], rng: np.random.Generator) -> float:
    """Noise for ε = 1.3."""
    return float(sum(data)) + float(rng.laplace(scale=1 / 1.3))


def audited(path: Path | None, what: str = "audit") -> Verdict:
    claim = PureDP(epsilon=1.0)
    if what == "search":
        return audit_over(
            flawed, _SCHEMA, claim=claim, samples=3_000, seed=1, checkpoint=path, minimize=False
        )
    given: dict[str, Any] = {"left": [0.0], "right": [1.0], "samples": 30_000}
    return audit(flawed, **given, claim=PureDP(epsilon=1.3), seed=1, checkpoint=path)


def same(one: Verdict, other: Verdict) -> bool:
    return told(one) == told(other)


def told(verdict: Verdict) -> dict[str, Any]:
    """All but what depends on time and on the disk."""
    return replace(verdict, seconds=0.0, notes=()).to_dict()


def begun(path: Path, what: str, limit: int | None = None) -> "subprocess.Popen[bytes]":
    asked = [sys.executable, "-m", "benchmarks.kills", "--child", what, str(path)]
    return subprocess.Popen([*asked, "--limit", str(limit or 0)])


def child(path: Path, what: str, limit: int) -> None:
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        verdict = audited(path, what)
    except InvalidParameter as error:
        print(f"  refused: {error}", flush=True)
        sys.exit(3)
    sys.exit(0 if same(verdict, audited(None, what)) else 1)


def count(found: Counter[str], outcome: str, told: str) -> None:
    """One more of this outcome, told as it comes."""
    found[outcome] += 1
    print(f"  {outcome} ({told})", flush=True)


def kills(times: int, rng: random.Random, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for what in ("audit", "search"):
        reference = audited(None, what)
        whole = _runs(begun(folder / f"timed {what}", what), folder / f"timed {what}", 600.0)
        for i in range(times if what == "audit" else times // 5):
            path = folder / f"{what} {i}"
            for _ in range(1 + i % 2):
                _runs(begun(path, what), path, rng.uniform(0.0, whole))
            kept = path.stat().st_size if path.exists() else 0
            outcome = "same verdict" if same(audited(path, what), reference) else "OTHER VERDICT"
            count(found, f"{what}: {outcome}", f"{kept:,} bytes on disk")
            found[f"{what}: killed with draws on disk"] += kept > 1_000
    return found


def _runs(process: "subprocess.Popen[bytes]", path: Path, seconds: float) -> float:
    """Let it run for so many seconds since its file is there, then kill it; how long it ran."""
    while not path.exists() and process.poll() is None:
        time.sleep(0.001)
    start = time.monotonic()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return time.monotonic() - start


def disks(times: int, rng: random.Random, folder: Path) -> Counter[str]:
    """Exit codes: 0 same verdict, 3 refused, 1 another verdict, else a crash."""
    names = {0: "same verdict", 3: "refused", 1: "OTHER VERDICT"}
    found: Counter[str] = Counter()
    audited(folder / "whole")
    size = (folder / "whole").stat().st_size
    for i in range(times):
        limit = rng.randrange(1, size)
        code = begun(folder / f"disk {i}", "audit", limit).wait()
        count(found, names.get(code, f"CRASH {code}"), f"full after {limit:,} bytes")
    return found


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "zeros": lambda data, rng: data[: rng.randrange(len(data))] + bytes(rng.randrange(1, 5_000)),
    "garbage": lambda data, rng: data[: rng.randrange(len(data))] + rng.randbytes(3_000),
    "huge record": lambda data, _: data + struct.pack("<QI", 1 << 62, 7) + b"x" * 64,
    "one byte": lambda data, rng: _changed(data, rng.randrange(len(data)), rng.randrange(1, 256)),
}


def _changed(data: bytes, place: int, by: int) -> bytes:
    return data[:place] + bytes([data[place] ^ by]) + data[place + 1 :]


def tails(times: int, rng: random.Random, folder: Path) -> Counter[str]:
    whole, reference = folder / "to be damaged", audited(None)
    audited(whole)
    data = whole.read_bytes()
    found: Counter[str] = Counter()
    for kind, damage in DAMAGES.items():
        for i in range(times // len(DAMAGES)):
            path = folder / f"{kind} {i}"
            path.write_bytes(damage(data, rng))
            try:
                outcome = "same verdict" if same(audited(path), reference) else "OTHER VERDICT"
            except InvalidParameter as error:
                outcome = "refused" if "checkpoint" in str(error) else f"UNCLEAR: {error}"
            count(found, f"{kind}: {outcome}", f"{path.stat().st_size:,} bytes")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="*", default=["kills", "disks", "tails"])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(Path(asked.child[1]), asked.child[0], asked.limit)
    rng = random.Random(asked.seed)  # noqa: S311  # of moments and places
    ways = {"kills": kills, "disks": disks, "tails": tails}
    for part in asked.parts:
        with tempfile.TemporaryDirectory() as folder:
            found = ways[part](asked.times, rng, Path(folder))
        for outcome, number in sorted(found.items()):
            print(f"{part}: {outcome}: {number}", flush=True)
        if any(word in outcome for outcome in found for word in ("OTHER", "CRASH", "UNCLEAR")):
            sys.exit(1)


if __name__ == "__main__":
    main()
