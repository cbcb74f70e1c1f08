"""Which of a file's events belong together, and which of several versions counts.

Events with one UID are a family: one event or series, and overrides of its occurrences. The same one may come twice
(a team's and an own calendar, an export made twice) and in several versions; a higher SEQUENCE is newer, then a later
LAST-MODIFIED, then a later DTSTAMP.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from observations.ingest.ical_event import Event
from observations.ingest.ical_lines import Component
from observations.ingest.ical_series import Run, Series, Span, begin_of, lone_overrides
from observations.ingest.remarks import Remarks

Named = tuple[bool, datetime]
"""What a family knows an event by: whether it is a date, and which date or instant."""


@dataclass(slots=True)
class Family:
    """The events with one UID, each in its newest version.

    Attributes:
        uid: never empty.
        masters: those that are no overrides, by their start. More than one if a program used the UID for
            several events and nothing says that one replaces another.
        overrides: by the occurrence that they stand for.

    """

    uid: str
    masters: dict[Named, Event] = field(default_factory=dict)
    overrides: dict[Named, Event] = field(default_factory=dict)

    @property
    def series(self) -> str | None:
        """What its occurrences have in common, if it recurs: the UID, without Google's mark of a split."""
        series = series_of(self.uid)
        recurs = self.overrides or series != self.uid or any(event.recurs for event in self.masters.values())
        return series if recurs else None

    def add(self, event: Event, remarks: Remarks) -> None:
        """Take in one event; of two versions the newer one stays."""
        if event.recurrence_id is not None:
            name = (event.recurrence_id.is_date, event.clock.instant(event.recurrence_id))
            self._keep_newer(self.overrides, name, event, remarks)
            return
        if self.masters:
            version = next(iter(self.masters.values())).version
            if event.version < version:
                remarks.leave_out(*SUPERSEDED)
                return
            if event.version > version:
                remarks.leave_out(*SUPERSEDED, len(self.masters))
                self.masters.clear()
        self._keep_newer(
            self.masters, (event.start.is_date, event.clock.instant(event.start)), event, remarks
        )

    def runs(self, span: Span, remarks: Remarks) -> Iterator[Run]:
        """When its events took place; those of a series as far as they may lie within the span."""
        masters = list(self.masters.values())
        overrides = list(self.overrides.values())
        if not masters:
            yield from lone_overrides(overrides)
        if len(masters) > 1:
            message = "a UID is used for several events; all are read"
            remarks.warn("uid_reused", message, masters[1].line, self.uid)
        # Overrides belong to the series, if there is one among the masters.
        masters.sort(key=lambda event: not event.recurs)
        for place, master in enumerate(masters):
            if master.recurs or (overrides and place == 0):
                yield from Series(master, overrides if place == 0 else [], remarks).runs(span)
            else:
                is_one_of_several = len(masters) > 1 or self.series is not None
                name = begin_of(master, master.start) if is_one_of_several else None
                yield Run.of_one(master, name, master.start.is_date)

    @staticmethod
    def _keep_newer(known: dict[Named, Event], name: Named, event: Event, remarks: Remarks) -> None:
        other = known.get(name)
        if other is not None:
            remarks.leave_out(*(REPEATED if other.version == event.version else SUPERSEDED))
        if other is None or event.version >= other.version:
            known[name] = event


SUPERSEDED = ("superseded", "older versions of events")
REPEATED = ("repeated", "events that the file has twice")


def families(events: Iterable[Event], remarks: Remarks) -> Iterator[Family]:
    """The events by UID, in the order in which the UIDs come."""
    found: dict[str, Family] = {}
    for event in events:
        uid = event.uid or _uid_from_content(event.component)
        family = found.get(uid)
        if family is None:
            family = found[uid] = Family(uid)
        family.add(event, remarks)
    yield from found.values()


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
    said = "\n".join(f"{p.head}:{p.value}" for name in _IDENTIFYING for p in component.all(name))
    return "no-uid-" + hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()
