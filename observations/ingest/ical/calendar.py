"""Calendars (iCalendar, RFC 5545) from Google, Outlook and Exchange, Apple, Nextcloud and others.

Each occurrence of an event is one observation, ``created`` at its start. Cancelled ones and invitations that
the person declined or handed on did not take place for them: they are counted and left out. Tasks, journals and
free/busy times are no events.

**Whose wall clock.** The instant of an event is always exact, whatever zone it is written in. Its wall clock is
the user's (`ReadOptions.tz`), as it is for their mails and commands: a colleague's meeting at 10:00 in New York is
at 16:00 in the day of someone in Berlin, and exports tell nobody's whereabouts (Google writes single events in UTC
and gives series the zone of whoever made them). A person on a journey who wants the clock of the place can
read that export with another ``--tz``. A date without a time is the user's local day; a floating time is on the
calendar's clock (X-WR-TIMEZONE), else the user's.

**Which id.** The UID; for an occurrence of a series also the instant at which the series had it originally. So a
moved occurrence, or an event moved by a later export, keeps its id. Google's ``_R…`` UIDs, which "this and following"
makes, are parts of one series.
"""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from observations.civil_time import zone
from observations.errors import SourceError
from observations.ingest.ical.date_times import Clock
from observations.ingest.ical.event import Event, EventError, EventReader
from observations.ingest.ical.frames import Observed
from observations.ingest.ical.parser import Component, Damage, parse_calendars, to_utf8
from observations.ingest.ical.revisions import families
from observations.ingest.ical.timezones import ZoneRules, Zones, parse_zone_rules
from observations.ingest.ical.values import ZERO
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source

LARGEST_BYTES = 256 * 2**20
"""A larger file is refused. A calendar is read as a whole, for what changes an event may stand anywhere in it: 93 MB of
100,000 events and their 825,000 occurrences took 640 MB of memory.
"""

_BEGINNING = re.compile(rb"\s*BEGIN:(VCALENDAR|VEVENT)\b", re.IGNORECASE)
_FURTHER_DOWN = re.compile(rb"[\r\n]BEGIN:(VCALENDAR|VEVENT)\b", re.IGNORECASE)
_SUFFIXES = (".ics", ".ical", ".icalendar", ".ifb", ".vcs")
_OTHER_COMPONENTS = {
    "VTODO": "tasks",
    "VJOURNAL": "journal entries",
    "VFREEBUSY": "free/busy times",
    "VAVAILABILITY": "times of availability",
}


class CalendarReader:
    """Reads iCalendar files (`observations.ingest.toolkit.reader.Reader`)."""

    name = "iCalendar"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if the text begins a calendar; further down only where the name says that it is one, since mails
        and shell scripts contain calendars.
        """
        text = to_utf8(head)
        if _BEGINNING.match(text):
            return True
        return name.endswith(_SUFFIXES) and _FURTHER_DOWN.search(text) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each occurrence of an event up to now; cancelled and declined ones are left out.

        Series are expanded up to `options.until`, with their exceptions. vCalendar 1.0 is read too.

        Raises:
            SourceError: it is larger than `LARGEST_BYTES`.

        """
        with source.open() as stream:
            content = stream.read(LARGEST_BYTES + 1)
        if len(content) > LARGEST_BYTES:
            problem = f"a calendar of more than {LARGEST_BYTES // 2**20} MB is not read; export fewer years at a time"
            raise SourceError(source.label, problem)
        calendars, damage = parse_calendars(content)
        del content  # the lines that are kept have their own
        remarks = NoteCollector(source.label)
        _note_damage(damage, calendars, remarks)
        events, me = _read_events(calendars, options, remarks)
        observed = Observed(options, me, remarks)
        for family in families(events):
            for run in family.runs(observed.span, remarks):
                observed.add(family, run)
            if len(observed) >= BATCH_ROWS:
                yield Batch(observed.take(), tuple(remarks.take()))
        yield Batch(observed.take(), tuple(remarks.take()))


CALENDAR = CalendarReader()


def _note_damage(damage: Damage, calendars: list[Component], remarks: NoteCollector) -> None:
    if not calendars:
        remarks.warn("no_calendar", "it has no VCALENDAR and no VEVENT")
    damages = (
        ("leading_junk", damage.leading, "text before the calendar was passed over"),
        ("stray_text", damage.stray, "text outside the calendars was passed over"),
        ("bad_line", damage.bad, "lines that are no property were passed over"),
        ("not_utf8", damage.undecodable, "text that is not UTF-8 was read as Windows-1252"),
    )
    for reason, lines, message in damages:
        if lines.count:
            remarks.warn(reason, message, lines.first, count=lines.count)
    if damage.headless.count:
        message = "events were left out: they have an END:VEVENT and no BEGIN:VEVENT"
        remarks.reject("no_begin", message, damage.headless.first, count=damage.headless.count)
    for calendar in calendars:
        if calendar.has("DTSTART") and not damage.headless.count:
            remarks.reject("no_begin", "an event was left out: it has no BEGIN:VEVENT", calendar.line)
        if calendar.end != "given":
            remarks.warn(
                "truncated", "a calendar is not complete: its END:VCALENDAR is missing", calendar.line
            )


def _read_events(
    calendars: list[Component], options: ReadOptions, remarks: NoteCollector
) -> tuple[list[Event], frozenset[str]]:
    """The events of all calendars of a file, and the addresses of the person."""
    shared: dict[str, ZoneRules] = {}  # for a calendar that lacks the VTIMEZONE which another one has
    definitions = [_zone_rules(calendar, remarks) for calendar in calendars]
    for own in definitions:
        shared.update(own)
    events: list[Event] = []
    me = set(options.me)
    for calendar, own in zip(calendars, definitions, strict=True):
        zones = Zones({**shared, **own})
        cancels = calendar.text("METHOD").upper() == "CANCEL"
        clock = _clock(calendar, zones, options, remarks)
        reader = EventReader(zones, clock, zone(options.tz), cancels, remarks)
        events += _read_components(calendar, reader, remarks)
        if "@" in (owner := calendar.text("X-WR-CALNAME").lower()):
            me.add(owner)  # Google names a person's main calendar by their address
    return events, frozenset(me)


def _zone_rules(calendar: Component, remarks: NoteCollector) -> dict[str, ZoneRules]:
    found = {}
    for component in calendar.inside:
        if component.name == "VTIMEZONE":
            rules, wrong = parse_zone_rules(component)
            found[rules.tzid] = rules
            for problem in wrong:
                message = f"a part of a VTIMEZONE was ignored: {problem}"
                remarks.warn("bad_vtimezone", message, component.line, rules.tzid)
    return found


def _clock(calendar: Component, zones: Zones, options: ReadOptions, remarks: NoteCollector) -> Clock:
    """The zone of times without one: X-WR-TIMEZONE if it names a place, else the zone of the user."""
    written = calendar.first("X-WR-TIMEZONE")
    users = Clock(zone(options.tz), stated=False)
    if written is None:
        return users
    found = zones.find(written.value.strip())
    if found is None:
        message = f"the time zone {written.value.strip()!r} is not known; {options.tz} is assumed"
        remarks.warn("tz_unknown", message, calendar.line)
    if found is None or found.utcoffset(_SUMMER) == found.utcoffset(_WINTER) == ZERO:
        return users
    return Clock(found, stated=True)


_SUMMER, _WINTER = datetime(2024, 7, 1), datetime(2024, 1, 1)


def _read_components(calendar: Component, reader: EventReader, remarks: NoteCollector) -> Iterator[Event]:
    for component in calendar.inside:
        if component.name != "VEVENT":
            if component.name != "VTIMEZONE":
                what = _OTHER_COMPONENTS.get(component.name, f"components named {component.name[:20]}")
                remarks.leave_out("no_event", f"{what} are not events")
            continue
        uid = component.text("UID")
        if component.end == "cut":
            remarks.reject("truncated", "the file ends in the middle of an event", component.line, uid)
            continue
        if component.end == "missing":
            remarks.warn("unclosed", "an event has no END:VEVENT", component.line, uid)
        try:
            yield reader.read(component)
        except EventError as error:
            remarks.reject(error.reason, str(error), component.line, uid)
