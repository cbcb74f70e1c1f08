"""Something is done on the dates of a recurrence: whenever, or at a time of day (contract, section 3).

::

    {"where", "rrule"}                                  on those days
    … "time" or "times", "tolerance_minutes"            at that time, or at one of them
    … "which": "first" or "last"                        the first (last) matching event of the day is the one that counts
    "rrule" and "dtstart" as lists of the same length   on the dates of any of them (a rota)

**Opportunity**: a day that the recurrence yields, on which the person was active; with `which`, a day that has a
matching event. **Kept**: a matching event of that day, within the tolerance of a time if there is one. An all-day event
has no time of day: it keeps a rule without a time, and is passed over by one with a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from observations.civil_time import WEEKDAYS, parse_clock
from patterns.eventlog.arrays import Flags, Floats, Ints, contains
from patterns.eventlog.log import day_key
from patterns.rules.dates import check_recurrence, is_due, parts_of, shared_days
from patterns.rules.event import Event
from patterns.rules.phrases import sentence, subject, thing
from patterns.rules.phrases_of_time import at_times, dates_in_words, unit_of_dates
from patterns.rules.recurrence import BYDAY
from patterns.rules.rule import DayRule, Rule, opportunities_by_beginning
from patterns.rules.rule_log import Asked, Days, Opportunities, RuleLog, chosen_of_each_day, minutes_apart
from patterns.rules.where import Clock, Day

_EPSILON = 1e-6
"""Minutes that a computed time may be off."""


class TemporalRule(DayRule):
    """Something is done on the dates of a recurrence, at a time of day or whenever."""

    drifting: ClassVar[frozenset[str]] = frozenset({"rrule", "dtstart", "time", "times", "tolerance_minutes"})

    rrule: str | Annotated[list[str], Field(min_length=1)]
    time: Clock | None = None
    times: Annotated[list[Clock], Field(min_length=1)] | None = None
    tolerance_minutes: Annotated[int, Field(ge=0, le=720, strict=True)] | None = None
    which: Literal["first", "last"] | None = None
    dtstart: Day | list[Day] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.time is not None and self.times is not None:
            raise ValueError("has either time or times")
        if bool(self.clocks) != (self.tolerance_minutes is not None):
            raise ValueError("time and tolerance_minutes go together")
        if (
            isinstance(self.rrule, list)
            and isinstance(self.dtstart, list)
            and len(self.rrule) != len(self.dtstart)
        ):
            raise ValueError("rrule and dtstart have the same length")
        if isinstance(self.rrule, str) and isinstance(self.dtstart, list):
            raise ValueError("dtstart is a list only where rrule is one")
        for rrule, dtstart in self.recurrences:
            check_recurrence(rrule, dtstart)
        return self

    @property
    def recurrences(self) -> tuple[tuple[str, str | None], ...]:
        """Each recurrence with its first date."""
        rrules = [self.rrule] if isinstance(self.rrule, str) else self.rrule
        starts: list[str] | list[str | None] = (
            self.dtstart if isinstance(self.dtstart, list) else [self.dtstart] * len(rrules)
        )
        return tuple(zip(rrules, starts, strict=True))

    @property
    def clocks(self) -> tuple[int, ...]:
        """The times, minutes since midnight; none where any time will do."""
        return tuple(parse_clock(text) for text in self.times or ([self.time] if self.time else ()))

    @property
    def weekdays(self) -> tuple[str, ...]:
        """The days of the week on which it is due; none where it follows the month or the year."""
        found: set[str] = set()
        for rrule, _ in self.recurrences:
            parts = parts_of(rrule)
            if parts["FREQ"] not in ("DAILY", "WEEKLY") or (
                parts["FREQ"] == "WEEKLY" and "BYDAY" not in parts
            ):
                return ()
            found.update(parts["BYDAY"].split(",") if "BYDAY" in parts else BYDAY)
        return tuple(name for day, name in zip(BYDAY, WEEKDAYS, strict=True) if day in found)

    # --- what it is about ---------------------------------------------------------------------------------------

    def overlaps(self, other: Rule) -> bool:
        """True if some day is due for both, at times within their tolerances."""
        assert isinstance(other, TemporalRule), "of the same class"
        days = shared_days(*(start for rule in (self, other) for _, start in rule.recurrences))
        return self._times_meet(other) and bool(np.any(self.is_due(days) & other.is_due(days)))

    def _times_meet(self, other: TemporalRule) -> bool:
        if not self.clocks or not other.clocks:
            return not self.clocks and not other.clocks
        within = (self.tolerance_minutes or 0) + (other.tolerance_minutes or 0)
        mine, its = np.array(self.clocks, dtype=np.float64), np.array(other.clocks, dtype=np.float64)
        return bool((minutes_apart(mine[:, None], its[None, :]) <= within).any())

    # --- what events mean for it --------------------------------------------------------------------------------

    @property
    def reach(self) -> timedelta:
        """The day so far, which is kept once; a day is longer than 24 hours where clocks go back or the person travels."""
        return timedelta(days=2)

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:
        """Kept by the first event of a due day that counts; `which: first` is settled by the first of the day.

        That a due day was missed, and what the last event of a day was, only the end of the day tells.
        """
        if self.which == "last" or not self._may_count(event) or not self.is_due_on(event.day(self.begins)):
            return ()
        today = [
            one for one in before if one.day(self.begins) == event.day(self.begins) and self._may_count(one)
        ]
        if self.which == "first":
            return () if today else (self._is_on_time(event),)
        kept = self._is_on_time(event) and not any(self._is_on_time(one) for one in today)
        return (True,) if kept else ()

    def _may_count(self, event: Event) -> bool:
        return (event.timed or not self.clocks) and event.matches(self.where)

    def _is_on_time(self, event: Event) -> bool:
        if not self.clocks:
            return True
        minute = np.array([event.minute])
        within = (self.tolerance_minutes or 0) + _EPSILON
        return any(minutes_apart(minute, clock)[0] <= within for clock in self.clocks)

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """Each due day on which the person was active (with `which`: that has a matching event), once it is over."""
        return opportunities_by_beginning(log, asked, _of_days)

    # --- when it is due, and in words ---------------------------------------------------------------------------

    def is_due(self, day: Ints) -> Flags:
        """(days,) True on the dates of any of its recurrences."""
        due = np.zeros(len(day), dtype=np.bool_)
        for rrule, dtstart in self.recurrences:
            due |= is_due(rrule, dtstart, day)
        return due

    def windows(self, day: date) -> list[tuple[datetime, datetime, datetime]]:
        """When the rule can be kept on a local day: begin, the time itself and end, on the wall clock; one for each time.

        Without a time it is the whole day, from its beginning on.
        """
        midnight = datetime.combine(day, time())
        if not self.clocks:
            begin = midnight + timedelta(minutes=self.begins)
            return [(begin, begin, begin + timedelta(days=1))]
        tolerance, found = timedelta(minutes=self.tolerance_minutes or 0), []
        for clock in self.clocks:
            night = clock < self.begins  # after midnight, and still of the day before
            at = midnight + timedelta(days=night, minutes=clock)
            found.append((at - tolerance, at, at + tolerance))
        return found

    def sentence(self) -> str:
        """For example "Gym on Mon, Wed and Fri at 07:00" or "Sends mail on weekdays between 08:00 and 10:00"."""
        days = dates_in_words([rrule for rrule, _ in self.recurrences])
        what = subject(self.where)
        if self.which:
            what = f"{self.which} {thing(self.where)} of the day"
        return sentence(what, days, at_times(self.clocks, self.tolerance_minutes))

    @property
    def unit(self) -> tuple[str, str]:
        """The weekday that it is about, else a day or a month."""
        return unit_of_dates([rrule for rrule, _ in self.recurrences])


def _of_days(log: RuleLog, begins: int, user: Ints, rules: Sequence[TemporalRule]) -> Opportunities:
    """The opportunities of rules whose days begin at the same minute."""
    days = log.days(begins)
    rule, event = _counting_events(log, begins, user, rules)
    owner, day = _due_days(days, user, rules, day_key(rule, days.day[event]))
    on_time = _on_time(rules, rule, log.days(0).minute[event])
    shown_key, first = np.unique(day_key(rule[on_time], days.day[event[on_time]]), return_index=True)
    shown = event[on_time][first]

    kept = contains(shown_key, day_key(owner, day))
    local = days.wall_clock(day, _ends(rules, begins)[owner])
    at_event = kept & ~np.array([own.which == "last" for own in rules], dtype=np.bool_)[owner]
    place = np.searchsorted(shown_key, day_key(owner[at_event], day[at_event]))
    local[at_event] = log.local[shown[place]]
    return Opportunities(owner, local, kept)


def _counting_events(
    log: RuleLog, begins: int, user: Ints, rules: Sequence[TemporalRule]
) -> tuple[Ints, Ints]:
    """The events that may keep each rule: (rule, event). No all-day events where there is a time; `which` of a day."""
    rule, event = log.matches(user, [own.where for own in rules])
    has_clock = np.array([bool(own.clocks) for own in rules], dtype=np.bool_)
    counts = log.timed[event] | ~has_clock[rule]
    rule, event = rule[counts], event[counts]
    chosen = _chosen(rules, rule, log.days(begins).day[event])
    return rule[chosen], event[chosen]


def _due_days(days: Days, user: Ints, rules: Sequence[TemporalRule], with_event: Ints) -> tuple[Ints, Ints]:
    """The days on which each rule is due and its person was active: (rule, day).

    Args:
        with_event: keys (`day_key`) of the days with an event that may keep the rule; a rule with `which` is due only then.
    """
    owner, day = days.active_days(user)
    due = np.zeros(len(owner), dtype=np.bool_)
    for i, own in enumerate(rules):
        mine = np.flatnonzero(owner == i)
        due[mine] = own.is_due(day[mine])
    needs_event = np.array([own.which is not None for own in rules], dtype=np.bool_)
    due &= ~needs_event[owner] | np.isin(day_key(owner, day), with_event)
    return owner[due], day[due]


def _chosen(rules: Sequence[TemporalRule], rule: Ints, day: Ints) -> Ints:
    """Indices of the matching events that count: of a rule with `which`, one of each day."""
    which = np.array([own.which or "" for own in rules])[rule] if len(rule) else np.empty(0, dtype="<U5")
    parts = [np.flatnonzero(which == "")]
    for name in ("first", "last"):
        mine = np.flatnonzero(which == name)
        parts.append(mine[chosen_of_each_day(rule[mine], day[mine], last=name == "last")])
    return np.sort(np.concatenate(parts))


def _on_time(rules: Sequence[TemporalRule], rule: Ints, minute: Floats) -> Flags:
    """(n,) True where an event is within the tolerance of a time of its rule, or its rule has none."""
    near = np.array([not own.clocks for own in rules], dtype=np.bool_)[rule]
    tolerance = np.array([float(own.tolerance_minutes or 0) for own in rules])[rule] + _EPSILON
    for place in range(max((len(own.clocks) for own in rules), default=0)):
        clock = np.array([own.clocks[place] if len(own.clocks) > place else np.nan for own in rules])
        near |= minutes_apart(minute, clock[rule]) <= tolerance
    return near


def _ends(rules: Sequence[TemporalRule], begins: int) -> Floats:
    """(rules,) minutes after the beginning of a due day at which it is known to be missed."""
    ends = [
        max((clock - begins) % 1440 for clock in own.clocks) + (own.tolerance_minutes or 0)
        if own.clocks and own.which != "last"
        else 1440
        for own in rules
    ]
    return np.array(ends, dtype=np.float64)
