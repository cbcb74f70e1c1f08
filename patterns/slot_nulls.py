"""What chance would do in a slot: the nulls of temporal patterns (see `patterns.detectors.temporal`)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from patterns.arrays import Flags, Floats, Ints, ranges
from patterns.log import Log, day_key
from patterns.recurrence import RULES
from patterns.rhythm import Background, OwnTimes, Rhythm
from patterns.subjects import Subjects


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


def null_rates(
    log: Log, subjects: Subjects, slots: Slots, rhythm: Rhythm, without: Flags | None = None
) -> Floats:
    """(slots,) chance that a due day has an event in the slot, were the subject's events spread evenly.

    `without` are the events that `rhythm` leaves out of the background, if any.
    """
    subject = slots.subject
    background = background_of(log, subjects, rhythm, without)
    share = background.share(subject, slots.low, slots.width)
    user, kind = background.user[subject], background.kind[subject]
    others = rhythm.weekday_factor(user, kind, by_weekday_of(log, subjects, without)[subject])
    factor = np.maximum(others, 1.0)
    weekdays = WEEKDAYS_OF_RULES[slots.rule]
    mean_factor = (factor * weekdays).sum(axis=1) / np.maximum(weekdays.sum(axis=1), 1)
    per_day = in_span(log, subjects.owner, subjects.event, subject, slots) / (slots.last - slots.first + 1)
    null: Floats = -np.expm1(-per_day * share * mean_factor)
    return np.clip(null, 1e-9, 1 - 1e-9)


def final_null_rates(log: Log, subjects: Subjects, slots: Slots, rhythm: Rhythm, without: Flags) -> Floats:
    """The same, and for whole types (or all of one action) the chance given how many events each due day had."""
    null = null_rates(log, subjects, slots, rhythm, without)
    broad = np.flatnonzero(subjects.is_broad[slots.subject])
    if not len(broad):
        return null
    subject, active = slots.subject[broad], log.active
    share = background_of(log, subjects, rhythm, without).share(subject, slots.low[broad], slots.width[broad])
    length = subjects.size[subject]
    which = np.repeat(np.arange(len(broad)), length)
    event = subjects.event[ranges(subjects.start[subject], length)]
    position = active.position(log.user[event], log.day[event])
    inside = (position >= slots.first[broad][which]) & (position <= slots.last[broad][which])
    inside &= is_due(slots.rule[broad], which, log.day[event])
    keys, count = np.unique(which[inside] << 32 | position[inside], return_counts=True)
    slot = keys >> 32
    used = np.bincount(slot, weights=1 - (1 - np.minimum(share, 1.0)[slot]) ** count, minlength=len(broad))
    span = slots.last[broad] - slots.first[broad] + 1
    which, position = np.repeat(np.arange(len(broad)), span), ranges(slots.first[broad], span)
    due = np.bincount(which[is_due(slots.rule[broad], which, active.day[position])], minlength=len(broad))
    null[broad] = np.clip(used / np.maximum(due, 1), 1e-9, 1 - 1e-9)
    return null


def by_weekday_of(log: Log, subjects: Subjects, without: Flags | None = None) -> Ints:
    """(subjects, 7) events with a time of day, by weekday, except those flagged in `without`."""
    counted = ~np.isnan(log.minute[subjects.event])
    if without is not None:
        counted &= ~without[subjects.event]
    key = subjects.owner[counted] * 7 + log.weekday[subjects.event[counted]]
    return np.bincount(key, minlength=len(subjects) * 7).reshape(-1, 7)


def background_of(log: Log, subjects: Subjects, rhythm: Rhythm, without: Flags | None = None) -> Background:
    """What else people do, seen from the subjects; `without` are the events that `rhythm` leaves out, if any."""
    own = subjects.times_of_day
    if without is not None:
        counted = ~np.isnan(log.minute[subjects.event]) & ~without[subjects.event]
        own = OwnTimes.of(subjects.owner[counted], log.minute[subjects.event[counted]], len(subjects))
    return Background(rhythm, own, subjects.user, log.kind[subjects.event[subjects.start[:-1]]])


def is_due(rule: Ints, slot: Ints, day: Ints) -> Flags:
    """(n,) whether the rule of each slot is due on each day."""
    answer = np.zeros(len(slot), dtype=np.bool_)
    numbers = rule[slot]
    for number in np.unique(numbers):
        if number >= 0:
            of_rule = numbers == number
            answer[of_rule] = RULES[number].due(day[of_rule])
    return answer


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
