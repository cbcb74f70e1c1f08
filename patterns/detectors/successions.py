"""Successions: what comes after what within two hours, and how often.

From each event one walks forward to the first event of every other subject:

::

    events        A ── B ── B ── A ── C
    A → B         A ─▶ B                     (not the second B; the second A has none)
    A → C         A ────────────────▶ C
                                 A ─▶ C

The log is counted in blocks of whole people, so memory does not grow with it. Of a person whose log is longer than a
block, only those pairs are kept that stand out in some block: the second step comes clearly more often after the first
than after anything else. In a million events, every subject follows every other hundreds of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.eventlog.arrays import (
    Flags,
    Ints,
    Rows,
    begins,
    contains,
    count_table,
    order_by,
    pack,
    ranges,
    run_numbers,
    unpack,
)
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects

MINUTES = (1, 2, 5, 10, 15, 30, 60, 120)
"""Within how many minutes a step may follow."""

_LOOK_AHEAD = 40
"""Events that are looked at after each one: within two hours more are a burst, not steps."""
_BLOCK = 1 << 15
"""Events that are looked at in one go."""
_STANDS_OUT = 0.05
"""By so much a step must be likelier after the first than after anything else, in some block of a long log: half of what
a confirmed pattern needs (`Settings.distinct_margin`)."""


@dataclass(frozen=True, eq=False)
class Follows:
    """Pairs of subjects of which the second comes after the first; sorted by both.

    Attributes:
        first, second: (pairs,) subjects.
        within: (pairs, minutes) after how many of the first's events the second came within each of `MINUTES`.
    """

    first: Ints
    second: Ints
    within: Ints

    def __len__(self) -> int:
        return len(self.first)


def count_follows(log: Log, subjects: Subjects, steps: Ints, least: int) -> Follows:
    """For every first step and every other subject: how often it comes within each of `MINUTES`.

    Args:
        log: the events of everybody.
        subjects: what a step can be about.
        steps: the subjects that may be steps.
        least: pairs of subjects that follow each other less often than this are left out.
    """
    counter = _Counter(
        log=log,
        subjects=subjects,
        memberships=_Memberships.of(log, subjects, steps),
        axis=time_axis(log),
        has_long_log=np.bincount(log.user) > _BLOCK,
        least=least,
    )
    blocks = [counter.count(np.arange(begin, end)) for begin, end in _blocks(log)]
    pair = np.concatenate([block.pair for block in blocks])
    order = order_by(pair)
    head = np.flatnonzero(begins(pair[order]))
    if not len(head):
        return Follows(head, head, np.zeros((0, len(MINUTES)), dtype=np.int64))
    within = np.concatenate([block.within for block in blocks])[order]
    stands_out = np.concatenate([block.stands_out for block in blocks])[order]
    if len(head) < len(pair):  # people in several blocks
        within = np.add.reduceat(within, head, axis=0)
        stands_out = np.logical_or.reduceat(stands_out, head)
    kept = (within[:, -1] >= least) & stands_out
    pair = pair[order][head][kept]
    return Follows(*unpack(pair), within[kept])


def _blocks(log: Log) -> list[tuple[int, int]]:
    """First event and end of each block: as many whole people as fit; a person with more events has several blocks."""
    ends = [0]
    starts = np.searchsorted(log.user, np.arange(len(log.users) + 1)).tolist()
    for start, end in pairwise(starts):
        if end - ends[-1] > _BLOCK and start > ends[-1]:
            ends.append(start)
        ends += range(start + _BLOCK, end, _BLOCK)
    return list(pairwise([*ends, len(log)]))


@dataclass(frozen=True, eq=False)
class _Block:
    """What follows what among the events of one block of the log.

    Attributes:
        pair: (pairs,) first and second subject, packed.
        within: (pairs, minutes) as in `Follows`.
        stands_out: (pairs,) False for pairs of a person with a longer log that do not stand out in this block.
    """

    pair: Ints
    within: Ints
    stands_out: Flags


@dataclass(frozen=True, eq=False)
class _Successions(Rows):
    """For each event of a block, the first event of every other subject after it.

    Attributes:
        before: (rows,) the earlier event.
        second: (rows,) the subject of the later one.
        lag: (rows,) time between them, µs.
    """

    before: Ints
    second: Ints
    lag: Ints


@dataclass(frozen=True, eq=False)
class _Counter:
    """Counts what follows what, one block of the log at a time.

    Attributes:
        log: the events of everybody.
        subjects: what a step can be about.
        memberships: the steps that each event belongs to.
        axis: (events,) see `time_axis`.
        has_long_log: (users,) True if the person's log is longer than a block.
        least: pairs that follow each other less often than this are left out.
    """

    log: Log
    subjects: Subjects
    memberships: _Memberships
    axis: Ints
    has_long_log: Flags
    least: int

    def count(self, events: Ints) -> _Block:
        """The counts of one block, the consecutive events `events`."""
        successions = self._successions(events)
        pair, lag = self._frequent(successions)
        run = run_numbers(pair)
        pair = pair[begins(pair)]
        within = _counts_within(lag, run, len(pair))
        return _Block(pair, within, self._stands_out(events, successions, pair, within))

    def _successions(self, events: Ints) -> _Successions:
        """The first event of every other step after each event."""
        last = np.searchsorted(self.axis, self.axis[events] + _milliseconds(MINUTES[-1]), side="right")
        ahead = np.clip(last - events - 1, 0, _LOOK_AHEAD)
        before, after = np.repeat(events, ahead), ranges(events + 1, ahead)
        row, second = self.memberships.of_each(after)
        before, after = before[row], after[row]
        # Rows are in order of time, so the first of each run is the earliest event of the second subject.
        order = order_by(before, second)
        earliest = order[begins(before[order], second[order])]
        before, after, second = before[earliest], after[earliest], second[earliest]
        return _Successions(before, second, self.log.at[after] - self.log.at[before])

    def _frequent(self, successions: _Successions) -> tuple[Ints, Ints]:
        """(rows,) the pair of subjects and the lag of every succession of a frequent pair, sorted by pair."""
        row, first = self.memberships.of_each(successions.before)
        second, lag = successions.second[row], successions.lag[row]
        other = first != second
        pair, lag = pack(first[other], second[other]), lag[other]
        order = order_by(pair)
        pair, lag = pair[order], lag[order]
        head = np.flatnonzero(begins(pair))
        size = np.diff(head, append=len(pair))
        # All pairs of a person with several blocks: what is rare in this one may be frequent in the next.
        enough = np.repeat((size >= self.least) | self._is_long(pair[head]), size)
        return pair[enough], lag[enough]

    def _is_long(self, pair: Ints) -> Flags:
        """(pairs,) True if the pair is of a person with a long log."""
        first, _ = unpack(pair)
        return self.has_long_log[self.subjects.user[first]]

    def _stands_out(self, events: Ints, successions: _Successions, pair: Ints, within: Ints) -> Flags:
        """(pairs,) as in `_Block`."""
        stands_out = np.ones(len(pair), dtype=np.bool_)
        of_long = np.flatnonzero(self._is_long(pair))
        if len(of_long):
            some = self.has_long_log[self.log.user[successions.before]]
            anything = _AfterAnything.of(self.log, self.subjects, events, successions[some])
            stands_out[of_long] = anything.less_often(pair[of_long], within[of_long])
        return stands_out


@dataclass(frozen=True, eq=False)
class _AfterAnything:
    """How often each subject comes after an event of any other, in one block.

    Attributes:
        size: (subjects,) events of each in the block.
        within: (subjects, minutes) other events after which it came.
        events: (subjects,) the person's events in the block.
    """

    size: Ints
    within: Ints
    events: Ints

    @classmethod
    def of(cls, log: Log, subjects: Subjects, events: Ints, successions: _Successions) -> _AfterAnything:
        inside = (subjects.event >= events[0]) & (subjects.event <= events[-1])
        own = contains(pack(subjects.owner, subjects.event), pack(successions.second, successions.before))
        return cls(
            size=np.bincount(subjects.owner[inside], minlength=len(subjects)),
            within=_counts_within(successions.lag[~own], successions.second[~own], len(subjects)),
            events=np.bincount(log.user[events], minlength=len(log.users))[subjects.user],
        )

    def less_often(self, pair: Ints, within: Ints) -> Flags:
        """(pairs,) True if the second comes clearly more often after the first than after anything else."""
        first, second = unpack(pair)
        size = self.size[first][:, None]
        others = np.maximum(self.events[first] - self.size[first] - self.size[second], 1)[:, None]
        otherwise = (self.within[second] - within) / others
        answer: Flags = (within / np.maximum(size, 1) - otherwise >= _STANDS_OUT).any(axis=1)
        return answer


@dataclass(frozen=True, eq=False)
class _Memberships:
    """The steps that each event belongs to; none where the event has no time of day.

    Attributes:
        step: (memberships,) sorted by event.
        start, count: (events,) where those of each event begin, and how many there are.
    """

    step: Ints
    start: Ints
    count: Ints

    @classmethod
    def of(cls, log: Log, subjects: Subjects, steps: Ints) -> _Memberships:
        is_step = np.zeros(len(subjects), dtype=np.bool_)
        is_step[steps] = True
        timed = ~np.isnan(log.minute[subjects.event]) & is_step[subjects.owner]
        event, step = subjects.event[timed], subjects.owner[timed]
        order = order_by(event, step)
        start = np.searchsorted(event[order], np.arange(len(log) + 1))
        return cls(step[order], start[:-1], np.diff(start))

    def of_each(self, event: Ints) -> tuple[Ints, Ints]:
        """Every step of each of these events: (index into `event`, step)."""
        length = self.count[event]
        return np.repeat(np.arange(len(event)), length), self.step[ranges(self.start[event], length)]


def time_axis(log: Log) -> Ints:
    """(events,) ms on one axis for all people, each person's events further from the last person's than any `MINUTES`."""
    at = (log.at - log.at.min()) // 1000
    axis: Ints = log.user * (int(at.max()) + _milliseconds(MINUTES[-1]) + 1) + at
    return axis


def _counts_within(lag: Ints, group: Ints, groups: int) -> Ints:
    """(groups, minutes) how many lags of each group are within the minutes."""
    column = np.searchsorted(np.array(MINUTES) * MICROSECONDS_PER_MINUTE, lag)
    counts = count_table(group, column, (groups, len(MINUTES) + 1))
    return np.cumsum(counts[:, :-1], axis=1)  # the last column is for longer lags


def _milliseconds(minutes: int) -> int:
    return minutes * MICROSECONDS_PER_MINUTE // 1000
