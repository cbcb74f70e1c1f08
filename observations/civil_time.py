"""Civil time: what a clock on the wall showed, and which instant that was.

A habit lives on the wall clock: 07:00 stays 07:00 when the clocks change. So every observation carries both
the instant (``at``, UTC) and the wall clock (``local``, without a zone). Only this module and
`observations.civil_columns`, which does the same for whole columns, convert between the two.

Two hours of the year need a rule: a wall-clock time that occurs **twice** (clocks go back) is the first of the
two; one that is **skipped** (clocks go forward) moves forward by the length of the gap, as on phones and in
Google Calendar.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from observations.errors import SettingError, did_you_mean

MINUTES_PER_DAY = 1440
MICROSECONDS_PER_MINUTE = 60_000_000
MICROSECONDS_PER_HOUR = 60 * MICROSECONDS_PER_MINUTE
MICROSECONDS_PER_DAY = 24 * MICROSECONDS_PER_HOUR
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock has no zone
_MICROSECOND = timedelta(microseconds=1)


@cache
def zone(name: str) -> ZoneInfo:
    """The IANA zone of that name.

    Raises:
        SettingError: there is none; suggests the nearest name.

    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        hint = did_you_mean(name, available_timezones()) or "; zones are named like Europe/Berlin or UTC"
        raise SettingError(f"unknown time zone {name!r}{hint}") from error


def to_instant(local: datetime, name: str) -> datetime:
    """The instant, in UTC, of one wall-clock time in one zone; skipped and repeated hours as the module says.

    >>> to_instant(datetime(2026, 3, 29, 2, 30), "Europe/Berlin")  # skipped
    datetime.datetime(2026, 3, 29, 1, 30, tzinfo=datetime.timezone.utc)
    """
    # fold=0 reads a time in a gap with the offset before it, which is "moved on by the length of the gap".
    return local.replace(tzinfo=zone(name), fold=0).astimezone(UTC)


def parse_clock(text: str) -> int:
    """Minutes since midnight of a time of day written HH:MM; 24:00 is the end of the day.

    >>> parse_clock("07:05"), parse_clock("24:00")
    (425, 1440)

    Raises:
        ValueError: the text is not HH:MM between 00:00 and 24:00.

    """
    hours, colon, minutes = text.partition(":")
    if colon and len(hours) == len(minutes) == 2 and (hours + minutes).isdecimal():
        minute = int(hours) * 60 + int(minutes)
        if int(minutes) < 60 and minute <= MINUTES_PER_DAY:
            return minute
    raise ValueError(f"{text!r} is not a time of day; write it as HH:MM, like 07:30")


def format_clock(minute: float) -> str:
    """Minutes since midnight as HH:MM, rounded to the minute; past midnight the clock starts over.

    >>> format_clock(7 * 60 + 5), format_clock(1440)
    ('07:05', '00:00')
    """
    whole = round(minute) % MINUTES_PER_DAY
    return f"{whole // 60:02d}:{whole % 60:02d}"


def rfc_3339(wall: datetime, offset: timedelta) -> str:
    """A wall clock as RFC 3339 text in whole seconds, with its offset from UTC rounded to the minute.

    >>> rfc_3339(datetime(2026, 3, 2, 9, 30), timedelta(hours=-3, minutes=-30))
    '2026-03-02T09:30:00-03:30'
    """
    minutes = round(offset.total_seconds() / 60)
    sign = "-" if minutes < 0 else "+"
    return f"{wall.replace(microsecond=0, tzinfo=None).isoformat()}{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def microseconds(moment: datetime) -> int:
    """Microseconds since the beginning of 1970: UTC for an aware datetime, the clock's own time for a naive one.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), microseconds(datetime(1970, 1, 2))
    (1000000, 86400000000)
    """
    return (moment - (_NAIVE_EPOCH if moment.tzinfo is None else _EPOCH)) // _MICROSECOND


def instant_of(number: int) -> datetime:
    """The instant, in UTC, that is this many microseconds after the beginning of 1970."""
    return _EPOCH + number * _MICROSECOND
