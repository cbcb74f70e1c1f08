"""Activity profile: at which hours and on which weekdays a person is active, as the background of every null.

"Were its events spread over the days and over the hours at which the person is active" (design, section 4)
needs to know those hours. They are taken from everything *else* the person does: the events outside the subject, of
the same type; if those are few, of all types; if those are few too, from the waking day:

::

    share of a window = (others of the type in it + κ · wider share) / (others of the type + κ)
    wider share       = (others in it             + κ · w / 16 h   ) / (others             + κ)

and a tenth of it may fall on any waking hour. Measured against the rest of the person's life, busy mornings and quiet
weekends do not look like habits; κ (`PRIOR`) limits the weight of a handful of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from patterns.eventlog.arrays import Flags, Floats, Ints, count_table, sum_table
from patterns.eventlog.log import Log

Counts = npt.NDArray[Any]
"""Whole numbers, where every event counts; fractions, where some count in part."""

BIN = 5
"""Minutes of a bin of the day."""
BINS = 1440 // BIN
WAKING_MINUTES = 960.0
"""People are awake two thirds of the day; without other activity, nothing more is known of their hours."""
PRIOR = 50.0
"""How many events the wider share is worth against the narrower one."""
SHAPE = 2.0
"""Hours may be busier than those beside them by this factor without any habit."""
ANY_TIME = 0.1
"""This share of what people do may fall on any waking hour, even on one in which nothing else was seen."""
SMOOTHING_MINUTES = 60
"""Shares of narrower windows are taken from a window of this width around them: others' events are sparse."""


@dataclass(frozen=True, eq=False)
class Rhythm:
    """Counts of everybody's events by time of day and by weekday, for whole lives and for each `Log.kind`.

    Attributes:
        of_user, of_type: (groups, 2·BINS + 1) cumulative counts over two days of bins, so that a window past
            midnight is one difference.
        week_of_user, week_of_type: (groups, 7) counts by weekday.
    """

    of_user: Counts
    of_type: Counts
    week_of_user: Ints | Floats
    week_of_type: Ints | Floats

    @classmethod
    def of(cls, log: Log, without: Flags | Floats | None = None) -> Rhythm:
        """The rhythm of everybody in the log.

        Args:
            log: the events of everybody.
            without: (events,) the share of each event that is left out of the counts; None to count all.
        """
        kind, timed = log.kind, np.flatnonzero(~np.isnan(log.minute))
        counted: Floats | None = (
            None if without is None else np.asarray(1.0 - without[timed], dtype=np.float64)
        )
        bins = (log.minute[timed] // BIN).astype(np.int64)
        kinds, users = int(kind.max(initial=-1)) + 1, len(log.users)
        return cls(
            of_user=_cumulative(log.user[timed], bins, users, counted),
            of_type=_cumulative(kind[timed], bins, kinds, counted),
            week_of_user=_counts(log.user[timed], log.weekday[timed], users, 7, counted),
            week_of_type=_counts(kind[timed], log.weekday[timed], kinds, 7, counted),
        )


def weekday_factor(days: Ints, of_user: Ints | Floats, of_type: Ints | Floats) -> Floats:
    """(n, 7) how much more a person does on an active day of each weekday than on any, one subject's own left out.

    Args:
        days: (n, 7) the person's active days by weekday.
        of_user, of_type: (n, 7) what else the person does by weekday, of any type and of the subject's type; below zero
            counts as nothing.

    """
    share_of_days = days / np.maximum(days.sum(axis=1, keepdims=True), 1)
    lives = np.maximum(of_user, 0)
    wider = (lives + PRIOR * share_of_days) / (lives.sum(axis=1, keepdims=True) + PRIOR)
    kinds = np.maximum(of_type, 0)
    share = (kinds + PRIOR * wider) / (kinds.sum(axis=1, keepdims=True) + PRIOR)
    factor: Floats = share / np.maximum(share_of_days, 1e-12)
    return np.where(share_of_days > 0, factor, 1.0)


@dataclass(frozen=True, eq=False)
class OwnTimes:
    """The times of day of each subject's events, to be counted in any window of bins.

    Attributes:
        total: (subjects,) how many there are.
        running: (subjects, 2·BINS + 1) cumulative counts over two days of bins.
    """

    total: Ints | Floats
    running: Counts

    @classmethod
    def of(cls, subject: Ints, minute: Floats, subjects: int, counted: Floats | None = None) -> OwnTimes:
        """Of events given by subject and minute of the day (no nan); `counted` is the share of each that counts; None to count all."""
        running = _cumulative(subject, (minute // BIN).astype(np.int64), subjects, counted)
        return cls(np.bincount(subject, counted, minlength=subjects), running)

    def about(self, subject: Ints, low: Floats, width: Floats) -> Floats:
        """(n,) the largest share of a subject's own events that the shape of its day alone puts into each window.

        ``(2·neighbour + 1/2) / (all + 1)``: twice what is in the busier of the two stretches beside it, each as wide as the
        window or as the day leaves room for (plus Jeffreys' half). From one hour to the next a day becomes busier or quieter,
        but not by more than that: a busy morning goes on, a crowd about one hour does not.
        """
        first = np.floor(low / BIN).astype(np.int64) % BINS
        length = np.clip(np.ceil(width / BIN).astype(np.int64), 1, BINS - 2)
        beside = np.minimum(length, (BINS - length) // 2)
        before, after = (first - beside) % BINS, (first + length) % BINS
        busier = np.maximum(
            *(_between(self.running, subject, start, start + beside) for start in (before, after))
        )
        share: Floats = (SHAPE * busier * (length / beside) + 0.5) / (self.total[subject] + 1)
        return np.minimum(share, 1.0)


@dataclass(frozen=True, eq=False)
class Background:
    """What else people do, seen from each of their subjects: the rhythm without the subject's own events.

    Attributes:
        rhythm: everybody's.
        own: the times of the subjects' own events, the same left out as from the rhythm.
        user, kind: (subjects,) whose each subject is, and of which `Log.kind`.
    """

    rhythm: Rhythm
    own: OwnTimes
    user: Ints
    kind: Ints

    def share(self, subject: Ints, low: Floats, width: Floats | float) -> Floats:
        """(n,) share of the person's other activity that falls into each window.

        Args:
            subject: (n,) whose own events are left out.
            low, width: (n,) the windows, minutes; or one width for all.
        """
        wide = np.maximum(width, SMOOTHING_MINUTES)
        first = np.floor((low - (wide - width) / 2) / BIN).astype(np.int64) % BINS
        last = first + np.clip(np.ceil(wide / BIN).astype(np.int64), 1, BINS)
        narrowing = np.minimum(np.maximum(width, BIN) / wide, 1.0)
        even = np.minimum(wide / WAKING_MINUTES, 1.0)
        inside = _between(self.own.running, subject, first, last)
        others = _between(self.rhythm.of_user, self.user[subject], first, last) - inside
        wider = (others + PRIOR * even) / self._of_person[subject]
        others = _between(self.rhythm.of_type, self.kind[subject], first, last) - inside
        share: Floats = (others + PRIOR * wider) / self._of_type[subject]
        return ((1 - ANY_TIME) * share + ANY_TIME * even) * narrowing

    def close_share(self, subject: Ints, low: Floats, width: Floats) -> Floats:
        """(n,) the same, and of windows narrower than those shares are smoothed by at least what is seen in the window itself.

        If others are many, ten minutes differ from the hour about them: a busy hour that ends at eleven is busy until
        then. If they are few, the smoothed share dominates:
        ``(others in it + κ' · smoothed) / (others + κ')``, κ' being κ times as much as it was smoothed.
        """
        share = self.share(subject, low, width)
        narrow = np.flatnonzero(width < SMOOTHING_MINUTES)
        subject, low, width = subject[narrow], low[narrow], width[narrow]
        first = np.floor(low / BIN).astype(np.int64) % BINS
        last = first + np.ceil((low % BIN + width) / BIN).astype(np.int64)
        prior = PRIOR * SMOOTHING_MINUTES / np.maximum(width, BIN)
        inside = _between(self.rhythm.of_type, self.kind[subject], first, last)
        others = (inside - _between(self.own.running, subject, first, last)) * width / ((last - first) * BIN)
        seen = (others + prior * share[narrow]) / (self._of_type[subject] - PRIOR + prior)
        share[narrow] = np.maximum(share[narrow], seen)
        return share

    @cached_property
    def _of_person(self) -> Floats:
        """(subjects,) all others of the person, and the prior."""
        others: Floats = self.rhythm.of_user[self.user, BINS] - self.own.total + PRIOR
        return others

    @cached_property
    def _of_type(self) -> Floats:
        """(subjects,) the others of the type, and the prior."""
        others: Floats = self.rhythm.of_type[self.kind, BINS] - self.own.total + PRIOR
        return others


def _between(running: Counts, row: Ints, first: Ints, last: Ints) -> Counts:
    """(n,) events of each row of a cumulative table in the bins first … last - 1."""
    flat, start = running.ravel(), row * running.shape[1]
    inside: Counts = flat[start + last] - flat[start + first]
    return inside


def _cumulative(group: Ints, bins: Ints, groups: int, counted: Floats | None) -> Counts:
    counts = _counts(group, bins, groups, BINS, counted)
    table: Counts = np.zeros((groups, 2 * BINS + 1), dtype=np.int32 if counted is None else np.float64)
    np.cumsum(counts, axis=1, out=table[:, 1 : BINS + 1])
    table[:, BINS + 1 :] = table[:, 1 : BINS + 1] + table[:, BINS : BINS + 1]
    return table


def _counts(
    group: Ints, label: Ints, groups: int, labels: int, counted: Floats | None = None
) -> Ints | Floats:
    shape = (groups, labels)
    return count_table(group, label, shape) if counted is None else sum_table(group, label, shape, counted)
