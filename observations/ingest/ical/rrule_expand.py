"""From a recurrence rule to its wall-clock times.

A rule is worked out on the wall clock, without any zone: 09:00 stays 09:00 when the clocks change. What a zone
adds (times that the clocks jump over, UNTIL in UTC) is the business of the series (`observations.ingest.ical.series`).

Why not dateutil, which is right and serves as oracle in the tests: it looks for the next match until it finds one,
and nothing can stop it. ``FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31`` costs it 7.2 s, ``FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2``
2.5 s, ``FREQ=SECONDLY`` without end (measured, 2 cores): a file with a hundred such lines would stop the reader.
Here a rule is a set of masks over the days *of a window*: the work is bounded by the window for any rule,
and a rule without matches is the fastest of all.

::

    days of the window      M T W T F S S M T W T F S S M T W T F S S
    INTERVAL=2, weekly      ■ ■ ■ ■ ■ ■ ■ · · · · · · · ■ ■ ■ ■ ■ ■ ■
    BYDAY=TU,FR             · ■ · · ■ · · · ■ · · ■ · · · ■ · · ■ · ·
    both                    · ■ · · ■ · · · · · · · · · · ■ · · ■ · ·     × times of day, then BYSETPOS
"""

# ruff: noqa: DTZ901 — a wall clock has no zone
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import numpy as np
import numpy.typing as npt

from observations.ingest.ical.rrule import STEP_SECONDS, Rule, RuleError
from observations.ingest.ical.rrule_masks import (
    Integers,
    Mask,
    among,
    day_number,
    days_between,
    matches,
    periods,
)

Moments = npt.NDArray[np.datetime64]

MOST_A_DAY = 96
"""The most occurrences a day (one every quarter of an hour); a rule with more is rejected."""

MOST_COUNTED = 366
"""A rule that ends by COUNT after at most so many occurrences is exempt from `MOST_A_DAY`."""

MOST_OCCURRENCES = 100_000
"""Maximum number of occurrences in one window (hourly for eleven years)."""

MOST_STEPS = 1_000_000
"""Maximum number of hours, minutes or seconds of a window that are tested."""

SPARE = 4_000
"""Extra occurrences returned beyond COUNT, because the caller may leave some out (an hour of seconds)."""

LONGEST_WINDOW = timedelta(days=400 * 365)
"""Maximum length of a window: masks over more days would only cost memory."""


def expand(rule: Rule, start: datetime, first: datetime, last: datetime) -> list[datetime]:
    """The rule's wall-clock times from `first` to `last` (inclusive), in order; none is before `start`.

    COUNT and UNTIL are left to the caller, who may have more to count or to leave out. `start` is the DTSTART that the rule is read with; it is among the
    times only if the rule yields it.

    >>> from observations.ingest.ical.rrule import parse_rule
    >>> start = datetime(2026, 1, 30, 9)
    >>> [t.day for t in expand(parse_rule("FREQ=MONTHLY;BYMONTHDAY=-1"), start, start, datetime(2026, 3, 31, 9))]
    [31, 28, 31]

    Raises:
        RuleError: the rule is too dense to be worked out (``rule_too_dense``).

    """
    _refuse_dense(rule)
    first = max(first, start)
    last = min(last, first + LONGEST_WINDOW) if first < datetime.max - LONGEST_WINDOW else last
    if first > last:
        return []
    moments = (_by_steps if rule.frequency in STEP_SECONDS else _by_days)(rule, start, first, last)
    inside = moments[(moments >= np.datetime64(first, "s")) & (moments <= np.datetime64(last, "s"))]
    if rule.count is not None:
        inside = inside[: rule.count + SPARE]
    if len(inside) > MOST_OCCURRENCES:
        raise RuleError("rule_too_dense", f"it occurs {len(inside):,} times")
    return cast(list[datetime], inside.tolist())


def _refuse_dense(rule: Rule) -> None:
    """Raise RuleError for a rule that occurs too often, independent of the window."""
    if rule.count is not None and rule.count <= MOST_COUNTED:
        return
    hours, minutes, seconds = len(rule.by_hour), len(rule.by_minute), len(rule.by_second)
    if rule.frequency not in STEP_SECONDS:
        a_day = max(hours, 1) * max(minutes, 1) * max(seconds, 1)
    else:
        a_day = 86_400 // (STEP_SECONDS[rule.frequency] * rule.interval)
        a_day = a_day * hours // 24 if hours else a_day
        if minutes:
            a_day = a_day * minutes if rule.frequency == "HOURLY" else a_day * minutes // 60
        if seconds:
            a_day = a_day * seconds // 60 if rule.frequency == "SECONDLY" else a_day * seconds
    if a_day > MOST_A_DAY:
        raise RuleError("rule_too_dense", f"it occurs {a_day:,} times a day")


_DAY = 86_400


def _by_days(rule: Rule, start: datetime, first: datetime, last: datetime) -> Moments:
    """The times of a rule that goes by years, months, weeks or days."""
    rule = _with_implied_days(rule, start)
    # A position counts within its period, so the window then holds whole periods.
    margin = 366 if rule.by_position else 0
    days = days_between(day_number(first) - margin, day_number(last) + margin)
    period = periods(days, rule)
    origin = periods(days_between(day_number(start), day_number(start)), rule)[0]
    keep = matches(days, rule)
    if rule.interval > 1:
        keep &= (period - origin) % rule.interval == 0
    times = _times_of_day(rule, start)
    moments = (days.number[keep][:, np.newaxis] * _DAY + times).ravel()
    if rule.by_position:
        moments = moments[_at_positions(np.repeat(period[keep], len(times)), rule.by_position)]
    return moments.astype("datetime64[s]")


def _by_steps(rule: Rule, start: datetime, first: datetime, last: datetime) -> Moments:
    """The times of a rule that goes by hours, minutes or seconds."""
    unit = STEP_SECONDS[rule.frequency]
    step = unit * rule.interval
    origin = _seconds(start) // unit * unit
    before, after = (_seconds(first) - origin) // step, (_seconds(last) - origin) // step
    needed = after - before + 1
    if rule.count is None and needed > MOST_STEPS:
        raise RuleError("rule_too_dense", f"FREQ={rule.frequency} would need {needed:,} steps")
    found = np.zeros(0, dtype=np.int64)
    # A rule that counts soon comes to its end, unless its BY parts keep it waiting.
    for size in (needed,) if rule.count is None else (rule.count + SPARE, MOST_STEPS):
        steps = origin + np.arange(before, before + min(size, needed)) * step
        found = _within_steps(steps[_step_matches(steps, rule)], rule, start)
        if rule.count is not None and len(found) >= rule.count + SPARE:
            break
    return found.astype("datetime64[s]")


def _within_steps(steps: Integers, rule: Rule, start: datetime) -> Integers:
    """The times of a rule within the hours, minutes or seconds that it comes in."""
    within = _times_within_step(rule, start)
    found = (steps[:, np.newaxis] + within).ravel()
    if rule.by_position:
        found = found[_at_positions(np.repeat(steps, len(within)), rule.by_position)]
    return found


def _seconds(moment: datetime) -> int:
    return day_number(moment) * _DAY + moment.hour * 3600 + moment.minute * 60 + moment.second


def _with_implied_days(rule: Rule, start: datetime) -> Rule:
    """The rule with the days that it takes from its DTSTART where it names none."""
    if rule.by_day or rule.by_month_day or rule.by_year_day:
        return rule
    if rule.frequency == "WEEKLY" or (rule.frequency == "YEARLY" and rule.by_week):
        return replace(rule, by_day=((0, start.weekday()),))
    if rule.frequency == "MONTHLY":
        return replace(rule, by_month_day=(start.day,))
    if rule.frequency == "YEARLY":
        return replace(rule, by_month=rule.by_month or (start.month,), by_month_day=(start.day,))
    return rule


def _times_of_day(rule: Rule, start: datetime) -> Integers:
    """The seconds of the day that the rule names, DTSTART's where it names none."""
    hours = rule.by_hour or (start.hour,)
    return np.array([h * 3600 + s for h in hours for s in _seconds_within_hour(rule, start)], dtype=np.int64)


def _seconds_within_hour(rule: Rule, start: datetime) -> list[int]:
    minutes, seconds = rule.by_minute or (start.minute,), rule.by_second or (start.second,)
    return [m * 60 + s for m in minutes for s in seconds if s < 60]


def _times_within_step(rule: Rule, start: datetime) -> Integers:
    """The seconds within an hour, minute or second that the rule names."""
    if rule.frequency == "HOURLY":
        return np.array(_seconds_within_hour(rule, start), dtype=np.int64)
    if rule.frequency == "MINUTELY":
        return np.array([s for s in rule.by_second or (start.second,) if s < 60], dtype=np.int64)
    return np.zeros(1, dtype=np.int64)


def _step_matches(steps: Integers, rule: Rule) -> Mask:
    """Which hours, minutes or seconds the BY parts let through that limit them."""
    if not len(steps):
        return np.zeros(0, dtype=bool)
    day = steps // _DAY
    first = int(day[0])
    keep = matches(days_between(first, int(day[-1])), rule)[day - first]
    if rule.by_hour:
        keep &= among(steps // 3600 % 24, rule.by_hour)
    if rule.by_minute and rule.frequency != "HOURLY":
        keep &= among(steps // 60 % 60, rule.by_minute)
    if rule.by_second and rule.frequency == "SECONDLY":
        keep &= among(steps % 60, rule.by_second)
    return keep


def _at_positions(groups: Integers, positions: Sequence[int]) -> Mask:
    """Which members of each run of equal groups stand at one of the positions (from 1, or -1 from the end)."""
    begins = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    sizes = np.diff(np.append(begins, len(groups)))
    place = np.arange(len(groups)) - np.repeat(begins, sizes)
    size = np.repeat(sizes, sizes)
    found = np.zeros(len(groups), dtype=bool)
    for position in positions:
        found |= place == (position - 1 if position > 0 else size + position)
    return found
