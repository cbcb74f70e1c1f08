"""Small calendars for tests, and a short way to read one."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from observations.ingest.ical.calendar import CALENDAR
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations

BERLIN = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")

VTIMEZONE = """BEGIN:VTIMEZONE
TZID:{tzid}
BEGIN:STANDARD
DTSTART:19701025T030000
TZOFFSETFROM:{summer}
TZOFFSETTO:{winter}
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
TZOFFSETFROM:{winter}
TZOFFSETTO:{summer}
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
END:VTIMEZONE
"""


def event(lines: str) -> str:
    """A VEVENT with these property lines."""
    return f"BEGIN:VEVENT\n{lines.strip()}\nEND:VEVENT\n"


def calendar(*events: str, head: str = "") -> str:
    """A VCALENDAR with these events, each given by its property lines."""
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{head}{''.join(map(event, events))}END:VCALENDAR\n"


def read(content: str | bytes, options: ReadOptions = BERLIN) -> tuple[pl.DataFrame, list[Note]]:
    """The completed observations of an export, by time, and its notes."""
    raw = content.encode() if isinstance(content, str) else content
    batches = list(CALENDAR.read(Source.of_bytes(raw, "export.ics"), options))
    frame = complete(concat_observations(batch.observations for batch in batches), options)
    return check_observations(frame).sort("at", "id"), [note for batch in batches for note in batch.notes]


def starts(frame: pl.DataFrame) -> list[str]:
    """The wall-clock starts, to the minute."""
    return frame.get_column("local").dt.strftime("%Y-%m-%dT%H:%M").to_list()


def instants(frame: pl.DataFrame) -> list[str]:
    """The starts in UTC, to the minute."""
    return frame.get_column("at").dt.strftime("%Y-%m-%dT%H:%MZ").to_list()


def values(frame: pl.DataFrame, column: str) -> list[object]:
    """A column as a list; nulls if no record has it."""
    if column not in frame.columns:
        return [None] * frame.height
    return frame.get_column(column).to_list()


def said(notes: list[Note], level: str) -> dict[str, int]:
    """The number of records in the notes of a level, by reason."""
    counts: dict[str, int] = {}
    for note in notes:
        if note.level == level:
            counts[note.reason] = counts.get(note.reason, 0) + note.count
    return counts
