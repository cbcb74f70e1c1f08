"""The occurrences of a calendar's events: masters expanded, exceptions taken out, overrides put in their place.

An occurrence is named by the instant at which its series had it originally (`observations.ingest.ical.recurrence_ids`);
a moved one keeps its name::

    DTSTART + RRULE + RDATE      09:00   09:00   09:00   09:00   09:00     names
    EXDATE                               ×
    RECURRENCE-ID                                →14:00                    an override; it may stand alone
    occurrences                  09:00           14:00   09:00   09:00

Choices where files or readers disagree:

* A rule's times that the clocks jump over are no occurrences and use up no COUNT (RFC 5545, 3.3.10). Google moves
  them on by an hour. A start that is written out (DTSTART, RDATE, an override) is moved on. Of a time that comes
  twice the first is meant.
* DTSTART is an occurrence, and the first that COUNT counts, also where its rule would not yield it.
* UNTIL as a day includes that day; UNTIL without Z is on the series' own clock.
* An override stands where its series does not have the occurrence at all, unless the master is the newer of the two
  (SEQUENCE). An EXDATE for it, or a cancelled master, goes before an override that is not the newer one.
* An EXDATE at midnight that no occurrence has, as Exchange writes it, takes out its day.
"""

# ruff: noqa: DTZ901 — a wall clock has no zone
from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from observations.ingest.ical.date_times import Moment
from observations.ingest.ical.event import Event
from observations.ingest.ical.recurrence_ids import SeriesClock
from observations.ingest.ical.rrule import Rule, RuleError, parse_rule
from observations.ingest.ical.rrule_expand import expand
from observations.ingest.ical.values import DAY, ZERO
from observations.ingest.toolkit.note_collector import NoteCollector

LARGEST_MOVE = timedelta(days=3660)
"""A THISANDFUTURE override that moves its series by more than this may lose occurrences at the window's ends."""


class Span(NamedTuple):
    """The instants for which occurrences are wanted: UTC, naive, both included."""

    first: datetime
    last: datetime


class Run(NamedTuple):
    """Occurrences of one event that differ in nothing but when they were.

    Attributes:
        event: what they look like: their master or override.
        length: how long each took.
        begins: when they began: instants (UTC, naive), or days (midnights) if the event is all-day.
        names: by what their series names them, in the same order; None for an event that does not recur.
        by_day: True if the names are days.

    """

    event: Event
    length: timedelta
    begins: list[datetime]
    names: list[datetime] | None
    by_day: bool

    @classmethod
    def of_one(cls, event: Event, name: datetime | None, by_day: bool) -> Run:
        """The run that is an event standing for itself."""
        return cls(
            event, event.length, [begin_of(event, event.start)], None if name is None else [name], by_day
        )


def begin_of(event: Event, start: Moment) -> datetime:
    """When an occurrence of the event begins: an instant (UTC, naive), or a day."""
    return start.wall if start.is_date else event.clock.instant(start)


class Series:
    """A master with its overrides.

    Args:
        master: an event that recurs, or has overrides.
        overrides: the overrides that belong to it, each occurrence's newest.
        remarks: collects notes on unsupported rules and on what was left out.

    """

    def __init__(self, master: Event, overrides: Sequence[Event], remarks: NoteCollector) -> None:
        self._master = master
        self._clock = clock = SeriesClock(master)
        self._remarks = remarks
        self._rules = list(self._limited_rules(master.rules))
        self._barred_rules = list(self._limited_rules(master.excluded_rules))
        self._barred_days = {m.wall.date() for m in master.excluded_dates if clock.means_day(m)}
        self._barred = {clock.name_meant_by(m) for m in master.excluded_dates if not clock.means_day(m)}
        self._lengths = {
            clock.name_meant_by(extra.start): master.length if extra.length is None else extra.length
            for extra in master.extra_dates
        }
        self._overrides = {
            clock.name_meant_by(override.recurrence_id): override
            for override in sorted(overrides, key=lambda event: event.version)
            if override.recurrence_id is not None
        }

    def runs(self, span: Span) -> Iterator[Run]:
        """The occurrences that may begin within the span; some outside it come along."""
        standing = {name: o for name, o in self._overrides.items() if self._stands(name, o)}
        if dropped := len(self._overrides) - len(standing):
            self._remarks.leave_out("superseded", "older versions of events", dropped)
        futures = sorted((name, o) for name, o in standing.items() if o.and_future)
        margin = DAY + max((abs(self._move(name, o)) for name, o in futures), default=ZERO)
        margin = min(margin, LARGEST_MOVE)
        names = [n for n in self._names(span.first - margin, span.last + margin) if n not in self._overrides]
        yield from self._master_runs([n for n in names if not futures or n < futures[0][0]])
        for place, (since, override) in enumerate(futures):
            until = futures[place + 1][0] if place + 1 < len(futures) else datetime.max
            yield self._moved_run(override, since, [name for name in names if since < name < until])
        for name, override in standing.items():
            yield Run.of_one(override, name, self._clock.all_day)

    def _master_runs(self, names: list[datetime]) -> Iterator[Run]:
        """The occurrences that look like the master; an RDATE may have its own length."""
        by_day = self._clock.all_day
        if self._lengths:
            for name in names:
                if (length := self._lengths.get(name, self._master.length)) != self._master.length:
                    yield Run(self._master, length, [name], [name], by_day)
            names = [n for n in names if self._lengths.get(n, self._master.length) == self._master.length]
        yield Run(self._master, self._master.length, names, names, by_day)

    def _moved_run(self, override: Event, since: datetime, names: list[datetime]) -> Run:
        """The occurrences after a THISANDFUTURE override: like it, and moved by as much as it moves its own."""
        move = self._move(since, override)
        begins = []
        for name in names:
            wall = self._clock.wall(name, override.start.zone or override.clock.zone) + move
            if override.start.is_date:
                wall = wall.replace(hour=0, minute=0, second=0)
            begins.append(begin_of(override, override.start._replace(wall=wall)))
        return Run(override, override.length, begins, names, self._clock.all_day)

    def _move(self, name: datetime, override: Event) -> timedelta:
        """By how much an override moves the occurrence of that name, on its own clock."""
        return override.start.wall - self._clock.wall(name, override.start.zone or override.clock.zone)

    def _names(self, first: datetime, last: datetime) -> list[datetime]:
        """The occurrences that lie within two wall-clock times, without those taken out."""
        start = self._clock.start
        walls = [start] if not self._master.rules else []
        for rule, limit in self._rules:
            if limit >= start:
                found = [wall for wall in self._walls(rule, first, min(last, limit)) if wall != start]
                walls += [start, *found][: rule.count if rule else 1]
        for rule, limit in self._barred_rules:
            barred = set(self._walls(rule, first, min(last, limit))[: rule.count if rule else 0])
            walls = [wall for wall in walls if wall not in barred]
        names = dict.fromkeys(self._clock.names(walls))
        names.update(dict.fromkeys(self._lengths))
        if not self._barred and not self._barred_days:
            return list(names)
        return [name for name in names if not self._is_barred(name)]

    def _walls(self, rule: Rule | None, first: datetime, last: datetime) -> list[datetime]:
        """The wall-clock times that a rule yields, all of them up to `last` where it counts them."""
        if rule is None:
            return []
        try:
            found = expand(rule, self._clock.start, self._clock.start if rule.count else first, last)
        except RuleError as error:
            self._warn(error)
            return []
        return self._clock.shown(found)

    def _limited_rules(self, texts: Sequence[str]) -> Iterator[tuple[Rule | None, datetime]]:
        """Each rule with the last wall-clock time that UNTIL lets through; None for one that makes no sense."""
        for text in texts:
            try:
                rule = parse_rule(text)
                limit = self._clock.limit(rule)
            except RuleError as error:
                self._warn(error)
                yield None, datetime.max
                continue
            if limit < self._clock.start:
                message = "a series ends before it starts: it has no occurrences"
                self._remarks.warn("until_before_start", message, self._master.line, self._master.uid)
            yield rule, limit

    def _warn(self, error: RuleError) -> None:
        message = f"unsupported recurrence rule, only its first date is read: {error}"
        self._remarks.warn(error.reason, message, self._master.line, self._master.uid)

    def _is_barred(self, name: datetime) -> bool:
        if name in self._barred:
            return True
        return bool(self._barred_days) and self._clock.wall(name).date() in self._barred_days

    def _stands(self, name: datetime, override: Event) -> bool:
        """True if an override counts, False if the master is newer and has removed its occurrence."""
        if override.sequence > self._master.sequence:
            return True
        if self._master.cancelled or self._is_barred(name):
            return False
        if override.sequence == self._master.sequence:
            return True
        wall = self._clock.wall(name)
        return name in self._names(wall - DAY, wall + DAY)


def lone_overrides(overrides: Sequence[Event]) -> Iterator[Run]:
    """The occurrences of a series of which only overrides are there."""
    for override in overrides:
        wanted = override.recurrence_id
        if wanted is not None:
            if not wanted.zone:
                wanted = wanted._replace(zone=override.start.zone)
            name = override.clock.day(wanted) if wanted.is_date else override.clock.instant(wanted)
            yield Run.of_one(override, name, wanted.is_date)
