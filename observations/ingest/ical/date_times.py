"""Dates and times of a calendar as *moments*: what a clock shows, and the zone of that clock.

A time without a zone is left floating in its moment; its clock is the calendar's (`Clock`): that of X-WR-TIMEZONE if it
names a place, else the user's. So is the clock of a time with a zone that nothing knows.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, tzinfo
from typing import NamedTuple

from observations.ingest.ical.parser import Property
from observations.ingest.ical.timezones import Zones
from observations.ingest.ical.values import parse_digits

FIRST_YEAR, LAST_YEAR = 1600, 9000
"""Years outside are no dates but placeholders (.NET writes 0001, some files 9999)."""


class Moment(NamedTuple):
    """A date, or a time on a clock. A date has midnight as its wall clock and no zone; a floating time has none."""

    wall: datetime
    zone: tzinfo | None
    is_date: bool


class Clock(NamedTuple):
    """The zone of times without one; `stated` is True if the calendar names it."""

    zone: tzinfo
    stated: bool

    def instant(self, moment: Moment) -> datetime:
        """The moment as an instant: UTC, naive. A wall clock that never showed it moves on by the gap."""
        offset = (moment.zone or self.zone).utcoffset(moment.wall)
        return moment.wall - offset if offset else moment.wall

    def wall(self, moment: Moment) -> datetime:
        """What this clock shows at a moment."""
        return self.instant(moment).replace(tzinfo=UTC).astimezone(self.zone).replace(tzinfo=None)

    def day(self, moment: Moment) -> datetime:
        """The calendar day that a moment names in an all-day series, as a midnight.

        The day that is written; but a UTC time that is midnight here names the day that begins here.
        """
        if moment.zone is UTC and (here := self.wall(moment)).time() == time.min:
            return here
        return moment.wall.replace(hour=0, minute=0, second=0)


class MomentReader:
    """Reads the moments in the date properties of one VCALENDAR.

    Args:
        zones: what its TZIDs mean.

    """

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._parameters: dict[str, _DateParameters] = {}

    def read(self, written: Property, text: str | None = None) -> Moment:
        """The moment that a property writes, or that an element (`text`) of its list does.

        Raises:
            ValueError: it writes none, or one in a year that is none.

        """
        wall, is_date, offset = parse_digits(written.value if text is None else text)
        if not FIRST_YEAR <= wall.year < LAST_YEAR:
            raise ValueError(f"the year {wall.year} is out of range")
        parameters = self._parameters_of(written)
        if is_date or parameters.is_date:
            return Moment(wall.replace(hour=0, minute=0, second=0), None, True)
        return Moment(wall, offset or parameters.zone, False)

    def unknown_zone(self, written: Property) -> str | None:
        """The TZID of a property if it is unknown."""
        return self._parameters_of(written).unknown

    def _parameters_of(self, written: Property) -> _DateParameters:
        """What the parameters mean; worked out once for each spelling."""
        known = self._parameters.get(written.head)
        if known is None:
            tzid = written.parameter("TZID")
            zone = self._zones.find(tzid) if tzid else None
            is_date = (written.parameter("VALUE") or "").upper() == "DATE"
            known = _DateParameters(zone, is_date, tzid if tzid and not zone else None)
            self._parameters[written.head] = known
        return known


class _DateParameters(NamedTuple):
    """The zone of a property, True if it is a date, and its TZID if unknown."""

    zone: tzinfo | None
    is_date: bool
    unknown: str | None


def split_at_date(written: Property) -> Property:
    """The property, split where its dates begin.

    Outlook writes ``DTSTART;TZID=(UTC-05:00) Eastern Time (US & Canada):20201028T133000``, without the quotes that
    the first colon needs.
    """
    if ":" not in written.value or _BEGINS_WITH_YEAR.match(written.value):
        return written
    head, _, value = f"{written.head}:{written.value}".rpartition(":")
    return Property(head, value)


_BEGINS_WITH_YEAR = re.compile(r"\s*\d{4}", re.ASCII)
