"""Empty slots: stretches of hours on a set of days that have far fewer events than expected.

The search takes the slot of a subject with the greatest likelihood ratio "a twentieth of what is expected" against "what is
expected", then the next (`E·(1 - q) + c·ln q` summed over its cells, q = 1/20: a maximum-sum interval for each set of days).
`patterns.detectors.avoidance` defines the expected number and the null.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from patterns.detectors.weekly_grid import HOURS, Weeks
from patterns.eventlog.arrays import Flags, Floats, Ints, Rows
from patterns.rules.recurrence import RULES, WEEKDAY_LABELS, WEEKEND_LABELS

_LEAK = 0.05
"""An avoided slot has about this share of the expected events."""
_EXCEPTIONS = 0.1
"""Exceptions that "never" allows: one day in ten, or one in ten of the expected events."""
_ROUNDS = 3
"""Rounds of the search in each subject."""
_LEAST_EXPECTED = 8.0
"""Expected events that a slot needs: with fewer, its emptiness is never significant after correction."""
_CLOSED = -1e6
"""Weight of an hour that belongs to a slot found before."""

RULE_OF_SET = np.array([n for n, rule in enumerate(RULES) if rule.family.name == "weekday"])
"""Indices into `RULES` of the rules for all sets of weekdays."""
DAY_SETS = tuple(RULES[n] for n in RULE_OF_SET)
"""These rules."""
IN_SET = np.array([[d in rule.labels for d in range(7)] for rule in DAY_SETS], dtype=np.float64)
"""(day sets, 7) 1 for the days in each set, else 0."""
_EVERY_DAY: Flags = np.all(IN_SET > 0, axis=1)


def _day_set_weight(labels: tuple[int, ...]) -> float:
    """Share of the error budget for a day set; they sum to one."""
    if len(labels) == 1:
        return 1 / 2 / 7
    if labels in (WEEKEND_LABELS, tuple(range(7))):
        return 1 / 8
    if labels == WEEKDAY_LABELS:
        return 1 / 16
    return 3 / 16 / (2**7 - 1 - 10)


_DAY_PRICE = np.array([-np.log(_day_set_weight(rule.labels)) for rule in DAY_SETS])


@dataclass(frozen=True, eq=False)
class EmptySlots(Rows):
    """Slots of the week; every array is (slots,).

    Attributes:
        subject: what does not happen in it.
        days: index into the day sets.
        low, high: hours, `high` excluded.
        gain: log-likelihood ratio of avoidance, nats, less the price of naming its days.
        null_rate: chance that the slot stays empty on one day.
        hypotheses: how many it counts for: the inverse of its share of the error budget.
    """

    subject: Ints
    days: Ints
    low: Ints
    high: Ints
    gain: Floats
    null_rate: Floats
    hypotheses: Floats

    @property
    def hours(self) -> Floats:
        """(slots, 24) 1 for hours in the slot, else 0."""
        hour = np.arange(HOURS)
        return ((hour >= self.low[:, None]) & (hour < self.high[:, None])).astype(np.float64)


def find_empty_slots(weeks: Weeks, subject: Ints) -> EmptySlots:
    """The best slots of these subjects: in each round one on some days of the week and one on every day.

    Their `hypotheses` are for one subject; the caller multiplies them by the number of subjects.
    """
    mine = weeks[subject]
    some_expected = mine.count.sum(axis=1)[:, None, :] * mine.share[:, :, None]
    whole_expected = mine.others * mine.ratio[:, None, None]
    found = []
    open_ = np.ones_like(mine.count)
    left = np.arange(len(subject))
    for _ in range(_ROUNDS):
        some, whole = (
            _best(
                subject[left],
                (expected * (1 - _LEAK) + mine.count * np.log(_LEAK))[left] + _CLOSED * (1 - open_[left]),
                np.flatnonzero(day_sets),
            )
            for expected, day_sets in ((some_expected, ~_EVERY_DAY), (whole_expected, _EVERY_DAY))
        )
        for slots in (some, whole):
            slots = _with_null(weeks, slots)
            found.append(slots[(slots.gain > 0) & (slots.null_rate < 1)])
        better = whole.gain > some.gain
        days = np.where(better, whole.days, some.days)
        hours = np.where(better[:, None], whole.hours, some.hours)
        open_[left] *= 1 - IN_SET[days][:, :, None] * hours[:, None, :]
        # A subject without a slot that is worth its price has none in the rest of the week either.
        left = left[np.maximum(some.gain, whole.gain) > 0]
    return EmptySlots.joined(found)


def _best(subject: Ints, weight: Floats, sets: Ints) -> EmptySlots:
    """The slot with the largest sum of weights, less the price of its days, for each subject.

    Args:
        subject: (n,) whose slot.
        weight: (n, 7, 24) of each hour.
        sets: the day sets to choose from.
    """
    sums = np.matmul(IN_SET[sets], weight)
    running = np.concatenate([np.zeros((*sums.shape[:2], 1)), np.cumsum(sums, axis=2)], axis=2)
    lowest = np.minimum.accumulate(running, axis=2)
    rise = running - lowest
    high = rise.argmax(axis=2)
    gain = np.take_along_axis(rise, high[:, :, None], axis=2)[:, :, 0] - _DAY_PRICE[sets]
    best = gain.argmax(axis=1)
    row = np.arange(len(subject))
    end = high[row, best]
    # The stretch begins after the last hour at which the running sum was lowest.
    until = np.arange(HOURS + 1)[None, :] <= end[:, None]
    at_lowest = until & (
        running[row, best] <= np.take_along_axis(lowest[row, best], end[:, None], axis=1) + 1e-12
    )
    begin = HOURS - at_lowest[:, ::-1].argmax(axis=1)
    unknown = np.zeros(len(subject))
    return EmptySlots(
        subject=subject,
        days=sets[best],
        low=begin,
        high=end,
        gain=gain[row, best],
        null_rate=unknown,
        hypotheses=unknown,
    )


def _with_null(weeks: Weeks, slots: EmptySlots) -> EmptySlots:
    """The slots with their null rate and their number of hypotheses."""
    mine = weeks[slots.subject]
    inside, hours = IN_SET[slots.days], slots.hours
    in_hours = (mine.count * hours[:, None, :]).sum(axis=2)
    slot_share = (mine.share * inside).sum(axis=1)
    # Of what a person does most, only its own other hours show how much of it a day would have.
    by_itself = (mine.share_beside(hours) * inside).sum(axis=1)
    slot_share = np.where(mine.is_most, np.minimum(slot_share, by_itself), slot_share)
    slot_share = np.minimum(slot_share, 1 - 1e-9)
    by_day = -in_hours.sum(axis=1) * np.log1p(-slot_share)
    every_day = (mine.others * hours[:, None, :]).sum(axis=(1, 2)) * mine.ratio
    expected = np.where(_EVERY_DAY[slots.days], every_day, by_day) / mine.dispersion
    days = (mine.days * inside).sum(axis=1)
    exceptions = (in_hours * inside).sum(axis=1)
    good = (expected >= _LEAST_EXPECTED) & (exceptions <= _EXCEPTIONS * np.maximum(expected, days))
    return replace(
        slots,
        gain=np.where(good, slots.gain, 0.0),
        null_rate=np.where(good, np.clip(np.exp(-expected / np.maximum(days, 1)), 1e-9, 1.0), 1.0),
        hypotheses=np.exp(_DAY_PRICE[slots.days]) / _stretch_weight(mine.count, slots.low, slots.high),
    )


def _stretch_weight(count: Floats, low: Ints, high: Ints) -> Floats:
    """(slots,) share of the error budget for a stretch of hours, among the hours in which the subject occurs."""
    used = count.sum(axis=1) > 0
    first, last = used.argmax(axis=1), HOURS - 1 - used[:, ::-1].argmax(axis=1)
    hours = np.maximum(last - first + 1, 1)
    from_start, to_end = low <= first, high > last
    weight: Floats = np.where(
        from_start & to_end,
        1 / 2,
        np.where(from_start | to_end, 1 / 4 / (2 * hours), 1 / 2 / (hours * (hours + 1))),
    )
    return weight
