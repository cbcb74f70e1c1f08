"""Why a workflow is not chance: the null model of workflows.

For each pair of steps, the chance that the second step falls within the minutes anyway. It is the largest of three,
averaged over the first steps as they happened:

- *its own rate*: the second step is frequent, so it follows everything (`_by_the_clock`);
- *other days*: on days without the first step, the second came at the same time of day (`_OtherDays`): two things at fixed
  times follow each other without having to do with each other;
- *after anything*: the second step comes as often after the person's other events (`_after_anything`): in a burst, everything
  follows everything else.

A pair is a workflow only if its second step follows more often than this chance explains
(`patterns.inference.significance`). `patterns.detectors.workflow` gives the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.detectors.successions import MINUTES, time_axis
from patterns.eventlog.arrays import Floats, Ints, contains, count_table, distinct, pack, renumber
from patterns.eventlog.log import Log, day_key, owner_and_day, weekday_of
from patterns.eventlog.subjects import Subjects

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
        rate = -np.expm1(-per_day * subjects.background.share(step, log.minute[event], float(minutes)))
        chance = mean(rate)
        seen = mean(other.share(log, pair, event, minutes))
        # With few other days there is little evidence: the second step's own rate counts as one more day.
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
        used = _days_by_sort(*owner_and_day(with_first), len(subjects))
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
    return count_table(owner, _sort_of_day(weekday_of(day)), (owners, 2))


def _sort_of_day(weekday: Ints) -> Ints:
    """(n,) 0 on working days, 1 on weekends."""
    return (weekday >= 5).astype(np.int64)


def _after_anything(log: Log, subjects: Subjects, first: Ints, second: Ints) -> Floats:
    """(pairs, minutes) share of the person's other events after which the second step came within the minutes.

    The larger of two shares: of all other events, and of those of the first step's type. Events of the first or of the
    second step are not counted; nor, as opportunities, those after which the first step came sooner, for what leads to
    the first leads to the second.
    """
    of_first, of_second = (subjects.event[subjects.start[step]] for step in (first, second))
    axis = time_axis(log)
    sooner = _Approach.of(log, subjects, second, first, axis)
    later = _Approach.of(log, subjects, first, second, axis)
    shares = []
    for group in (log.user, log.kind):
        numbered = _Numbered.of(group)
        others = numbered.size[group[of_first]] - subjects.size[first]
        others -= np.where(group[of_first] == group[of_second], subjects.size[second], 0)
        led = sooner.count(numbered, group[of_first])
        led_elsewhere = later.count(numbered, group[of_first])
        shares.append(led / np.maximum(others[:, None] - led_elsewhere, led + 1))
    largest: Floats = np.maximum(*shares)
    return largest


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Events in groups, to be counted between any two.

    Attributes:
        keys: (events,) group and number of each event in one number, sorted.
        size: (groups,) events of each group.
        in_order: True if the events come group after group, as they do by person.
    """

    keys: Ints
    size: Ints
    in_order: bool

    @classmethod
    def of(cls, group: Ints) -> _Numbered:
        """Of the group of each event."""
        keys = np.sort(pack(group, np.arange(len(group))))
        in_order = bool((group[1:] >= group[:-1]).all())
        return cls(keys=keys, size=np.bincount(group), in_order=in_order)

    def before(self, group: Ints, event: Ints) -> Ints:
        """(n,) events of each group, and of all groups before it, with a smaller number than each event."""
        if not self.in_order:
            return np.searchsorted(self.keys, pack(group, event))
        end = np.cumsum(self.size)[group]
        return np.clip(event, end - self.size[group], end)


@dataclass(frozen=True, eq=False)
class _Approach:
    """What comes shortly before the events of one subject of each pair, with none of either subject in between.

    Attributes:
        pair, event: (events,) the events, pair after pair.
        begin: (events, minutes) the first event that is within the minutes before each, and after the latest of either
            subject; no later than the event itself.
        pairs: how many pairs there are.
    """

    pair: Ints
    event: Ints
    begin: Ints
    pairs: int

    @classmethod
    def of(cls, log: Log, subjects: Subjects, of: Ints, against: Ints, axis: Ints) -> _Approach:
        """Of the subjects `of`, each with the other one of its pair."""
        pair, event = subjects.events_of(of)
        previous = np.where(np.diff(pair, prepend=-1) == 0, np.roll(event, 1), -1)
        nearest = np.maximum(previous, _last_before(subjects, against[pair], event)) + 1
        # Sought once for each event of the log that is in any pair.
        wanted = np.zeros(len(log), dtype=np.bool_)
        wanted[event] = True
        known = np.flatnonzero(wanted)
        place = renumber(wanted)[event]
        begins = [
            np.searchsorted(axis, axis[known] - m * MICROSECONDS_PER_MINUTE // 1000)[place] for m in MINUTES
        ]
        begin = np.maximum(np.stack(begins, axis=1), nearest[:, None])
        return cls(pair=pair, event=event, begin=np.minimum(begin, event[:, None]), pairs=len(of))

    def count(self, numbered: _Numbered, group: Ints) -> Ints:
        """(pairs, minutes) how many events of each pair's group come so."""
        group = group[self.pair]
        until = numbered.before(group, self.event)
        counts = np.empty((self.pairs, len(MINUTES)), dtype=np.int64)
        for column in range(len(MINUTES)):
            between = until - numbered.before(group, self.begin[:, column])
            counts[:, column] = np.bincount(self.pair, weights=between, minlength=self.pairs)
        return counts


def _last_before(subjects: Subjects, subject: Ints, event: Ints) -> Ints:
    """(n,) the last event of each subject before each event, or -1."""
    key = pack(subjects.owner, subjects.event)
    at = np.searchsorted(key, pack(subject, event)) - 1
    found = np.maximum(at, 0)
    return np.where((at >= 0) & (subjects.owner[found] == subject), subjects.event[found], -1)
