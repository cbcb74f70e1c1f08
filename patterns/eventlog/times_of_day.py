"""Times of day of the events of subjects, or of people, indexed for look-ups by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.eventlog.arrays import Floats, Ints, Rows, begins, order_by, ranges
from patterns.eventlog.log import Log

DAY_MINUTES = 1440.0
_SPAN = 4096.0  # one owner's stretch of the sort key


@dataclass(frozen=True, eq=False)
class Times(Rows):
    """Events with a time of day, each with its owner (a subject, or a person); sorted by owner and minute.

    Attributes:
        owner, event: (entries,) whose, and which event of the log.
        minute: (entries,) minutes since the day began.
        key: (entries,) owner and minute in one number, ascending.
    """

    owner: Ints
    event: Ints
    minute: Floats
    key: Floats

    @classmethod
    def of(cls, log: Log, owner: Ints, event: Ints) -> Times:
        """Of events that are given with their owner; those that last all day are left out."""
        timed = ~np.isnan(log.minute[event])
        owner, event = owner[timed], event[timed]
        order = order_by(owner, log.time_rank[event], event)
        owner, event = owner[order], event[order]
        minute = log.minute[event]
        return cls(owner=owner, event=event, minute=minute, key=owner * _SPAN + minute)

    def once_a_quarter_hour(self, log: Log) -> Times:
        """The same, with at most one event per owner and quarter-hour of a day: a burst is no crowd."""
        cell = (log.day[self.event] - log.day.min(initial=0)) * 96 + (self.minute // 15).astype(np.int64)
        order = order_by(self.owner, cell)
        return self[np.sort(order[begins(self.owner[order], cell[order])])]

    def inside(self, owner: Ints, low: Floats, width: Floats) -> tuple[Ints, Ints]:
        """Pairs (window, entry) of all entries inside each window; windows may run past midnight."""
        low = low % DAY_MINUTES
        pairs = []
        for begin, end in (
            (low, np.minimum(low + width, DAY_MINUTES)),
            (np.zeros_like(low), low + width - DAY_MINUTES),
        ):
            some = np.flatnonzero(end >= begin)
            first = np.searchsorted(self.key, owner[some] * _SPAN + begin[some], side="left")
            last = np.searchsorted(self.key, owner[some] * _SPAN + end[some], side="right")
            length = np.maximum(last - first, 0)
            pairs.append((np.repeat(some, length), ranges(first, length)))
        window = np.concatenate([p[0] for p in pairs])
        entry = np.concatenate([p[1] for p in pairs])
        order = order_by(window, entry)
        return window[order], entry[order]
