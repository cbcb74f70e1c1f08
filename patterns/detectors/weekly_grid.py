"""Weeks: what came on each weekday in each hour, and what the person did otherwise.

Several events of a kind within a quarter of an hour count once: an import of fifty meetings is one decision.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from patterns.eventlog.activity_profile import Rhythm, weekday_factor
from patterns.eventlog.arrays import Flags, Floats, Ints, distinct
from patterns.eventlog.log import Log, day_key, weekday_of
from patterns.eventlog.subjects import Subjects

HOURS = 24

_ONE_SIDED = 1.645
"""Standard deviations above the mean that are passed once in twenty times."""


@dataclass(frozen=True, eq=False)
class Weeks:
    """What came and what the person did otherwise, by weekday and hour.

    Attributes:
        count: (subjects, 7, 24) quarters of an hour in which unexplained events of each subject came.
        events: (subjects, 7, 24) the events themselves.
        others: (subjects, 7, 24) quarters of an hour in which the person's other unexplained events came, by type.
        days: (subjects, 7) active days by weekday, while the subject's type was recorded.
        active: (subjects, 7) all the person's active days by weekday.
        share: (subjects, 7) share of the person's other activity on each weekday.
        is_most: (subjects,) see `Subjects.is_most`.
        first, last: (subjects,) first and last day on which the subject's type was recorded.
        dispersion: (subjects,) how many times more the counts of days vary than by chance: what comes on few days,
            many at once, is so much less evidence.
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

    def __len__(self) -> int:
        return len(self.count)

    def __getitem__(self, chosen: Ints) -> Weeks:
        """The weeks of the chosen subjects, in that order; one may be chosen several times."""
        return Weeks(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def of(cls, log: Log, subjects: Subjects, explained: Flags) -> Weeks:
        """The weeks of all subjects, without the events flagged in `explained`, and without those that last all day."""
        timed = ~np.isnan(log.minute) & ~explained
        quarter = np.where(timed, np.nan_to_num(log.minute) // 15, 0).astype(np.int64)
        mine = timed[subjects.event]
        owner, event = subjects.owner[mine], subjects.event[mine]
        quarters = _Quarters.of(log, owner, event, quarter, len(subjects))
        by_kind = _Quarters.of(
            log, log.kind[timed], np.flatnonzero(timed), quarter, len(log.recorded[0])
        ).table()
        whose = np.zeros(len(by_kind), dtype=np.int64)
        whose[log.kind] = log.user
        life = np.zeros((len(log.users), 7, HOURS))
        np.add.at(life, whose, by_kind)
        kind = subjects.kind
        first, last = log.recorded[0][kind], log.recorded[1][kind]
        days = _active_weekdays(log, subjects.user, first, last)
        count = quarters.table()
        cell = owner * (7 * HOURS) + log.weekday[event] * HOURS + quarter[event] // 4
        events = np.bincount(cell, minlength=len(subjects) * 7 * HOURS).reshape(-1, 7, HOURS)
        # Events here, for a busy day fills its quarters of an hour and has more than they say.
        rhythm, own = Rhythm.of(log, explained), events.sum(axis=2)
        elsewhere = rhythm.week_of_user[subjects.user] - own, rhythm.week_of_type[kind] - own
        active = log.active.by_weekday[subjects.user]
        share = _shared_out(active, days, *elsewhere)
        others = np.maximum(life[subjects.user] - count, 0.0)
        dispersion = quarters.dispersion(days)
        return cls(count, events, others, days, active, share, subjects.is_most, first, last, dispersion)

    def share_beside(self, hours: Floats) -> Floats:
        """(subjects, 7) share of each weekday by what comes of the subject itself outside its slot's hours.

        Args:
            hours: (subjects, 24) whether each hour is in the slot, as 0 or 1.
        """
        beside = (self.events * (1 - hours[:, None, :])).sum(axis=2)
        return _shared_out(self.active, self.days, beside, beside)

    @property
    def ratio(self) -> Floats:
        """(subjects,) the subject's quarters of an hour to those of all else that the person does."""
        ratio: Floats = self.count.sum(axis=(1, 2)) / np.maximum(self.others.sum(axis=(1, 2)), 1.0)
        return ratio


@dataclass(frozen=True, eq=False)
class _Quarters:
    """Every quarter of an hour in which events of an owner came, once, sorted.

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
        once = distinct(day_key(owner, log.day[event]) << 7 | quarter[event])
        return cls(once >> 39, (once >> 7 & 0xFFFFFFFF) - 2**31, once & 127, owners)

    def table(self) -> Floats:
        """(owners, 7, 24) how many there are by weekday and hour."""
        cell = self.owner * (7 * HOURS) + weekday_of(self.day) * HOURS + self.quarter // 4
        counts = np.bincount(cell, minlength=self.owners * 7 * HOURS)
        return counts.reshape(self.owners, 7, HOURS).astype(np.float64)

    def dispersion(self, days: Ints) -> Floats:
        """(owners,) the variance of a day's count over its mean, by weekday; 1 where chance explains it.

        Pearson's estimate for quasi-Poisson counts (McCullagh & Nelder 1989, section 6.2), taken where it is
        significant at 5 %.

        Args:
            days: (owners, 7) how many days of each weekday there were.
        """
        key = day_key(self.owner, self.day)
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        cell = self.owner[first] * 7 + weekday_of(self.day[first])
        total, squares = (
            np.bincount(cell, weights=weights, minlength=self.owners * 7).reshape(self.owners, 7)
            for weights in (count, count**2)
        )
        mean = total / np.maximum(days, 1)
        known = mean > 0
        freedom = np.maximum(((days - 1) * known).sum(axis=1), 1)
        chi_square = np.where(known, squares / np.where(known, mean, 1) - total, 0.0).sum(axis=1)
        dispersion = chi_square / freedom
        by_chance = 1 + _ONE_SIDED * np.sqrt(2 / freedom)
        return np.where(dispersion > by_chance, dispersion, 1.0)


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
