"""Days, dates and times in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from observations.civil_time import WEEKDAYS, format_clock
from patterns.rules.dates import parts_of
from patterns.rules.recurrence import BYDAY

_DAY_NAMES = tuple(name.capitalize() for name in WEEKDAYS)
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "second last"}
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
WIDE_MINUTES = 45
"""Minutes of tolerance from which a time is given as a span."""


# --- days -----------------------------------------------------------------------------------------------------


def on_days(names: Sequence[str]) -> str:
    """Days of the week, each week.

    >>> on_days(["Friday"]), on_days(["Monday", "Wednesday", "Friday"]), on_days(["Saturday", "Sunday"])
    ('on Fridays', 'on Mon, Wed and Fri', 'on weekends')
    """
    chosen = [day for day in _DAY_NAMES if day in names]
    if len(chosen) == 7:
        return "daily"
    if chosen == list(_DAY_NAMES[:5]):
        return "on weekdays"
    if chosen == list(_DAY_NAMES[5:]):
        return "on weekends"
    if len(chosen) == 6:
        (missing,) = set(_DAY_NAMES) - set(chosen)
        return f"daily except {missing}s"
    if len(chosen) <= 2:
        return "on " + listed([f"{day}s" for day in chosen])
    return "on " + listed([day[:3] for day in chosen])


def days_in_words(days: Sequence[str], hours: str = "") -> str:
    """The days of a slot or a context, then its hours; without days if it is every day.

    >>> days_in_words(["friday"], "after 12:00"), days_in_words(list(WEEKDAYS), "before 09:00")
    ('on Fridays after 12:00', 'before 09:00')
    """
    names = [day.capitalize() for day in days]
    missing = [name for name in _DAY_NAMES if name not in names]
    if not missing:
        return hours
    if len(missing) == 1:
        return " ".join(part for part in (hours, f"except on {missing[0]}s") if part)
    return " ".join(part for part in (on_days(names), hours) if part)


def dates_in_words(rrules: Sequence[str]) -> str:
    """The dates of a recurrence, or of several together.

    >>> dates_in_words(["FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"]), dates_in_words(["FREQ=MONTHLY;BYDAY=-1FR"])
    ('every other Thursday', 'on the last Friday of the month')
    >>> dates_in_words(["FREQ=DAILY;INTERVAL=8"] * 4)
    'on 4 of every 8 days'
    """
    if len(rrules) > 1:
        return _rota([parts_of(rrule) for rrule in rrules]) or " and ".join(_dates(rrule) for rrule in rrules)
    return _dates(rrules[0])


def _rota(all_parts: Sequence[dict[str, str]]) -> str:
    lengths = {(parts["FREQ"], parts.get("INTERVAL", "1"), len(parts)) for parts in all_parts}
    if len(lengths) == 1 and lengths.copy().pop()[0] == "DAILY":
        return f"on {len(all_parts)} of every {lengths.pop()[1]} days"
    return ""


def _dates(rrule: str) -> str:
    parts = parts_of(rrule)
    interval = int(parts.get("INTERVAL", "1"))
    known = {"FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST"}
    if set(parts) - known or (interval > 1 and "BYMONTH" in parts):
        return f"on the dates of {rrule}"
    match parts["FREQ"]:
        case "DAILY":
            said = "daily" if interval == 1 else f"every {_every(interval)} day"
        case "WEEKLY":
            said = _weekly(parts, interval)
        case "MONTHLY":
            every = "the month" if interval == 1 else _months(interval)
            said = f"on {_day_of_month(parts, rrule)} of {every}"
        case _:
            said = "every year" if interval == 1 else f"every {_every(interval)} year"
            if "BYMONTHDAY" in parts or "BYDAY" in parts:
                said = f"on {_day_of_month(parts, rrule)} of the month"
    months = [_MONTHS[int(month) - 1] for month in parts["BYMONTH"].split(",")] if "BYMONTH" in parts else []
    if not months:
        return said
    return f"{said.replace(' of the month', '')} {'of' if 'on the' in said else 'in'} {listed(months)}"


def _weekly(parts: dict[str, str], interval: int) -> str:
    if "BYDAY" not in parts:
        return "every week" if interval == 1 else f"every {_every(interval)} week"
    names = [_DAY_NAMES[BYDAY.index(day)] for day in parts["BYDAY"].split(",")]
    if interval == 1:
        return on_days(names)
    if len(names) == 1:
        return f"every {_every(interval)} {names[0]}"
    return f"every {_every(interval)} week {on_days(names)}"


def _day_of_month(parts: dict[str, str], rrule: str) -> str:
    if "BYMONTHDAY" in parts:
        return "the " + listed([_month_day(int(day)) for day in parts["BYMONTHDAY"].split(",")])
    days = parts.get("BYDAY", "").split(",")
    if parts.get("BYSETPOS") in ("1", "-1") and days == list(BYDAY[:5]):
        return f"the {_ORDINALS[int(parts['BYSETPOS'])]} working day"
    found = re.fullmatch(r"(-?\d)([A-Z]{2})", days[0]) if len(days) == 1 else None
    if found is None or "BYSETPOS" in parts:
        return f"the dates of {rrule}"
    return f"the {_ORDINALS[int(found[1])]} {_DAY_NAMES[BYDAY.index(found[2])]}"


def _month_day(number: int) -> str:
    if number > 0:
        return _nth(number)
    return "last day" if number == -1 else f"{_nth(-number)} last day"


def _months(interval: int) -> str:
    return "each quarter" if interval == 3 else f"every {_every(interval)} month"


def _every(interval: int) -> str:
    return {2: "other", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}.get(interval) or _nth(interval)


def _nth(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def unit_of_dates(rrules: Sequence[str]) -> tuple[str, str]:
    """What one date of a recurrence is called, and several.

    >>> unit_of_dates(["FREQ=WEEKLY;BYDAY=TU"])
    ('Tuesday', 'Tuesdays')
    """
    if len(rrules) > 1:
        return "day", "days"
    parts = parts_of(rrules[0])
    days = parts.get("BYDAY", "").split(",")
    if parts["FREQ"] in ("MONTHLY", "YEARLY"):
        unit = "month" if parts["FREQ"] == "MONTHLY" else "year"
        return unit, f"{unit}s"
    if len(days) == 1 and days[0]:
        name = _DAY_NAMES[BYDAY.index(days[0])]
        return name, f"{name}s"
    return "day", "days"


# --- times ----------------------------------------------------------------------------------------------------


def at_times(clocks: Sequence[int], tolerance_minutes: int | None) -> str:
    """Times of day, each as a span where the tolerance is wide; empty where any time will do.

    >>> at_times([420], 10), at_times([420, 1080], 15), at_times([600], 60)
    ('at 07:00', 'at 07:00 or 18:00', 'between 09:00 and 11:00')
    """
    minutes = tolerance_minutes or 0
    if minutes < WIDE_MINUTES:
        return f"at {' or '.join(format_clock(clock) for clock in clocks)}" if clocks else ""
    spans = [
        f"between {format_clock(clock - minutes)} and {format_clock(clock + minutes)}" for clock in clocks
    ]
    return " or ".join(spans)


def hours_in_words(begin: str, end: str) -> str:
    """Hours of a day.

    >>> hours_in_words("00:00", "09:00"), hours_in_words("18:00", "24:00"), hours_in_words("22:00", "03:00")
    ('before 09:00', 'after 18:00', 'between 22:00 and 03:00')
    """
    if (begin, end) == ("00:00", "24:00"):
        return ""
    if begin == "00:00":
        return f"before {end}"
    if end in ("24:00", "00:00"):
        return f"after {begin}"
    return f"between {begin} and {end}"


def listed(words: Sequence[str]) -> str:
    """The words with commas and an "and".

    >>> listed(["Mon", "Tue", "Fri"])
    'Mon, Tue and Fri'
    """
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
