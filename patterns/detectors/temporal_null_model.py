"""Why a time of day is not chance: the null model of temporal patterns (see `patterns.detectors.temporal`).

For each slot: the probability that a due day has an event in it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.eventlog.activity_profile import Background, OwnTimes, Rhythm, weekday_factor
from patterns.eventlog.arrays import Floats, Ints, Rows, pack, ranges, sum_table, unpack
from patterns.eventlog.log import Log, day_key
from patterns.eventlog.subjects import Subjects
from patterns.eventlog.times_of_day import DAY_MINUTES
from patterns.rules.recurrence import RULES, are_due


@dataclass(frozen=True, eq=False)
class Slots(Rows):
    """Windows of the day, each with the calendar rule that explains its days best; every array is (slots,).

    Attributes:
        subject: whose events are in it.
        low, width: minutes; low … low + width may run past the end of the day.
        rule: index into `RULES`; -1 where no rule fits.
        first, last: the ends of the span, as indices into the log's active days.
        rate: share of the due days of the span that have an event in the slot.
        null_rate: chance that a due day has one anyway.
        gain: nats by which the rate explains the days better than the null does.
    """

    subject: Ints
    low: Floats
    width: Floats
    rule: Ints
    first: Ints
    last: Ints
    rate: Floats
    null_rate: Floats
    gain: Floats

    @property
    def time(self) -> Floats:
        """(slots,) the middle of each, minutes since the day began."""
        return (self.low + self.width / 2) % DAY_MINUTES

    @property
    def tolerance(self) -> Floats:
        """(slots,) minutes from the middle of each to its ends."""
        return self.width / 2


@dataclass(frozen=True, eq=False)
class _View:
    """What else people do, as seen from each slot.

    Attributes:
        background: what else people do.
        row: (slots,) the subject of the background from which each slot sees it.
        by_weekday: (slots, 7) events of each slot's subject, which the view leaves out.
    """

    background: Background
    row: Ints
    by_weekday: Ints | Floats


def null_rates(log: Log, subjects: Subjects, slots: Slots) -> Floats:
    """(slots,) chance that a due day has an event in the slot if the subject's events were spread evenly."""
    view = _View(subjects.background, slots.subject, subjects.by_weekday[slots.subject])
    return _null_rates(log, subjects, slots, view, _share(subjects, slots, view))


def final_null_rates(log: Log, subjects: Subjects, slots: Slots, without: Floats) -> Floats:
    """The same; for subjects that set the rhythm, the chance given how many events each due day had.

    Args:
        log: the events of everybody.
        subjects: what a pattern can be about.
        slots: the slots.
        without: (events,) the share of each that is left out of the background.
    """
    view = _view_without(log, subjects, slots, without)
    share = _share(subjects, slots, view)
    null = _null_rates(log, subjects, slots, view, share)
    rhythmic = np.flatnonzero(subjects.sets_the_rhythm[slots.subject])
    if len(rhythmic):
        null[rhythmic] = _given_the_days(log, subjects, slots[rhythmic], share[rhythmic])
    return null


def _view_without(log: Log, subjects: Subjects, slots: Slots, without: Floats) -> _View:
    """What else people do, without the given shares of events."""
    slot, event = subjects.events_of(slots.subject)
    timed = ~np.isnan(log.minute[event])
    slot, event = slot[timed], event[timed]
    counted = 1.0 - without[event]
    own = OwnTimes.of(slot, log.minute[event], len(slots), counted)
    user, kind = subjects.user[slots.subject], subjects.kind[slots.subject]
    by_weekday = sum_table(slot, log.weekday[event], (len(slots), 7), counted)
    return _View(
        Background(rhythm=Rhythm.of(log, without), own=own, user=user, kind=kind),
        np.arange(len(slots)),
        by_weekday,
    )


def _share(subjects: Subjects, slots: Slots, view: _View) -> Floats:
    """(slots,) share of the subject's events that would fall into the slot by chance."""
    share = view.background.close_share(view.row, slots.low, slots.width)
    rhythmic = np.flatnonzero(subjects.sets_the_rhythm[slots.subject])
    own = subjects.background.own.about(slots.subject[rhythmic], slots.low[rhythmic], slots.width[rhythmic])
    share[rhythmic] = np.maximum(share[rhythmic], own)
    return share


def _null_rates(log: Log, subjects: Subjects, slots: Slots, view: _View, share: Floats) -> Floats:
    """(slots,) as `null_rates`; `share` (slots,) is the share of the subject's events that falls into each by chance."""
    rhythm, user, kind = (
        view.background.rhythm,
        view.background.user[view.row],
        view.background.kind[view.row],
    )
    others = rhythm.week_of_user[user] - view.by_weekday, rhythm.week_of_type[kind] - view.by_weekday
    factor = np.maximum(weekday_factor(log.active.by_weekday[user], *others), 1.0)
    weekdays = WEEKDAYS_OF_RULES[slots.rule]
    mean_factor = (factor * weekdays).sum(axis=1) / np.maximum(weekdays.sum(axis=1), 1)
    events = in_span(log, subjects.owner, subjects.event, slots.subject, slots)
    null: Floats = -np.expm1(-events / (slots.last - slots.first + 1) * share * mean_factor)
    return np.clip(null, 1e-9, 1 - 1e-9)


def _given_the_days(log: Log, subjects: Subjects, slots: Slots, share: Floats) -> Floats:
    """(slots,) chance that a due day has an event in the slot, each of that day's events falling in it with `share`."""
    slot, event = subjects.events_of(slots.subject)
    position = log.active.position(log.user[event], log.day[event])
    inside = (position >= slots.first[slot]) & (position <= slots.last[slot])
    inside &= are_due(slots.rule[slot], log.day[event])
    days, count = np.unique(pack(slot[inside], position[inside]), return_counts=True)
    slot, _ = unpack(days)
    used = np.bincount(slot, weights=1 - (1 - np.minimum(share, 1.0)[slot]) ** count, minlength=len(slots))
    return np.clip(used / np.maximum(_due_days(log, slots), 1), 1e-9, 1 - 1e-9)


def _due_days(log: Log, slots: Slots) -> Ints:
    """(slots,) how many due days there are in the span of each."""
    length = slots.last - slots.first + 1
    slot, position = np.repeat(np.arange(len(slots)), length), ranges(slots.first, length)
    return np.bincount(slot[are_due(slots.rule[slot], log.active.day[position])], minlength=len(slots))


def in_span(log: Log, owner: Ints, event: Ints, wanted: Ints, slots: Slots) -> Ints:
    """(slots,) events of each slot's `wanted` owner in its span; `event` ascends within each owner."""
    days = log.active.day
    key = day_key(owner, log.day[event])
    begin = np.searchsorted(key, day_key(wanted, days[slots.first]), side="left")
    end: Ints = np.searchsorted(key, day_key(wanted, days[slots.last]), side="right")
    return end - begin


def _weekdays_of_rules() -> Ints:
    """(rules, 7) on which weekdays each rule can be due."""
    table = np.ones((len(RULES), 7), dtype=np.int64)
    for number, rule in enumerate(RULES):
        per_weekday = {"weekday": 1, "nth weekday": 4, "last weekday": 2}.get(
            rule.family.name, rule.family.interval
        )
        if rule.family.name == "weekday" or per_weekday > 1:
            table[number] = 0
            table[number, [label // per_weekday for label in rule.labels]] = 1
    return table


WEEKDAYS_OF_RULES = _weekdays_of_rules()
"""(rules, 7) on which weekdays each rule can be due."""
