"""Which of a file's events belong together, and which of several versions counts.

Events with one UID are a family: one event or series, and overrides of its occurrences. The same one may come twice
(a team's and an own calendar, an export made twice) and in several versions; a higher SEQUENCE is newer, then a later
LAST-MODIFIED, then a later DTSTAMP.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from observations.ingest.ical.event import Event
from observations.ingest.ical.parser import Component
from observations.ingest.ical.series import Run, Series, Span, begin_of, lone_overrides
from observations.ingest.toolkit.note_collector import NoteCollector

SUPERSEDED = ("superseded", "older versions of events")
REPEATED = ("repeated", "events that the file has twice")


@dataclass(slots=True)
class Family:
    """The events with one UID, which is never empty."""

    uid: str
    events: list[Event]

    @property
    def series(self) -> str | None:
        """What its occurrences have in common, if it recurs: the UID, without Google's mark of a split."""
        series = series_of(self.uid)
        recurs = any(event.recurs or event.recurrence_id for event in self.events)
        return series if recurs or series != self.uid else None

    def runs(self, span: Span, remarks: NoteCollector) -> Iterator[Run]:
        """When its events took place; those of a series as far as they may lie within the span."""
        if len(self.events) > 1:
            self.events = _newest(self.events, remarks)
        masters = [event for event in self.events if event.recurrence_id is None]
        overrides = [event for event in self.events if event.recurrence_id is not None]
        if not masters:
            yield from lone_overrides(overrides)
        if len(masters) > 1:
            message = "a UID is used for several events; all are read"
            remarks.warn("uid_reused", message, masters[1].line, self.uid)
            masters.sort(
                key=lambda event: not event.recurs
            )  # overrides belong to the series, if there is one
        for master in masters:
            if master.recurs or overrides:
                yield from Series(master, overrides, remarks).runs(span)
                overrides = []
            else:
                is_one_of_several = len(masters) > 1 or self.series is not None
                name = begin_of(master, master.start) if is_one_of_several else None
                yield Run.of_one(master, name, master.start.is_date)


def families(events: Iterable[Event]) -> Iterator[Family]:
    """The events by UID, in the order in which the UIDs come."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.uid or _uid_from_content(event.component), []).append(event)
    for uid, members in found.items():
        yield Family(uid, members)


def _newest(events: list[Event], remarks: NoteCollector) -> list[Event]:
    """The newest version of each event.

    Overrides of different occurrences are different events. So are masters of one version with different starts:
    a program used their UID several times, and no property shows that one replaces another.
    """
    newest_master = max((e.version for e in events if e.recurrence_id is None), default=None)
    found: dict[object, Event] = {}
    for event in events:
        if event.recurrence_id is None and event.version != newest_master:
            remarks.leave_out(*SUPERSEDED)
            continue
        moment = event.recurrence_id or event.start
        name = (event.recurrence_id is None, moment.is_date, event.clock.instant(moment))
        known = found.get(name)
        if known is not None:
            remarks.leave_out(*(REPEATED if known.version == event.version else SUPERSEDED))
        if known is None or event.version >= known.version:
            found[name] = event
    return list(found.values())


def series_of(uid: str) -> str:
    """The UID of the series that an event belongs to, also where Google split it ("this and following").

    >>> series_of("4m1c8_R20240304T080000@google.com")
    '4m1c8@google.com'
    """
    return _SPLIT.sub("", uid) if "_R" in uid else uid


_SPLIT = re.compile(r"_R\d{8}(?:T\d{6}Z?)?(?=@|$)", re.ASCII)

_IDENTIFYING = ("DTSTART", "DTEND", "DURATION", "SUMMARY", "LOCATION", "RRULE")


def _uid_from_content(component: Component) -> str:
    """A UID for an event that has none: the same for the same event in another export."""
    content = "\n".join(f"{p.head}:{p.value}" for name in _IDENTIFYING for p in component.all(name))
    return "no-uid-" + hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()
