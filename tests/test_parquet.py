"""Parquet tables, ours and others'."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.errors import SourceError
from observations.ingest.json_logs.ndjson import NDJSON
from observations.ingest.tabular import parquet
from observations.ingest.tabular.parquet import PARQUET
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import RECORDS, damaged, ndjson

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def packed(table: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out)
    return out.getvalue()


def read(content: bytes, **mapping: str) -> tuple[pl.DataFrame, list[Note]]:
    options = ReadOptions(OPTIONS.until, tz=OPTIONS.tz, mapping=mapping)
    batches = list(PARQUET.read(Source.of_bytes(content, "log.parquet"), options))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


@given(st.lists(RECORDS, min_size=1, max_size=5))
@settings(deadline=None, max_examples=50)
def test_what_habitus_writes_it_reads_back(records: list[dict[str, object]]) -> None:
    """The frame as it was, times, kinds and lists included."""
    batches = NDJSON.read(Source.of_bytes(ndjson(records), "log.ndjson"), OPTIONS)
    frame = concat_observations(complete(batch.observations, OPTIONS) for batch in batches)
    again, notes = read(packed(frame))
    assert_frame_equal(again, frame)
    assert notes == []


@pytest.mark.parametrize(
    ("timestamps", "local", "tz"),
    [
        (pl.Series([datetime(2026, 3, 2, 8, 30, tzinfo=UTC)]), "09:30", "Europe/Berlin"),
        (pl.Series([datetime(2026, 3, 2, 9, 30)]), "09:30", "Europe/Berlin"),  # noqa: DTZ001
        (
            pl.Series([datetime(2026, 3, 2, 0, 30, tzinfo=UTC)]).dt.convert_time_zone("Asia/Tokyo"),
            "09:30",
            None,
        ),
        (pl.Series([1772440200]), "09:30", "Europe/Berlin"),
        (pl.Series([1772440200000.0]), "09:30", "Europe/Berlin"),
        (pl.Series(["2026-03-02T09:30:00-05:00"]), "09:30", None),
        (
            pl.Series([datetime(2026, 3, 2, 8, 30, tzinfo=UTC)]).dt.cast_time_unit("ns"),
            "09:30",
            "Europe/Berlin",
        ),
    ],
)
def test_times_are_read_in_every_type_of_column(timestamps: pl.Series, local: str, tz: str | None) -> None:
    """Instants, wall clocks, numbers, text."""
    frame, notes = read(packed(pl.DataFrame({"timestamp": timestamps, "type": "work", "action": "did"})))
    assert notes == []
    assert frame.get_column("local").dt.strftime("%H:%M").to_list() == [local]
    assert frame.get_column("tz").to_list() == [tz]


def test_a_column_of_dates_is_one_of_whole_days() -> None:
    """There is no time of day in it."""
    frame, _ = read(packed(pl.DataFrame({"timestamp": [date(2026, 3, 2)]})))
    assert frame.get_column("all_day:flag").to_list() == [True]


def test_columns_of_every_type_become_features() -> None:
    """Nothing is lost, nothing changes its kind."""
    table = pl.DataFrame(
        {
            "timestamp": ["2026-03-02T09:30:00+01:00"],
            "features": [{"title": "x", "where": {"lat": 1.5}}],
            "count": pl.Series([3], dtype=pl.UInt8),
            "order": [2**60],
            "share": [float("nan")],
            "good": [True],
            "label": pl.Series(["gym"], dtype=pl.Categorical),
            "tags": [["a", "b"]],
            "sizes": [[1, 2]],
            "steps": [[{"n": 1}]],
            "took": [timedelta(minutes=90)],
            "day": [date(2026, 3, 2)],
            "blank": pl.Series([None], dtype=pl.String),
        }
    )
    frame, _ = read(packed(table))
    row = frame.row(0, named=True)
    assert {name: value for name, value in row.items() if ":" in name} == {
        "title:text": "x",
        "where.lat:number": 1.5,
        "count:number": 3.0,
        "order:text": str(2**60),
        "good:flag": True,
        "label:text": "gym",
        "tags:list": ["a", "b"],
        "sizes:list": ["1", "2"],
        "steps:list": ['{"n":1}'],
        "took_minutes:number": 90.0,
        "day:text": "2026-03-02",
    }


def test_foreign_columns_are_mapped() -> None:
    """And asked for by name where there is no time."""
    table = packed(pl.DataFrame({"When": ["2026-03-02T09:30:00+01:00"], "Label": ["gym"]}))
    frame, _ = read(table, timestamp="When", category="Label")
    assert frame.get_column("category:text").to_list() == ["gym"]
    with pytest.raises(SourceError, match=r"no column 'timestamp'.*: When, Label"):
        read(table)


def test_rows_without_a_good_time_are_rejected_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted from 1, also in a later slice."""
    monkeypatch.setattr(parquet, "SLICE_ROWS", 2)
    table = pl.DataFrame({"timestamp": ["2026-03-02", "2026-03-03", "2026-03-04", "x", None]})
    frame, notes = read(packed(table))
    assert frame.height == 3
    assert [(n.reason, n.line) for n in notes if n.level == "reject"] == [
        ("bad_timestamp", 4),
        ("no_timestamp", 5),
    ]


def test_secrets_are_redacted_whoever_wrote_the_file() -> None:
    """A frame of observations by another program is no exception."""
    frame, _ = read(
        packed(pl.DataFrame({"timestamp": ["2026-03-02"], "command": ["mysql -u root -phunter2 shop"]}))
    )
    ours = frame.with_columns(pl.lit("mysql -u root -phunter2 shop").alias("command:text"))
    again, _ = read(packed(ours.with_columns(pl.lit("x").alias("id"), pl.lit("me").alias("user_id"))))
    read_back = [complete(one, OPTIONS).to_dicts() for one in (frame, again)]
    assert "hunter2" not in str(read_back)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_damaged_file_is_refused_in_words(data: st.DataObject) -> None:
    """Or read, where the damage did not matter."""
    content = packed(pl.DataFrame({"timestamp": ["2026-03-02"] * 5, "a": list("abcde")}))
    try:
        read(b"PAR1" + data.draw(damaged(content[4:])))
    except SourceError as error:
        message = str(error)
        assert message.startswith("log.parquet: ")
        assert "\n" not in message
