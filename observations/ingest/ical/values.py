"""The values of iCalendar properties: dates and times, durations, text, addresses. Nothing here knows of zones."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from observations.ingest.ical.parser import Property

DAY = timedelta(days=1)
ZERO = timedelta(0)


class Digits(NamedTuple):
    """A date or time as written: the digits, True if they are only a date, and Z or an offset."""

    wall: datetime
    is_date: bool
    offset: tzinfo | None


def parse_digits(text: str) -> Digits:
    """The date or time that the text writes: ``20240603``, ``20240603T120000``, with ``Z``, or in ISO's long form.

    >>> parse_digits("20240603T120000Z").wall.isoformat()
    '2024-06-03T12:00:00'

    Raises:
        ValueError: it writes none, or one that does not exist.

    """
    try:
        return _parse_usual_digits(text) or _parse_other_digits(text.strip())
    except ValueError:
        return _parse_other_digits(text.strip())


def _parse_usual_digits(text: str) -> Digits | None:
    """The spellings of the standard, which are nearly all there is."""
    size = len(text)
    if not text[:8].isdigit():
        return None
    if size == 16 and text[8] == "T" and text[15] == "Z":
        return Digits(datetime.fromisoformat(text[:15]), False, UTC)
    if size == 15 and text[8] == "T":
        return Digits(datetime.fromisoformat(text), False, None)
    return Digits(datetime.fromisoformat(text), True, None) if size == 8 else None


_DIGITS = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE | re.ASCII,
)


def _parse_other_digits(text: str) -> Digits:
    found = _DIGITS.fullmatch(text)
    if not found:
        raise ValueError(f"{text[:40]!r} is not a date")
    year, month, day, hour, minute, second = (int(n or 0) for n in found.groups()[:6])
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError(f"{text[:40]!r} is not a time of day")
    # 24:00:00 and a leap second are times that occur, and that datetime does not know.
    wall = datetime(year, month, day) + timedelta(hours=hour, minutes=minute, seconds=min(second, 59))
    return Digits(wall, found[4] is None, _offset(found[7]) if found[7] else None)


def _offset(text: str) -> tzinfo:
    return UTC if text in "Zz" else timezone(parse_offset(text.replace(":", "")))


def parse_offset(text: str) -> timedelta:
    """The UTC offset that ``+0100`` or ``-053000`` writes.

    Raises:
        ValueError: it writes none that a place on earth can have.

    """
    found = re.fullmatch(r"([+-]?)(\d\d)(\d\d)(\d\d)?", text.strip(), re.ASCII)
    if not found or int(found[2]) > 18 or int(found[3]) > 59:
        raise ValueError(f"{text[:20]!r} is not a UTC offset")
    size = timedelta(hours=int(found[2]), minutes=int(found[3]), seconds=int(found[4] or 0))
    return -size if found[1] == "-" else size


_DURATION = re.compile(
    r"([+-]?)P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII
)


def parse_duration(text: str) -> timedelta:
    """The length that ``PT1H45M``, ``P1W`` or ``-P1D`` writes. A day is 24 hours, also when the clocks change.

    Raises:
        ValueError: it writes none, or one of more than a century.

    """
    found = _DURATION.fullmatch(text.strip())
    if not found or not any(found.groups()[1:]) or any(len(n) > 9 for n in found.groups()[1:] if n):
        raise ValueError(f"{text[:40]!r} is not a duration")
    weeks, days, hours, minutes, seconds = (int(n or 0) for n in found.groups()[1:])
    try:
        size = timedelta(days=days, weeks=weeks, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"{text[:40]!r} is too long") from error
    if size > 36_525 * DAY:
        raise ValueError(f"{text[:40]!r} is too long")
    return -size if found[1] == "-" else size


def unescape(text: str) -> str:
    r"""The text that a TEXT value writes.

    >>> unescape(r"Lunch\, then tea\; cake")
    'Lunch, then tea; cake'
    """
    if "\\" not in text:
        return text.strip()
    return _ESCAPED.sub(lambda found: _PLAIN.get(found[1], found[1]), text).strip()


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = {"n": "\n", "N": "\n"}
_COMMA = re.compile(r"(?<!\\),")


def split_texts(value: str) -> list[str]:
    """The texts of a comma-separated list, without the empty ones."""
    return [text for text in map(unescape, _COMMA.split(value)) if text]


_QUERY = re.compile(r"(\bhttps?://[^\s?#]*)[?#]\S*", re.IGNORECASE)


def without_queries(text: str) -> str:
    """The text with its web addresses cut to host and path: what follows may be the password of a meeting.

    >>> without_queries("https://zoom.us/j/988?pwd=s3cret Room 2")
    'https://zoom.us/j/988 Room 2'
    """
    return _QUERY.sub(r"\1", text) if "://" in text else text


_ADDRESS = re.compile(r"[^\s@:;,<>\"'()\[\]]+@[^\s@:;,<>\"'()\[\]?&]+")


def address_of(person: Property) -> str | None:
    """The mail address of an ATTENDEE or ORGANIZER in lower case, or None if it has none.

    The EMAIL parameter comes before the value, which may be a relay's address (iCloud).
    """
    for text in (person.parameter("EMAIL") if "EMAIL" in person.head.upper() else None, person.value):
        if text and (found := _ADDRESS.search(text.replace("%40", "@"))):
            return found[0].lower()
    return None
