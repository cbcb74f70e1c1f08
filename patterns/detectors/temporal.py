"""Temporal: something is done at a time of day, on the dates of a calendar rule.

The detector finds windows of the day in which events crowd (`patterns.detectors.scan_windows`), the span in which each was
kept (`patterns.inference.densest_span`), and the calendar rule that explains its dates best (`patterns.rules.recurrence`).

**Null.** On a due day on which the person was active, an event of this kind falls within the tolerance by chance
with probability ``1 - exp(-λ)``, where λ is the subject's events per active day of the span, times the share of
the person's other activity in the window, times how much more the person does on that weekday than on others, if it
is more (`patterns.eventlog.activity_profile`).

A subject that is a whole type, or most of what the person does, sets the rhythm itself: nothing else shows at which hours
they are awake. Its days are given and only the hours are left to chance, ``1 - (1 - share)^n`` for a day with n events, for
mail on weekdays is no habit. The share is at least twice that of the busier of the two stretches beside the window
(`patterns.eventlog.activity_profile.OwnTimes.about`), and windows are narrow: a working day or a busy morning is no habit.

**Hypotheses.** The error budget is shared out evenly over a person's subjects, within a subject over the windows (every
event may begin one of every width), and within a window over the calendar rules, simpler rules having more weight
(weighted Bonferroni, Genovese, Roeder & Wasserman 2006; `patterns.rules.recurrence.RULE_WEIGHTS`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from observations.civil_time import format_clock
from patterns.candidates import Candidates, PatternType, Trials
from patterns.detectors.scan_windows import find_windows
from patterns.detectors.temporal_null_model import Slots, final_null_rates
from patterns.detectors.temporal_slots import (
    find_slots,
    is_significant,
    slot_hypotheses,
    supporting,
    with_tolerance,
)
from patterns.eventlog.arrays import Flags, Floats, Ints, order_by, pack, ranges
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import Subjects, recorded_until
from patterns.eventlog.times_of_day import Times
from patterns.rules.recurrence import RULES, are_due, next_due_days
from patterns.rules.temporal_rule import TemporalRule
from patterns.settings import Settings


@dataclass(frozen=True)
class TemporalDetector:
    """Finds what is done at regular times.

    Attributes:
        least_tolerance: minutes that a person may be early or late in any case.
        least_rate: a rule kept less often than this on its due days is no candidate.

    """

    least_tolerance: int = 10
    least_rate: float = 0.4
    type: PatternType = "temporal"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates at regular times; see the module."""
        times = Times.of(log, subjects.owner, subjects.event)
        if not len(times):
            return Candidates.none(self.type)
        sparse = times.once_a_quarter_hour(log)
        windows = find_windows(
            sparse.owner,
            log.weekday[sparse.event],
            sparse.minute,
            subjects.background,
            settings.least_support,
        )
        slots = find_slots(log, subjects, times, windows, self.least_rate, settings)
        if not len(slots):
            return Candidates.none(self.type)
        slots = with_tolerance(log, times, slots, self.least_tolerance)
        hypotheses = slot_hypotheses(subjects, times, slots)
        significant = slots[is_significant(slots, hypotheses, settings)]
        null_rate = final_null_rates(log, subjects, slots, _accounted_for(log, times, significant))
        slots = replace(slots, null_rate=null_rate)
        return _candidates(log, subjects, times, slots, hypotheses)


def _accounted_for(log: Log, times: Times, significant: Slots) -> Floats:
    """(events,) the share of each event that significant slots account for.

    It is no background, so the null is fitted again without it ("peeling"); the share that chance explains stays.
    """
    slot, entry = supporting(log, times, significant)
    share = np.zeros(len(log))
    np.maximum.at(share, times.event[entry], 1 - significant.null_rate[slot] / significant.rate[slot])
    return share


def _candidates(log: Log, subjects: Subjects, times: Times, slots: Slots, hypotheses: Floats) -> Candidates:
    """The slots as rules, with their trials."""
    slot, position = _due_days(log, subjects, slots)
    event = _first_events(log, subjects, times, slots, (slot, position))
    return Candidates(
        type="temporal",
        user=subjects.user[slots.subject],
        rules=_rules(log, subjects, slots),
        null_rate=slots.null_rate,
        hypotheses=hypotheses,
        trials=_trials(log, subjects, slots, (slot, position), event),
        origin=_first_supports(log, times, slots),
    )


def _due_days(log: Log, subjects: Subjects, slots: Slots) -> tuple[Ints, Ints]:
    """Pairs (slot, active day): every due day from the first of the slot's span until now."""
    length = log.active.start[subjects.user[slots.subject] + 1] - slots.first
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(slots.first, length)
    due = are_due(slots.rule[slot], log.active.day[position])
    return slot[due], position[due]


def _first_events(log: Log, subjects: Subjects, times: Times, slots: Slots, due: tuple[Ints, Ints]) -> Ints:
    """(n,) the first event inside the slot on each of the due days, pairs (slot, active day); -1 where there is none."""
    slot, entry = times.inside(slots.subject, slots.low, slots.width)
    event = times.event[entry]
    day = log.active.position(subjects.user[slots.subject[slot]], log.day[event])
    order = order_by(day, slot, event)
    days, first = np.unique(pack(slot, day)[order], return_index=True)
    wanted = pack(*due)
    found = np.minimum(np.searchsorted(days, wanted), max(len(days) - 1, 0))
    return np.where(days[found] == wanted, event[order][first][found], -1)


def _trials(log: Log, subjects: Subjects, slots: Slots, due: tuple[Ints, Ints], event: Ints) -> Trials:
    """Each due day, a pair (slot, active day), as one trial; `event` (due days,) shows it was kept, -1 that it was missed."""
    slot, position = due
    user, day = subjects.user[slots.subject], log.active.day[position]
    end = slots.time + slots.tolerance
    over = wall_clock(day, end[slot])
    when = np.where(event >= 0, wall_clock(log.day[event], log.minute[event]), over)
    # Today's slot is an opportunity once it is used or over, and no day is after the source has ended.
    until = recorded_until(log, subjects, slots.subject)
    known = (event >= 0) | ((over <= log.as_of_local[user[slot]]) & (day <= until[slot]))
    slot, day, event, when = slot[known], day[known], event[known], when[known]
    next_day = next_due_days(log.active, slots.rule[slot], user[slot], day)
    return Trials(
        candidate=slot, local=when, hit=event >= 0, event=event, next_due=wall_clock(next_day, end[slot])
    ).sorted()


def _first_supports(log: Log, times: Times, slots: Slots) -> Ints:
    """(slots,) the earliest event that fits the rule, whatever the span: its beginning may move as evidence comes in."""
    slot, entry = supporting(log, times, slots)
    first = np.full(len(slots), len(log), dtype=np.int64)
    np.minimum.at(first, slot, times.event[entry])
    return first


def _rules(log: Log, subjects: Subjects, slots: Slots) -> list[TemporalRule]:
    """(slots,) the rule of each."""
    rules: list[TemporalRule] = []
    for where, number, time, tolerance, first_day in zip(
        subjects.where(slots.subject),
        slots.rule.tolist(),
        slots.time.tolist(),
        slots.tolerance.tolist(),
        log.active.day[slots.first].tolist(),
        strict=True,
    ):
        recurrence, dtstart = RULES[number], None
        if recurrence.needs_start:
            first = int(recurrence.next_due(np.array([first_day - 1]))[0])
            dtstart = str(np.datetime64(first, "D"))
        rule = TemporalRule(
            where=where,
            rrule=recurrence.rrule(),
            time=format_clock(time + 60 * log.day_starts_at),
            tolerance_minutes=ceil(tolerance),
            dtstart=dtstart,
            day_starts_at=format_clock(60 * log.day_starts_at) if log.day_starts_at else None,
        )
        rules.append(rule)
    return rules
