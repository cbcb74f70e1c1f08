"""Windows: around which times of day a subject's events crowd.

A scan statistic (Naus 1965; Kulldorff 1997): of all windows that begin at an event and have one of a fixed list
of widths, the one with the greatest Poisson likelihood ratio ``c·ln(c/e) - (c - e)``, where c events fall into it
and e would if they followed the person's rhythm. Days are a circle, so a window may run past midnight. A window
that was found is taken out and the rest is scanned again: a subject may have several times a day.

Each subject is scanned as a whole and by weekday, so that what is done on Tuesdays at six is not drowned by what
is done on other days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patterns.log import Flags, Floats, Ints
from patterns.rhythm import OwnTimes, Rhythm

WIDTH_CLASSES = ((10, 20, 30), (40, 60, 90), (120, 180, 240, 360), (480, 600))
"""Widths in minutes: to the minute, to the hour, some time in the evening, some time of the day. Each class is
scanned for itself: what moved from eight to ten is two narrow windows, and one wide one that hides them."""

WIDTHS = tuple(width for widths in WIDTH_CLASSES for width in widths)

ROUNDS = 3
"""Times a day that one subject may have on one kind of day."""

LEAST_GAIN = 6.0
"""A likelihood ratio (nats) below which a window cannot lead to a significant pattern and is not followed up."""

_DAY = 1440.0
_SPAN = 4096.0  # one group's stretch of the sort key: a day, and the start of the next one again


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
    user: Ints,
    kind: Ints,
    rhythm: Rhythm,
    own: OwnTimes,
    least: int,
) -> Windows:
    """The windows in which events of each subject crowd.

    Args:
        subject, weekday, minute: (n,) events of subjects, each quarter-hour of a day once.
        user, kind: (n,) whose they are, and of which type (see `Rhythm.kind`).
        rhythm, own: everybody's rhythm, and the times of the subjects' own events.
        least: events that a window needs.

    """
    # Group 7 of a subject is all its days, groups 0–6 its weekdays.
    events = _Events(
        np.concatenate([subject * 8 + 7, subject * 8 + weekday]),
        np.tile(minute, 2),
        np.tile(user, 2),
        np.tile(kind, 2),
    )
    events = events[np.lexsort((events.minute, events.group))]
    found: list[Windows] = []
    for widths in WIDTH_CLASSES:
        left = events
        for _ in range(ROUNDS):
            left = left[np.bincount(left.group, minlength=1)[left.group] >= least]
            if not len(left.group):
                break
            windows, left = _best(left, widths, rhythm, own, least)
            found.append(windows)
    return _distinct(found)


@dataclass(frozen=True, eq=False)
class _Events:
    """Events of groups, sorted by group and minute."""

    group: Ints
    minute: Floats
    user: Ints
    kind: Ints

    def __getitem__(self, chosen: Ints | Flags) -> _Events:
        return _Events(self.group[chosen], self.minute[chosen], self.user[chosen], self.kind[chosen])


def _best(
    events: _Events, widths: Sequence[int], rhythm: Rhythm, own: OwnTimes, least: int
) -> tuple[Windows, _Events]:
    """The best window of each group that has a good one, and the events of those groups outside it."""
    starts = np.concatenate([[True], np.diff(events.group) != 0])
    dense, heads = np.cumsum(starts) - 1, np.flatnonzero(starts)
    size = np.bincount(dense)[dense]
    key = dense * _SPAN + events.minute
    wrapped = np.flatnonzero(events.minute <= widths[-1])
    ring = np.sort(np.concatenate([key, key[wrapped] + _DAY]))
    place = np.searchsorted(ring, key, side="left")
    best_gain = np.full(len(key), -np.inf)
    best_width = np.zeros(len(key))
    for width in widths:
        inside = np.searchsorted(ring, key + width, side="right") - place
        full = np.flatnonzero(inside >= least)
        share = rhythm.share(
            events.user[full],
            events.kind[full],
            events.group[full] // 8,
            events.minute[full],
            np.full(len(full), float(width)),
            own,
        )
        count, expected = inside[full].astype(np.float64), size[full] * share
        gain = np.where(count > expected, count * np.log(count / expected) - (count - expected), 0.0)
        best_width[full[gain > best_gain[full]]] = width
        best_gain[full] = np.maximum(best_gain[full], gain)
    top = np.maximum.reduceat(best_gain, heads)
    at_top = np.flatnonzero(best_gain == top[dense])
    chosen = at_top[np.searchsorted(dense[at_top], np.arange(len(heads)), side="left")]
    low, width_of, good = events.minute[chosen], best_width[chosen], top >= LEAST_GAIN
    outside = (events.minute - low[dense]) % _DAY > width_of[dense]
    return Windows(events.group[heads][good] // 8, low[good], width_of[good]), events[good[dense] & outside]


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
