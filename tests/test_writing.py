"""Observation frames written as NDJSON and Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations import export as writing
from observations.export import to_ndjson, write_ndjson, write_parquet
from observations.ingest.json_logs.ndjson import NDJSON
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations, empty_observations
from tests.log_strategies import RECORDS, ndjson

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def frame_of(*records: Mapping[str, object]) -> pl.DataFrame:
    batches = NDJSON.read(Source.of_bytes(ndjson(records), "log.ndjson"), OPTIONS)
    return concat_observations(complete(batch.observations, OPTIONS) for batch in batches)


def written(frame: pl.DataFrame) -> list[dict[str, object]]:
    return [json.loads(line) for line in to_ndjson(frame).splitlines()]


def test_a_line_is_an_observation_of_the_contract() -> None:
    """Every field, whole numbers without a point, what the record lacks left out, what follows from the time added."""
    record = {
        "id": "1",
        "user_id": "ada",
        "type": "calendar",
        "action": "created",
        "timestamp": "2026-03-02T09:30:00+01:00",
        "tz": "Europe/Berlin",
        "actor": "agent",
        "features": {
            "n": 30,
            "share": 0.5,
            "ok": False,
            "title": 'say "é"\n',
            "who": ["a", 'b"'],
            "none": [],
        },
    }
    line = (
        to_ndjson(frame_of(record, {**record, "id": "2", "features": {"other": "x"}}))
        .splitlines()[0]
        .decode()
    )
    expected = {**record, "features": {**record["features"], "time_of_day": "09:30", "day_of_week": "monday"}}  # type: ignore[dict-item]
    assert json.loads(line) == expected
    assert '"n":30,' in line
    assert list(json.loads(line)) == [
        "id",
        "user_id",
        "type",
        "action",
        "timestamp",
        "tz",
        "actor",
        "features",
    ]


@pytest.mark.parametrize(
    ("timestamp", "tz", "shown"),
    [
        ("2026-03-02T09:30:00-05:30", None, "2026-03-02T09:30:00-05:30"),
        ("2026-03-02T09:30:00.250+14:00", None, "2026-03-02T09:30:00.250+14:00"),
        ("2026-03-02T09:30:00.000001+01:00", None, "2026-03-02T09:30:00.000001+01:00"),
        ("2026-07-02T09:30:00Z", "America/New_York", "2026-07-02T05:30:00-04:00"),
        ("2026-07-02T09:30:00Z", None, "2026-07-02T11:30:00+02:00"),
        ("2026-03-02T09:30:00Z", "UTC", "2026-03-02T09:30:00+00:00"),
    ],
)
def test_the_timestamp_shows_the_wall_clock_with_its_offset(
    timestamp: str, tz: str | None, shown: str
) -> None:
    """As exact as it was."""
    (line,) = written(frame_of({"timestamp": timestamp, "tz": tz}))
    assert line["timestamp"] == shown


def test_an_all_day_event_has_no_time_of_day() -> None:
    """Midnight is where it is kept, not when it happens."""
    first, second = written(
        frame_of({"timestamp": "2026-03-02", "id": "1"}, {"timestamp": "2026-03-03T00:00:00+01:00"})
    )
    assert first["features"] == {"all_day": True, "day_of_week": "monday"}
    assert second["features"] == {"time_of_day": "00:00", "day_of_week": "tuesday"}


@given(st.lists(RECORDS, min_size=1, max_size=6))
@settings(deadline=None, max_examples=80)
def test_what_is_written_is_read_back(records: list[dict[str, object]]) -> None:
    """The same frame, also by somebody in another zone."""
    frame = frame_of(*records)
    if frame.height == 0:
        return
    elsewhere = ReadOptions(OPTIONS.until, tz="Asia/Tokyo")
    batches = NDJSON.read(Source.of_bytes(to_ndjson(frame), "again.ndjson"), elsewhere)
    assert_frame_equal(concat_observations(batch.observations for batch in batches), frame)


def test_a_clock_that_showed_utc_shows_it_everywhere() -> None:
    """+00:00 without a zone would be read in the reader's own."""
    records = RecordBuilder()
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    records.add("email", "sent", at=noon, local=noon.replace(tzinfo=None), features={}, id="1", user_id="me")
    (line,) = written(records.take())
    assert (line["timestamp"], line["tz"]) == ("2026-03-02T12:00:00+00:00", "UTC")


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None, max_examples=200)
def test_a_number_is_written_as_itself(number: float) -> None:
    """Every float comes back as it was."""
    frame = frame_of({"timestamp": "2026-03-02"}).with_columns(pl.lit(number).alias("n:number"))
    (line,) = written(frame)
    assert line["features"]["n"] == number  # type: ignore[index]


def test_frames_are_written_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """In slices, with one newline each."""
    monkeypatch.setattr(writing, "ROWS_AT_ONCE", 2)
    frames = [frame_of(*({"id": str(n), "timestamp": "2026-03-02"} for n in range(5))), empty_observations()]
    out = io.BytesIO()
    assert write_ndjson(frames, out) == 5
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == ["0", "1", "2", "3", "4"]


def test_a_parquet_file_has_the_columns_of_all_frames(tmp_path: Path) -> None:
    """Though only the last frame shows which there are; nothing else is left behind."""
    frames = [frame_of({"id": n, "timestamp": "2026-03-02", n: n}) for n in "ba"]
    path = tmp_path / "out.parquet"
    assert write_parquet(frames, path) == 2
    assert_frame_equal(pl.read_parquet(path), concat_observations(frames))
    assert list(tmp_path.iterdir()) == [path]
    assert write_parquet([], path) == 0
    assert pl.read_parquet(path).schema == empty_observations().schema


def test_a_failure_on_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    """No half of a file, no folder of parts."""

    def failing() -> object:
        yield frame_of({"timestamp": "2026-03-02"})
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_parquet(failing(), tmp_path / "out.parquet")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_offsets_are_whole_minutes() -> None:
    """The instant stays what it is where a zone once had seconds."""
    records = RecordBuilder()
    noon = datetime(1975, 3, 2, 12, tzinfo=UTC)
    local = noon.replace(tzinfo=None) - timedelta(minutes=44, seconds=30)  # Liberia until 1972
    records.add("a", "b", at=noon, local=local, features={}, id="1", user_id="me")
    (line,) = written(records.take())
    assert datetime.fromisoformat(str(line["timestamp"])) == noon
