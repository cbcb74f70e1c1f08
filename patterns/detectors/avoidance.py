"""Avoidance: something never happens in a slot of the week in which it would be expected.

The week is cut into days × hours (`patterns.detectors.weekly_grid`). The detector compares the events of a kind in each cell
with those expected from what else the person does. A slot is one stretch of hours on a set of days; it is avoided if it has
far fewer events than expected (`patterns.detectors.empty_slots`).

**Expected** on some days of the week: the kind's events in those hours on all days, shared out over the days as all the
person's other activity is (`patterns.eventlog.activity_profile`). Expected every day: the kind's share of the person's other
activity in those hours. Of a kind that is most of what the person does, a day is expected to have no more than its own other
hours suggest ("same hours on other days × the same day at other hours", design, section 4). Events that a confirmed habit
accounts for are not counted: a stand-up at 09:30 is not "avoided" in the afternoon. Neither are days before the first or after
the last event of the type: a source that ends is not avoidance.

**Null.** A slot of an active day stays empty by chance with probability ``exp(-λ)``. On some days of the week,
``λ·days = -T·ln(1 - s)``: that all T events of those hours fall on the other days, the slot's share of the week
being s, has probability ``(1 - s)^T`` (the exact conditional test, given T). Every day, λ is the expected number.

If the kind's events are overdispersed, many on few days, T is divided by the dispersion.

**Hypotheses.** The subjects with enough events, times day sets, times stretches of hours, simpler ones having more weight
(weighted Bonferroni, Genovese, Roeder & Wasserman 2006): half of the error budget goes to single days, and half to whole
days; a quarter each to "before" or "after" an hour, and to any other stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from observations.civil_time import WEEKDAYS
from patterns.candidates import Candidates, PatternType, Trials
from patterns.detectors.empty_slots import DAY_SETS, IN_SET, RULE_OF_SET, EmptySlots, find_empty_slots
from patterns.detectors.weekly_grid import HOURS, Weeks
from patterns.eventlog.arrays import Flags, Ints, contains, distinct, pack, ranges
from patterns.eventlog.log import Log, day_key, wall_clock, weekday_of
from patterns.eventlog.subjects import Subjects
from patterns.inference.significance import is_certain
from patterns.rules.avoidance_rule import AvoidanceRule
from patterns.rules.recurrence import next_due_days
from patterns.settings import Settings

_LEAST_EVENTS = 28.0
"""Events that a subject needs: then eight are expected on two days of the week."""
_OVERLAP = 0.5
"""A slot is redundant if this share of it is covered by a slot of the same or a wider subject."""


@dataclass(frozen=True)
class AvoidanceDetector:
    """Finds when something never happens.

    Attributes:
        chunk: subjects per batch; their tables fit into the processor's cache.
    """

    chunk: int = 64
    type: PatternType = "avoidance"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, explained: Flags) -> Candidates:
        """Candidates for avoided slots; see the module."""
        if not len(subjects):
            return Candidates.none(self.type)
        weeks = Weeks.of(log, subjects, explained)
        frequent = np.flatnonzero(weeks.count.sum(axis=(1, 2)) >= _LEAST_EVENTS)
        if not len(frequent):
            return Candidates.none(self.type)
        slots = EmptySlots.joined(
            [
                find_empty_slots(weeks, frequent[i : i + self.chunk])
                for i in range(0, len(frequent), self.chunk)
            ]
        )
        if not len(slots):
            return Candidates.none(self.type)
        tested = np.bincount(subjects.user[frequent], minlength=len(log.users))
        slots = replace(slots, hypotheses=slots.hypotheses * tested[subjects.user[slots.subject]])
        days = (weeks.days[slots.subject] * IN_SET[slots.days]).sum(axis=1)
        certain = is_certain(-np.log(slots.null_rate) * days, slots.hypotheses, settings)
        slots = slots[_is_not_covered(subjects, slots, certain)]
        low, high = _stretched(log, subjects, slots)
        rules = [
            _rule(where, int(days), int(a), int(b), log.day_starts_at)
            for where, days, a, b in zip(subjects.where(slots.subject), slots.days, low, high, strict=True)
        ]
        trials = _trials(log, subjects, weeks, replace(slots, low=low, high=high))
        user = subjects.user[slots.subject]
        return Candidates(
            type=self.type,
            user=user,
            rules=rules,
            null_rate=slots.null_rate,
            hypotheses=slots.hypotheses,
            trials=trials,
        )


def _is_not_covered(subjects: Subjects, slots: EmptySlots, certain: Flags) -> Flags:
    """(slots,) False if a better slot of the same or a wider subject covers most of it.

    Significant slots come first, then those of most events, then those with the greatest gain. A slot that a later one
    covers as well is only its clearest part, and goes too.
    """
    wide = np.where(certain, subjects.size[slots.subject], 0)
    owner = subjects.user[slots.subject]
    order = np.lexsort((slots.subject, -slots.gain, -wide, ~certain, owner))
    keep = np.zeros(len(slots), dtype=np.bool_)
    for user in np.unique(owner):
        kept: list[int] = []
        for slot in order[owner[order] == user].tolist():
            if not any(_covers(subjects, slots, better, slot) for better in kept):
                kept.append(slot)
        keep[kept] = True
        for slot in reversed(kept):
            others = [o for o in kept if keep[o] and o != slot and certain[o] >= certain[slot]]
            keep[slot] = not any(_covers(subjects, slots, other, slot) for other in others)
    return keep


def _covers(subjects: Subjects, slots: EmptySlots, better: int, slot: int) -> bool:
    hours = min(slots.high[better], slots.high[slot]) - max(slots.low[better], slots.low[slot])
    days = (IN_SET[slots.days[better]] * IN_SET[slots.days[slot]]).sum()
    size = (slots.high[slot] - slots.low[slot]) * IN_SET[slots.days[slot]].sum()
    if max(hours, 0) * days < _OVERLAP * size:
        return False
    if slots.subject[better] == slots.subject[slot]:
        return True
    wider, events = (subjects.events_of(slots.subject[[i]])[1] for i in (better, slot))
    return bool(np.isin(events, wider, assume_unique=True).mean() > _OVERLAP)


def _stretched(log: Log, subjects: Subjects, slots: EmptySlots) -> tuple[Ints, Ints]:
    """(slots,) hours, extended to midnight if the subject has no event beyond them on any day."""
    slot, event = subjects.events_of(slots.subject)
    hour = log.minute[event] / 60
    before = np.bincount(slot, weights=hour < slots.low[slot], minlength=len(slots))
    after = np.bincount(slot, weights=hour >= slots.high[slot], minlength=len(slots))
    return np.where(before > 0, slots.low, 0), np.where(after > 0, slots.high, HOURS)


def _trials(log: Log, subjects: Subjects, weeks: Weeks, slots: EmptySlots) -> Trials:
    """Each active day of the slot's days, while the subject's type was recorded, once its hours are over."""
    active, user = log.active, subjects.user[slots.subject]
    first = active.position(user, weeks.first[slots.subject])
    length = np.maximum(active.position(user, weeks.last[slots.subject] + 1) - first, 0)
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(first, length)
    day = active.day[position]
    end = (60 * slots.high).astype(np.float64)
    due = IN_SET[slots.days[slot], weekday_of(day)] > 0
    due &= wall_clock(day, end[slot]) <= log.as_of_local[user[slot]]
    slot, position, day = slot[due], position[due], day[due]

    hit = ~contains(_broken(log, subjects, slots), pack(slot, position))
    shows = np.searchsorted(day_key(log.user, log.day), day_key(active.user[position], day))
    next_due = next_due_days(active, RULE_OF_SET[slots.days[slot]], user[slot], day)
    return Trials(
        candidate=slot,
        local=wall_clock(day, end[slot]),
        hit=hit,
        event=np.where(hit, shows, -1),
        next_due=wall_clock(next_due, end[slot]),
    ).sorted()


def _broken(log: Log, subjects: Subjects, slots: EmptySlots) -> Ints:
    """Sorted keys (slot, active day) of the days on which the subject has an event in the slot's hours."""
    slot, event = subjects.events_of(slots.subject)
    hour = log.minute[event] / 60
    inside = (hour >= slots.low[slot]) & (hour < slots.high[slot])
    # An all-day event is in no hour, but it is in every whole day.
    inside |= np.isnan(hour) & (slots.high[slot] - slots.low[slot] == HOURS)
    slot, event = slot[inside], event[inside]
    return distinct(pack(slot, log.active.position(log.user[event], log.day[event])))


def _rule(where: dict[str, str], days: int, low: int, high: int, day_starts_at: int) -> AvoidanceRule:
    whole_day = (low, high) == (0, HOURS)
    low, high = (low, high) if whole_day else (low + day_starts_at, high + day_starts_at)
    return AvoidanceRule.model_validate(
        {
            "where": where,
            "days": [WEEKDAYS[d] for d in DAY_SETS[days].labels],
            "from": f"{low % HOURS:02d}:00",
            "to": f"{high if high <= HOURS else high - HOURS:02d}:00",
            "day_starts_at": f"{day_starts_at:02d}:00" if day_starts_at else None,
        }
    )
