"""Several jobs draw for one audit: the verdict is that of one machine, whatever was lost."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.journal import Journal
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.cli import run


def little(data: list[float], rng: np.random.Generator) -> float:
    return float(sum(data) + rng.laplace(scale=0.3))


def honest(data: list[float], rng: np.random.Generator) -> float:
    return float(sum(data) + rng.laplace())


ASKED: dict[str, Any] = {
    "left": [0.0],
    "right": [1.0],
    "claim": dpv.PureDP(epsilon=1.0),
    "samples": 500,
    "seed": 3,
}


def drawn(folder: Path, mechanism: Any, of: int) -> list[Path]:  # noqa: ANN401
    files = [folder / f"draws-{share}" for share in range(1, of + 1)]
    for share, file in enumerate(files, start=1):
        told = dpv.draw_share(mechanism, share=share, of=of, checkpoint=file, **ASKED)
        assert told.complete
    return files


@pytest.mark.parametrize("of", [1, 2, 7, 40])
def test_shares_are_all_the_draws_once(tmp_path: Path, of: int) -> None:
    files = drawn(tmp_path, honest, of)
    assert dpv.merge_checkpoints(files, tmp_path / "all") == 2 * 500


@pytest.mark.false_alarm(0.0)  # what is compared is computed twice
@pytest.mark.parametrize("mechanism", [little, honest])
def test_the_verdict_is_that_of_one_machine(tmp_path: Path, mechanism: Any) -> None:  # noqa: ANN401
    whole = tmp_path / "all"
    dpv.merge_checkpoints(drawn(tmp_path, mechanism, 3)[::-1], whole)
    alone = dpv.audit(mechanism, **ASKED)
    together = dpv.audit(mechanism, **ASKED, checkpoint=whole)
    assert together.to_dict() | {"seconds": 0} == alone.to_dict() | {"seconds": 0}


def counted(data: list[float], rng: np.random.Generator) -> float:
    """Honest; counts its calls where no checkpoint looks: what code holds tells audits apart."""
    os.environ["CALLS"] = str(int(os.environ.get("CALLS", "0")) + 1)
    if os.environ["CALLS"] == os.environ.get("LAST_CALL"):
        os._exit(9)
    return honest(data, rng)


def test_nothing_is_drawn_that_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "all"
    monkeypatch.setenv("CALLS", "0")
    dpv.merge_checkpoints(drawn(tmp_path, counted, 3), whole)
    os.environ["CALLS"] = "0"
    assert not dpv.audit(counted, **ASKED, checkpoint=whole).refuted
    assert os.environ["CALLS"] == "2"  # one a side, to see that the file is of this mechanism


def test_small_integers_do_not_overflow(tmp_path: Path) -> None:
    share, of = np.int8(7), np.int8(100)
    given: dict[str, Any] = {"share": share, "of": of, "checkpoint": tmp_path / "d"}
    told = dpv.draw_share(honest, **given, **ASKED)
    assert told == dpv.DrawnShare(7, 100, 32, 32)


def test_a_lost_share_is_drawn_by_the_audit(tmp_path: Path) -> None:
    files = drawn(tmp_path, little, 3)
    whole = tmp_path / "all"
    damaged = files[1].read_bytes()
    files[1].write_bytes(damaged[: len(damaged) // 2])
    assert dpv.merge_checkpoints([files[0], files[1]], whole) < 2 * 500
    alone = dpv.audit(little, **ASKED)
    assert dpv.audit(little, **ASKED, checkpoint=whole).witness == alone.witness


def test_what_two_files_hold_is_kept_once(tmp_path: Path) -> None:
    files = drawn(tmp_path, honest, 2)
    assert dpv.merge_checkpoints([*files, files[0]], tmp_path / "all") == 2 * 500
    again = dpv.merge_checkpoints([tmp_path / "all", files[1]], tmp_path / "more")
    assert again == 2 * 500


def test_a_share_ends_in_its_time_and_goes_on(tmp_path: Path) -> None:
    def slow(data: list[float], rng: np.random.Generator) -> float:
        time.sleep(0.02)
        return honest(data, rng)

    given = ASKED | {"samples": 40}
    file = tmp_path / "draws"
    first = dpv.draw_share(slow, share=1, of=2, checkpoint=file, **given, seconds=0.3)
    assert 0 < first.drawn < first.size == 32
    told: list[dpv.DrawnShare] = []
    last = dpv.draw_share(slow, share=1, of=2, checkpoint=file, **given, progress=told.append)
    assert last.complete
    assert told[0].drawn >= 1
    assert told[-1] == last


def test_a_share_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, dpverify as dpv; from tests.auditing.test_sharing import ASKED, counted; "
        "dpv.draw_share(counted, share=1, of=1, checkpoint=sys.argv[1], **ASKED)"
    )
    file, root = tmp_path / "draws", Path(__file__).parents[2]
    given = os.environ | {"CALLS": "0", "LAST_CALL": "400"}
    command = [sys.executable, "-c", code, str(file)]
    assert subprocess.run(command, cwd=root, check=False, env=given).returncode == 9
    monkeypatch.setenv("CALLS", "0")
    assert dpv.draw_share(counted, share=1, of=1, checkpoint=file, **ASKED).complete
    assert int(os.environ["CALLS"]) < 2 * 500


def test_checkpoints_of_other_audits_are_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    dpv.draw_share(honest, share=1, of=50, checkpoint=one, **ASKED)
    dpv.draw_share(honest, share=2, of=50, checkpoint=other, **(ASKED | {"seed": 4}))
    with pytest.raises(dpv.InvalidParameter, match="was made with another seed than"):
        dpv.merge_checkpoints([one, other], tmp_path / "all")
    with pytest.raises(dpv.InvalidParameter, match="made with another seed"):
        dpv.draw_share(honest, share=2, of=50, checkpoint=one, **(ASKED | {"seed": 4}))
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": 0}, "share=0 must"),
        ({"share": 4}, "share=4 must be at most of=3"),
        ({"of": 0}, "of=0 must"),
        ({"share": 1.5}, "share=1.5 must"),
        ({"samples": -1}, "samples=-1 must"),
        ({"seconds": 0.0}, "seconds=0.0 must"),
        ({"claim": None}, "claim=None must"),
        ({"mechanism": dpv.Gaussian(1.0)}, "must be a callable"),
        ({"checkpoint": "/"}, "must be a file that can be written"),
        ({"checkpoint": 3}, "checkpoint=3 must be the path of a file"),
    ],
)
def test_bad_input_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "mechanism": honest,
        "share": 1,
        "of": 3,
        "checkpoint": tmp_path / "d",
    } | ASKED
    with pytest.raises(dpv.InvalidParameter, match=message) as caught:
        dpv.draw_share(**(given | changes))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    good, bad, there = tmp_path / "good", tmp_path / "bad", tmp_path / "there"
    dpv.draw_share(honest, share=1, of=50, checkpoint=good, **ASKED)
    bad.write_bytes(b"\x00\xff no checkpoint")
    there.write_text("x")
    cases: tuple[tuple[Any, Any, str], ...] = (
        ([], tmp_path / "all", "must be a list that names a file at least"),
        ("draws", tmp_path / "all", "checkpoints='draws' must be a list"),
        (None, tmp_path / "all", "checkpoints=None must be a list"),
        ([3], tmp_path / "all", "checkpoints=3 must be the path"),
        ([good], 3, "into=3 must be the path"),
        ([good, bad], tmp_path / "all", "bad' must be a checkpoint"),
        ([good, tmp_path / "none"], tmp_path / "all", "none' must be a file that can be read"),
        ([tmp_path], tmp_path / "all", "must be a file that can be read"),
        ([good], there, "must be a new file"),
        ([good], tmp_path / "no" / "all", "must be a file that can be written"),
    )
    for files, into, message in cases:
        with pytest.raises(dpv.InvalidParameter, match=message):
            dpv.merge_checkpoints(files, into)


def test_draws_within_a_part_are_found(tmp_path: Path) -> None:
    drawn = from_array(np.arange(100.0))
    with Journal(tmp_path / "draws", {}) as journal:
        kept = journal.chapter()
        kept.keep(Side.LEFT, 32, drawn.between(32, 64), singly=False)
        kept.keep(Side.LEFT, 0, drawn.between(0, 16), singly=False)
        for start, last in ((0, 15), (15, 15), (32, 63), (40, 63), (63, 63)):
            found = kept.since(Side.LEFT, start, singly=False)
            assert found is not None
            assert found.column("output").tolist() == list(range(start, last + 1))
        for start in (16, 31, 64):
            assert kept.since(Side.LEFT, start, singly=False) is None


@pytest.mark.parametrize("share", ["3", "a/b", "0/2", "3/2"])
def test_the_command_refuses_shares_that_are_none(
    tmp_path: Path, share: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "d.json"
    data.write_text("[0]")
    words = ["audit", f"{__name__}:honest", "--left", str(data), "--right", str(data)]
    words += ["--epsilon", "1", "--share", share, "--checkpoint", str(tmp_path / "draws")]
    assert run(words) == 2
    assert "share=" in capsys.readouterr().err
