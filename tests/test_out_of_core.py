"""A crowd on disk gives the answer of one in memory, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from observations.errors import SettingError
from observations.schema import concat_observations, unique_observations
from pipelines.detection import detect_in_crowd, detect_in_frame
from pipelines.out_of_core import Crowd
from tests.simulate import creature_of_habit


@pytest.fixture(scope="module")
def everybody() -> pl.DataFrame:
    """Five people."""
    people = [creature_of_habit(seed, weeks=6, user=f"user {seed}").observations for seed in range(5)]
    return unique_observations(concat_observations(people))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("in_memory", [10**6, 500, 0])
def test_on_disk_or_in_memory_the_answer_is_the_same(
    everybody: pl.DataFrame, in_memory: int, temporary: Path
) -> None:
    shuffled = everybody.sample(fraction=1.0, shuffle=True, seed=3)
    with Crowd(in_memory) as crowd:
        for start in range(0, shuffled.height, 300):
            crowd.add(shuffled[start : start + 300])
        crowd.add(shuffled[:250])  # read once more from another source
        assert bool(list(temporary.iterdir())) == (in_memory < shuffled.height)
        assert crowd.people == 5
        assert crowd.first == everybody["at"].min()
        found = detect_in_crowd(crowd)
    assert_frame_equal(found.frame, detect_in_frame(everybody).frame)
    assert found.observations == everybody.height
    assert list(temporary.iterdir()) == []


def test_nobody_is_in_two_frames(everybody: pl.DataFrame) -> None:
    with Crowd(in_memory=100) as crowd:
        crowd.add(everybody)
        frames = list(crowd.frames())
    names = [set(frame["user_id"]) for frame in frames]
    assert sum(len(people) for people in names) == len(set().union(*names)) == 5
    assert sum(frame.height for frame in frames) == everybody.height


def test_nothing_is_left_behind_when_something_fails(everybody: pl.DataFrame, temporary: Path) -> None:
    def fail_with(crowd: Crowd) -> None:
        with crowd:
            crowd.add(everybody)
            assert list(temporary.iterdir())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_with(Crowd(in_memory=100))
    assert list(temporary.iterdir()) == []


def test_a_full_disk_is_said_in_one_line(
    everybody: pl.DataFrame, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    with Crowd(in_memory=100) as crowd, pytest.raises(SettingError, match=r"No space left.*; set TMPDIR"):
        crowd.add(everybody)
    assert list(temporary.iterdir()) == []


def test_a_crowd_of_nobody_has_no_patterns(everybody: pl.DataFrame) -> None:
    with Crowd() as crowd:
        crowd.add(everybody.clear())
        found = detect_in_crowd(crowd)
    assert (found.people, found.observations, found.frame.height) == (0, 0, 0)
