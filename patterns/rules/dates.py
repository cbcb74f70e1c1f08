"""Dates of recurrences (RFC 5545): which days a rule names.

The recurrences that detectors choose among are answered from their own table (`patterns.rules.recurrence.RULES`), any
other by dateutil.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache

import numpy as np
from dateutil.rrule import rrulestr

from patterns.eventlog.arrays import Flags, Ints
from patterns.rules.recurrence import named

_EPOCH = date(1970, 1, 1)
_FIRST_SHARED = 20_000  # 4 October 2024
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")


def parts_of(rrule: str) -> dict[str, str]:
    """The parts of a recurrence by name.

    >>> parts_of("FREQ=WEEKLY;BYDAY=MO,TH")
    {'FREQ': 'WEEKLY', 'BYDAY': 'MO,TH'}
    """
    return dict(part.split("=", 1) for part in rrule.split(";"))


def check_recurrence(rrule: str, dtstart: str | None) -> None:
    """Do nothing if the recurrence names dates.

    Raises:
        ValueError: it is not an RFC 5545 recurrence of days, or its dates depend on a missing first date.
    """
    if named(rrule) and (dtstart or len(named(rrule)) == 1):
        return
    try:
        parts = parts_of(rrule)
        _parsed(rrule, date(2024, 1, 1))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{rrule!r} is not an RFC 5545 recurrence, such as FREQ=WEEKLY;BYDAY=MO,TH"
        ) from error
    if parts.get("FREQ") not in _FREQUENCIES:
        raise ValueError(f"FREQ is one of {', '.join(_FREQUENCIES)}, not {parts.get('FREQ')}")
    if dtstart is None and _needs_first_date(parts):
        raise ValueError(f"{rrule} needs a dtstart, the first date, such as 2026-03-02")


def first_day(dtstart: str) -> int:
    """A date as days since 1970."""
    return (date.fromisoformat(dtstart) - _EPOCH).days


def is_due(rrule: str, dtstart: str | None, day: Ints) -> Flags:
    """(days,) True on each day (since 1970) that the recurrence yields, none of them before its first date."""
    known = named(rrule, dtstart)
    if known:
        due = known[0].due(day)
    else:
        years = np.unique(day.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)) + 1970
        dates = [
            np.empty(0, dtype=np.int64),
            *(_dates_of_year(rrule, dtstart, year) for year in years.tolist()),
        ]
        due = np.isin(day, np.concatenate(dates))
    if dtstart is not None:
        due &= day >= first_day(dtstart)
    return due


def shared_days(*dtstarts: str | None) -> Ints:
    """Days (since 1970) within which any two recurrences that share a day at all share one: four years.

    Args:
        dtstarts: first dates of the recurrences; the days begin with the latest.
    """
    first = max([_FIRST_SHARED, *(first_day(start) for start in dtstarts if start)])
    return first + np.arange(4 * 366, dtype=np.int64)


@lru_cache(maxsize=4096)
def _dates_of_year(rrule: str, dtstart: str | None, year: int) -> Ints:
    begin = date.fromisoformat(dtstart) if dtstart else date(year, 1, 1)
    found = _parsed(rrule, begin).between(datetime(year, 1, 1), datetime(year, 12, 31), inc=True)  # noqa: DTZ001
    return np.array([(moment.date() - _EPOCH).days for moment in found], dtype=np.int64)


def _parsed(rrule: str, begin: date):  # type: ignore[no-untyped-def]
    # An UNTIL in UTC is meant as the date that it names: rules are about local dates.
    text = re.sub(r"(UNTIL=\d{8}T\d{6})Z", r"\1", rrule)
    return rrulestr(text, dtstart=datetime(begin.year, begin.month, begin.day))  # noqa: DTZ001


def _needs_first_date(parts: dict[str, str]) -> bool:
    names = {name for name in parts if name.startswith("BY")}
    enough = {"DAILY": True, "WEEKLY": "BYDAY" in names, "MONTHLY": bool(names), "YEARLY": len(names) > 0}
    return parts.get("INTERVAL", "1") != "1" or "COUNT" in parts or not enough[parts["FREQ"]]
