"""One VEVENT, read: when it is, how it recurs, which version it is, and who is in it.

Times are *moments*: what a clock shows, and the zone of that clock. A time without a zone is left floating here; its
clock is the calendar's (`Clock`): that of X-WR-TIMEZONE if it names a place, else the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from observations.ingest.ical_lines import Component, Property
from observations.ingest.ical_values import DAY, ZERO, parse_digits, parse_duration
from observations.ingest.ical_zones import Zones
from observations.ingest.remarks import Remarks

FIRST_YEAR, LAST_YEAR = 1600, 9990
"""Years outside are no dates but placeholders (.NET writes 0001, some files 9999)."""


ALL_DAY_MARKS = ("X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-MSNCALENDAR-ALLDAYEVENT")
"""What Exchange and Outlook.com say of events that they write from midnight to midnight."""


ALMOST_A_DAY = timedelta(hours=22)
"""No day is shorter, on whatever clock it changes."""


class Moment(NamedTuple):
    """A date, or a time on a clock. A date has midnight as its wall clock and no zone; nor has a floating time."""

    wall: datetime
    zone: tzinfo | None
    is_date: bool

    def moved(self, length: timedelta) -> Moment:
        """The moment that much later on the same clock."""
        return self._replace(wall=self.wall + length)


class Clock(NamedTuple):
    """The zone of times that come without one, and whether the calendar says so itself."""

    zone: tzinfo
    stated: bool

    def instant(self, moment: Moment) -> datetime:
        """The moment as an instant: UTC, naive. A wall clock that never showed it moves on by the gap."""
        wall = moment.wall
        offset = (moment.zone or self.zone).utcoffset(wall)
        return wall - offset if offset else wall

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


class ExtraDate(NamedTuple):
    """An RDATE: one more start, with its own length if it is a period."""

    start: Moment
    length: timedelta | None


@dataclass(slots=True)
class Event:
    """A VEVENT with everything about time resolved. ``component`` has the rest.

    Attributes:
        uid: empty if there is none.
        recurrence_id: for an override, which occurrence of its series it stands for; null for a master.
        and_future: whether the override changes the later occurrences as well.
        cancelled: by its STATUS, or because its calendar is a METHOD:CANCEL message.

    """

    uid: str
    line: int
    start: Moment
    length: timedelta
    component: Component
    clock: Clock
    recurrence_id: Moment | None = None
    and_future: bool = False
    cancelled: bool = False
    rules: Sequence[str] = ()
    excluded_rules: Sequence[str] = ()
    extra_dates: Sequence[ExtraDate] = ()
    excluded_dates: Sequence[Moment] = ()

    @property
    def recurs(self) -> bool:
        """Whether it is the master of a series."""
        return bool(self.rules or self.extra_dates) and self.recurrence_id is None

    @property
    def sequence(self) -> int:
        """How many times it was changed in a way that matters (SEQUENCE)."""
        number = self.component.text("SEQUENCE")
        return int(number) if re.fullmatch(r"\d{1,9}", number, re.ASCII) else 0

    @property
    def version(self) -> tuple[int, str, str]:
        """Of two versions of an event, the newer one has the greater: SEQUENCE, LAST-MODIFIED, DTSTAMP."""
        return self.sequence, self.component.text("LAST-MODIFIED"), self.component.text("DTSTAMP")


class EventError(ValueError):
    """An event that cannot be read. ``reason`` is a note's code; the message says what is wrong with it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class EventReader:
    """Reads the events of one VCALENDAR.

    Args:
        zones: what its TZIDs mean.
        clock: the zone of its times without one.
        here: the person's own zone.
        cancels: whether all its events are cancellations (METHOD:CANCEL).
        remarks: is told what was read with an assumption.

    """

    def __init__(self, zones: Zones, clock: Clock, here: tzinfo, cancels: bool, remarks: Remarks) -> None:
        self._zones = zones
        self._here = here
        self._clock = clock
        self._cancels = cancels
        self._remarks = remarks
        self._readings: dict[str, _Reading] = {}
        self._component = Component("VEVENT", 0)  # the one being read: where warnings point

    def read(self, component: Component) -> Event:
        """The event.

        Raises:
            EventError: it has no start (``no_start``), or none that can be read (``bad_date``).

        """
        self._component = component
        start = self._start(component)
        length = self._length(component, start)
        if not start.is_date and self._lasts_whole_days(start, length):
            start = Moment(self._clock.day(start), None, True)
            length = self._length(component, start)
        override = component.first("RECURRENCE-ID")
        event = Event(
            component.text("UID"),
            component.line,
            start,
            length,
            component,
            self._clock,
            cancelled=self._cancels or component.text("STATUS").upper() in ("CANCELLED", "CANCELED"),
        )
        if override:
            named = self._optional(override, override.value, "bad_recurrence_id")
            event.recurrence_id = named or start
            event.and_future = (override.parameter("RANGE") or "").upper() == "THISANDFUTURE"
        if component.has("RRULE") or component.has("RDATE"):
            event.rules = [p.value for p in component.all("RRULE") if p.value.strip()]
            event.excluded_rules = [p.value for p in component.all("EXRULE") if p.value.strip()]
            event.extra_dates = list(self._extra_dates(component))
            event.excluded_dates = list(self._excluded_dates(component))
        return event

    def _start(self, component: Component) -> Moment:
        written = component.all("DTSTART")
        if not written:
            raise EventError("no_start", "an event without DTSTART was left out")
        try:
            start = self._moment(written[0], written[0].value)
        except ValueError as error:
            message = f"an event was left out: its DTSTART cannot be read ({error})"
            raise EventError("bad_date", message) from error
        reading = self._reading(written[0])
        if reading.unknown and start.zone is None and not start.is_date:
            self._warn("tz_unknown", f"the time zone {reading.unknown!r} is not known; {self._instead()}")
        elif start.zone is None and not start.is_date and not self._clock.stated:
            self._warn("tz_assumed", f"times without a zone: {self._instead()}")
        return start

    def _lasts_whole_days(self, start: Moment, length: timedelta) -> bool:
        """Whether an event written with times is an all-day one.

        It says so itself, and starts at a midnight; or it lasts from one midnight of the person to another.
        """
        if any(self._component.text(name).upper() == "TRUE" for name in ALL_DAY_MARKS):
            return start.wall.time() == time.min or self._clock.day(start) == self._clock.wall(start)
        if length < ALMOST_A_DAY or start.wall.time() != time.min:
            return False
        begin = self._clock.instant(start).replace(tzinfo=UTC)
        return all(moment.astimezone(self._here).time() == time.min for moment in (begin, begin + length))

    def _warn(self, reason: str, message: str) -> None:
        self._remarks.warn(reason, message, self._component.line, self._component.text("UID"))

    def _instead(self) -> str:
        return f"{self._clock.zone} is assumed"

    def _length(self, component: Component, start: Moment) -> timedelta:
        """How long the event is: to its DTEND, else its DURATION, else a day for a date and nothing for a time."""
        usual = DAY if start.is_date else ZERO
        written = component.first("DTEND") or component.first("DURATION")
        if written is None:
            return usual
        try:
            length = self._written_length(written, start)
        except (ValueError, OverflowError) as error:
            self._warn("bad_length", f"the end of an event cannot be read, so it has none ({error})")
            return usual
        if length < ZERO:
            self._warn("negative_length", "an event ends before it starts; its length is taken as none")
        return max(length, usual)

    def _written_length(self, written: Property, start: Moment) -> timedelta:
        if written.head[:8].upper() == "DURATION":
            length = parse_duration(written.value)
            return -(-length // DAY) * DAY if start.is_date else length
        end = self._moment(written, written.value)
        if start.is_date:
            last = self._clock.day(end)
            partly = not end.is_date and end.zone is not UTC and end.wall.time() != time.min
            return last - start.wall + (DAY if partly else ZERO)
        if end.zone is None:
            end = end._replace(zone=start.zone)
        return self._clock.instant(end) - self._clock.instant(start)

    def _extra_dates(self, component: Component) -> Iterable[ExtraDate]:
        for written in component.all("RDATE"):
            for text in written.value.split(","):
                start, _, end = text.partition("/")
                moment = self._optional(written, start, "bad_rdate")
                if moment:
                    yield ExtraDate(moment, self._period_length(written, moment, end))

    def _period_length(self, written: Property, start: Moment, end: str) -> timedelta | None:
        if not end:
            return None
        try:
            if end.lstrip("+-")[:1] in "Pp":
                return max(parse_duration(end), ZERO)
            return max(self._clock.instant(self._moment(written, end)) - self._clock.instant(start), ZERO)
        except (ValueError, OverflowError) as error:
            self._warn("bad_rdate", f"the end of a period cannot be read ({error})")
            return None

    def _excluded_dates(self, component: Component) -> Iterable[Moment]:
        for written in component.all("EXDATE"):
            for text in written.value.split(","):
                moment = self._optional(written, text, "bad_exdate")
                if moment:
                    yield moment

    def _optional(self, written: Property, text: str, reason: str) -> Moment | None:
        """The moment, or null with a warning: the event is read without it."""
        if not text.strip():
            return None
        try:
            return self._moment(written, text)
        except ValueError as error:
            name = written.head.partition(";")[0].upper()
            self._warn(reason, f"a value of {name} cannot be read and is passed over ({error})")
            return None

    def _moment(self, written: Property, text: str) -> Moment:
        """The moment that the text writes in that property.

        Raises:
            ValueError: it writes none.

        """
        try:
            wall, is_date, offset = parse_digits(text)
        except ValueError:
            if ":" not in text:
                raise
            # Outlook: TZID=(UTC-05:00) Eastern Time (US & Canada) without the quotes that its colon needs.
            head, _, text = f"{written.head}:{text}".rpartition(":")
            written = Property(head, text)
            wall, is_date, offset = parse_digits(text)
        if not FIRST_YEAR <= wall.year < LAST_YEAR:
            raise ValueError(f"the year {wall.year} is none in which things happen")
        reading = self._reading(written)
        if is_date or reading.is_date:
            return Moment(wall.replace(hour=0, minute=0, second=0), None, True)
        return Moment(wall, offset or reading.zone, False)

    def _reading(self, written: Property) -> _Reading:
        """What the parameters of a date property say; worked out once for each spelling."""
        known = self._readings.get(written.head)
        if known is None:
            tzid = written.parameter("TZID")
            zone = self._zones.find(tzid) if tzid else None
            is_date = (written.parameter("VALUE") or "").upper() == "DATE"
            known = self._readings[written.head] = _Reading(
                zone, is_date, tzid if tzid and not zone else None
            )
        return known


class _Reading(NamedTuple):
    """How a time is read: its zone, whether only the date counts, and the TZID if nothing knows it."""

    zone: tzinfo | None
    is_date: bool
    unknown: str | None
