"""Occurrences agree with icalendar + recurring-ical-events, except where that pair is wrong: listed here by kind."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.toolkit.reader import ReadOptions
from tests.ics_samples import calendar, read

GOOGLE = Path(__file__).parents[1].parent / "shared" / "real" / "rie-issue42-google-4778-events.ics"
THEIR_SAMPLES = Path(recurring_ical_events.__file__).parent / "test" / "calendars"

BERLIN = ZoneInfo("Europe/Berlin")
FIRST, LAST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2026, 10, 31, 12, tzinfo=UTC)
OPTIONS = ReadOptions(until=LAST - timedelta(seconds=1), since=FIRST, tz="Europe/Berlin")


class Seen(NamedTuple):
    """An occurrence as both sides see it: its start (an instant, or a date), its length and its title."""

    start: str
    minutes: float
    title: str


def ours(content: bytes) -> Counter[Seen]:
    """What the reader makes of a calendar."""
    frame, _ = read(content, OPTIONS)
    seen: Counter[Seen] = Counter()
    for row in frame.iter_rows(named=True):
        start = row["local"].date().isoformat() if row.get("all_day:flag") else row["at"].isoformat()
        if FIRST <= row["at"] < LAST:
            seen[Seen(start, row["duration_minutes:number"], row.get("title:text") or "")] += 1
    return seen


def theirs(content: bytes) -> Counter[Seen]:
    """What the pair makes of it. It gives whatever touches the window; only what begins in it is meant here."""
    seen: Counter[Seen] = Counter()
    for part in icalendar.Calendar.from_ical(content, multiple=True):
        for event in recurring_ical_events.of(part, components=["VEVENT"]).between(FIRST, LAST):
            start, end = event.start, event.end
            if FIRST <= _aware(start) < LAST:
                minutes = (_aware(end) - _aware(start)) / timedelta(minutes=1)
                if not isinstance(start, datetime):
                    minutes = (end - start) / timedelta(minutes=1)
                seen[Seen(_shown(start), minutes, str(event.get("SUMMARY", "")).strip())] += 1
    return seen


def _aware(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=BERLIN)
    return (moment if moment.tzinfo else moment.replace(tzinfo=BERLIN)).astimezone(UTC)


def _shown(moment: date) -> str:
    return _aware(moment).isoformat() if isinstance(moment, datetime) else moment.isoformat()


def test_a_persons_calendar_of_ten_years() -> None:
    """4,778 events and 166 series from Google: nothing to list."""
    if not GOOGLE.exists():
        pytest.skip("the shared exports are not on this machine")
    content = GOOGLE.read_bytes()
    assert ours(content) == theirs(content)


DIFFERENCES = {
    "a date without an end lasts a day (RFC 5545, 3.6.1), there it lasts nothing": ["Germany_Holidays"],
    "an end before the start makes the event empty; there the two change places": [
        "end_before_start_event",
        "issue_132_swapped_start_and_end",
    ],
    "what is cancelled did not take place; there it is given like the others": ["issue_18_cancel_status"],
    "a date stays a date where the end is a time; there it becomes midnight, in UTC": [
        "issue_201_mixed_datetime_and_date",
        "issue_201_test_matrix",
    ],
    "UNTIL as a day includes that day; there it is that day's midnight": ["issue_75_range_parameter"],
    "COUNT counts DTSTART (RFC 5545, 3.3.10); there it comes on top where the rule does not yield it": [
        "multiple_rrule"
    ],
    "a rule without a usable UNTIL is followed; there it raises": ["bad_rrule_missing_until_event"],
}
"""Where the two differ on the samples that recurring-ical-events is tested with, and why we do."""


@pytest.mark.filterwarnings("ignore")
def test_their_own_samples() -> None:
    """Some hundred calendars from bug reports; those that differ are exactly the listed ones."""
    samples = sorted(THEIR_SAMPLES.glob("*.ics"))
    if not samples:
        pytest.skip("this build of recurring-ical-events comes without its tests")
    differing = {path.stem for path in samples if _differs(path.read_bytes())}
    assert differing == {stem for stems in DIFFERENCES.values() for stem in stems}


def _differs(content: bytes) -> bool:
    try:
        return ours(content) != theirs(content)
    except recurring_ical_events.InvalidCalendar:
        return True


# --- calendars made up --------------------------------------------------------------------------------------

RULES = (
    "FREQ=DAILY;COUNT=9",
    "FREQ=DAILY;INTERVAL=2;UNTIL=20260420T120000Z",
    "FREQ=WEEKLY;COUNT=7",
    "FREQ=WEEKLY;INTERVAL=2;COUNT=6",
    "FREQ=MONTHLY;COUNT=5",
    "FREQ=YEARLY",
    "FREQ=WEEKLY;UNTIL=20260501T000000Z",
)
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")


@st.composite
def series(draw: st.DrawFn) -> str:
    """A series with exceptions, further dates and an override, each written on a clock of its own."""
    zone = draw(st.sampled_from(ZONES))
    start = datetime(2026, 1, 1) + timedelta(  # noqa: DTZ001 — a wall clock has no zone
        days=draw(st.integers(0, 100)),
        minutes=draw(st.integers(12, 95)) * 15,  # not at night: gaps are another test's subject
    )
    lines = [
        "UID:s",
        "SUMMARY:s",
        f"DTSTART;TZID={zone}:{start:%Y%m%dT%H%M%S}",
        f"DURATION:PT{draw(st.integers(0, 200))}M",
        f"RRULE:{draw(st.sampled_from(RULES))}",
    ]
    for days in draw(st.lists(st.integers(0, 40), max_size=3)):
        lines.append(f"EXDATE{_written(draw, start + timedelta(days=days), zone)}")
    if draw(st.booleans()):
        # Seven minutes: the pair takes out an RDATE that shows the digits of an EXDATE on another clock.
        extra = start + timedelta(days=draw(st.integers(1, 30)), minutes=7)
        lines.append(f"RDATE{_written(draw, extra, zone)}")
    events = ["\n".join(lines)]
    if draw(st.booleans()):
        named = _written(draw, start + timedelta(days=draw(st.integers(0, 14))), zone)
        moved = start + timedelta(days=draw(st.integers(0, 14)), hours=2)
        events.append(
            f"UID:s\nSUMMARY:moved\nRECURRENCE-ID{named}\nDTSTART;TZID={zone}:{moved:%Y%m%dT%H%M%S}"
        )
    return calendar(*draw(st.permutations(events)))


def _written(draw: st.DrawFn, moment: datetime, zone: str) -> str:
    """A wall-clock time as it is, in UTC, or in another zone: the parameters and the value."""
    instant = moment.replace(tzinfo=ZoneInfo(zone))
    other = draw(st.sampled_from([None, zone, "Europe/London"]))
    if other is None:
        return f":{instant.astimezone(UTC):%Y%m%dT%H%M%S}Z"
    return f";TZID={other}:{instant.astimezone(ZoneInfo(other)):%Y%m%dT%H%M%S}"


@settings(deadline=None, max_examples=80)
@given(series())
def test_any_series_in_any_mixture_of_clocks(text: str) -> None:
    content = text.encode()
    assert ours(content) == theirs(content)


def test_the_same_series_in_two_calendars_of_one_file() -> None:
    """The pair reads each calendar by itself; in one file the same event is one event."""
    content = calendar("UID:a\nSUMMARY:a\nDTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=3").encode()
    assert theirs(content * 2) == Counter({seen: 2 * count for seen, count in ours(content * 2).items()})
