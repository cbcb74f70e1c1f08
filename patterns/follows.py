"""Follows: what comes after what, within two hours.

From each event one walks forward to the first event of every other subject:

::

    events        A ── B ── B ── A ── C
    A → B         A ─▶ B                     (not the second B; the second A has none)
    A → C         A ────────────────▶ C
                                 A ─▶ C
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.arrays import Flags, Ints, begins, order_by, ranges
from patterns.log import Log
from patterns.subjects import Subjects

MINUTE = 60_000_000
"""µs."""

MINUTES = (1, 2, 5, 10, 15, 30, 60, 120)
"""Within how many minutes a step may follow."""

_LOOK_AHEAD = 40
"""Events that are looked at after each one: within two hours more are a burst, not steps."""


@dataclass(frozen=True, eq=False)
class Follows:
    """Each first step with the first event of a second subject after it; sorted by pair and time.

    Attributes:
        first, second: (rows,) subjects.
        event, follower: (rows,) the events.
        lag: (rows,) µs between them.
    """

    first: Ints
    second: Ints
    event: Ints
    follower: Ints
    lag: Ints

    def __len__(self) -> int:
        return len(self.first)


def find_follows(log: Log, subjects: Subjects, steps: Ints, least: int) -> Follows:
    """For every first step and every other subject: the first event of it within the longest of `MINUTES`.

    Args:
        log: the events of everybody.
        subjects: what a step can be about.
        steps: the subjects that may be steps.
        least: pairs of subjects that follow each other more seldom than this are left out.
    """
    memberships = _Memberships.of(log, subjects, steps)
    ahead = _ahead(log)
    before, after = np.repeat(np.arange(len(log)), ahead), ranges(np.arange(len(log)) + 1, ahead)
    row, second = memberships.of_each(after)
    before, after = before[row], after[row]
    # Only the first event of each second subject counts: pairs are in order of time.
    order = order_by(before, second)
    earliest = order[begins(before[order], second[order])]
    before, after, second = before[earliest], after[earliest], second[earliest]
    row, first = memberships.of_each(before)
    before, after, second = before[row], after[row], second[row]
    rows = np.flatnonzero(first != second)
    rows = rows[order_by(first[rows], second[rows], before[rows])]
    rows = rows[_comes_often(first[rows], second[rows], least)]
    before, after = before[rows], after[rows]
    return Follows(first[rows], second[rows], before, after, log.at[after] - log.at[before])


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


def _ahead(log: Log) -> Ints:
    """(events,) how many events after each one, of the same person, lie within the longest of `MINUTES`."""
    axis = time_axis(log)
    last = np.searchsorted(axis, axis + MINUTES[-1] * MINUTE // 1000, side="right")
    ahead: Ints = np.clip(last - np.arange(len(log)) - 1, 0, _LOOK_AHEAD)
    return ahead


def time_axis(log: Log) -> Ints:
    """(events,) ms on one axis for all people: each one's events lie further behind the last one's than any `MINUTES`."""
    at = (log.at - log.at.min()) // 1000
    axis: Ints = log.user * (int(at.max()) + MINUTES[-1] * MINUTE // 1000 + 1) + at
    return axis


def _comes_often(first: Ints, second: Ints, least: int) -> Flags:
    """(rows,) whether the row's pair has so many rows; sorted by pair."""
    head = np.flatnonzero(begins(first, second))
    size = np.diff(np.append(head, len(first)))
    return np.repeat(size >= least, size)
