"""Recurrence rules (RFC 5545, section 3.3.10), taken apart. `observations.ingest.ical.rrule_expand` works them out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from observations.ingest.ical.vcalendar import modern_rule

Frequency = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]

STEP_SECONDS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
"""The frequencies shorter than a day, in seconds."""

WEEKDAYS = {"MO": 0, "TU": 1, "WE": 2, "TH": 3, "FR": 4, "SA": 5, "SU": 6}

LONGEST_INTERVAL = 1_000_000
"""A longer interval counts as this one: no second occurrence comes in either."""


class RuleError(ValueError):
    """An RRULE that cannot be followed. ``reason`` is the code of a note; the message describes the problem."""

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
    """The rule that an RRULE value writes, also one of vCalendar 1.0; spaces, letter case and parts of other standards
    are forgiven.

    >>> parse_rule("FREQ=MONTHLY;BYDAY=-1FR;COUNT=3").by_day
    ((-1, 4),)

    Raises:
        RuleError: there is no FREQ, or a part has a value that it cannot have.

    """
    if "=" not in text and (modern := modern_rule(text)) is not None:
        text = modern
    parts = dict(_split_parts(text))
    frequency = parts.get("FREQ", "")
    if frequency not in ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", *STEP_SECONDS):
        raise RuleError("bad_rule", f"FREQ={frequency} is not a frequency")
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
            raise RuleError("bad_rule", f"BYDAY={part[:20]} is not a weekday")
        days.add((int(found[1] or 0), WEEKDAYS[found[2]]))
    return tuple(sorted(days))
