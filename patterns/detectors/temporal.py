"""Temporal: something is done at a time of day, on the dates of a calendar rule.

From crowded windows of the day (`patterns.detectors.scan_windows`) by way of the span in which each was kept
(`patterns.inference.densest_span`) to the calendar rule that explains its dates best (`patterns.rules.recurrence`).

**Null.** On a due day on which the person was active, an event of this kind falls within the tolerance by chance
with probability ``1 - exp(-λ)``, where λ is the subject's events per active day of the span, times the share of
the person's other activity in the window, times how much more the person does on that weekday than on others, if it
is more (`patterns.eventlog.activity_profile`).

A whole type, or what is most of all that the person does, sets the rhythm itself: nothing else can tell at which hours they
are awake. Its days are given and only the hours are left to chance, ``1 - (1 - share)^n`` for a day with n events (that
mail is a thing of weekdays is no habit); the share is at least twice that of the busier of the two stretches beside the window
(`patterns.eventlog.activity_profile.OwnTimes.about`), and windows are narrow: a working day or a busy morning is the shape of a life, and
no habit; what crowds about one hour stands out from the hours about it.

**Hypotheses.** The error budget is shared out evenly over a person's subjects, within a subject over the windows (every
event may begin one of every width), and within a window over the calendar rules, each weighted by how plain it is to
say (weighted Bonferroni, Genovese, Roeder & Wasserman 2006; `patterns.rules.recurrence.RULE_WEIGHTS`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from observations.civil_time import format_clock
from patterns.candidates import Candidates, PatternType, Trials
from patterns.detectors.scan_windows import find_windows
from patterns.detectors.temporal_null_model import Slots, final_null_rates
from patterns.detectors.temporal_slots import find_slots, is_sure, slot_hypotheses, supporting, with_tolerance
from patterns.eventlog.arrays import Flags, Floats, order_by, ranges
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import Subjects, recorded_until
from patterns.eventlog.times_of_day import DAY_MINUTES, Times
from patterns.rules.recurrence import RULES, are_due, next_due_days
from patterns.settings import Settings


@dataclass(frozen=True)
class TemporalDetector:
    """Finds what is done at regular times.

    Attributes:
        least_tolerance: minutes that a person may be early or late in any case.
        least_rate: a rule kept more seldom than this on its due days is no candidate.

    """

    least_tolerance: int = 10
    least_rate: float = 0.4
    type: PatternType = "temporal"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates at regular times; see the module."""
        times = Times.of(log, subjects.owner, subjects.event)
        if not len(times):
            return Candidates.none(self.type)
        least = settings.least_support
        sparse = times.once_a_quarter_hour(log)
        windows = find_windows(
            sparse.owner,
            log.weekday[sparse.event],
            sparse.minute,
            subjects.background,
            least,
        )
        slots = find_slots(log, subjects, times, windows, least, self.least_rate, settings)
        if not len(slots):
            return Candidates.none(self.type)
        slots = with_tolerance(log, times, slots, self.least_tolerance)
        hypotheses = slot_hypotheses(subjects, times, slots)
        certain = slots[is_sure(slots, hypotheses, settings)]
        null_rate = final_null_rates(log, subjects, slots, _accounted_for(log, times, certain))
        slots = replace(slots, null_rate=null_rate)
        return _candidates(log, subjects, times, slots, hypotheses)


def _accounted_for(log: Log, times: Times, certain: Slots) -> Floats:
    """(events,) the share of each event that certain slots account for.

    That is no background: the null is fitted anew without it ("peeling"). What would come by chance as well stays.
    """
    slot, entry = supporting(log, times, certain)
    share = np.zeros(len(log))
    np.maximum.at(share, times.event[entry], 1 - certain.null_rate[slot] / certain.rate[slot])
    return share


def _candidates(log: Log, subjects: Subjects, times: Times, slots: Slots, hypotheses: Floats) -> Candidates:
    """The slots as rules with their trials: every due day from the first of the span until now."""
    active, user = log.active, subjects.user[slots.subject]
    end = active.start[user + 1]
    length = end - slots.first
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(slots.first, length)
    due = are_due(slots.rule[slot], active.day[position])
    slot, position = slot[due], position[due]

    window, entry = times.inside(slots.subject, slots.low, slots.width)
    event = times.event[entry]
    on = active.position(user[window], log.day[event])
    # The event of a day that supports is the first of that day in the slot.
    key, order = window * (len(active.day) + 1) + on, order_by(on, window, event)
    keys, at = np.unique(key[order], return_index=True)
    shown = event[order][at]
    wanted = slot * (len(active.day) + 1) + position
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    hit = keys[found] == wanted
    event_of = np.where(hit, shown[found], -1)

    day = active.day[position]
    time, tolerance = (slots.low + slots.width / 2) % DAY_MINUTES, slots.width / 2
    over = wall_clock(day, time[slot] + tolerance[slot])
    when = np.where(hit, wall_clock(log.day[event_of], log.minute[event_of]), over)
    # Today's slot is an opportunity once it is used or over, and no day is after the source has ended.
    known = hit | (
        (over <= log.as_of_local[user[slot]]) & (day <= recorded_until(log, subjects, slots.subject)[slot])
    )
    slot, day, hit, event_of, when = slot[known], day[known], hit[known], event_of[known], when[known]
    next_day = next_due_days(log.active, slots.rule[slot], user[slot], day)
    next_due = wall_clock(next_day, time[slot] + tolerance[slot])
    where = subjects.where(slots.subject)
    rules = [
        _rule(
            where[i],
            int(slots.rule[i]),
            float(time[i]),
            float(tolerance[i]),
            int(active.day[slots.first[i]]),
            log.day_starts_at,
        )
        for i in range(len(slots))
    ]
    trials = Trials(slot, when, hit, event_of, next_due).sorted()
    # The earliest event that ever fitted, whatever the span: the span's beginning may move as evidence comes in.
    slot, entry = supporting(log, times, slots)
    origin = np.full(len(slots), len(log), dtype=np.int64)
    np.minimum.at(origin, slot, times.event[entry])
    return Candidates("temporal", user, rules, slots.null_rate, hypotheses, trials, origin)


def _rule(
    where: dict[str, str], number: int, time: float, tolerance: float, first_day: int, day_starts_at: int
) -> dict[str, object]:
    recurrence = RULES[number]
    rule: dict[str, object] = {
        "where": where,
        "rrule": recurrence.rrule(),
        "time": format_clock(time + 60 * day_starts_at),
        "tolerance_minutes": ceil(tolerance),
    }
    if recurrence.needs_start:
        first = int(recurrence.next_due(np.array([first_day - 1]))[0])
        rule["dtstart"] = str(np.datetime64(first, "D"))
    if day_starts_at:
        rule["day_starts_at"] = format_clock(60 * day_starts_at)
    return rule
