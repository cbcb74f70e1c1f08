"""Weekly grid: what happens on each weekday in each hour, and what else the person does.

Several events of a kind within a quarter of an hour count once: an import of fifty meetings is one decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.eventlog.activity_profile import Rhythm, weekday_factor
from patterns.eventlog.arrays import Flags, Floats, Ints, Rows, count_table, distinct, sum_table
from patterns.eventlog.log import Log, day_key, owner_and_day, weekday_of
from patterns.eventlog.subjects import Subjects

HOURS = 24

_ONE_SIDED = 1.645
"""Standard deviations above the mean that chance exceeds once in twenty times."""
_QUARTER_BITS = 7
"""A day has 96 quarters of an hour."""


@dataclass(frozen=True, eq=False)
class Weeks(Rows):
    """What happens, and what else the person does, by weekday and hour.

    Attributes:
        count: (subjects, 7, 24) quarters of an hour that have an unexplained event of each subject.
        events: (subjects, 7, 24) the events themselves.
        others: (subjects, 7, 24) quarters of an hour that have another unexplained event of the person, by type.
        days: (subjects, 7) active days by weekday, while the subject's type was recorded.
        active: (subjects, 7) all the person's active days by weekday.
        share: (subjects, 7) share of the person's other activity on each weekday.
        is_most: (subjects,) see `Subjects.is_most`.
        first, last: (subjects,) first and last day on which the subject's type was recorded.
        dispersion: (subjects,) how many times more the counts of days vary than by chance: many events on few days are
            that much less evidence.
    """

    count: Floats
    events: Ints
    others: Floats
    days: Ints
    active: Ints
    share: Floats
    is_most: Flags
    first: Ints
    last: Ints
    dispersion: Floats

    @classmethod
    def of(cls, log: Log, subjects: Subjects, explained: Flags) -> Weeks:
        """The weeks of all subjects, without all-day events and without those flagged in `explained`."""
        timed = ~np.isnan(log.minute) & ~explained
        quarter = np.where(timed, np.nan_to_num(log.minute) // 15, 0).astype(np.int64)
        mine = timed[subjects.event]
        owner, event = subjects.owner[mine], subjects.event[mine]
        quarters = _Quarters.of(log, owner, event, quarter, len(subjects))
        count = quarters.table()
        # Events here: a busy day fills its quarters of an hour, and has more events than they say.
        events = _weekly_table(owner, log.weekday[event], quarter[event] // 4, len(subjects))
        first, last = (days[subjects.kind] for days in log.recorded)
        days = _active_weekdays(log, subjects.user, first, last)
        active = log.active.by_weekday[subjects.user]
        rhythm, own = Rhythm.of(log, explained), events.sum(axis=2)
        elsewhere = rhythm.week_of_user[subjects.user] - own, rhythm.week_of_type[subjects.kind] - own
        return cls(
            count=count,
            events=events,
            others=np.maximum(_lives(log, timed, quarter)[subjects.user] - count, 0.0),
            days=days,
            active=active,
            share=_shared_out(active, days, *elsewhere),
            is_most=subjects.is_most,
            first=first,
            last=last,
            dispersion=quarters.dispersion(days),
        )

    def share_beside(self, hours: Floats) -> Floats:
        """(subjects, 7) share of each weekday by the subject's own events outside its slot's hours.

        Args:
            hours: (subjects, 24) 1 for hours in the slot, else 0.
        """
        beside = (self.events * (1 - hours[:, None, :])).sum(axis=2)
        return _shared_out(self.active, self.days, beside, beside)

    @property
    def ratio(self) -> Floats:
        """(subjects,) the subject's quarters of an hour relative to those of everything else the person does."""
        ratio: Floats = self.count.sum(axis=(1, 2)) / np.maximum(self.others.sum(axis=(1, 2)), 1.0)
        return ratio


@dataclass(frozen=True, eq=False)
class _Quarters:
    """The quarters of an hour that have an event of an owner, each once, sorted.

    Attributes:
        owner, day, quarter: (quarters,) whose, on which day, and which of the day's 96.
        owners: how many owners there are.
    """

    owner: Ints
    day: Ints
    quarter: Ints
    owners: int

    @classmethod
    def of(cls, log: Log, owner: Ints, event: Ints, quarter: Ints, owners: int) -> _Quarters:
        """Of events that are given with their owner; `quarter` (events,) is that of every event of the log."""
        once = distinct(day_key(owner, log.day[event]) << _QUARTER_BITS | quarter[event])
        owner, day = owner_and_day(once >> _QUARTER_BITS)
        return cls(owner=owner, day=day, quarter=once & (1 << _QUARTER_BITS) - 1, owners=owners)

    def table(self) -> Floats:
        """(owners, 7, 24) how many there are by weekday and hour."""
        counts = _weekly_table(self.owner, weekday_of(self.day), self.quarter // 4, self.owners)
        return counts.astype(np.float64)

    def dispersion(self, days: Ints) -> Floats:
        """(owners,) the variance of a day's count over its mean, by weekday; 1 where chance explains it.

        Pearson's estimate for quasi-Poisson counts (McCullagh & Nelder 1989, section 6.2), taken where it is
        significant at 5 %.

        Args:
            days: (owners, 7) how many days of each weekday there were.
        """
        key = day_key(self.owner, self.day)
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        owner, weekday = self.owner[first], weekday_of(self.day[first])
        total, squares = (
            sum_table(owner, weekday, (self.owners, 7), weights.astype(np.float64))
            for weights in (count, count**2)
        )
        mean = total / np.maximum(days, 1)
        known = mean > 0
        freedom = np.maximum(((days - 1) * known).sum(axis=1), 1)
        chi_square = np.where(known, squares / np.where(known, mean, 1) - total, 0.0).sum(axis=1)
        dispersion = chi_square / freedom
        by_chance = 1 + _ONE_SIDED * np.sqrt(2 / freedom)
        return np.where(dispersion > by_chance, dispersion, 1.0)


def _weekly_table(owner: Ints, weekday: Ints, hour: Ints, owners: int) -> Ints:
    """(owners, 7, 24) how often each weekday and hour occurs."""
    return count_table(owner, weekday * HOURS + hour, (owners, 7 * HOURS)).reshape(owners, 7, HOURS)


def _lives(log: Log, timed: Flags, quarter: Ints) -> Floats:
    """(users, 7, 24) quarters of an hour that have an event of a type, summed over types."""
    event = np.flatnonzero(timed)
    by_kind = _Quarters.of(log, log.kind[event], event, quarter, len(log.recorded[0])).table()
    user_of_kind = np.zeros(len(by_kind), dtype=np.int64)
    user_of_kind[log.kind] = log.user
    lives = np.zeros((len(log.users), 7, HOURS))
    np.add.at(lives, user_of_kind, by_kind)
    return lives


def _shared_out(active: Ints, days: Ints, of_user: Ints | Floats, of_type: Ints | Floats) -> Floats:
    """(n, 7) the share of each weekday, given what else there is by weekday (see `weekday_factor`)."""
    share = weekday_factor(active, of_user, of_type) * days
    shared: Floats = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    return shared


def _active_weekdays(log: Log, user: Ints, first: Ints, last: Ints) -> Ints:
    """(n, 7) active days of each weekday between two days, both included."""
    active = log.active
    running = np.zeros((len(active.day) + 1, 7), dtype=np.int64)
    running[np.arange(1, len(active.day) + 1), weekday_of(active.day)] = 1
    np.cumsum(running, axis=0, out=running)
    return running[active.position(user, last + 1)] - running[active.position(user, first)]
