"""The calendar reader: what becomes an observation, with which features, id and clock."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from observations.ingest.base import Note, ReadOptions, Source, complete
from observations.ingest.calendar import CALENDAR
from observations.schema import check_observations, concat_observations

SHARED = Path(__file__).parents[1].parent / "shared"
BERLIN = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(content: str | bytes, options: ReadOptions = BERLIN) -> tuple[pl.DataFrame, list[Note]]:
    """The completed observations of an export, by time, and its notes."""
    raw = content.encode() if isinstance(content, str) else content
    batches = list(CALENDAR.read(Source.of_bytes(raw, "export.ics"), options))
    frame = complete(concat_observations(batch.observations for batch in batches), options)
    return check_observations(frame).sort("at", "id"), [note for batch in batches for note in batch.notes]


def calendar(*events: str, head: str = "") -> str:
    """A VCALENDAR with these events, each given by its property lines."""
    bodies = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\n{head}{bodies}END:VCALENDAR\n"


def starts(frame: pl.DataFrame) -> list[str]:
    """The wall-clock starts, to the minute."""
    return frame.get_column("local").dt.strftime("%Y-%m-%dT%H:%M").to_list()


def test_a_series_gives_one_observation_for_each_occurrence_with_exceptions_and_overrides() -> None:
    frame, notes = read(
        calendar(
            """UID:s@x
DTSTART;TZID=Europe/Berlin:20260302T090000
DTEND;TZID=Europe/Berlin:20260302T093000
RRULE:FREQ=WEEKLY;COUNT=5
EXDATE;TZID=Europe/Berlin:20260309T090000
SUMMARY:Stand-up""",
            """UID:s@x
RECURRENCE-ID:20260316T080000Z
DTSTART;TZID=Europe/Berlin:20260316T140000
DTEND;TZID=Europe/Berlin:20260316T150000
SUMMARY:Stand-up, late""",
        )
    )
    assert starts(frame) == ["2026-03-02T09:00", "2026-03-16T14:00", "2026-03-23T09:00", "2026-03-30T09:00"]
    assert frame.get_column("id").to_list() == [
        "s@x/2026-03-02T08:00:00Z",
        "s@x/2026-03-16T08:00:00Z",
        "s@x/2026-03-23T08:00:00Z",
        "s@x/2026-03-30T07:00:00Z",
    ]
    assert frame.get_column("series:text").unique().to_list() == ["s@x"]
    assert frame.get_column("duration_minutes:number").to_list() == [30, 60, 30, 30]
    assert frame.get_column("title:text").to_list()[1] == "Stand-up, late"
    assert notes == []


def test_every_real_calendar_is_read() -> None:
    folder = SHARED / "real"
    if not folder.exists():
        pytest.skip("the shared exports are not on this machine")
    for path in folder.glob("*.ics"):
        frame, notes = read(path.read_bytes())
        assert frame.height > 0, path.name
        assert not [note for note in notes if note.level == "reject"], path.name
