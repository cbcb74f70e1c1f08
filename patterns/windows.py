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

from patterns.arrays import Flags, Floats, Ints, begins, order_by
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
        subject, weekday, minute: (n,) events of subjects, each quarter-hour of a day once; sorted by minute within
            each subject.
        user, kind: (n,) whose they are, and of which type (see `Rhythm.kind`).
        rhythm, own: everybody's rhythm, and the times of the subjects' own events.
        least: events that a window needs.

    """
    # Group 7 of a subject is all its days, groups 0–6 its weekdays.
    entry = np.tile(np.arange(len(subject)), 2)
    group = np.concatenate([subject * 8 + 7, subject * 8 + weekday])
    order = order_by(group)
    events = _Events(group[order], minute[entry[order]], entry[order])
    found: list[Windows] = []
    for widths in WIDTH_CLASSES:
        shares = _Shares(rhythm, own, subject, minute, user, kind, {})
        left = events
        for _ in range(ROUNDS):
            left = left[np.bincount(left.group, minlength=1)[left.group] >= least]
            if not len(left.group):
                break
            windows, left = _best(left, widths, shares, least)
            found.append(windows)
    return _distinct(found)


@dataclass(frozen=True, eq=False)
class _Events:
    """Events of groups, sorted by group and minute; `entry` is their place in what `find_windows` was given."""

    group: Ints
    minute: Floats
    entry: Ints

    def __getitem__(self, chosen: Ints | Flags) -> _Events:
        return _Events(self.group[chosen], self.minute[chosen], self.entry[chosen])


@dataclass(frozen=True, eq=False)
class _Shares:
    """The rhythm's share of the windows that begin at each event: asked for once, used for all groups and rounds."""

    rhythm: Rhythm
    own: OwnTimes
    subject: Ints
    minute: Floats
    user: Ints
    kind: Ints
    known: dict[int, Floats]

    def of(self, entry: Ints, width: int) -> Floats:
        """(n,) the share of the windows of this width that begin at these entries."""
        known = self.known.setdefault(width, np.full(len(self.subject), np.nan))
        asked = np.zeros(len(known), dtype=np.bool_)
        asked[entry] = True
        new = np.flatnonzero(asked & np.isnan(known))
        if len(new):
            wide = np.full(len(new), float(width))
            known[new] = self.rhythm.share(
                self.user[new], self.kind[new], self.subject[new], self.minute[new], wide, self.own
            )
        share: Floats = known[entry]
        return share


def _best(events: _Events, widths: Sequence[int], shares: _Shares, least: int) -> tuple[Windows, _Events]:
    """The best window of each group that has a good one, and the events of those groups outside it."""
    starts = begins(events.group)
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
        count, expected = inside[full].astype(np.float64), size[full] * shares.of(events.entry[full], width)
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
