"""Follows: what comes after what, within two hours, and how often.

From each event one walks forward to the first event of every other subject:

::

    events        A ── B ── B ── A ── C
    A → B         A ─▶ B                     (not the second B; the second A has none)
    A → C         A ────────────────▶ C
                                 A ─▶ C

Counted is block by block of the log, people who fit wholly in one, so memory does not grow with it. Of a person whose log is
longer than a block, only those pairs go on that stand out in one: in which the second step comes clearly oftener after the
first than after anything else. Among a million events every subject follows every other hundreds of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.eventlog.arrays import Flags, Ints, begins, contains, order_by, ranges
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
        least: pairs of subjects that follow each other more seldom than this are left out.
    """
    memberships = _Memberships.of(log, subjects, steps)
    axis = time_axis(log)
    blocks = [_Block.of(log, subjects, memberships, axis, *ends, least) for ends in _blocks(log)]
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
    return Follows(pair // len(subjects), pair % len(subjects), within[kept])


def _blocks(log: Log) -> list[tuple[int, int]]:
    """First event and end of each block: whole people, as many as fit; whoever has more than fit has blocks of their own."""
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
        pair: (pairs,) first and second subject in one number.
        within: (pairs, minutes) as in `Follows`.
        stands_out: (pairs,) whether a pair of a person with a longer log may go on; all others may.
    """

    pair: Ints
    within: Ints
    stands_out: Flags

    @classmethod
    def of(
        cls,
        log: Log,
        subjects: Subjects,
        memberships: _Memberships,
        axis: Ints,
        begin: int,
        end: int,
        least: int,
    ) -> _Block:
        events = np.arange(begin, end)
        last = np.searchsorted(
            axis, axis[events] + MINUTES[-1] * MICROSECONDS_PER_MINUTE // 1000, side="right"
        )
        ahead = np.clip(last - events - 1, 0, _LOOK_AHEAD)
        before, after = np.repeat(events, ahead), ranges(events + 1, ahead)
        row, second = memberships.of_each(after)
        before, after = before[row], after[row]
        # Only the first event of each second subject counts: pairs are in order of time.
        order = order_by(before, second)
        earliest = order[begins(before[order], second[order])]
        before, after, second = before[earliest], after[earliest], second[earliest]
        lag = log.at[after] - log.at[before]
        row, first = memberships.of_each(before)
        pair, lags = first * len(subjects) + second[row], lag[row]
        other = first != second[row]
        pair, lags = pair[other], lags[other]
        order = order_by(pair)
        pair, lags = pair[order], lags[order]
        head = np.flatnonzero(begins(pair))
        size = np.diff(head, append=len(pair))
        # Of a person who has other blocks, all pairs: what is seldom here may be frequent there.
        long = np.bincount(log.user) > _BLOCK
        enough = (size >= least) | long[subjects.user[pair[head] // len(subjects)]]
        lags, size = lags[np.repeat(enough, size)], size[enough]
        pair = pair[head[enough]]
        within = _counts_within(lags, np.repeat(np.arange(len(pair)), size), len(pair))
        stands_out = np.ones(len(pair), dtype=np.bool_)
        of_long = np.flatnonzero(long[subjects.user[pair // len(subjects)]])
        if len(of_long):
            some = long[log.user[before]]
            anything = _AfterAnything.of(log, subjects, events, before[some], second[some], lag[some])
            stands_out[of_long] = anything.less_often(pair[of_long], within[of_long])
        return cls(pair, within, stands_out)


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
    def of(
        cls, log: Log, subjects: Subjects, events: Ints, before: Ints, second: Ints, lag: Ints
    ) -> _AfterAnything:
        inside = (subjects.event >= events[0]) & (subjects.event <= events[-1])
        own = contains(subjects.owner << 32 | subjects.event, second << 32 | before)
        return cls(
            np.bincount(subjects.owner[inside], minlength=len(subjects)),
            _counts_within(lag[~own], second[~own], len(subjects)),
            np.bincount(log.user[events], minlength=len(log.users))[subjects.user],
        )

    def less_often(self, pair: Ints, within: Ints) -> Flags:
        """(pairs,) whether the second comes clearly oftener after the first than after anything else."""
        first, second = pair // len(self.size), pair % len(self.size)
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
    """(events,) ms on one axis for all people: each one's events lie further behind the last one's than any `MINUTES`."""
    at = (log.at - log.at.min()) // 1000
    axis: Ints = log.user * (int(at.max()) + MINUTES[-1] * MICROSECONDS_PER_MINUTE // 1000 + 1) + at
    return axis


def _counts_within(lag: Ints, group: Ints, groups: int) -> Ints:
    """(groups, minutes) how many lags of each group are within the minutes."""
    column = np.searchsorted(np.array(MINUTES) * MICROSECONDS_PER_MINUTE, lag)
    columns = len(MINUTES) + 1  # the last for what comes later still
    counts = np.bincount(group * columns + column, minlength=groups * columns).reshape(groups, columns)
    return np.cumsum(counts[:, :-1], axis=1)
