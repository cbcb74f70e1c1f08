"""Something never happens in a slot of the week (contract, section 3).

**Opportunity**: each day of the slot's days on which the person was active at all, while the kind of event was recorded
(from the first to the last event of its type), from `since` on if it is given. **Kept**: no matching event starts in the
slot. A slot that ends before it begins ends on the next day, or when the person's day ends (`day_starts_at`). An all-day
event is in no hours, and in every whole day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from observations.civil_time import MINUTES_PER_DAY, WEEKDAYS, parse_clock
from patterns.eventlog.arrays import Flags, Ints
from patterns.eventlog.log import day_key, weekday_of
from patterns.rules.dates import first_day, shared_days
from patterns.rules.event import Event
from patterns.rules.phrases import never, sentence
from patterns.rules.phrases_of_time import days_in_words, hours_in_words
from patterns.rules.rule import DayRule, Rule, opportunities_by_beginning
from patterns.rules.rule_log import Asked, Opportunities, RuleLog
from patterns.rules.temporal_rule import TemporalRule
from patterns.rules.where import Clock, Day, EndClock

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class AvoidanceRule(DayRule):
    """Hours of days in which something does not happen."""

    drifting: ClassVar[frozenset[str]] = frozenset({"from", "to", "since"})

    days: Annotated[list[Weekday], Field(min_length=1)]
    begin: Clock = Field(alias="from")
    end: EndClock = Field(alias="to")
    since: Day | None = None

    @property
    def slot(self) -> tuple[int, int]:
        """Minutes after the beginning of the day, the end excluded; beyond 1440 on the next day."""
        low = (parse_clock(self.begin) - self.begins) % MINUTES_PER_DAY
        high = (parse_clock(self.end) - self.begins - 1) % MINUTES_PER_DAY + 1
        return low, high if high > low else high + MINUTES_PER_DAY

    @property
    def is_whole_day(self) -> bool:
        """True if the slot is a whole day."""
        low, high = self.slot
        return high - low == MINUTES_PER_DAY

    def overlaps(self, other: Rule) -> bool:
        """True if some minute of the day is in both slots."""
        assert isinstance(other, AvoidanceRule), "of the same class"
        (low, high), (its_low, its_high) = self.slot, other.slot
        return low < its_high and its_low < high

    def contradicts(self, other: Rule) -> bool:
        """True if the other rule has something in the slot that is avoided there, on a shared day."""
        if not isinstance(other, TemporalRule):
            return False
        if any(other.where.get(name) != condition for name, condition in self.where.items()):
            return False
        low, high = self.slot
        inside = [low <= (clock - self.begins) % MINUTES_PER_DAY < high for clock in other.clocks]
        if not inside or not all(inside):
            return False
        days = shared_days(self.since, *(start for _, start in other.recurrences))
        return bool(np.any(other.is_due(days) & self.is_due(days)))

    # --- what events mean for it --------------------------------------------------------------------------------

    @property
    def reach(self) -> timedelta:
        """The slot so far: a day breaks it once."""
        return timedelta(days=3)

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:
        """Broken by the first matching event in the slot of a day. That a slot stayed empty, only its end tells."""
        days = [day for day in self._slot_days(event) if self.is_due_on(day)]
        if not days:
            return ()
        broken = {day for one in before for day in self._slot_days(one)}
        active = {one.day(self.begins) for one in (*before, event)}
        return (False,) * sum(day in active and day not in broken for day in days)

    def _slot_days(self, event: Event) -> list[date]:
        """The days in whose slot the event lies."""
        if not event.matches(self.where):
            return []
        day = event.day(self.begins)
        if not event.timed:
            return [day] if self.is_whole_day else []
        minute, (low, high) = (event.minute - self.begins) % MINUTES_PER_DAY, self.slot
        found = [day] if low <= minute < high else []
        return [*found, day - timedelta(days=1)] if minute + MINUTES_PER_DAY < high else found

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """Each active day of the slot's days while the kind of event was recorded, when the slot is over."""
        return opportunities_by_beginning(log, asked, _of_days)

    # --- when it is due, and in words ---------------------------------------------------------------------------

    def is_due(self, day: Ints) -> Flags:
        """(days,) True on the slot's days of the week, from `since` on."""
        named = np.array([name in self.days for name in WEEKDAYS], dtype=np.bool_)
        due: Flags = named[weekday_of(day)]
        return due if self.since is None else due & (day >= first_day(self.since))

    def sentence(self) -> str:
        """For example "No interview events on Fridays after 12:00" or "Never sends mail on weekends"."""
        when = days_in_words(self.days, hours_in_words(self.begin, self.end) if not self.is_whole_day else "")
        return sentence(never(self.where), when, f"since {self.since}" if self.since else "")

    @property
    def unit(self) -> tuple[str, str]:
        """The weekday that it is about, else a day."""
        name = self.days[0].capitalize() if len(self.days) == 1 else "day"
        return name, f"{name}s"


def _of_days(log: RuleLog, begins: int, user: Ints, rules: Sequence[AvoidanceRule]) -> Opportunities:
    """The opportunities of rules whose days begin at the same minute."""
    days = log.days(begins)
    owner, active = days.active_days(user)
    first, last = _recorded(log, begins, user, rules)
    due = (active >= first[owner]) & (active <= last[owner])
    for i, own in enumerate(rules):
        mine = np.flatnonzero(owner == i)
        due[mine] &= own.is_due(active[mine])
    owner, active = owner[due], active[due]
    kept = ~np.isin(day_key(owner, active), _broken(log, begins, user, rules))
    end = np.array([rule.slot[1] for rule in rules], dtype=np.int64)
    return Opportunities(owner, days.wall_clock(active, end[owner]), kept)


def _broken(log: RuleLog, begins: int, user: Ints, rules: Sequence[AvoidanceRule]) -> Ints:
    """Keys (`day_key`) of each rule's days in whose slot a matching event starts."""
    days = log.days(begins)
    slots = np.array([rule.slot for rule in rules], dtype=np.int64).reshape(-1, 2)
    rule, event = log.matches(user, [own.where for own in rules])
    low, high, minute, day = slots[rule, 0], slots[rule, 1], days.minute[event], days.day[event]
    inside = (minute >= low) & (minute < high)
    inside |= np.isnan(minute) & (high - low == MINUTES_PER_DAY)
    # What begins after midnight may lie in the slot of the day before.
    after = minute + MINUTES_PER_DAY < high
    return np.concatenate([day_key(rule[inside], day[inside]), day_key(rule[after], day[after] - 1)])


def _recorded(log: RuleLog, begins: int, user: Ints, rules: Sequence[AvoidanceRule]) -> tuple[Ints, Ints]:
    """(rules,) the first and the last day with any event of the type: before and after, nothing is avoided."""
    types = [{name: value for name, value in rule.where.items() if name == "type"} for rule in rules]
    rule, event = log.matches(user, types)
    days, high = log.days(begins), np.array([own.slot[1] for own in rules], dtype=np.int64)
    # An event after midnight may lie in the slot of the day before, which then was recorded, too.
    day = days.day[event]
    before = day - (days.minute[event] + MINUTES_PER_DAY < high[rule])
    first = np.full(len(rules), np.iinfo(np.int64).max)
    last = np.full(len(rules), np.iinfo(np.int64).min)
    np.minimum.at(first, rule, before)
    np.maximum.at(last, rule, day)
    return first, last
