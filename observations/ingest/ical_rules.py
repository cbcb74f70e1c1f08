"""Recurrence rules (RFC 5545, section 3.3.10): from an RRULE to its wall-clock times.

A rule is worked out on the wall clock, without any zone: 09:00 stays 09:00 when the clocks change. What a zone
adds (times that the clocks jump over, UNTIL in UTC) is the business of the series (`observations.ingest.ical_series`).

Why not dateutil, which is right and serves as oracle in the tests: it looks for the next match until it finds one,
and nothing can stop it. ``FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31`` costs it 7.2 s, ``FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2``
2.5 s, ``FREQ=SECONDLY`` without end (measured, 2 cores): a file with a hundred such lines would stop the reader.
Here a rule is a set of masks over the days *of a window*: the work is bounded by the window, whatever the rule
says, and a rule without matches is the fastest of all.

::

    days of the window      M T W T F S S M T W T F S S M T W T F S S
    INTERVAL=2, weekly      ■ ■ ■ ■ ■ ■ ■ · · · · · · · ■ ■ ■ ■ ■ ■ ■
    BYDAY=TU,FR             · ■ · · ■ · · · ■ · · ■ · · · ■ · · ■ · ·
    both                    · ■ · · ■ · · · · · · · · · · ■ · · ■ · ·     × times of day, then BYSETPOS
"""

# ruff: noqa: DTZ001, DTZ901 — a wall clock has no zone
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

Frequency = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]
Moments = npt.NDArray[np.datetime64]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

STEP_SECONDS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
WEEKDAYS = {"MO": 0, "TU": 1, "WE": 2, "TH": 3, "FR": 4, "SA": 5, "SU": 6}

MOST_A_DAY = 96
"""A rule that comes more often (every quarter of an hour) is no person's calendar and is refused."""

MOST_COUNTED = 366
"""Unless it ends by COUNT after so many."""

MOST_OCCURRENCES = 100_000
"""No rule gives more in one window (hourly for eleven years)."""

MOST_STEPS = 1_000_000
"""So many hours, minutes or seconds of a window are looked at, and no more."""

SPARE = 4_000
"""So many times more than it counts a rule gives, in place of those that the caller leaves out (an hour of seconds)."""

LONGEST_INTERVAL = 1_000_000

LONGEST_WINDOW = timedelta(days=400 * 365)
"""Rules are worked out no further than this: masks over more days would only cost memory."""


class RuleError(ValueError):
    """An RRULE that cannot be followed. ``reason`` is a note's code, the message says what is wrong."""

    def __init__(self, reason: Literal["bad_rule", "rule_too_dense"], message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Rule:
    """A recurrence rule, taken apart. Empty tuples are parts that the rule does not have.

    Attributes:
        until: as it is written, because what it means depends on the series; empty if there is none.
        by_day: (ordinal, weekday) with Monday 0; the ordinal is 0 where the rule gives none.
        week_start: Monday is 0.

    """

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: str = ""
    by_month: tuple[int, ...] = ()
    by_week: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int], ...] = ()
    by_hour: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_second: tuple[int, ...] = ()
    by_position: tuple[int, ...] = ()
    week_start: int = 0


def parse_rule(text: str) -> Rule:
    """The rule that an RRULE value writes; spaces, letter case and parts of other standards are forgiven.

    >>> parse_rule("FREQ=MONTHLY;BYDAY=-1FR;COUNT=3").by_day
    ((-1, 4),)

    Raises:
        RuleError: there is no FREQ, or a part has a value that it cannot have.

    """
    parts = dict(_split_parts(text))
    frequency = parts.get("FREQ", "")
    if frequency not in ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", *STEP_SECONDS):
        raise RuleError("bad_rule", f"FREQ={frequency} is no frequency")
    if unknown := [name for name in parts if name.startswith("BY") and name not in _BY_PARTS]:
        raise RuleError("bad_rule", f"the part {unknown[0][:20]} is not known")
    if parts.get("RSCALE", "GREGORIAN") != "GREGORIAN":
        raise RuleError("bad_rule", f"the calendar RSCALE={parts['RSCALE'][:20]} is not supported")
    if parts.get("COUNT", "").startswith("-"):
        del parts["COUNT"]  # some programs write COUNT=-1 for "without end"
    count = _number(parts["COUNT"], "COUNT", 1) if "COUNT" in parts else None
    return Rule(
        cast(Frequency, frequency),
        interval=min(_number(parts.get("INTERVAL", "1"), "INTERVAL", 1), LONGEST_INTERVAL),
        count=count,
        until=parts.get("UNTIL", ""),
        by_month=_numbers(parts, "BYMONTH", 1, 12),
        by_week=_numbers(parts, "BYWEEKNO", -53, 53),
        by_year_day=_numbers(parts, "BYYEARDAY", -366, 366),
        by_month_day=_numbers(parts, "BYMONTHDAY", -31, 31),
        by_day=_weekdays(parts.get("BYDAY", "")),
        by_hour=_numbers(parts, "BYHOUR", 0, 23),
        by_minute=_numbers(parts, "BYMINUTE", 0, 59),
        by_second=_numbers(parts, "BYSECOND", 0, 60),
        by_position=_numbers(parts, "BYSETPOS", -366, 366),
        week_start=WEEKDAYS.get(parts.get("WKST", "MO"), 0),
    )


_BY_PARTS = frozenset(
    f"BY{part}"
    for part in ("MONTH", "WEEKNO", "YEARDAY", "MONTHDAY", "DAY", "HOUR", "MINUTE", "SECOND", "SETPOS")
)


def _split_parts(text: str) -> list[tuple[str, str]]:
    body = text.upper().removeprefix("RRULE:")
    pairs = [part.partition("=") for part in body.split(";") if part.strip()]
    return [(name.strip(), value.strip()) for name, _, value in pairs if value.strip()]


def _number(text: str, name: str, least: int) -> int:
    if not re.fullmatch(r"[+-]?\d{1,9}", text) or int(text) < least:
        raise RuleError("bad_rule", f"{name}={text[:20]} is not a number from {least}")
    return int(text)


def _numbers(parts: dict[str, str], name: str, least: int, most: int) -> tuple[int, ...]:
    if name not in parts:
        return ()
    texts = [t.strip() for t in parts[name].split(",") if t.strip()]
    numbers = {_number(t, name, least) for t in texts}
    if any(n > most or (n == 0 and least != 0) for n in numbers):
        raise RuleError("bad_rule", f"{name}={parts[name][:40]} is not within {least} to {most}")
    return tuple(sorted(numbers))


def _weekdays(text: str) -> tuple[tuple[int, int], ...]:
    days = set()
    for part in (p.strip() for p in text.split(",") if p.strip()):
        found = re.fullmatch(r"([+-]?\d{1,2})?\s*(MO|TU|WE|TH|FR|SA|SU)[A-Z]*", part)
        if not found:
            raise RuleError("bad_rule", f"BYDAY={part[:20]} is no weekday")
        days.add((int(found[1] or 0), WEEKDAYS[found[2]]))
    return tuple(sorted(days))


def expand(rule: Rule, start: datetime, first: datetime, last: datetime) -> list[datetime]:
    """The rule's wall-clock times from `first` to `last`, both included, in order; none is before `start`.

    COUNT and UNTIL are left to the caller, who may have more to count or to leave out. `start` is the DTSTART that the rule is read with; it is among the
    times only if the rule yields it.

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
        raise RuleError("rule_too_dense", f"it comes {len(inside):,} times")
    return cast(list[datetime], inside.tolist())


def _refuse_dense(rule: Rule) -> None:
    """Raise RuleError for a rule that comes too often. The window has no say: every reading decides alike."""
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
        raise RuleError("rule_too_dense", f"it comes {a_day:,} times a day")


class _Days(NamedTuple):
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


def _days(first: int, last: int) -> _Days:
    """The days from `first` to `last`, both included, as numbers since 1970-01-01."""
    common = _common_days()
    if first >= 0 and last < len(common.number):
        return _Days(*(column[first : last + 1] for column in common))
    return _calendar(first, last)


@cache
def _common_days() -> _Days:
    """The days that nearly all calendars live in, worked out once: 1970 to 2099."""
    return _calendar(0, _day_number(datetime(2099, 12, 31)))


def _calendar(first: int, last: int) -> _Days:
    number = np.arange(first, last + 1)
    day = number.astype("datetime64[D]")
    month, year = day.astype("datetime64[M]"), day.astype("datetime64[Y]")
    month_start, month_end = month.astype("datetime64[D]"), (month + 1).astype("datetime64[D]")
    year_start, year_end = year.astype("datetime64[D]"), (year + 1).astype("datetime64[D]")
    return _Days(
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

_DAY = 86_400


def _day_number(moment: datetime) -> int:
    return moment.toordinal() - datetime(1970, 1, 1).toordinal()


def _by_days(rule: Rule, start: datetime, first: datetime, last: datetime) -> Moments:
    """The times of a rule that goes by years, months, weeks or days."""
    rule = _with_implied_days(rule, start)
    # A position counts within its period, so the window then holds whole periods.
    margin = 366 if rule.by_position else 0
    days = _days(_day_number(first) - margin, _day_number(last) + margin)
    period = _periods(days, rule)
    origin = _periods(_days(_day_number(start), _day_number(start)), rule)[0]
    keep = _matches(days, rule)
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
    return _day_number(moment) * _DAY + moment.hour * 3600 + moment.minute * 60 + moment.second


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


def _periods(days: _Days, rule: Rule) -> Integers:
    """A number for the year, month, week or day that each day is in, one more for each next one."""
    if rule.frequency == "YEARLY":
        return days.year
    if rule.frequency == "MONTHLY":
        return days.year * 12 + days.month
    if rule.frequency == "WEEKLY":
        return (days.number + _FIRST_WEEKDAY - rule.week_start) // 7
    return days.number


def _matches(days: _Days, rule: Rule) -> Mask:
    """Which days every BY part of the rule that is about days lets through."""
    keep = np.ones(len(days.number), dtype=bool)
    if rule.by_month:
        keep &= _among(days.month, rule.by_month)
    if rule.by_week:
        keep &= _in_weeks(days, rule)
    if rule.by_year_day:
        keep &= _among(days.year_day, rule.by_year_day, days.year_length)
    if rule.by_month_day:
        keep &= _among(days.day, rule.by_month_day, days.month_length)
    if rule.by_day:
        keep &= _on_weekdays(days, rule)
    return keep


def _among(values: Integers, wanted: Sequence[int], length: Integers | None = None) -> Mask:
    """Which values, counted from 1, are wanted; a negative number counts from the end of `length`."""
    allowed = np.zeros(367, dtype=bool)
    allowed[[n for n in wanted if n >= 0]] = True
    found = allowed[values]
    if length is not None and any(n < 0 for n in wanted):
        from_end = np.zeros(367, dtype=bool)
        from_end[[-n for n in wanted if n < 0]] = True
        found |= from_end[length - values + 1]
    return cast(Mask, found)


def _in_weeks(days: _Days, rule: Rule) -> Mask:
    """Which days are in the wanted weeks of the year. Week 1 is the first with four days in the year."""
    fourth = days.number - (days.weekday - rule.week_start) % 7 + 3  # the day that says whose week it is
    there = _calendar(int(fourth.min()), int(fourth.max()))
    place = fourth - there.number[0]
    year_day, year_length = there.year_day[place], there.year_length[place]
    week = (year_day - 1) // 7 + 1
    return _among(week, rule.by_week, week + (year_length - year_day) // 7)


def _on_weekdays(days: _Days, rule: Rule) -> Mask:
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
    keep = _matches(_days(first, int(day[-1])), rule)[day - first]
    if rule.by_hour:
        keep &= _among(steps // 3600 % 24, rule.by_hour)
    if rule.by_minute and rule.frequency != "HOURLY":
        keep &= _among(steps // 60 % 60, rule.by_minute)
    if rule.by_second and rule.frequency == "SECONDLY":
        keep &= _among(steps % 60, rule.by_second)
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
