"""Dates as mail carries them: RFC 5322, its older forms, and what programs write instead.

A date in mail has two parts: an instant, and the wall clock of the sending program. Only a numeric
offset says the second. ``-0000``, ``Z`` and ``GMT`` give the instant and no place; a date without any zone gives
a wall clock and no instant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

EARLIEST_YEAR = 1971
"""Nothing was mailed before. A date in 1970 or earlier is a placeholder (the epoch) or a broken clock."""

LATEST_YEAR = 2200


class MailDate(NamedTuple):
    """A date as it was written.

    Attributes:
        wall: what it shows, without a zone.
        offset: from UTC; None where none is stated, or one that cannot be.
        at: the instant, in UTC; None without an offset.
        is_local: True if the wall clock is that of a place: the offset is numeric, and not a spelling of UTC.

    """

    wall: datetime
    offset: timedelta | None
    at: datetime | None
    is_local: bool


def parse_date(text: str) -> MailDate | None:
    """The date that a Date header states, or None: impossible, a placeholder, or no date at all.

    >>> parse_date("Tue, 5 Mar 2024 9:05 GMT-05:00").at
    datetime.datetime(2024, 3, 5, 14, 5, tzinfo=datetime.timezone.utc)
    >>> parse_date("Tue, 31 Feb 2024 10:00:00 +0100") is None
    True
    """
    plain = _RFC_5322.match(text)
    month = _MONTHS.get(plain[2].lower()) if plain else None
    if plain is None or month is None:
        return _parse_odd_date(text[:_LONGEST])
    day, _, year, hour, minute, second, zone = plain.groups()
    wall = _wall_clock(int(year), month, int(day), int(hour), int(minute), int(second or 0))
    return _dated(wall, zone)


def parse_received_date(headers: Iterable[str]) -> MailDate | None:
    """The newest date of Received headers, which stand newest first; None where none has one."""
    for header in headers:
        date = parse_date(header.rpartition(";")[2])
        if date is not None:
            return date
    return None


def parse_envelope_date(line: str) -> MailDate | None:
    """The date of a From_ line, or None where it has none or a placeholder for one.

    UTC where it states no zone, as is the tradition. Takeout writes the offset before the year.

    >>> parse_envelope_date("From 179@xxx Tue Aug 18 07:14:09 +0000 2020").at
    datetime.datetime(2020, 8, 18, 7, 14, 9, tzinfo=datetime.timezone.utc)
    >>> parse_envelope_date("From - Thu Jan  1 00:00:00 1970") is None
    True
    """
    found = _ENVELOPE_DATE.search(line[:_LONGEST])
    if found is None or _GIT_PLACEHOLDER in line:
        return None
    date = parse_date(found[0])
    if date is None or date.at is not None:
        return date
    return _dated(date.wall, "UTC")


_LONGEST = 300  # characters; no date is longer, nor a From_ line
_ENGLISH = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = {name: number for number, name in enumerate(_ENGLISH.split(), start=1)} | {
    # As programs in other languages shorten them, where the first three letters are not the English ones.
    "ene": 1, "gen": 1, "sty": 1, "янв": 1, "fév": 2, "fev": 2, "lut": 2, "фев": 2,
    "mär": 3, "mrz": 3, "mrt": 3, "мар": 3, "abr": 4, "avr": 4, "kwi": 4, "апр": 4,
    "mai": 5, "mei": 5, "mag": 5, "maj": 5, "мая": 5, "май": 5, "giu": 6, "cze": 6, "июн": 6, "lug": 7, "lip": 7,
    "июл": 7, "ago": 8, "aoû": 8, "aou": 8, "sie": 8, "авг": 8, "set": 9, "wrz": 9, "сен": 9,
    "okt": 10, "ott": 10, "out": 10, "paź": 10, "окт": 10, "lis": 11, "ноя": 11,
    "dez": 12, "déc": 12, "dic": 12, "gru": 12, "дек": 12,
    # The two French ones that differ only in the fourth letter.
    "juin": 6, "juil": 7,
}  # fmt: skip

# RFC 5322, section 4.3, and the names that programs elsewhere write. Names that several places share (IST,
# China's CST) are left out, but for those that the RFC gives to North America.
_ZONE_HOURS: dict[str, float] = {
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AKST": -9, "AKDT": -8, "HST": -10, "NST": -3.5, "NDT": -2.5,
    "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "MEZ": 1, "MESZ": 2,
    "EET": 2, "EEST": 3, "MSK": 3, "MSD": 4, "SAST": 2, "JST": 9, "KST": 9, "HKT": 8, "SGT": 8,
    "AEST": 10, "AEDT": 11, "ACST": 9.5, "ACDT": 10.5, "AWST": 8, "NZST": 12, "NZDT": 13,
}  # fmt: skip
_UTC_NAMES = frozenset({"GMT", "UTC", "UT", "Z", "-0000"})

_RFC_5322 = re.compile(
    r"\s*(?:[A-Za-z]{3},?\s+)?(\d{1,2})\s+([A-Za-z]{3})\s+(\d{4})\s+(\d{1,2}):(\d\d)(?::(\d\d))?"
    r"\s+([+-]\d{4})(?:\s*\([^()]*\))?\s*$"
)
_ENVELOPE_DATE = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b.*\d.*$|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*$")
_GIT_PLACEHOLDER = "Mon Sep 17 00:00:00 2001"  # in every From_ line of `git format-patch`
_COMMENT = re.compile(r"\([^()]*\)")
_ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)[T\s]*")
_TIME = re.compile(
    r"(?<!\d)(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,]\d+)?)?(?:\s*([ap])\.?m\b\.?)?", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_GMT_AND_OFFSET = re.compile(r"(GMT|UTC|UT)\s+(?=[+-]\d)", re.IGNORECASE)
_NUMERIC_ZONE = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2}):?(\d\d)?", re.IGNORECASE)


def _parse_odd_date(text: str) -> MailDate | None:
    """A date in any other spelling: its time of day is found first; a zone can only stand after it."""
    while "(" in text and text != (shorter := _COMMENT.sub(" ", text)):
        text = shorter
    time = _TIME.search(text)
    if time is None:
        return None
    before, after = text[: time.start()], _GMT_AND_OFFSET.sub(r"\1", text[time.end() :]).split()
    year = next((word for word in after if len(word) == 4 and word.isdecimal()), "")
    zone = next((word.strip("\"',;") for word in after if word != year), None)
    day = _parse_day(f"{before} {year}")
    hour = _hour(int(time[1]), time[4])
    if day is None or hour is None:
        return None
    return _dated(_wall_clock(*day, hour, int(time[2]), int(time[3] or 0)), zone)


def _parse_day(text: str) -> tuple[int, int, int] | None:
    """Year, month and day. The month must be a name, except in ISO 8601: 03/04 may be either."""
    iso = _ISO.fullmatch(text)
    if iso is not None:
        return int(iso[1]), int(iso[2]), int(iso[3])
    words = _WORD.findall(text)
    numbers = [int(word) for word in words if word.isdecimal() and len(word) <= 4]
    # The last that can be one: French and Spanish Tuesdays are "mar" too.
    months = [month for word in words if (month := _month(word)) is not None]
    if len(numbers) != 2 or not months:
        return None
    day, year = numbers if numbers[0] <= 31 else reversed(numbers)
    return _full_year(year), months[-1], day


def _month(word: str) -> int | None:
    word = word.casefold()
    return _MONTHS.get(word[:4], _MONTHS.get(word[:3]))


def _full_year(year: int) -> int:
    """A year of two or three digits as RFC 5322 (section 4.3) reads it."""
    if year < 50:
        return year + 2000
    return year + 1900 if year < 1000 else year


def _hour(hour: int, half: str | None) -> int | None:
    """The hour of the day; on a clock of twelve hours if `half` (a or p) is given."""
    if half is None or hour > 12:  # "15:00 PM" is seen too
        return hour
    return hour % 12 + (12 if half.lower() == "p" else 0) if hour else None


def _dated(wall: datetime | None, zone: str | None) -> MailDate | None:
    if wall is None:
        return None
    offset, is_local = _parse_zone(zone)
    # Through the epochs: `replace(tzinfo=…)` takes four times as long.
    at = None if offset is None else _EPOCH_UTC + (wall - _EPOCH - offset)
    return MailDate(wall, offset, at, is_local)


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)


@lru_cache(maxsize=1024)
def _parse_zone(zone: str | None) -> tuple[timedelta | None, bool]:
    """What a zone is ahead of UTC, and whether it is that of a place. Null for an unknown name, and for what no
    clock on Earth shows.
    """
    if zone is None:
        return None, False
    if zone.upper() in _UTC_NAMES:
        return timedelta(0), False
    numeric = _NUMERIC_ZONE.fullmatch(zone)
    if numeric is None:
        ahead = _ZONE_HOURS.get(zone.upper())
        return (None, False) if ahead is None else (timedelta(hours=ahead), True)
    hours, minutes = int(numeric[2]), int(numeric[3] or 0)
    if hours > 14 or minutes > 59:
        return None, False
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if numeric[1] == "-" else offset, True


def _wall_clock(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    """The wall clock, or None where there is none such, or none such at which mail could be written."""
    if not EARLIEST_YEAR <= year <= LATEST_YEAR:
        return None
    second = 59 if second == 60 else second  # a leap second, which datetime does not know
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a wall clock
    except ValueError:
        return None
