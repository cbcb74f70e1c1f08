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

from observations.civil_time import MINUTES_PER_DAY
from patterns.eventlog.activity_profile import Background
from patterns.eventlog.arrays import Floats, Ints, Rows, begins, order_by, renumber, run_numbers

WIDTH_CLASSES = ((10, 20, 30), (40, 60, 90), (120, 180, 240, 360), (480, 600))
"""Widths in minutes: to the minute, to the hour, some time in the evening, some time of the day. Each class is
scanned for itself: what moved from eight to ten is two narrow windows, and one wide one that hides them."""

WIDTHS = tuple(width for widths in WIDTH_CLASSES for width in widths)

ROUNDS = 3
"""Times a day that one subject may have on one kind of day."""

LEAST_GAIN = 6.0
"""A likelihood ratio (nats) below which a window cannot lead to a significant pattern and is not followed up."""

_TO_ITS_END = 0.999  # of the last minute, all that was counted with it
_SPAN = 4096  # one group's stretch of the keys: a day, and the start of the next one again
_GROUPS, _ALL_DAYS = 8, 7  # of a subject: its weekdays 0–6, and all its days


@dataclass(frozen=True, eq=False)
class Windows(Rows):
    """Windows worth a closer look: `low` … `low + width` minutes since midnight (may run past it).

    They begin on a whole minute and hold the whole of their last one, so they are a little wider than their class.
    """

    subject: Ints
    low: Floats
    width: Floats


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
class _Minutes(Rows):
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
        moment, first = renumber(new), np.flatnonzero(new)
        weekly = np.bincount(moment * _ALL_DAYS + weekday, minlength=len(first) * _ALL_DAYS)
        cell = np.flatnonzero(weekly)
        of = cell // _ALL_DAYS
        moment = np.concatenate([np.arange(len(first)), of])
        day = np.concatenate([np.full(len(first), _ALL_DAYS), cell % _ALL_DAYS])
        count = np.concatenate([np.diff(first, append=len(new)), weekly[cell]])
        group = subject[first][moment] * _GROUPS + day
        order = order_by(group, moment)
        return cls(
            group=group[order], minute=minute[first][moment[order]], count=count[order], moment=moment[order]
        )

    def of_groups_with(self, least: int) -> _Minutes:
        """The cells of the groups that have at least so many events."""
        dense = run_numbers(self.group)
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
        dense = run_numbers(cells.group)
        key = dense * _SPAN + cells.minute
        again = np.flatnonzero(cells.minute <= WIDTHS[-1])
        times = np.concatenate([key, key[again] + MINUTES_PER_DAY])
        order = order_by(times)
        times, count = times[order], np.concatenate([cells.count, cells.count[again]])[order]
        running = np.concatenate([[0], np.cumsum(count)])
        before = running[np.searchsorted(times, key)]
        last = np.searchsorted(running, before + least) - 1
        inside = last < len(times)
        reach = np.where(inside, times[np.where(inside, last, 0)] - key, _SPAN)
        return cls(dense=dense, key=key, times=times, running=running, before=before, reach=reach)

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
    """The best window of each group that has a good one, and the cells of those groups outside it."""
    begin, width = _best_of_each_group(ring, _begun(cells, ring, shares))
    if not len(begin):
        return Windows(begin, np.empty(0), np.empty(0)), cells[begin]
    low = cells.minute[begin]
    subject = cells.group[begin] // _GROUPS
    left = _outside(cells, ring.dense, ring.dense[begin], low, width)
    return Windows(subject, low.astype(np.float64), width.astype(np.float64) + _TO_ITS_END), left


@dataclass(frozen=True, eq=False)
class _Begun(Rows):
    """The best of the windows that begin at each crowded cell; every array is (crowded cells,).

    Attributes:
        cell: where they begin.
        width: that of the best one, minutes.
        gain: its likelihood ratio, nats.
    """

    cell: Ints
    width: Ints
    gain: Floats


def _begun(cells: _Minutes, ring: _Ring, shares: Mapping[int, Floats]) -> _Begun:
    """The best window that begins at each cell."""
    # Where the widest window is not crowded, no narrower one is.
    crowded = ring.crowded(max(shares))
    reach = ring.reach[crowded]
    size = np.bincount(ring.dense, cells.count)[ring.dense[crowded]]
    best_gain = np.full(len(crowded), -np.inf)
    best_width = np.zeros(len(crowded), dtype=np.int64)
    for width, share in shares.items():
        of = np.flatnonzero(reach <= width)
        count = ring.count(crowded[of], width).astype(np.float64)
        expected = size[of] * share[cells.moment[crowded[of]]]
        gain = np.where(count > expected, count * np.log(count / expected) - (count - expected), 0.0)
        best_width[of[gain > best_gain[of]]] = width
        best_gain[of] = np.maximum(best_gain[of], gain)
    return _Begun(crowded, best_width, best_gain)


def _best_of_each_group(ring: _Ring, begun: _Begun) -> tuple[Ints, Ints]:
    """(good groups,) the cell at which each group's best window begins, and its width; of equal windows the first."""
    good = begun[begun.gain >= LEAST_GAIN]
    group = ring.dense[good.cell]
    heads = np.flatnonzero(begins(group))
    if not len(heads):
        return heads, heads
    top = np.repeat(np.maximum.reduceat(good.gain, heads), np.diff(heads, append=len(good)))
    at_top = np.flatnonzero(good.gain == top)
    chosen = good[at_top[begins(group[at_top])]]
    return chosen.cell, chosen.width


def _outside(cells: _Minutes, dense: Ints, group: Ints, low: Ints, width: Ints) -> _Minutes:
    """The cells of the groups that have a window (group, low, width) and that lie outside it.

    Args:
        cells: the cells.
        dense: (cells,) the group of each.
        group, low, width: (windows,) the windows, at most one per group.
    """
    number = np.full(int(dense[-1]) + 1, -1)
    number[group] = np.arange(len(group))
    found = number[dense]
    left = np.flatnonzero(found >= 0)
    outside = (cells.minute[left] - low[found[left]]) % MINUTES_PER_DAY > width[found[left]]
    return cells[left[outside]]


def _distinct(found: list[Windows]) -> Windows:
    """All windows, each once: those of one subject that begin and end within the same quarter-hours are one."""
    if not found:
        nothing = np.empty(0)
        return Windows(nothing.astype(np.int64), nothing, nothing)
    windows = Windows.joined(found)
    ends = (windows.low + windows.width) // 15
    keys = np.stack([windows.subject, (windows.low // 15).astype(np.int64), ends.astype(np.int64)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    return windows[np.sort(first)]
