"""What chance would do after a step: the nulls of workflows (see `patterns.detectors.workflow`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.arrays import Floats, Ints, contains, distinct
from patterns.follows import MINUTE, MINUTES, time_axis
from patterns.log import Log, day_key, weekday_of
from patterns.rhythm import Rhythm
from patterns.slot_nulls import background_of
from patterns.subjects import Subjects

_SPAN = 4096.0  # minutes of one pair's stretch of a sort key


def follow_null_rates(log: Log, subjects: Subjects, first: Ints, second: Ints) -> Floats:
    """(pairs, minutes) chance that the second step falls within the minutes anyway: the largest of three.

    Args:
        log: the events of everybody.
        subjects: what a step can be about.
        first, second: (pairs,) subjects; each has an event.
    """
    by_the_clock = _by_the_clock(log, subjects, first, second)
    return np.maximum(by_the_clock, _after_anything(log, subjects, first, second))


def _by_the_clock(log: Log, subjects: Subjects, first: Ints, second: Ints) -> Floats:
    """(pairs, minutes) chance by the second step's own rate or by the other days, whichever is larger."""
    background = background_of(log, subjects, Rhythm.of(log))
    pair, event = subjects.events_of(first)
    timed = ~np.isnan(log.minute[event])
    pair, event = pair[timed], event[timed]
    step = second[pair]
    usual = subjects.size[step] / np.maximum(log.active.count[log.user[event]], 1)
    per_day = np.maximum(usual, _on_the_day(log, subjects, step, event))
    other = _OtherDays.of(log, subjects, first, second)
    count = np.maximum(np.bincount(pair, minlength=len(first)), 1)

    def mean(value: Floats | Ints) -> Floats:
        """(pairs,) the mean over each pair's first steps."""
        return np.bincount(pair, weights=value, minlength=len(first)) / count

    days = mean(other.days[pair, _sort_of_day(log.weekday[event])])
    null = np.empty((len(first), len(MINUTES)))
    for column, minutes in enumerate(MINUTES):
        rate = -np.expm1(-per_day * background.share(step, log.minute[event], float(minutes)))
        chance = mean(rate)
        seen = mean(other.share(log, pair, event, minutes))
        # Few other days are little to go by: its own rate counts as one more of them.
        elsewhere = (seen * days + chance) / (days + 1.0)
        null[:, column] = np.clip(np.maximum(chance, elsewhere), 1e-9, 1 - 1e-9)
    return null


def _on_the_day(log: Log, subjects: Subjects, subject: Ints, event: Ints) -> Ints:
    """(n,) how many events of each subject there are on the day of each event."""
    keys = np.sort(day_key(subjects.owner, log.day[subjects.event]))
    wanted = day_key(subject, log.day[event])
    return np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)


@dataclass(frozen=True, eq=False)
class _OtherDays:
    """When the second steps came on days without the first.

    Attributes:
        keys: sorted; pair, sort of day and minute of each such second step in one number.
        days: (pairs, 2) how many active days without the first step there were, by sort of day.
    """

    keys: Floats
    days: Ints

    @classmethod
    def of(cls, log: Log, subjects: Subjects, first: Ints, second: Ints) -> _OtherDays:
        """The other days of each pair."""
        with_first = distinct(day_key(subjects.owner, log.day[subjects.event]))
        pair, event = subjects.events_of(second)
        other = ~np.isnan(log.minute[event])
        other &= ~contains(with_first, day_key(first[pair], log.day[event]))
        pair, event = pair[other], event[other]
        keys = np.sort((pair * 2 + _sort_of_day(log.weekday[event])) * _SPAN + log.minute[event])
        # Active days of the person, less those with the first step.
        active = _days_by_sort(log.active.user, log.active.day, len(log.users))
        used = _days_by_sort(with_first >> 32, (with_first & 0xFFFFFFFF) - 2**31, len(subjects))
        return cls(keys, active[subjects.user[first]] - used[first])

    def share(self, log: Log, pair: Ints, event: Ints, minutes: int) -> Floats:
        """(n,) share of the other days on which the second step came within the minutes after this clock time."""
        sort = _sort_of_day(log.weekday[event])
        low = (pair * 2 + sort) * _SPAN + log.minute[event]
        end = np.searchsorted(self.keys, low + minutes, side="right")
        seen = end - np.searchsorted(self.keys, low, side="left")
        share: Floats = np.minimum(seen / np.maximum(self.days[pair, sort], 1), 1.0)
        return share


def _days_by_sort(owner: Ints, day: Ints, owners: int) -> Ints:
    """(owners, 2) how many of each one's days are of each sort."""
    key = owner * 2 + _sort_of_day(weekday_of(day))
    return np.bincount(key, minlength=owners * 2).reshape(owners, 2)


def _sort_of_day(weekday: Ints) -> Ints:
    """(n,) 0 on working days, 1 on weekends."""
    return (weekday >= 5).astype(np.int64)


def _after_anything(log: Log, subjects: Subjects, first: Ints, second: Ints) -> Floats:
    """(pairs, minutes) share of the person's other events after which the second step came within the minutes.

    Of all other events or of those of the first step's type, whichever share is larger. Other events are those that
    are neither the first step nor the second; those after which the first step came sooner are no opportunity: what
    leads to the first leads to the second.
    """
    of_first, of_second = (subjects.event[subjects.start[step]] for step in (first, second))
    shares = []
    for group in (log.user, log.kind):
        numbered = _Numbered.of(group)
        others = numbered.size[group[of_first]] - subjects.size[first]
        others -= np.where(group[of_first] == group[of_second], subjects.size[second], 0)
        sooner = _others_before(log, subjects, second, first, numbered, group[of_first])
        later = _others_before(log, subjects, first, second, numbered, group[of_first])
        shares.append(sooner / np.maximum(others[:, None] - later, sooner + 1))
    largest: Floats = np.maximum(*shares)
    return largest


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Events in groups, to be counted between any two.

    Attributes:
        keys: (events,) group and number of each event in one number, sorted.
        size: (groups,) events of each group.
    """

    keys: Ints
    size: Ints

    @classmethod
    def of(cls, group: Ints) -> _Numbered:
        """Of the group of each event."""
        return cls(np.sort(group << 32 | np.arange(len(group))), np.bincount(group))

    def between(self, group: Ints, begin: Ints, end: Ints) -> Ints:
        """(n,) events of each group from number `begin` to before number `end`."""
        least = np.minimum(begin, end)
        return np.searchsorted(self.keys, group << 32 | end) - np.searchsorted(self.keys, group << 32 | least)


def _others_before(
    log: Log, subjects: Subjects, of: Ints, against: Ints, numbered: _Numbered, group: Ints
) -> Ints:
    """(pairs, minutes) events of each `group` before one of subject `of`, within the minutes, with none of either
    subject in between.
    """
    pair, event = subjects.events_of(of)
    previous = np.where(np.diff(pair, prepend=-1) == 0, np.roll(event, 1), -1)
    nearest = np.maximum(previous, _last_before(subjects, against[pair], event))
    axis = time_axis(log)
    counts = np.empty((len(of), len(MINUTES)), dtype=np.int64)
    for column, minutes in enumerate(MINUTES):
        begin = np.searchsorted(axis, axis[event] - minutes * MINUTE // 1000, side="left")
        between = numbered.between(group[pair], np.maximum(begin, nearest + 1), event)
        counts[:, column] = np.bincount(pair, weights=between, minlength=len(of))
    return counts


def _last_before(subjects: Subjects, subject: Ints, event: Ints) -> Ints:
    """(n,) the last event of each subject before each event, or -1."""
    key = subjects.owner << 32 | subjects.event
    at = np.searchsorted(key, subject << 32 | event) - 1
    found = np.maximum(at, 0)
    return np.where((at >= 0) & (subjects.owner[found] == subject), subjects.event[found], -1)
