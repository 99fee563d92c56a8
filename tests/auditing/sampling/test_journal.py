"""An audit that is killed goes on from its checkpoint, to the verdict it would have reached."""

import errno
import functools
import io
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import Verdict, audit, audit_over, draw_share
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.journal import Journal
from dpverify.auditing.sampling.outputs import Outputs
from dpverify.auditing.sampling.parts import Raised
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.errors import InvalidParameter
from dpverify.fingerprint import digest
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.schema import Number, Records
from tests.auditing.workloads import Vectors, counted, noisy, texts, unhurried

ROOT = Path(__file__).parents[3]
GIVEN: dict[str, Any] = {"left": 0.0, "right": 1.0, "claim": PureDP(epsilon=1.2), "seed": 5}

VICTIM = """
import sys
from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.workloads import unhurried
audit(unhurried, left=0.0, right=1.0, claim=PureDP(epsilon=1.2), seed=5, samples=3_000,
      checkpoint=sys.argv[1], progress=lambda now: print(now.samples, flush=True))
"""


def timeless(verdict: Verdict) -> Verdict:
    return replace(verdict, seconds=0.0)


def kill_in_the_middle(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(path)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as victim:
        assert victim.stdout is not None
        while int(victim.stdout.readline()) < 1_000:
            pass
        time.sleep(0.15)  # into the middle of a stage
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL


def test_an_audit_killed_by_the_system_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.checkpoint"
    kill_in_the_middle(path)
    found = len(path.read_bytes())
    assert found > 16_000  # a thousand draws on each side, of eight bytes
    again = audit(unhurried, **GIVEN, samples=3_000, checkpoint=path)
    whole = audit(unhurried, **GIVEN, samples=3_000)
    assert timeless(again) == timeless(whole)
    assert len(path.read_bytes()) > found


def test_what_is_on_disk_is_not_drawn_again(tmp_path: Path) -> None:
    marks = tmp_path / "calls"
    given: dict[str, Any] = {
        "left": (0.0, str(marks)),
        "right": (1.0, str(marks)),
        "claim": PureDP(epsilon=2.0),
        "samples": 700,
        "checkpoint": tmp_path / "c",
    }
    first = audit(counted, **given)
    assert len(marks.read_bytes()) == 1_400
    second = audit(counted, **given)
    assert timeless(first) == timeless(second)
    assert len(marks.read_bytes()) == 1_402  # one call a side, to see that it is the same


class Record:
    """Data without a text of their own."""

    def __init__(self, value: float) -> None:
        self.value = value


def reads(data: Record, rng: np.random.Generator) -> float:
    return data.value + float(rng.laplace())


def written(body: str, **names: Any) -> Any:  # noqa: ANN401
    """A function as if it were typed in a file, `names` being its globals."""
    exec(f"def release(data, rng, *, extra=0.0):\n    {body}", names)  # noqa: S102
    return names["release"]


def scaled(scale: float) -> Any:  # noqa: ANN401
    def release(data: float, rng: np.random.Generator) -> float:
        return data + float(rng.laplace(scale=scale))

    return release


class Scaled:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, data: float, rng: np.random.Generator) -> float:
        return data + float(rng.laplace(scale=self.scale))


OTHERS = {
    "attribute": (written("return rng.laplace(data)"), written("return rng.normal(data)")),
    "constant": (written("return (data, (1, 0.5))[0]"), written("return (data, (1, 0.6))[0]")),
    "inner code": (
        written("return [data * 2 for _ in 'a']"),
        written("return [data for _ in 'a']"),
    ),
    "closure": (scaled(0.2), scaled(1.0)),
    "global": (written("return data * K", K=1.0), written("return data * K", K=2.0)),
    "global function": (
        written("return F(data)", F=scaled(1)),
        written("return F(data)", F=scaled(2)),
    ),
    "default": (written("return data + extra"), written("return data + extra")),
    "state": (Scaled(1.0), Scaled(2.0)),
    "partial": (functools.partial(scaled(1.0)), functools.partial(scaled(2.0))),
    "method": (Scaled(1.0).__call__, Scaled(2.0).__call__),
}
OTHERS["default"][1].__kwdefaults__["extra"] = 1.0


@pytest.mark.parametrize("name", OTHERS)
def test_mechanisms_that_differ_anywhere_are_told_apart(name: str) -> None:
    one, other = OTHERS[name]
    assert digest("mechanism", one) == digest("mechanism", one)
    assert digest("mechanism", one) != digest("mechanism", other)


def test_the_same_mechanism_made_again_is_the_same() -> None:
    assert digest("mechanism", scaled(1.0)) == digest("mechanism", scaled(1.0))
    assert digest("mechanism", Scaled(1.0)) == digest("mechanism", Scaled(1.0))
    row = [[1.0], {"a", "b"}]
    assert digest("dataset", [row, row]) == digest("dataset", [row, [[1.0], {"b", "a"}]])


def test_digests_are_the_same_in_every_process() -> None:
    code = (
        "from dpverify.fingerprint import digest\n"
        "from tests.auditing.sampling import test_journal as t\n"
        "print(digest('m', t.sets), digest('m', t.reads), digest('m', t.Scaled(1.0)))"
    )
    here = f"{digest('m', sets)} {digest('m', reads)} {digest('m', Scaled(1.0))}"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True
    )
    assert told.stdout.strip() == here


def sets(data: str, _rng: np.random.Generator) -> bool:
    return data in {"alpha", "beta", "gamma"}  # a constant whose order differs between processes


def test_a_checkpoint_of_the_mechanism_before_its_repair_is_refused(tmp_path: Path) -> None:
    given = GIVEN | {"samples": 300, "checkpoint": tmp_path / "c"}
    audit(scaled(0.2), **given)
    with pytest.raises(InvalidParameter, match="another mechanism"):
        audit(scaled(1.0), **given)


def test_data_are_told_apart_by_content(tmp_path: Path) -> None:
    given = GIVEN | {"left": Record(0.0), "samples": 300, "checkpoint": tmp_path / "c"}
    first = audit(reads, **given | {"right": Record(9.0)})
    with pytest.raises(InvalidParameter, match="another right"):
        audit(reads, **given | {"right": Record(1.0)})
    again = audit(reads, **given | {"right": Record(9.0)})
    assert (again.samples, again.epsilon_lower) == (first.samples, first.epsilon_lower)


def test_what_cannot_be_told_apart_is_refused(tmp_path: Path) -> None:
    mechanism = written("return data if LOCK else 0", LOCK=threading.Lock())
    with pytest.raises(InvalidParameter, match="the mechanism cannot be identified"):
        audit(mechanism, **GIVEN, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_draws_that_do_not_come_again_are_refused(tmp_path: Path) -> None:
    """What the mechanism reads elsewhere is not part of its code; its draws show it."""
    scale = tmp_path / "scale"
    mechanism = written("return data + rng.laplace(scale=float(FILE.read_text()))", FILE=scale)
    given = GIVEN | {"samples": 300, "checkpoint": tmp_path / "c"}
    scale.write_text("1.0")
    audit(mechanism, **given)
    audit(mechanism, **given)
    scale.write_text("2.0")
    with pytest.raises(InvalidParameter, match="checkpoint must hold draws of this mechanism"):
        audit(mechanism, **given)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mechanism", [texts, noisy, Vectors()])
@pytest.mark.parametrize("cut", [1, 7, 400, 3_000])
def test_a_torn_file_costs_no_more_than_its_last_part(
    mechanism: Any,  # noqa: ANN401
    cut: int,
    tmp_path: Path,
) -> None:
    path = tmp_path / "c"
    given = GIVEN | {"samples": 1_500}
    whole = audit(mechanism, **given, checkpoint=path)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    assert timeless(audit(mechanism, **given, checkpoint=path)) == timeless(whole)
    assert timeless(audit(mechanism, **given)) == timeless(whole)
    bad = bytearray(data)
    bad[-cut] ^= 0xFF
    path.write_bytes(bad)
    assert timeless(audit(mechanism, **given, checkpoint=path)) == timeless(whole)


TAILS = {
    "zeros": bytes(4_096),
    "a few zeros": bytes(5),
    "garbage": bytes(range(256)) * 20,
    "a record of length 2^62": struct.pack("<QI", 2**62, 7) + b"x" * 100,
    "a record of the largest length": b"\xff" * 12,
    "a whole record of nothing known": struct.pack("<QI", 5, zlib.crc32(b"hello")) + b"hello",
    "text": b"hello\n" * 50,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("cut", [0, 900])
def test_a_damaged_tail_is_cut_off(tail: bytes, cut: int, tmp_path: Path) -> None:
    path = tmp_path / "c"
    given = GIVEN | {"samples": 300, "checkpoint": path}
    whole = audit(noisy, **given)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - cut] + tail)
    assert timeless(audit(noisy, **given)) == timeless(whole)
    assert path.read_bytes() == data


FULL = """
import resource, sys
from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.workloads import noisy
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
verdict = audit(noisy, left=0.0, right=1.0, claim=PureDP(epsilon=1.2), seed=5, samples=1_000,
                checkpoint=sys.argv[1])
print(verdict.samples, verdict.epsilon_lower, verdict.stopped, *verdict.notes, sep="|")
"""


def fill_the_disk(path: Path, room: int) -> "subprocess.CompletedProcess[str]":
    """An audit whose checkpoint may be no longer than `room` bytes."""
    return subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", [5_000, 12_345])
def test_a_full_disk_costs_no_draw_and_no_verdict(room: int, tmp_path: Path) -> None:
    path = tmp_path / "c"
    whole = audit(noisy, **GIVEN, samples=1_000)
    told = fill_the_disk(path, room)
    *numbers, note = told.stdout.strip().split("|")
    assert numbers == [str(whole.samples), str(whole.epsilon_lower), "None"], told.stderr
    assert note.startswith("the checkpoint could not be written to its end: OSError")
    assert timeless(audit(noisy, **GIVEN, samples=1_000, checkpoint=path)) == timeless(whole)


class FullDisk(io.FileIO):
    """A file on a disk that has no room beyond `ROOM` bytes."""

    def write(self, data: Any) -> int:  # noqa: ANN401
        room = ROOM - self.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(bytes(data)[:room])


ROOM = 6_000
NO_SPACE = "the checkpoint could not be written to its end: OSError: [Errno 28] No space left"
SCHEMA = Records(record=Number(low=0, high=1), length=(0, 2), relation=Relation.ADD_REMOVE)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path.open

    def opened(path: Path, mode: str = "r", *given: Any, **options: Any) -> Any:  # noqa: ANN401
        return FullDisk(path, "r+") if mode == "r+b" else own(path, mode, *given, **options)

    monkeypatch.setattr(Path, "open", opened)


@pytest.fixture
def unsafe_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written finds no room when the file is closed, as on disks across a network."""

    def fail(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    own = Journal.__exit__

    def closed(journal: Journal, *raised: object) -> None:
        monkeypatch.setattr(os, "fsync", fail)
        own(journal, *raised)

    monkeypatch.setattr(Journal, "__exit__", closed)


@pytest.mark.parametrize("disk", ["full_disk", "unsafe_close"])
def test_no_room_on_the_disk_is_noted_in_the_verdict(
    disk: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = audit(noisy, **GIVEN, samples=1_000)
    request.getfixturevalue(disk)
    verdict = audit(noisy, **GIVEN, samples=1_000, checkpoint=tmp_path / "c")
    *others, note = verdict.notes
    assert note.startswith(NO_SPACE)
    assert timeless(replace(verdict, notes=tuple(others))) == timeless(whole)
    assert f"note: {NO_SPACE}" in str(verdict)
    assert any(told.startswith(NO_SPACE) for told in verdict.to_dict()["notes"])


@pytest.mark.parametrize("disk", ["full_disk", "unsafe_close"])
def test_no_room_on_the_disk_is_noted_by_a_search_and_refused_by_a_share(
    disk: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(disk)
    found = audit_over(
        summed, SCHEMA, claim=PureDP(epsilon=1.2), samples=400, checkpoint=tmp_path / "s"
    )
    assert any(note.startswith(NO_SPACE) for note in found.notes)
    with pytest.raises(InvalidParameter, match=r"file that can be written: .*No space left"):
        draw_share(
            noisy, **GIVEN, samples=2_000, share=1, of=1, checkpoint=tmp_path / "c"
        )  # fmt: skip


def summed(data: Any, rng: np.random.Generator) -> float:  # noqa: ANN401
    return float(np.sum(data)) + float(rng.laplace())


def test_a_disk_that_is_full_from_the_beginning_is_refused(tmp_path: Path) -> None:
    told = fill_the_disk(tmp_path / "c", 10)
    assert "must be a file that can be written" in told.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 6}, "seed"),
        ({"claim": PureDP(epsilon=1.3)}, "claim"),
        ({"right": 2.0}, "right"),
        ({"samples": 301}, "samples"),
        ({"level": 0.02}, "level"),
        ({"arithmetic": "float"}, "arithmetic"),
        ({"mechanism": texts}, "mechanism"),
        ({"timeout": 3.0}, "timeout"),
    ],
)
def test_the_checkpoint_of_another_audit_is_refused(
    changes: dict[str, Any], named: str, tmp_path: Path
) -> None:
    path = tmp_path / "c"
    given = GIVEN | {"mechanism": noisy, "samples": 300, "checkpoint": path}
    audit(given.pop("mechanism"), **given)
    before = path.read_bytes()
    other = GIVEN | {"mechanism": noisy, "samples": 300, "checkpoint": path} | changes
    with pytest.raises(InvalidParameter, match=f"must belong to this audit.*another {named}$"):
        audit(other.pop("mechanism"), **other)
    assert path.read_bytes() == before


def test_a_pipe_is_refused_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"  # has no size, as devices such as /dev/null
    os.mkfifo(path)
    with pytest.raises(InvalidParameter, match="must be a checkpoint or a new file, not a device"):
        audit(
            noisy, left=0.0, right=1.0, claim=PureDP(epsilon=1.0), samples=100, seed=0,
            checkpoint=path,
        )  # fmt: skip
    assert path.is_fifo()


@pytest.mark.parametrize("content", [b"[1, 2]\n", b"hello", b"\x00" * 40])
def test_a_file_of_something_else_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match="must be a checkpoint or a new file"):
        audit(noisy, **GIVEN, samples=300, checkpoint=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "outputs",
    [
        from_array(np.array([1.5, np.nan, -np.inf])),
        from_array(np.arange(6.0).reshape(3, 2)),
        from_objects([1, "ä\u0000b", None, (1, {"k": 2}), Raised("KeyError", "x")]),
    ],
)
def test_outputs_come_back_as_they_were(outputs: Outputs, tmp_path: Path) -> None:
    with Journal(tmp_path / "c", {"a": "b"}) as journal:
        journal.chapter("one").keep(Side.LEFT, 64, outputs, singly=False)
    with Journal(tmp_path / "c", {"a": "b"}) as journal:
        kept = journal.chapter("one")
        back = kept.part(Side.LEFT, 64, singly=False)
        assert kept.part(Side.RIGHT, 64, singly=False) is None
        assert kept.part(Side.LEFT, 64, singly=True) is None
        assert journal.chapter("other").part(Side.LEFT, 64, singly=False) is None
    assert back is not None
    assert back.size == outputs.size
    assert (back.columns, back.texts) == (outputs.columns, outputs.texts)
    for name in outputs.columns:
        assert np.array_equal(back.column(name), outputs.column(name), equal_nan=True)
    for name in outputs.texts:
        assert back.text(name).tolist() == outputs.text(name).tolist()
