"""Processes that spend from one ledger and are killed: who was granted what, by their own account.

A spender writes to a log of its own which request it is about to make, and then what it was told.
Killed in between, it does not know; so every grant that it knows of must be in the ledger, and
every entry there must be a request that someone made, at most one more a kill than they know of.
"""

import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import dpverify as dpv

NOISE = dpv.Gaussian(sigma=10.0)  # μ² = 1/100 each


def spend_until_killed(path: Path, log: Path, name: str) -> None:
    """Ask for one request after the other; never returns by itself."""
    ledger = dpv.Ledger(path)
    with log.open("a", encoding="utf-8", buffering=1) as told:
        for number in range(10**9):
            label = f"{name}-{number}"
            told.write(f"asked {label}\n")
            granted = ledger.request(NOISE, label=label)
            told.write(f"{'granted' if granted else 'refused'} {label}\n")


@dataclass(frozen=True)
class Outcome:
    """What the ledger has, and what the spenders know."""

    entries: tuple[str, ...]
    asked: frozenset[str]
    granted: frozenset[str]
    refused: frozenset[str]
    kills: int
    share: float

    @property
    def nothing_is_lost(self) -> bool:
        """Every grant that was told is charged, once; nothing refused is."""
        charged = set(self.entries)
        return (
            len(charged) == len(self.entries)
            and self.granted <= charged <= self.asked
            and not self.refused & charged
            and len(charged - self.granted) <= self.kills
        )


def fight(folder: Path, *, spenders: int, seconds: float, kills: int, requests: int) -> Outcome:
    """Spenders at once on one ledger with room for `requests`, killed at random `kills` times."""
    path = folder / "shared.ledger"
    budget = dpv.GaussianDP(mu=float(requests / 100) ** 0.5)
    dpv.Ledger.open(path, budget=budget, relation=dpv.Relation.ADD_REMOVE)
    fork = multiprocessing.get_context("fork")  # with all modules loaded
    draw = random.Random(7)  # noqa: S311  # only says whom to kill when

    def started(place: int, life: int) -> BaseProcess:
        log = folder / f"{place}.log"
        made = fork.Process(target=spend_until_killed, args=(path, log, f"{place}.{life}"))
        made.start()
        return made

    running = [started(place, 0) for place in range(spenders)]
    start = time.monotonic()
    moments = sorted(draw.uniform(0.0, seconds) for _ in range(kills))
    for life, moment in enumerate(moments, start=1):
        time.sleep(max(0.0, start + moment - time.monotonic()))
        place = draw.randrange(spenders)
        _kill(running[place])
        running[place] = started(place, life)
    time.sleep(max(0.0, start + seconds - time.monotonic()))
    for process in running:
        _kill(process)
    return _outcome(path, folder, kills + spenders)


def _kill(process: BaseProcess) -> None:
    if process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()


def _outcome(path: Path, folder: Path, kills: int) -> Outcome:
    told: dict[str, set[str]] = {"asked": set(), "granted": set(), "refused": set()}
    for log in folder.glob("*.log"):
        for line in log.read_text(encoding="utf-8").splitlines():
            what, _, label = line.partition(" ")
            if what in told:  # the last line may be torn
                told[what].add(label)
    ledger = dpv.Ledger(path)
    entries = tuple(entry.label for entry in ledger.history() if entry.kind == "spend")
    status = ledger.status()
    return Outcome(
        entries,
        frozenset(told["asked"]),
        frozenset(told["granted"]),
        frozenset(told["refused"]),
        kills,
        status.share,
    )
