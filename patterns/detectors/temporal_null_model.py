"""What chance would do in a slot: the nulls of temporal patterns (see `patterns.detectors.temporal`)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from patterns.eventlog.activity_profile import Background, OwnTimes, Rhythm, weekday_factor
from patterns.eventlog.arrays import Flags, Floats, Ints, ranges
from patterns.eventlog.log import Log, day_key
from patterns.eventlog.subjects import Subjects
from patterns.rules.recurrence import RULES, are_due


@dataclass(frozen=True, eq=False)
class Slots:
    """Windows with the rule that explains when they are used; every array is (slots,).

    `first` and `last` are the ends of the span, as indices into the log's active days; `rate` is the share of its due days
    on which it was used.
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

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, chosen: Ints | Flags) -> Slots:
        return Slots(*(getattr(self, f.name)[chosen] for f in fields(self)))


def null_rates(log: Log, subjects: Subjects, slots: Slots) -> Floats:
    """(slots,) chance that a due day has an event in the slot, were the subject's events spread evenly."""
    share = _share(subjects, slots, subjects.background, slots.subject)
    by_weekday = subjects.by_weekday[slots.subject]
    return _null_rates(log, subjects, slots, subjects.background, slots.subject, by_weekday, share)


def final_null_rates(log: Log, subjects: Subjects, slots: Slots, without: Floats) -> Floats:
    """The same, and for subjects that set the rhythm the chance given how many events each due day had.

    Args:
        log: the events of everybody.
        subjects: what a pattern can be about.
        slots: the slots.
        without: (events,) the share of each that is left out of the background.
    """
    slot, event = subjects.events_of(slots.subject)
    timed = ~np.isnan(log.minute[event])
    slot, event = slot[timed], event[timed]
    counted = 1.0 - without[event]
    own = OwnTimes.of(slot, log.minute[event], len(slots), counted)
    rhythm, mine = Rhythm.of(log, without), slots.subject
    background = Background(rhythm, own, subjects.user[mine], subjects.kind[mine])
    by_weekday = np.bincount(slot * 7 + log.weekday[event], counted, minlength=len(slots) * 7).reshape(-1, 7)
    each = np.arange(len(slots))
    share = _share(subjects, slots, background, each)
    null = _null_rates(log, subjects, slots, background, each, by_weekday, share)
    rhythmic = np.flatnonzero(subjects.sets_the_rhythm[mine])
    if len(rhythmic):
        null[rhythmic] = _given_the_days(log, subjects, slots[rhythmic], share[rhythmic])
    return null


def _share(subjects: Subjects, slots: Slots, background: Background, seen_from: Ints) -> Floats:
    """(slots,) share of the subject's events that would fall into the slot by chance; see `_null_rates`."""
    share = background.close_share(seen_from, slots.low, slots.width)
    rhythmic = np.flatnonzero(subjects.sets_the_rhythm[slots.subject])
    own = subjects.background.own.about(slots.subject[rhythmic], slots.low[rhythmic], slots.width[rhythmic])
    share[rhythmic] = np.maximum(share[rhythmic], own)
    return share


def _null_rates(
    log: Log,
    subjects: Subjects,
    slots: Slots,
    background: Background,
    seen_from: Ints,
    by_weekday: Ints | Floats,
    share: Floats,
) -> Floats:
    """(slots,) as `null_rates`.

    Args:
        log, subjects, slots: as there.
        background: what else people do.
        seen_from: (slots,) whose view of it is each slot's.
        by_weekday: (slots, 7) events of each slot's subject that are not in it.
        share: (slots,) share of the subject's events that would fall into each.
    """
    rhythm, user, kind = background.rhythm, background.user[seen_from], background.kind[seen_from]
    others = rhythm.week_of_user[user] - by_weekday, rhythm.week_of_type[kind] - by_weekday
    factor = np.maximum(weekday_factor(log.active.by_weekday[user], *others), 1.0)
    weekdays = WEEKDAYS_OF_RULES[slots.rule]
    mean_factor = (factor * weekdays).sum(axis=1) / np.maximum(weekdays.sum(axis=1), 1)
    events = in_span(log, subjects.owner, subjects.event, slots.subject, slots)
    null: Floats = -np.expm1(-events / (slots.last - slots.first + 1) * share * mean_factor)
    return np.clip(null, 1e-9, 1 - 1e-9)


def _given_the_days(log: Log, subjects: Subjects, slots: Slots, share: Floats) -> Floats:
    """(slots,) chance that a due day has an event in the slot, each of that day's events falling in it with `share`."""
    subject, active = slots.subject, log.active
    length = subjects.size[subject]
    which = np.repeat(np.arange(len(slots)), length)
    event = subjects.event[ranges(subjects.start[subject], length)]
    position = active.position(log.user[event], log.day[event])
    inside = (position >= slots.first[which]) & (position <= slots.last[which])
    inside &= are_due(slots.rule[which], log.day[event])
    keys, count = np.unique(which[inside] << 32 | position[inside], return_counts=True)
    slot = keys >> 32
    used = np.bincount(slot, weights=1 - (1 - np.minimum(share, 1.0)[slot]) ** count, minlength=len(slots))
    span = slots.last - slots.first + 1
    which, position = np.repeat(np.arange(len(slots)), span), ranges(slots.first, span)
    due = np.bincount(which[are_due(slots.rule[which], active.day[position])], minlength=len(slots))
    return np.clip(used / np.maximum(due, 1), 1e-9, 1 - 1e-9)


def in_span(log: Log, owner: Ints, event: Ints, wanted: Ints, slots: Slots) -> Ints:
    """(slots,) how many events of each slot's `wanted` owner lie in its span; events ascend within an owner."""
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
