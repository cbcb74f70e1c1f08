"""One VEVENT, read: when it is, how it recurs, and which version it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, time, timedelta, tzinfo
from typing import NamedTuple

from observations.ingest.ical.date_times import Clock, Moment, MomentReader, split_at_date
from observations.ingest.ical.parser import Component, Property
from observations.ingest.ical.timezones import Zones
from observations.ingest.ical.values import DAY, ZERO, parse_duration
from observations.ingest.toolkit.note_collector import NoteCollector

ALL_DAY_MARKS = ("X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-MSNCALENDAR-ALLDAYEVENT")
"""Properties with which Exchange and Outlook.com mark all-day events."""


ALMOST_A_DAY = timedelta(hours=22)
"""The shortest day, with any change of the clock."""


_LIST = re.compile("[,;]")  # of dates; vCalendar 1.0 has semicolons


class ExtraDate(NamedTuple):
    """An RDATE: one more start, with its own length if it is a period."""

    start: Moment
    length: timedelta | None


@dataclass(slots=True)
class Event:
    """A VEVENT with everything about time resolved. ``component`` has the rest.

    Attributes:
        uid: empty if there is none.
        recurrence_id: for an override, which occurrence of its series it stands for; None for a master.
        and_future: True if the override changes the later occurrences as well.
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
        """True if the event is the master of a series."""
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
    """An event that cannot be read. ``reason`` is the code of a note; the message describes the problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class EventReader:
    """Reads the events of one VCALENDAR.

    Args:
        zones: what its TZIDs mean.
        clock: the zone of its times without one.
        here: the person's own zone.
        cancels: True if all its events are cancellations (METHOD:CANCEL).
        remarks: collects notes on what was read with an assumption.

    """

    def __init__(
        self, zones: Zones, clock: Clock, here: tzinfo, cancels: bool, remarks: NoteCollector
    ) -> None:
        self._moments = MomentReader(zones)
        self._clock = clock
        self._here = here
        self._cancels = cancels
        self._remarks = remarks
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
        event = Event(
            component.text("UID"),
            component.line,
            start,
            length,
            component,
            self._clock,
            cancelled=self._cancels or component.text("STATUS").upper() in ("CANCELLED", "CANCELED"),
        )
        if override := component.first("RECURRENCE-ID"):
            event.recurrence_id = next(self._dates([override], "bad_recurrence_id"), start)
            event.and_future = (override.parameter("RANGE") or "").upper() == "THISANDFUTURE"
        if component.has("RRULE") or component.has("RDATE"):
            event.rules = [p.value for p in component.all("RRULE") if p.value.strip()]
            event.excluded_rules = [p.value for p in component.all("EXRULE") if p.value.strip()]
            event.extra_dates = list(self._extra_dates(component))
            event.excluded_dates = list(self._dates(component.all("EXDATE"), "bad_exdate"))
        return event

    def _start(self, component: Component) -> Moment:
        if not component.has("DTSTART"):
            raise EventError("no_start", "an event without DTSTART was left out")
        written = split_at_date(component.first("DTSTART") or component.all("DTSTART")[0])
        try:
            start = self._moments.read(written)
        except ValueError as error:
            message = f"an event was left out: its DTSTART cannot be read ({error})"
            raise EventError("bad_date", message) from error
        if start.zone is None and not start.is_date:
            self._note_assumed(self._moments.unknown_zone(written))
        return start

    def _note_assumed(self, tzid: str | None) -> None:
        """Add a note that the zone of the calendar is assumed, unless the calendar states it."""
        if tzid:
            self._warn("tz_unknown", f"the time zone {tzid!r} is not known; {self._clock.zone} is assumed")
        elif not self._clock.stated:
            self._warn("tz_assumed", f"times without a zone; {self._clock.zone} is assumed")

    def _lasts_whole_days(self, start: Moment, length: timedelta) -> bool:
        """True if an event written with times is an all-day one.

        It is marked as such and starts at midnight, or it lasts from one midnight of the person to another.
        """
        is_midnight = start.wall.time() == time.min
        if not is_midnight and start.zone is not UTC:
            return False
        if any(self._component.text(name).upper() == "TRUE" for name in ALL_DAY_MARKS):
            return is_midnight or self._clock.day(start) == self._clock.wall(start)
        if not is_midnight or length < ALMOST_A_DAY:
            return False
        begin = self._clock.instant(start).replace(tzinfo=UTC)
        return all(moment.astimezone(self._here).time() == time.min for moment in (begin, begin + length))

    def _length(self, component: Component, start: Moment) -> timedelta:
        """How long the event is: to its DTEND, else its DURATION, else a day for a date and nothing for a time."""
        usual = DAY if start.is_date else ZERO
        written = component.first("DTEND") or component.first("DURATION")
        if written is None:
            return usual
        try:
            length = self._written_length(written, start)
        except ValueError as error:
            self._warn("bad_length", f"the end of an event cannot be read, so it has none ({error})")
            return usual
        if length < ZERO:
            self._warn("negative_length", "an event ends before it starts; its duration is taken as 0")
        return max(length, usual)

    def _written_length(self, written: Property, start: Moment) -> timedelta:
        if written.head[:8].upper() == "DURATION":
            length = parse_duration(written.value)
            return -(-length // DAY) * DAY if start.is_date else length
        end = self._moments.read(split_at_date(written))
        if start.is_date:
            last = self._clock.day(end)
            partly = not end.is_date and end.zone is not UTC and end.wall.time() != time.min
            return last - start.wall + (DAY if partly else ZERO)
        if end.zone is None:
            end = end._replace(zone=start.zone)
        return self._clock.instant(end) - self._clock.instant(start)

    def _dates(self, lines: Sequence[Property], reason: str) -> Iterator[Moment]:
        """The moments in lists of dates; one that cannot be read is skipped with a note."""
        for written in map(split_at_date, lines):
            for text in _LIST.split(written.value):
                if text.strip():
                    try:
                        yield self._moments.read(written, text)
                    except ValueError as error:
                        self._tell_passed_over(reason, written, error)

    def _extra_dates(self, component: Component) -> Iterator[ExtraDate]:
        for written in map(split_at_date, component.all("RDATE")):
            for text in _LIST.split(written.value):
                begin, _, end = text.partition("/")
                for start in self._dates([written._replace(value=begin)], "bad_rdate"):
                    yield ExtraDate(start, self._period_length(written, start, end))

    def _period_length(self, written: Property, start: Moment, end: str) -> timedelta | None:
        if not end:
            return None
        try:
            if end.lstrip("+-")[:1] in "Pp":
                return max(parse_duration(end), ZERO)
            return max(
                self._clock.instant(self._moments.read(written, end)) - self._clock.instant(start), ZERO
            )
        except ValueError as error:
            self._tell_passed_over("bad_rdate", written, error)
            return None

    def _tell_passed_over(self, reason: str, written: Property, error: ValueError) -> None:
        name = written.head.partition(";")[0].upper()
        self._warn(reason, f"a value of {name} cannot be read and is ignored ({error})")

    def _warn(self, reason: str, message: str) -> None:
        self._remarks.warn(reason, message, self._component.line, self._component.text("UID"))
