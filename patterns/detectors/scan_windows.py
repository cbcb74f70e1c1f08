"""Windows: around which times of day a subject's events crowd.

A scan statistic (Naus 1965; Kulldorff 1997): of all windows that begin at the minute of an event and have one of a fixed
list of widths, the one with the greatest Poisson likelihood ratio ``c·ln(c/e) - (c - e)``, where c events fall into it
and e would if they followed the person's rhythm. Days are a circle, so a window may run past midnight. A window
that was found is taken out and the rest is scanned again: a subject may have several times a day.

Each subject is scanned as a whole and by weekday, so that what is done on Tuesdays at six is not drowned by what
is done on other days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from patterns.eventlog.activity_profile import Background
from patterns.eventlog.arrays import Flags, Floats, Ints, begins, order_by

WIDTH_CLASSES = ((10, 20, 30), (40, 60, 90), (120, 180, 240, 360), (480, 600))
"""Widths in minutes: to the minute, to the hour, some time in the evening, some time of the day. Each class is
scanned for itself: what moved from eight to ten is two narrow windows, and one wide one that hides them."""

WIDTHS = tuple(width for widths in WIDTH_CLASSES for width in widths)

ROUNDS = 3
"""Times a day that one subject may have on one kind of day."""

LEAST_GAIN = 6.0
"""A likelihood ratio (nats) below which a window cannot lead to a significant pattern and is not followed up."""

_DAY = 1440
_TO_ITS_END = 0.999  # of the last minute, all that was counted with it
_SPAN = 4096  # one group's stretch of the keys: a day, and the start of the next one again
_GROUPS, _ALL_DAYS = 8, 7  # of a subject: its weekdays 0–6, and all its days


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows worth a closer look: `low` … `low + width` minutes since midnight (may run past it).

    They begin on a whole minute and hold the whole of their last one, so they are a little wider than their class.
    """

    subject: Ints
    low: Floats
    width: Floats

    def __len__(self) -> int:
        return len(self.subject)


def find_windows(
    subject: Ints,
    weekday: Ints,
    minute: Floats,
    background: Background,
    least: int,
) -> Windows:
    """The windows in which events of each subject crowd.

    Args:
        subject, weekday, minute: (n,) events of subjects, each quarter-hour of a day once; sorted by minute within
            each subject.
        background: what else the people do.
        least: events that a window needs.

    """
    cells = _Minutes.of(subject, weekday, np.floor(minute).astype(np.int64)).of_groups_with(least)
    whole = _Ring.of(cells, least)
    found: list[Windows] = []
    for widths in WIDTH_CLASSES:
        shares = {width: _shares(cells, whole, width, background) for width in widths}
        left, ring = cells, whole
        for _ in range(ROUNDS):
            if not len(left.group):
                break
            windows, left = _best(left, ring, shares)
            found.append(windows)
            left = left.of_groups_with(least)
            ring = _Ring.of(left, least)
    return _distinct(found)


@dataclass(frozen=True, eq=False)
class _Minutes:
    """How many events of each group come in each minute of the day; sorted by group and minute, each once.

    A group is a subject on one weekday, or on all days.

    Attributes:
        group, minute, count: (cells,) the group, the minute of the day, and how many events.
        moment: (cells,) a number for the subject and the minute, the same in all of the subject's groups.
    """

    group: Ints
    minute: Ints
    count: Ints
    moment: Ints

    @classmethod
    def of(cls, subject: Ints, weekday: Ints, minute: Ints) -> _Minutes:
        """Of events sorted by subject and minute."""
        new = begins(subject, minute)
        moment, first = np.cumsum(new) - 1, np.flatnonzero(new)
        weekly = np.bincount(moment * _ALL_DAYS + weekday, minlength=len(first) * _ALL_DAYS)
        cell = np.flatnonzero(weekly)
        of = cell // _ALL_DAYS
        moment = np.concatenate([np.arange(len(first)), of])
        day = np.concatenate([np.full(len(first), _ALL_DAYS), cell % _ALL_DAYS])
        count = np.concatenate([np.diff(first, append=len(new)), weekly[cell]])
        group = subject[first][moment] * _GROUPS + day
        order = order_by(group, moment)
        return cls(group[order], minute[first][moment[order]], count[order], moment[order])

    def __getitem__(self, chosen: Ints | Flags) -> _Minutes:
        return _Minutes(self.group[chosen], self.minute[chosen], self.count[chosen], self.moment[chosen])

    def of_groups_with(self, least: int) -> _Minutes:
        """The cells of those groups that have so many events."""
        dense = np.cumsum(begins(self.group)) - 1
        return self[np.bincount(dense, self.count)[dense] >= least] if len(dense) else self


@dataclass(frozen=True, eq=False)
class _Ring:
    """The minutes of groups, group after group, each day followed by its own beginning once more.

    Attributes:
        dense: (cells,) number of each one's group, without gaps.
        key: (cells,) group and minute in one number, ascending.
        times: (cells and those seen again,) the same numbers, ascending.
        running: (one more,) how many events come before each of those times.
        before: (cells,) how many come before each one's minute.
        reach: (cells,) how wide a window must be to hold the least number of events, begun at each.
    """

    dense: Ints
    key: Ints
    times: Ints
    running: Ints
    before: Ints
    reach: Ints

    @classmethod
    def of(cls, cells: _Minutes, least: int) -> _Ring:
        """Of groups with at least so many events."""
        dense = np.cumsum(begins(cells.group)) - 1
        key = dense * _SPAN + cells.minute
        again = np.flatnonzero(cells.minute <= WIDTHS[-1])
        times = np.concatenate([key, key[again] + _DAY])
        order = order_by(times)
        times, count = times[order], np.concatenate([cells.count, cells.count[again]])[order]
        running = np.concatenate([[0], np.cumsum(count)])
        before = running[np.searchsorted(times, key)]
        last = np.searchsorted(running, before + least) - 1
        inside = last < len(times)
        reach = np.where(inside, times[np.where(inside, last, 0)] - key, _SPAN)
        return cls(dense, key, times, running, before, reach)

    def crowded(self, width: int) -> Ints:
        """The cells that begin a window of this width with enough events in it."""
        return np.flatnonzero(self.reach <= width)

    def count(self, cell: Ints, width: int) -> Ints:
        """(n,) how many events are in the windows of this width that begin at these cells."""
        end = np.searchsorted(self.times, self.key[cell] + width, side="right")
        return self.running[end] - self.before[cell]


def _shares(cells: _Minutes, ring: _Ring, width: int, background: Background) -> Floats:
    """(moments,) the rhythm's share of the window of this width that begins at each; nan where none is crowded.

    What is crowded on one weekday, or when other windows are taken out, is crowded on all days.
    """
    crowded = ring.crowded(width)
    cell = crowded[cells.group[crowded] % _GROUPS == _ALL_DAYS]
    shares = np.full(int(cells.moment.max(initial=-1)) + 1, np.nan)
    low = cells.minute[cell].astype(np.float64)
    shares[cells.moment[cell]] = background.share(cells.group[cell] // _GROUPS, low, float(width))
    return shares


def _best(cells: _Minutes, ring: _Ring, shares: Mapping[int, Floats]) -> tuple[Windows, _Minutes]:
    """The best window of each group that has a good one, and what comes in those groups outside it."""
    # Where the widest window is not crowded, no narrower one is.
    crowded = ring.crowded(max(shares))
    group, reach = ring.dense[crowded], ring.reach[crowded]
    size = np.bincount(ring.dense, cells.count)[group]
    best_gain = np.full(len(crowded), -np.inf)
    best_width = np.zeros(len(crowded), dtype=np.int64)
    for width, share in shares.items():
        of = np.flatnonzero(reach <= width)
        count = ring.count(crowded[of], width).astype(np.float64)
        expected = size[of] * share[cells.moment[crowded[of]]]
        gain = np.where(count > expected, count * np.log(count / expected) - (count - expected), 0.0)
        best_width[of[gain > best_gain[of]]] = width
        best_gain[of] = np.maximum(best_gain[of], gain)
    # Of each group's best the first: sought among those that are good enough.
    good = np.flatnonzero(best_gain >= LEAST_GAIN)
    heads = np.flatnonzero(begins(group[good]))
    if not len(heads):
        return Windows(heads, np.empty(0), np.empty(0)), cells[heads]
    top = np.repeat(np.maximum.reduceat(best_gain[good], heads), np.diff(heads, append=len(good)))
    at_top = good[best_gain[good] == top]
    chosen = at_top[begins(group[at_top])]
    low, width_of = cells.minute[crowded[chosen]], best_width[chosen]
    number = np.full(int(ring.dense[-1]) + 1, -1)
    number[group[chosen]] = np.arange(len(chosen))
    found = number[ring.dense]
    left = np.flatnonzero(found >= 0)
    outside = (cells.minute[left] - low[found[left]]) % _DAY > width_of[found[left]]
    subject = cells.group[crowded[chosen]] // _GROUPS
    return Windows(subject, low.astype(np.float64), width_of + _TO_ITS_END), cells[left[outside]]


def _distinct(found: list[Windows]) -> Windows:
    """All windows once: those of one subject that begin and end within the same quarter-hours are one."""
    if not found:
        nothing = np.empty(0)
        return Windows(nothing.astype(np.int64), nothing, nothing)
    subject = np.concatenate([w.subject for w in found])
    low = np.concatenate([w.low for w in found])
    width = np.concatenate([w.width for w in found])
    ends = (low + width) // 15
    keys = np.stack([subject, (low // 15).astype(np.int64), ends.astype(np.int64)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    first = np.sort(first)
    return Windows(subject[first], low[first], width[first])
