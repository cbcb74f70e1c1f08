"""Windows: around which times of day a subject's events crowd.

A scan statistic (Naus 1965; Kulldorff 1997): of all windows that begin at an event and have one of a fixed list
of widths, the one with the greatest Poisson likelihood ratio ``c·ln(c/e) - (c - e)``, where c events fall into it
and e would if they followed the person's rhythm. Days are a circle, so a window may run past midnight. A window
that was found is taken out and the rest is scanned again: a subject may have several times a day.

Each subject is scanned as a whole and by weekday, so that what is done on Tuesdays at six is not drowned by what
is done on other days.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.log import Floats, Ints
from patterns.rhythm import OwnTimes, Rhythm

WIDTHS = (10, 20, 30, 40, 60, 90, 120, 180, 240, 360)
"""Widths in minutes: from "to the minute" to "some time in the evening" (three hours either way)."""

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
    group = np.concatenate([subject * 8 + 7, subject * 8 + weekday])
    minute, user, kind = np.tile(minute, 2), np.tile(user, 2), np.tile(kind, 2)
    found: list[Windows] = []
    for _ in range(ROUNDS):
        order = np.lexsort((minute, group))
        group, minute, user, kind = group[order], minute[order], user[order], kind[order]
        size = np.bincount(group, minlength=1)[group] if len(group) else group
        enough = size >= least
        group, minute, user, kind, size = (
            group[enough],
            minute[enough],
            user[enough],
            kind[enough],
            size[enough],
        )
        if not len(group):
            break
        low, width, gain = _best(group, minute, user, kind, size, rhythm, own, least)
        heads = np.flatnonzero(np.concatenate([[True], np.diff(group) != 0]))
        place = np.cumsum(np.concatenate([[True], np.diff(group) != 0])) - 1
        good = gain >= LEAST_GAIN
        found.append(Windows(group[heads][good] // 8, low[good], width[good]))
        inside = (minute - low[place]) % _DAY <= width[place]
        rest = good[place] & ~inside
        group, minute, user, kind = group[rest], minute[rest], user[rest], kind[rest]
    return _distinct(found)


def _best(
    group: Ints, minute: Floats, user: Ints, kind: Ints, size: Ints, rhythm: Rhythm, own: OwnTimes, least: int
) -> tuple[Floats, Floats, Floats]:
    """(groups,) the best window of each group: low, width, gain. Events sorted by group and minute."""
    starts = np.concatenate([[True], np.diff(group) != 0])
    dense = np.cumsum(starts) - 1
    heads = np.flatnonzero(starts)
    key = dense * _SPAN + minute
    wrapped = np.flatnonzero(minute <= WIDTHS[-1])
    ring = np.sort(np.concatenate([key, key[wrapped] + _DAY]))
    place = np.searchsorted(ring, key, side="left")
    best_gain = np.full(len(key), -np.inf)
    best_width = np.zeros(len(key))
    for width in WIDTHS:
        inside = np.searchsorted(ring, key + width, side="right") - place
        full = np.flatnonzero(inside >= least)
        widths = np.full(len(full), float(width))
        count = inside[full].astype(np.float64)
        share = rhythm.share(user[full], kind[full], group[full] // 8, minute[full], widths, own)
        expected = size[full] * share
        gain = np.where(count > expected, count * np.log(count / expected) - (count - expected), 0.0)
        better = full[gain > best_gain[full]]
        best_width[better] = width
        best_gain[full] = np.maximum(best_gain[full], gain)
    top = np.maximum.reduceat(best_gain, heads)
    at_top = np.flatnonzero(best_gain == top[dense])
    chosen = at_top[np.searchsorted(dense[at_top], np.arange(len(heads)), side="left")]
    return minute[chosen], best_width[chosen], best_gain[chosen]


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
