"""Days as columns, and which of them a recurrence rule lets through."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from observations.ingest.ical.rrule import Rule

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


class Days(NamedTuple):
    """Days in order, one array for each thing a rule may ask of them.

    ``number`` counts from 1970-01-01; ``weekday`` from Monday 0; the others from 1.
    """

    number: Integers
    year: Integers
    month: Integers
    day: Integers
    weekday: Integers
    year_day: Integers
    month_length: Integers
    year_length: Integers


def days_between(first: int, last: int) -> Days:
    """The days from `first` to `last`, both included, as numbers since 1970-01-01."""
    common = _common_days()
    if first >= 0 and last < len(common.number):
        return Days(*(column[first : last + 1] for column in common))
    return _calendar(first, last)


@cache
def _common_days() -> Days:
    """The days that nearly all calendars live in, worked out once: 1970 to 2099."""
    return _calendar(0, day_number(datetime(2099, 12, 31)))


def _calendar(first: int, last: int) -> Days:
    number = np.arange(first, last + 1)
    day = number.astype("datetime64[D]")
    month, year = day.astype("datetime64[M]"), day.astype("datetime64[Y]")
    next_month, next_year = month + np.timedelta64(1, "M"), year + np.timedelta64(1, "Y")
    month_start, month_end = month.astype("datetime64[D]"), next_month.astype("datetime64[D]")
    year_start, year_end = year.astype("datetime64[D]"), next_year.astype("datetime64[D]")
    return Days(
        number,
        year.astype(np.int64) + 1970,
        month.astype(np.int64) % 12 + 1,
        (day - month_start).astype(np.int64) + 1,
        (number + _FIRST_WEEKDAY) % 7,
        (day - year_start).astype(np.int64) + 1,
        (month_end - month_start).astype(np.int64),
        (year_end - year_start).astype(np.int64),
    )


_FIRST_WEEKDAY = 3
"""1970-01-01 was a Thursday."""


def day_number(moment: datetime) -> int:
    """The day of a moment, counted from 1970-01-01."""
    return moment.toordinal() - datetime(1970, 1, 1).toordinal()


def periods(days: Days, rule: Rule) -> Integers:
    """A number for the year, month, week or day that each day is in, one more for each next one."""
    if rule.frequency == "YEARLY":
        return days.year
    if rule.frequency == "MONTHLY":
        return days.year * 12 + days.month
    if rule.frequency == "WEEKLY":
        return (days.number + _FIRST_WEEKDAY - rule.week_start) // 7
    return days.number


def matches(days: Days, rule: Rule) -> Mask:
    """Which days every BY part of the rule that is about days lets through."""
    keep = np.ones(len(days.number), dtype=bool)
    if rule.by_month:
        keep &= among(days.month, rule.by_month)
    if rule.by_week:
        keep &= _in_weeks(days, rule)
    if rule.by_year_day:
        keep &= among(days.year_day, rule.by_year_day, days.year_length)
    if rule.by_month_day:
        keep &= among(days.day, rule.by_month_day, days.month_length)
    if rule.by_day:
        keep &= _on_weekdays(days, rule)
    return keep


def among(values: Integers, wanted: Sequence[int], length: Integers | None = None) -> Mask:
    """Which values, counted from 1, are wanted; a negative number counts from the end of `length`."""
    allowed = np.zeros(367, dtype=bool)
    allowed[[n for n in wanted if n >= 0]] = True
    found = allowed[values]
    if length is not None and any(n < 0 for n in wanted):
        from_end = np.zeros(367, dtype=bool)
        from_end[[-n for n in wanted if n < 0]] = True
        found |= from_end[length - values + 1]
    return cast(Mask, found)


def _in_weeks(days: Days, rule: Rule) -> Mask:
    """Which days are in the wanted weeks of the year. Week 1 is the first with four days in the year."""
    fourth = days.number - (days.weekday - rule.week_start) % 7 + 3  # the day that says whose week it is
    there = days_between(int(fourth.min()), int(fourth.max()))
    place = fourth - there.number[0]
    year_day, year_length = there.year_day[place], there.year_length[place]
    week = (year_day - 1) // 7 + 1
    return among(week, rule.by_week, week + (year_length - year_day) // 7)


def _on_weekdays(days: Days, rule: Rule) -> Mask:
    found = np.zeros(len(days.number), dtype=bool)
    in_month = rule.frequency == "MONTHLY" or bool(rule.by_month)
    place, length = (days.day, days.month_length) if in_month else (days.year_day, days.year_length)
    for ordinal, weekday in rule.by_day:
        this = days.weekday == weekday
        if ordinal and rule.frequency in ("MONTHLY", "YEARLY"):
            nth = (place - 1) // 7 + 1 if ordinal > 0 else (length - place) // 7 + 1
            this &= nth == abs(ordinal)
        found |= this
    return found
