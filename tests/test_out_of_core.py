"""A buffer on disk gives the same patterns as one in memory, and deletes its files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from observations.errors import SettingError
from observations.schema import concat_observations, unique_observations
from pipelines.detection import detect_in_buffer, detect_in_frame
from pipelines.out_of_core import ObservationBuffer
from tests.simulate import creature_of_habit


@pytest.fixture(scope="module")
def everybody() -> pl.DataFrame:
    """Five people."""
    people = [creature_of_habit(seed, weeks=6, user=f"user {seed}").observations for seed in range(5)]
    return unique_observations(concat_observations(people))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("in_memory", [10**6, 500, 0])
def test_on_disk_and_in_memory_the_patterns_are_the_same(
    everybody: pl.DataFrame, in_memory: int, temporary: Path
) -> None:
    shuffled = everybody.sample(fraction=1.0, shuffle=True, seed=3)
    with ObservationBuffer(in_memory) as buffer:
        for start in range(0, shuffled.height, 300):
            buffer.add(shuffled[start : start + 300])
        buffer.add(shuffled[:250])  # read once more from another source
        assert bool(list(temporary.iterdir())) == (in_memory < shuffled.height)
        assert buffer.people == 5
        assert buffer.first == everybody["at"].min()
        found = detect_in_buffer(buffer)
    assert_frame_equal(found.frame, detect_in_frame(everybody).frame)
    assert found.observations == everybody.height
    assert list(temporary.iterdir()) == []


def test_all_observations_of_a_person_are_in_one_frame(everybody: pl.DataFrame) -> None:
    with ObservationBuffer(in_memory=100) as buffer:
        buffer.add(everybody)
        frames = list(buffer.frames())
    names = [set(frame["user_id"]) for frame in frames]
    assert sum(len(people) for people in names) == len(set().union(*names)) == 5
    assert sum(frame.height for frame in frames) == everybody.height


def test_files_are_deleted_after_an_error(everybody: pl.DataFrame, temporary: Path) -> None:
    def fail_with(buffer: ObservationBuffer) -> None:
        with buffer:
            buffer.add(everybody)
            assert list(temporary.iterdir())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_with(ObservationBuffer(in_memory=100))
    assert list(temporary.iterdir()) == []


def test_a_full_disk_raises_a_setting_error(
    everybody: pl.DataFrame, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    with (
        ObservationBuffer(in_memory=100) as buffer,
        pytest.raises(SettingError, match=r"No space left.*; set TMPDIR"),
    ):
        buffer.add(everybody)
    assert list(temporary.iterdir()) == []


def test_an_empty_buffer_has_no_patterns(everybody: pl.DataFrame) -> None:
    with ObservationBuffer() as buffer:
        buffer.add(everybody.clear())
        found = detect_in_buffer(buffer)
    assert (found.people, found.observations, found.frame.height) == (0, 0, 0)
