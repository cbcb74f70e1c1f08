"""The occurrences of a calendar's events: masters expanded, exceptions taken out, overrides put in their place.

An occurrence is named by the instant at which its series had it *originally* (RFC 5545, RECURRENCE-ID); a moved
one keeps that name. Everything is compared by it, so it is the same whether an exception is written as a local
time, in UTC, or as a day::

    RRULE + RDATE + DTSTART      09:00   09:00   09:00   09:00   09:00     originals
    EXDATE                               ×
    RECURRENCE-ID                                →14:00                    overrides (may stand alone)
    occurrences                  09:00           14:00   09:00   09:00

Choices where files or readers disagree:

* A rule's times that the clocks jump over are no occurrences and use up no COUNT (RFC 5545, 3.3.10). Google moves
  them on by an hour. A start that is written out (DTSTART, RDATE, an override) is moved on. Of a time that comes
  twice the first is meant.
* DTSTART is an occurrence, and the first that COUNT counts, also where its rule would not yield it.
* UNTIL as a day includes that day; UNTIL without Z is on the series' own clock.
* An override wins over its master's EXDATE or cancellation, and stands although the series no longer has its
  occurrence, unless the master is the newer one (SEQUENCE).
* An EXDATE at midnight that no occurrence has, as Exchange writes it, takes out its day.
"""

# ruff: noqa: DTZ901 — a wall clock has no zone
from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from observations.ingest.ical_event import LAST_YEAR, Event, Moment
from observations.ingest.ical_values import DAY, ZERO, parse_digits
from observations.ingest.recurrence import Rule, RuleError, expand, parse_rule
from observations.ingest.remarks import Remarks


class Span(NamedTuple):
    """The instants for which occurrences are wanted: UTC, naive, both included."""

    first: datetime
    last: datetime


class Occurrence(NamedTuple):
    """One time that an event took place.

    Attributes:
        event: what it looks like: its master or override.
        start: when it began.
        original: the instant (UTC, naive; for all-day series the day) by which its series names it; null for
            an event that does not recur.
        length: how long it took.

    """

    event: Event
    start: Moment
    original: datetime | None
    length: timedelta


class Series:
    """A master with its overrides.

    Args:
        master: an event that recurs, or has overrides.
        overrides: the overrides that belong to it, each occurrence's newest.
        remarks: is told what could not be followed and what was left out.

    """

    def __init__(self, master: Event, overrides: Sequence[Event], remarks: Remarks) -> None:
        self._master = master
        self._clock = master.clock
        self._zone = master.start.zone or master.clock.zone
        self._all_day = master.start.is_date
        self._start = master.start.wall
        self._remarks = remarks
        self._rules = list(self._limited_rules(master.rules))
        self._barred_rules = list(self._limited_rules(master.excluded_rules))
        self._barred, self._barred_days = self._exclusions(master.excluded_dates)
        self._overrides: dict[datetime, Event] = {}
        for override in sorted(overrides, key=lambda event: event.version):
            if override.recurrence_id is not None:
                self._overrides[self._original_of(override.recurrence_id)] = override

    def occurrences(self, span: Span) -> Iterator[Occurrence]:
        """The occurrences that may begin within the span; some outside it come along."""
        standing = {name: o for name, o in self._overrides.items() if self._stands(name, o)}
        if dropped := len(self._overrides) - len(standing):
            self._remarks.leave_out("superseded", "older versions of events", dropped)
        futures = sorted((name, o) for name, o in standing.items() if o.and_future)
        margin = DAY + max((abs(self._shift(name, o)) for name, o in futures), default=ZERO)
        originals = self._originals(span.first - margin, span.last + margin)
        for name, (wall, length) in originals.items():
            if name in self._overrides or self._is_barred(name, wall):
                continue
            event, since = self._master, name
            for begins, override in futures:
                if begins <= name:
                    event, since = override, begins
            if event is self._master:
                start = Moment(wall, self._master.start.zone, self._all_day)
            else:
                start = self._shifted(name, since, event)
            yield Occurrence(event, start, name, event.length if length is None else length)
        for name, override in standing.items():
            yield Occurrence(override, override.start, name, override.length)

    def _originals(
        self, first: datetime, last: datetime
    ) -> dict[datetime, tuple[datetime, timedelta | None]]:
        """The occurrences before exceptions that lie within two wall-clock times: name → wall clock, own length."""
        walls = [self._start] if not self._master.rules else []
        for rule, limit in self._rules:
            if limit >= self._start:
                walls += self._walls_of(rule, first, min(last, limit), with_start=True)
        barred = {
            wall
            for rule, limit in self._barred_rules
            for wall in self._walls_of(rule, first, min(last, limit), with_start=False)
        }
        originals: dict[datetime, tuple[datetime, timedelta | None]] = {
            self._name(wall): (wall, None) for wall in walls if wall not in barred
        }
        for extra in self._master.extra_dates:
            name = self._original_of(extra.start)
            originals[name] = (self._wall(name, self._zone), extra.length)
        return originals

    def _walls_of(
        self, rule: Rule | None, first: datetime, last: datetime, *, with_start: bool
    ) -> list[datetime]:
        """The wall-clock times that a rule yields, without those that the clocks jump over."""
        found: list[datetime] = []
        count = None
        if rule is not None:
            count = rule.count
            try:
                found = expand(rule, self._start, self._start if count else first, last)
            except RuleError as error:
                self._warn(error)
        walls = [wall for wall in found if not self._is_jumped_over(wall)]
        if with_start:
            walls = [self._start, *(wall for wall in walls if wall != self._start)]
        return walls[:count]

    def _is_jumped_over(self, wall: datetime) -> bool:
        """Whether no clock of the zone ever showed this time."""
        if self._all_day or self._zone is UTC:
            return False
        offset, next_day = self._zone.utcoffset(wall), self._zone.utcoffset(wall + DAY)
        if offset is None or next_day is None or next_day <= offset:
            return False
        return (self._zone.utcoffset(wall.replace(fold=1)) or ZERO) > offset

    def _limited_rules(self, texts: Sequence[str]) -> Iterator[tuple[Rule | None, datetime]]:
        """Each rule with the last wall-clock time that UNTIL lets through; null for one that makes no sense."""
        for text in texts:
            try:
                rule = parse_rule(text)
                limit = self._limit(rule)
            except RuleError as error:
                self._warn(error)
                yield None, datetime.max
                continue
            if limit < self._start:
                self._remarks.warn(
                    "until_before_start",
                    "a series ends before it starts: it has no occurrences",
                    self._master.line,
                    self._master.uid,
                )
            yield rule, limit

    def _limit(self, rule: Rule) -> datetime:
        if not rule.until:
            return datetime.max
        try:
            wall, is_date, offset = parse_digits(rule.until)
        except ValueError as error:
            raise RuleError("bad_rule", f"UNTIL={rule.until[:20]} is no date") from error
        if wall.year >= LAST_YEAR:
            return datetime.max
        until = Moment(wall, offset, is_date)
        if self._all_day:
            return self._clock.day(until)
        if is_date:
            return wall + DAY - timedelta(seconds=1)
        return self._wall(self._clock.instant(until), self._zone) if offset else wall

    def _warn(self, error: RuleError) -> None:
        self._remarks.warn(
            error.reason,
            f"a recurrence rule cannot be followed, only its first date is read: {error}",
            self._master.line,
            self._master.uid,
        )

    def _exclusions(self, dates: Sequence[Moment]) -> tuple[set[datetime], set[date]]:
        """What EXDATE takes out: originals by name, and whole days of the series' clock."""
        names, days = set(), set()
        for moment in dates:
            if not self._all_day and (moment.is_date or self._is_odd_midnight(moment)):
                days.add(moment.wall.date())
            else:
                names.add(self._original_of(moment))
        return names, days

    def _is_barred(self, name: datetime, wall: datetime) -> bool:
        return name in self._barred or (bool(self._barred_days) and wall.date() in self._barred_days)

    def _stands(self, name: datetime, override: Event) -> bool:
        """Whether an override counts, or the master is newer and has done away with its occurrence."""
        if override.sequence > self._master.sequence:
            return True
        if self._master.cancelled or self._is_barred(name, self._wall(name, self._zone)):
            return False
        if override.sequence == self._master.sequence:
            return True
        wall = self._wall(name, self._zone)
        return name in self._originals(wall - DAY, wall + DAY)

    def _shifted(self, name: datetime, since: datetime, override: Event) -> Moment:
        """Where a THISANDFUTURE override moves a later original: by as much as it moves its own."""
        wall = self._wall(name, override.start.zone) + self._shift(since, override)
        if override.start.is_date:
            wall = wall.replace(hour=0, minute=0, second=0)
        return override.start._replace(wall=wall)

    def _shift(self, name: datetime, override: Event) -> timedelta:
        return override.start.wall - self._wall(name, override.start.zone)

    def _is_odd_midnight(self, moment: Moment) -> bool:
        """Whether it is a midnight of the series' clock that no occurrence has: it stands for its day."""
        return (
            moment.wall.time() == time.min != self._start.time()
            and moment.zone in (None, self._master.start.zone)
            and not self._all_day
        )

    def _original_of(self, moment: Moment) -> datetime:
        """The name of the occurrence that an EXDATE, RDATE or RECURRENCE-ID means."""
        if self._all_day:
            return self._clock.day(moment)
        if moment.is_date or self._is_odd_midnight(moment):
            return self._name(datetime.combine(moment.wall, self._start.time()))
        return self._clock.instant(moment if moment.zone else moment._replace(zone=self._zone))

    def _name(self, wall: datetime) -> datetime:
        """The name of the original at a wall-clock time of the series: its instant, or its day."""
        return wall if self._all_day else wall - (self._zone.utcoffset(wall) or ZERO)

    def _wall(self, name: datetime, zone: tzinfo | None) -> datetime:
        """The wall clock, in a zone, of an original."""
        if self._all_day:
            return name
        return name.replace(tzinfo=UTC).astimezone(zone or self._clock.zone).replace(tzinfo=None)


def lone_overrides(overrides: Sequence[Event]) -> Iterator[Occurrence]:
    """The occurrences of a series of which only overrides are there."""
    for override in overrides:
        wanted = override.recurrence_id
        if wanted is not None:
            name = override.clock.day(wanted) if wanted.is_date else override.clock.instant(wanted)
            yield Occurrence(override, override.start, name, override.length)
