"""Recurrence: on which dates something is due, chosen among a fixed list of calendar rules.

Every rule is a set of *labels* of a day under one of the families below; a day is due if its label is in the set.

============  ============================================  ==============================================
family        label of a day                                rules tried
============  ============================================  ==============================================
weekday       its weekday                                   every day; weekdays; weekends; any set of days
every n-th    its weekday and its week number modulo 2, 3,  one weekday every second, third, fourth week
week          4
month day     its number in the month; the last one          one day of the month, or the last
nth weekday   its weekday and which of its kind in the      the first … fourth or last such day of the
              month, or the last                             month
============  ============================================  ==============================================

The choice is by description length (Rissanen 1978; Galbrun et al. 2018 use it for cycles in event logs): the
likelihood of the hits on due and on other days, less the price of naming the rule among its alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from itertools import combinations, pairwise
from math import comb, log

import numpy as np
import polars as pl

from patterns.eventlog.arrays import Flags, Floats, Ints, begins, distinct, order_by
from patterns.eventlog.log import ActiveDays, weekday_of

BYDAY = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
WEEKDAY_LABELS = (0, 1, 2, 3, 4)
WEEKEND_LABELS = (5, 6)
_EPOCH_MONDAY = -3  # 29 December 1969: weeks are counted from there


@dataclass(frozen=True)
class Family:
    """One way of labelling days.

    Attributes:
        name: for people.
        labels: how many labels there are.
        interval: weeks between two due days of one label; 1 where the family knows no weeks.

    """

    name: str
    labels: int
    interval: int = 1


FAMILIES = (
    Family("weekday", 7),
    Family("every second week", 14, 2),
    Family("every third week", 21, 3),
    Family("every fourth week", 28, 4),
    Family("month day", 31),
    Family("last day of month", 2),
    Family("nth weekday", 28),
    Family("last weekday", 14),
)


def label_days(family: Family, day: Ints) -> Ints:
    """(days,) the label of each day under a family; -1 where it has none."""
    weekday: Ints = weekday_of(day)
    if family.name == "weekday":
        return weekday
    if family.interval > 1:
        week: Ints = (day - _EPOCH_MONDAY) // 7 % family.interval
        return weekday * family.interval + week
    date = pl.Series(day.astype(np.int32)).cast(pl.Date)
    number = date.dt.day().to_numpy().astype(np.int64)
    if family.name == "month day":
        month_day: Ints = number - 1
        return month_day
    left: Ints = date.dt.month_end().dt.day().to_numpy().astype(np.int64) - number
    if family.name == "last day of month":
        at_end: Ints = (left == 0).astype(np.int64)
        return at_end
    if family.name == "nth weekday":
        nth: Ints = (number - 1) // 7
        return np.where(nth < 4, weekday * 4 + nth, -1)
    is_last: Ints = (left < 7).astype(np.int64)
    return weekday * 2 + is_last


@dataclass(frozen=True)
class Recurrence:
    """One rule: the days whose label under `family` is one of `labels`."""

    family: Family
    labels: tuple[int, ...]

    @cached_property
    def price(self) -> float:
        """Nats that naming this rule costs."""
        return _price(self.family, self.labels)

    def due(self, day: Ints) -> Flags:
        """(days,) True if the day is due."""
        due: Flags = np.isin(label_days(self.family, day), self.labels)
        return due

    def rrule(self) -> str:
        """RFC 5545 text."""
        if self.family.name == "weekday":
            if len(self.labels) == 7:
                return "FREQ=DAILY"
            return "FREQ=WEEKLY;BYDAY=" + ",".join(BYDAY[d] for d in self.labels)
        (label,) = self.labels
        if self.family.interval > 1:
            return f"FREQ=WEEKLY;INTERVAL={self.family.interval};BYDAY={BYDAY[label // self.family.interval]}"
        if self.family.name == "month day":
            return f"FREQ=MONTHLY;BYMONTHDAY={label + 1}"
        if self.family.name == "last day of month":
            return "FREQ=MONTHLY;BYMONTHDAY=-1"
        if self.family.name == "nth weekday":
            return f"FREQ=MONTHLY;BYDAY={label % 4 + 1}{BYDAY[label // 4]}"
        return f"FREQ=MONTHLY;BYDAY=-1{BYDAY[label // 2]}"

    @property
    def needs_start(self) -> bool:
        """True if the RFC 5545 text needs a first date."""
        return self.family.interval > 1

    def next_due(self, day: Ints) -> Ints:
        """(days,) the first due day after each day."""
        answer = np.empty(len(day), dtype=np.int64)
        ahead = np.arange(1, 64)
        # Any of these rules recurs within 62 days (the 31st: from 1 January's to 31 March's is 59).
        for block in range(0, len(day), 4096):
            days = day[block : block + 4096, None] + ahead
            due = self.due(days.ravel()).reshape(days.shape)
            answer[block : block + 4096] = days[np.arange(len(days)), due.argmax(axis=1)]
        return answer


def _price(family: Family, labels: tuple[int, ...]) -> float:
    if family.name == "weekday":
        if len(labels) == 7:
            return 0.0
        if labels in (WEEKDAY_LABELS, WEEKEND_LABELS):
            return log(3)
        return log(3) + log(comb(7, len(labels)))
    # Among all rules of the kind, and they are rarer than weekly ones: a prior of one in five.
    return log(5) + log(family.labels)


def _all_rules() -> Iterator[Recurrence]:
    for family in FAMILIES:
        if family.name == "weekday":
            for size in range(1, 8):
                for labels in combinations(range(7), size):
                    yield Recurrence(family, labels)
        elif family.name == "last day of month":
            yield Recurrence(family, (1,))
        elif family.name == "last weekday":
            yield from (Recurrence(family, (2 * d + 1,)) for d in range(7))
        else:
            yield from (Recurrence(family, (label,)) for label in range(family.labels))


RULES = tuple(_all_rules())
"""Every rule that is tried."""


@cache  # there are few, and the stream asks for each observation
def named(rrule: str, dtstart: str | None = None) -> list[Recurrence]:
    """The rules of that text: none if it is no rule of ours, several if it needs a first date and has none.

    >>> [rule.labels for rule in named("FREQ=WEEKLY;BYDAY=SA,SU")]
    [(5, 6)]
    """
    found = [rule for rule in RULES if rule.rrule() == rrule]
    if dtstart is None:
        return found
    start = np.array([(date.fromisoformat(dtstart) - date(1970, 1, 1)).days], dtype=np.int64)
    return [rule for rule in found if rule.due(start)[0]]


_FAMILY = np.array([FAMILIES.index(rule.family) for rule in RULES])
_DUE = np.zeros((len(RULES), max(family.labels for family in FAMILIES) + 1), dtype=np.bool_)
for _number, _rule in enumerate(RULES):
    _DUE[_number, list(_rule.labels)] = True


def are_due(rule: Ints, day: Ints) -> Flags:
    """(n,) True if the rule, an index into `RULES`, is due on the day; rule -1 never is."""
    answer = np.zeros(len(rule), dtype=np.bool_)
    family = np.where(rule >= 0, _FAMILY[rule], -1)
    for number in distinct(family).tolist():
        if number >= 0:
            rows = np.flatnonzero(family == number)
            # A day without a label of the family has the label -1: the last column, in which nothing is due.
            answer[rows] = _DUE[rule[rows], label_days(FAMILIES[number], day[rows])]
    return answer


def next_due_days(active: ActiveDays, rule: Ints, user: Ints, day: Ints) -> Ints:
    """(n,) the first day after each that its rule, an index into `RULES`, yields and that is no holiday of the person's."""
    due = _next_due(rule, day)
    while True:
        back = active.after_holiday(user, due)
        resting = np.flatnonzero(back > due)
        if not len(resting):
            return due
        due[resting] = _next_due(rule[resting], back[resting] - 1)


def _next_due(rule: Ints, day: Ints) -> Ints:
    """(n,) the first day after each that its rule yields; for each rule and day once."""
    order = order_by(rule, day)
    head = np.flatnonzero(begins(rule[order], day[order]))
    first = order[head]
    answer = np.empty(len(rule), dtype=np.int64)
    once = np.empty(len(first), dtype=np.int64)
    start = np.flatnonzero(begins(rule[first]))
    for begin, end in pairwise([*start.tolist(), len(first)]):
        once[begin:end] = RULES[rule[first[begin]]].next_due(day[first[begin:end]])
    answer[order] = np.repeat(once, np.diff(head, append=len(order)))
    return answer


RULE_WEIGHTS = np.exp([-rule.price for rule in RULES])
RULE_WEIGHTS /= RULE_WEIGHTS.sum()
"""Share of an error budget that each rule has; they sum to one."""


_DAY_OFF = 0.5


@dataclass(frozen=True, eq=False)
class Choice:
    """The rule chosen for each series of hits.

    Attributes:
        rule: (n,) index into `RULES`.
        support, opportunities: (n,) hits and active days among the due days of the span.
        gain: (n,) nats of the rule's likelihood over one rate for all days, less its price.

    """

    rule: Ints
    support: Ints
    opportunities: Ints
    gain: Floats


def choose(group: Ints, position: Ints, first: Ints, last: Ints, active: ActiveDays, least: int) -> Choice:
    """The best rule for each group of hit days.

    Args:
        group, position: (hits,) hit days, as indices into the active days.
        first, last: (groups,) span of active days that is looked at, both included.
        active: everybody's active days.
        least: a rule needs as many hits.

    """
    groups = len(first)
    total_hits = np.bincount(group, minlength=groups).astype(np.float64)
    total_days = (last - first + 1).astype(np.float64)
    flat = _likelihood(total_hits, total_days)
    best, chosen = np.full(groups, -np.inf), np.full(groups, -1, dtype=np.int64)
    support, opportunities = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    for family in FAMILIES:
        labels = label_days(family, active.day)
        hits = _by_label(group, labels[position], groups, family.labels)
        days = _days_by_label(labels, first, last, family.labels)
        for number, rule in enumerate(RULES):
            if rule.family is not family:
                continue
            inside, due = hits[:, rule.labels].sum(axis=1), days[:, rule.labels].sum(axis=1)
            score = _score(rule, inside, due, total_hits, total_days)
            better = (score > best) & (inside >= least)
            better &= _has_days_off(inside, due, total_hits, total_days)
            better &= _was_seen(rule, days[:, rule.labels] > 0)
            best = np.where(better, score, best)
            chosen = np.where(better, number, chosen)
            support = np.where(better, inside, support)
            opportunities = np.where(better, due, opportunities)
    return Choice(rule=chosen, support=support, opportunities=opportunities, gain=best - flat)


def _score(rule: Recurrence, inside: Ints, due: Ints, hits: Floats, days: Floats) -> Floats:
    """(groups,) likelihood of the hits on due and on other days, less the price of the rule, nats."""
    score = _likelihood(inside, due) + _likelihood(hits - inside, days - due) - rule.price
    # A second rate is a second parameter (BIC), if there are other days.
    second: Floats = np.where(days > due, 0.5 * np.log(np.maximum(days, 1.0)), 0.0)
    return score - second


def _has_days_off(inside: Ints, due: Ints, hits: Floats, days: Floats) -> Flags:
    """(groups,) True if it happens on other days at most half as often as on due days."""
    rate_inside = inside / np.maximum(due, 1)
    rate_outside = (hits - inside) / np.maximum(days - due, 1)
    days_off: Flags = rate_outside <= _DAY_OFF * rate_inside
    return days_off


def _was_seen(rule: Recurrence, seen: Flags) -> Flags:
    """(groups,) True if the person was active on the days of the rule.

    A rule must not include days without data; but five days of a week, one of them at the weekend, suffice for
    every day, and four weekdays for all weekdays.
    """
    enough: Flags = np.asarray(seen.all(axis=1))
    if len(rule.labels) == 7:
        enough = (seen.sum(axis=1) >= 5) & np.asarray(seen[:, 5:].any(axis=1))
    elif rule.labels == WEEKDAY_LABELS and rule.family.name == "weekday":
        enough = seen.sum(axis=1) >= 4
    return enough


def _likelihood(hits: Floats | Ints, days: Floats | Ints) -> Floats:
    """Maximal log-likelihood of so many hits on so many days at one rate."""
    hits, days = np.asarray(hits, dtype=np.float64), np.asarray(days, dtype=np.float64)
    rate = hits / np.maximum(days, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(rate > 0, hits * np.log(rate), 0.0) + np.where(
            rate < 1, (days - hits) * np.log1p(-rate), 0.0
        )
    return np.where(days > 0, value, 0.0)


def _by_label(group: Ints, label: Ints, groups: int, labels: int) -> Ints:
    has = label >= 0
    return np.bincount(group[has] * labels + label[has], minlength=groups * labels).reshape(groups, labels)


def _days_by_label(labels: Ints, first: Ints, last: Ints, count: int) -> Ints:
    """(groups, labels) how many active days of each label lie in each span."""
    running = np.zeros((len(labels) + 1, count), dtype=np.int32)
    has = np.flatnonzero(labels >= 0)
    running[has + 1, labels[has]] = 1
    np.cumsum(running, axis=0, out=running)
    return (running[last + 1] - running[first]).astype(np.int64)
