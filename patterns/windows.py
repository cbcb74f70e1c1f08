"""Windows: around which times of day a subject's events crowd.

A scan statistic (Naus 1965; Kulldorff 1997): of all windows that begin at an event and have one of a fixed list
of widths, the one with the greatest Poisson likelihood ratio ``c·ln(c/e) - (c - e)``, where c events fall into it
and e would if they followed the person's rhythm. Days are a circle, so a window may run past midnight. A window
that was found is taken out and the rest is scanned again: a subject may have several times a day.

Each subject is scanned as a whole and by weekday, so that what is done on Tuesdays at six is not drowned by what
is done on other days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from patterns.arrays import Flags, Floats, Ints, begins, order_by
from patterns.log import MICROSECONDS_PER_DAY
from patterns.rhythm import Background

WIDTH_CLASSES = ((10, 20, 30), (40, 60, 90), (120, 180, 240, 360), (480, 600))
"""Widths in minutes: to the minute, to the hour, some time in the evening, some time of the day. Each class is
scanned for itself: what moved from eight to ten is two narrow windows, and one wide one that hides them."""

WIDTHS = tuple(width for widths in WIDTH_CLASSES for width in widths)

ROUNDS = 3
"""Times a day that one subject may have on one kind of day."""

LEAST_GAIN = 6.0
"""A likelihood ratio (nats) below which a window cannot lead to a significant pattern and is not followed up."""

_DAY = 1440.0
_MINUTE = 60_000_000  # µs
_GROUPS, _ALL_DAYS = 8, 7  # of a subject: its weekdays 0–6, and all its days


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows worth a closer look: `low` … `low + width` minutes since midnight (may run past it)."""

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
    entry = np.tile(np.arange(len(subject)), 2)
    group = np.concatenate([subject * _GROUPS + _ALL_DAYS, subject * _GROUPS + weekday])
    order = order_by(group)
    events = _Events(group[order], minute[entry[order]], entry[order])
    events = events.of_groups_with(least)
    whole = _Ring.of(events, least)
    found: list[Windows] = []
    for widths in WIDTH_CLASSES:
        shares = {width: _shares(events, whole, width, subject, minute, background) for width in widths}
        left, ring = events, whole
        for _ in range(ROUNDS):
            if not len(left.group):
                break
            windows, left = _best(left, ring, shares)
            found.append(windows)
            left = left.of_groups_with(least)
            ring = _Ring.of(left, least)
    return _distinct(found)


@dataclass(frozen=True, eq=False)
class _Events:
    """Events of groups, sorted by group and minute; `entry` is their place in what `find_windows` was given."""

    group: Ints
    minute: Floats
    entry: Ints

    def __getitem__(self, chosen: Ints | Flags) -> _Events:
        return _Events(self.group[chosen], self.minute[chosen], self.entry[chosen])

    def of_groups_with(self, least: int) -> _Events:
        """The events of those groups that have so many."""
        return self[np.bincount(self.group, minlength=1)[self.group] >= least]


@dataclass(frozen=True, eq=False)
class _Ring:
    """The times of events, group after group, each day followed by its own beginning once more; µs, exact.

    Attributes:
        dense: (events,) number of each one's group, without gaps.
        key: (events,) group and time of day in one number, ascending.
        times: (events and those seen again,) the same numbers, ascending.
        place: (events,) where in `times` each one's time begins.
        reach: (events,) how long a window must be to hold the least number of events, begun at each.
    """

    dense: Ints
    key: Ints
    times: Ints
    place: Ints
    reach: Ints

    @classmethod
    def of(cls, events: _Events, least: int) -> _Ring:
        """Of events sorted by group and minute, of groups with at least so many."""
        dense = np.cumsum(begins(events.group)) - 1
        key = 2 * dense * MICROSECONDS_PER_DAY + np.rint(events.minute * _MINUTE).astype(np.int64)
        again = key[events.minute <= WIDTHS[-1]] + MICROSECONDS_PER_DAY
        times = np.sort(np.concatenate([key, again]))
        place = np.searchsorted(times, key, side="left")
        nearest = place + (least - 1)
        inside = nearest < len(times)
        reach = np.where(inside, times[np.where(inside, nearest, 0)] - key, MICROSECONDS_PER_DAY)
        return cls(dense, key, times, place, reach)

    def crowded(self, width: int) -> Ints:
        """The events that begin a window of this width with enough events in it."""
        return np.flatnonzero(self.reach <= width * _MINUTE)

    def count(self, event: Ints, width: int) -> Ints:
        """(n,) how many events are in the windows of this width that begin at these events."""
        return (
            np.searchsorted(self.times, self.key[event] + width * _MINUTE, side="right") - self.place[event]
        )


def _shares(
    events: _Events, ring: _Ring, width: int, subject: Ints, minute: Floats, background: Background
) -> Floats:
    """(n,) the rhythm's share of the window of this width that begins at each entry; nan where none is crowded.

    What is crowded on one weekday, or when other windows are taken out, is crowded on all days.
    """
    crowded = ring.crowded(width)
    entry = events.entry[crowded[events.group[crowded] % _GROUPS == _ALL_DAYS]]
    shares = np.full(len(subject), np.nan)
    shares[entry] = background.share(subject[entry], minute[entry], float(width))
    return shares


def _best(events: _Events, ring: _Ring, shares: Mapping[int, Floats]) -> tuple[Windows, _Events]:
    """The best window of each group that has a good one, and the events of those groups outside it."""
    # Where the widest window is not crowded, no narrower one is.
    crowded = ring.crowded(max(shares))
    group, reach = ring.dense[crowded], ring.reach[crowded]
    size = np.bincount(ring.dense)[group].astype(np.float64)
    best_gain = np.full(len(crowded), -np.inf)
    best_width = np.zeros(len(crowded))
    for width, share in shares.items():
        of = np.flatnonzero(reach <= width * _MINUTE)
        count = ring.count(crowded[of], width).astype(np.float64)
        expected = size[of] * share[events.entry[crowded[of]]]
        gain = np.where(count > expected, count * np.log(count / expected) - (count - expected), 0.0)
        best_width[of[gain > best_gain[of]]] = width
        best_gain[of] = np.maximum(best_gain[of], gain)
    # Of each group's best the first: sought among those that are good enough.
    good = np.flatnonzero(best_gain >= LEAST_GAIN)
    heads = np.flatnonzero(begins(group[good]))
    if not len(heads):
        return Windows(heads, np.empty(0), np.empty(0)), events[heads]
    top = np.repeat(np.maximum.reduceat(best_gain[good], heads), np.diff(heads, append=len(good)))
    at_top = good[best_gain[good] == top]
    chosen = at_top[begins(group[at_top])]
    low, width_of = events.minute[crowded[chosen]], best_width[chosen]
    number = np.full(int(ring.dense[-1]) + 1, -1)
    number[group[chosen]] = np.arange(len(chosen))
    found = number[ring.dense]
    left = np.flatnonzero(found >= 0)
    window = found[left]
    outside = (events.minute[left] - low[window]) % _DAY > width_of[window]
    return Windows(events.group[crowded[chosen]] // _GROUPS, low, width_of), events[left[outside]]


def _distinct(found: list[Windows]) -> Windows:
    """All windows once: those of one subject that begin and end within the same quarter-hours are one."""
    if not found:
        nothing = np.empty(0)
        return Windows(nothing.astype(np.int64), nothing, nothing)
    subject = np.concatenate([w.subject for w in found])
    low = np.concatenate([w.low for w in found])
    width = np.concatenate([w.width for w in found])
    keys = np.stack([subject, (low // 15).astype(np.int64), ((low + width) // 15).astype(np.int64)], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    first = np.sort(first)
    return Windows(subject[first], low[first], width[first])
