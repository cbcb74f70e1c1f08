"""One time as a person or a program wrote it: ISO 8601 in all its forms, dates with numbers or names, epochs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Literal

Problem = Literal["no_timestamp", "bad_timestamp", "implausible_time", "ambiguous_date_order"]

EPOCH_FROM = datetime(1980, 1, 1, tzinfo=UTC).timestamp()
EPOCH_TO = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""The range in which a bare number is an epoch. It spans less than a factor of 1000, so at most one of seconds,
milli-, micro- and nanoseconds puts a number inside: the unit follows from the number, for a row as for a file."""

EARLIEST, LATEST = datetime(1971, 1, 1), datetime(2200, 1, 1)  # noqa: DTZ001  wall clocks
"""Written dates outside are defaults of some program (1601, 1900, 1970-01-01, 9999), not times."""

EPOCH_UNITS = (1.0, 1e3, 1e6, 1e9)
"""Ticks per second."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Moment:
    """One time as it was written; `at` or `wall` or both, or a problem."""

    at: datetime | None = None
    wall: datetime | None = None
    date_only: bool = False
    problem: Problem | None = None


def parse_timestamp(text: str, day_first: bool | None = None) -> Moment:
    """When this one was, as `observations.ingest.tabular.timestamps.parse_timestamps` reads it in a column.

    >>> parse_timestamp("2026-03-02T09:30:00Z").at.isoformat()
    '2026-03-02T09:30:00+00:00'
    """
    written = _UNPADDED.sub(_padded, text.strip()).replace("\N{MINUS SIGN}", "-")
    written = re.sub(r"(?<=\d)z$", "Z", written)
    moment = parse_written(written, day_first)
    clock = moment.wall or (moment.at and moment.at.replace(tzinfo=None))
    if clock is not None and not EARLIEST <= clock < LATEST:
        return Moment(problem="implausible_time", date_only=moment.date_only)
    return moment


_UNPADDED = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)([Tt ])(\d\d?):(\d\d?):(\d\d?)(?=[Zz.+\N{MINUS SIGN}-])")


def _padded(found: re.Match[str]) -> str:
    year, month, day, mark, *clock = found.groups()
    return f"{year}-{month:0>2}-{day:0>2}{mark}" + ":".join(f"{part:0>2}" for part in clock)


def parse_written(text: str | None, day_first: bool | None = None) -> Moment:
    """When this was; null and its spellings are no time.

    >>> parse_written("2.3.2026 1:05 PM")
    Moment(at=None, wall=datetime.datetime(2026, 3, 2, 13, 5), date_only=False, problem=None)
    >>> parse_written("03/04/2026").problem
    'ambiguous_date_order'
    """
    if not text or text.lower() in ("null", "none", "nan", "nat", "n/a", "-"):
        return Moment(problem="no_timestamp")
    if (number := _number(text)) is not None:
        instant = epoch_instant(number)
        return Moment(at=instant) if instant else Moment(problem="implausible_time")
    try:
        return _parse_iso(text) or _parse_date(text, day_first) or _parse_mail_date(text)
    except (ValueError, OverflowError):
        return Moment(problem="bad_timestamp")


def date_orders(texts: Iterable[str | None]) -> set[bool]:
    """The orders that these dates prove by a number above 12: True where a day comes first, False where a month.

    >>> date_orders(["03/04/2026", "13/04/2026"])
    {True}
    """
    return {order for text in texts if text is not None and (order := _order(text)) is not None}


def epoch_instant(number: float) -> datetime | None:
    """The instant that a bare number is, its unit inferred from its size; None if it is not an epoch.

    >>> epoch_instant(1709287200.25).isoformat(), epoch_instant(1709287200250).isoformat()
    ('2024-03-01T10:00:00.250000+00:00', '2024-03-01T10:00:00.250000+00:00')
    >>> epoch_instant(9780306406157) is None  # an ISBN
    True
    """
    for ticks in EPOCH_UNITS:
        if EPOCH_FROM <= number / ticks < EPOCH_TO:
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=round(number / ticks * 1e6))
    return None


def _number(text: str) -> float | None:
    if not re.fullmatch(r"[+-]?\d+(?:\.\d+)?(?:[eE]\+?\d+)?", text) or re.fullmatch(
        r"(?:19|20)\d{6}|(?:19|20)\d{12}", text
    ):
        return None  # 20260302 and 20260302093000 are dates
    number = float(text)
    return number if math.isfinite(number) else None


def _parse_iso(text: str) -> Moment | None:
    """ISO 8601 in the forms that RFC 3339 leaves out: naive, date only, basic, a space before the offset."""
    text = re.sub(r"\s*(?:UTC|GMT)$", "Z", text)
    text = re.sub(r"(?<=\d)\s+(?=[+-]\d\d:?\d\d$)", "", text)
    if re.fullmatch(r"\d{14}", text):
        text = f"{text[:8]}T{text[8:]}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        return _aware(moment)
    date_only = ":" not in text and not re.search(r"[T ]\d", text)
    return Moment(wall=moment, date_only=date_only)


def _aware(moment: datetime) -> Moment:
    shown = moment.replace(tzinfo=None) if moment.utcoffset() else None
    return Moment(at=moment.astimezone(UTC), wall=shown)


_TIME = re.compile(
    r"""^(?P<hour>\d{1,2})
        (?:[:.h](?P<minute>\d{2}))?
        (?:[:.](?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?
        \s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?
        \s*(?P<offset>Z|UTC|GMT|[+-]\d\d:?\d\d)?$""",
    re.VERBOSE,
)
_WEEKDAY = r"(?:[^\W\d]{2,10}\.?,?\s+)?"
_NUMERIC_DATE = re.compile(_WEEKDAY + r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})\.?(?:[\sT,]+(.*))?")
_DAY_MONTH_NAME = re.compile(
    _WEEKDAY
    + r"(\d{1,2})(?:st|nd|rd|th)?[\s.-]*([A-Za-z]{3,9})[\s.,-]+(\d{4}|\d\d(?!:))(?:[\s,]+(?:at\s+)?(.*))?"
)
_MONTH_NAME_DAY = re.compile(
    _WEEKDAY + r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?:[\s,]+(?:at\s+)?(.*))?"
)


def _parse_date(text: str, day_first: bool | None) -> Moment | None:
    """A date with numbers or an English month name, and perhaps a time of day after it."""
    if numeric := _NUMERIC_DATE.fullmatch(text):
        first, mark, second, third, rest = numeric.groups()
        if len(first) > 2:
            return _moment(int(first), int(second), int(third), rest)
        order = _order(text) if _order(text) is not None else day_first
        if mark == "." and order is None:
            order = True  # whoever writes dots writes the day first
        if order is None and first != second and int(first) != int(second):
            return Moment(problem="ambiguous_date_order")
        day, month = (first, second) if order else (second, first)
        return _moment(_full_year(third), int(month), int(day), rest)
    if named := _DAY_MONTH_NAME.fullmatch(text):
        day, name, year, rest = named.groups()
        return _moment(_full_year(year), _month(name), int(day), rest)
    if named := _MONTH_NAME_DAY.fullmatch(text):
        name, day, year, rest = named.groups()
        return _moment(_full_year(year), _month(name), int(day), rest)
    return None


def _order(text: str) -> bool | None:
    """True if this date proves that the day comes first, False if the month does, None if it fits both orders."""
    numeric = _NUMERIC_DATE.fullmatch(text.strip())
    if numeric is None or len(numeric[1]) > 2:
        return None
    first, second = int(numeric[1]), int(numeric[3])
    if first > 12 >= second:
        return True
    return False if second > 12 >= first else None


def _moment(year: int, month: int, day: int, rest: str | None) -> Moment:
    date = datetime(year, month, day)  # noqa: DTZ001  a wall clock has no zone
    if not rest or not rest.strip():
        return Moment(wall=date, date_only=True)
    time = _TIME.match(rest.strip())
    if time is None:
        raise ValueError(rest)
    hour = _hour(int(time["hour"]), time["half"])
    fraction = int((time["fraction"] or "0")[:6].ljust(6, "0"))
    wall = date.replace(minute=int(time["minute"] or 0), second=min(int(time["second"] or 0), 59))
    wall = wall.replace(microsecond=fraction) + timedelta(hours=hour)
    if time["offset"] is None:
        return Moment(wall=wall)
    return _aware(wall.replace(tzinfo=_zone_of(time["offset"])))


def _hour(hour: int, half: str | None) -> int:
    if hour > 24 or (half is not None and not 1 <= hour <= 12):
        raise ValueError(hour)
    if half is None:
        return hour
    return hour % 12 + (12 if half[0] in "Pp" else 0)


def _zone_of(offset: str) -> timezone:
    if not offset[1:2].isdigit():
        return UTC
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))


def _full_year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (1900 if year > 68 else 2000)


def _month(name: str) -> int:
    if name[:3].lower() not in MONTHS:
        raise ValueError(name)
    return MONTHS.index(name[:3].lower()) + 1


def _parse_mail_date(text: str) -> Moment:
    moment = parsedate_to_datetime(text)  # raises ValueError
    return _aware(moment) if moment.tzinfo is not None else Moment(wall=moment)
