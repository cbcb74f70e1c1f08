"""Statement: the sentence for a rule, as a person would say it.

Only the rule speaks: the same rule gives the same sentence everywhere, and nothing is said that the rule does
not hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from patterns.candidates import PatternType, Rule
from patterns.rules.phrases import (
    Where,
    band,
    does,
    doing,
    duration,
    is_place,
    listed,
    number,
    on_one_line,
    spoken,
    things,
)
from patterns.rules.recurrence import BYDAY

_DAY_NAMES = dict(
    zip(BYDAY, ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), strict=True)
)
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", -1: "last"}
_LOOSELY = 45
"""Minutes of tolerance from which a time is said as a span."""


def statement(type: PatternType, rule: Rule) -> str:
    """One plain sentence for the rule.

    >>> statement("temporal", {"where": {"type": "calendar", "title": "Gym"}, "time": "07:00",
    ...                        "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "tolerance_minutes": 10})
    'Has Gym at 07:00 on weekdays'
    """
    said = _SENTENCES[type](rule)
    return said[0].upper() + said[1:]


def _temporal(rule: Rule) -> str:
    time, minutes = cast(str, rule["time"]), cast(int, rule["tolerance_minutes"])
    if minutes >= _LOOSELY:
        middle = int(time[:2]) * 60 + int(time[3:])
        when = f"between {_clock(middle - minutes)} and {_clock(middle + minutes)}"
    else:
        when = f"at {time}"
    return f"{does(_where(rule))} {when} {recurrence(cast(str, rule['rrule']))}"


def _preference(rule: Rule) -> str:
    where, feature, value = _where(rule), cast(str, rule["feature"]), rule.get("value")
    about = things(where)
    if isinstance(value, bool):
        return f"prefers {about} {'' if value else 'not '}to {_flag(feature)}"
    if value is None:
        said = band(cast(float, rule["min"]), cast(float, rule["max"]))
    else:
        said = number(value) if isinstance(value, (int, float)) else on_one_line(value)
    if feature == "duration_minutes":
        return f"prefers {said}-minute {about}"
    choice = said if is_place(feature) else f"{spoken(feature)} {said}"
    return f"prefers {choice} for {about}" if where else f"prefers {choice}"


def _flag(feature: str) -> str:
    """What a thing is or has, where the flag is set: "be remote", "have attachments"."""
    first, _, rest = spoken(feature).partition(" ")
    if rest and first in ("is", "has"):
        return f"{'be' if first == 'is' else 'have'} {rest}"
    return f"be {spoken(feature)}"


def _relationship(rule: Rule) -> str:
    where, feature, person = _where(rule), cast(str, rule["feature"]), on_one_line(rule["value"])
    # To write and to get say already which way the mail goes.
    either_way = things({field: value for field, value in where.items() if field != "action"})
    match feature, where.get("action"):
        case "cc", "received":
            return f"gets {either_way} with {person} in copy"
        case "cc", _:
            return f"CCs {person} on {either_way}"
        case "to", "received":
            return f"gets {either_way} to {person}"
        case "to", _:
            return f"writes to {person} in {either_way}"
        case "from", "sent":
            return f"sends {either_way} from {person}"
        case "from", _:
            return f"gets {either_way} from {person}"
        case "organizer", _:
            return f"has {things(where)} that {person} organizes"
    return f"has {person} in {things(where)}"


def _workflow(rule: Rule) -> str:
    *before, last = cast(Sequence[Where], rule["steps"])
    done = " and then ".join(doing(step) for step in before)
    return f"after {done}, {does(last, once=True)} within {duration(cast(int, rule['within_minutes']))}"


def _avoidance(rule: Rule) -> str:
    where, low, high = _where(rule), cast(str, rule["from"]), cast(str, rule["to"])
    days = [day.capitalize() for day in cast(Sequence[str], rule["days"])]
    hours = "" if (low, high) == ("00:00", "24:00") else _part_of_day(low, high)
    but = [name for name in _DAY_NAMES.values() if name not in days]
    if len(but) == 0:
        when = [hours]
    elif len(but) == 1:
        when = [hours, f"except on {but[0]}s"]
    else:
        when = [_on_days(days), hours]
    never = f"never {does(where, in_full=True)}" if where else "is never active"
    return " ".join(part for part in (never, *when) if part)


_SENTENCES = {
    "temporal": _temporal,
    "preference": _preference,
    "relationship": _relationship,
    "workflow": _workflow,
    "avoidance": _avoidance,
}


def _where(rule: Rule) -> Where:
    return cast(Where, rule["where"])


def recurrence(rrule: str) -> str:
    """The dates of a recurrence in words.

    >>> recurrence("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"), recurrence("FREQ=MONTHLY;BYDAY=-1FR")
    ('every other Thursday', 'on the last Friday of the month')
    """
    parts = dict(part.split("=", 1) for part in rrule.split(";"))
    if parts["FREQ"] == "DAILY":
        return "every day"
    if "BYMONTHDAY" in parts:
        day = int(parts["BYMONTHDAY"])
        return "on the last day of the month" if day == -1 else f"on the {_nth(day)} of the month"
    if parts["FREQ"] == "MONTHLY":
        number, day_name = re.fullmatch(r"(-?\d)([A-Z]{2})", parts["BYDAY"]).groups()  # type: ignore[union-attr]
        return f"on the {_ORDINALS[int(number)]} {_DAY_NAMES[day_name]} of the month"
    names = [_DAY_NAMES[d] for d in parts["BYDAY"].split(",")]
    interval = int(parts.get("INTERVAL", "1"))
    if interval > 1:
        every = "other" if interval == 2 else {3: "third", 4: "fourth"}[interval]
        return f"every {every} {names[0]}"
    return _on_days(names)


def _on_days(names: Sequence[str]) -> str:
    known = list(_DAY_NAMES.values())
    chosen = [d for d in known if d in names]
    if len(chosen) == 7:
        return "every day"
    if chosen == known[:5]:
        return "on weekdays"
    if chosen == known[5:]:
        return "on weekends"
    if len(chosen) == 6:
        (missing,) = set(known) - set(chosen)
        return f"every day except {missing}"
    return "on " + listed([f"{d}s" for d in chosen])


def _part_of_day(low: str, high: str) -> str:
    if low == "00:00":
        return f"before {high}"
    if high == "24:00":
        return f"after {low}"
    return f"between {low} and {high}"


def _nth(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def unit_of(type: PatternType, rule: Rule) -> tuple[str, str]:
    """What one opportunity of a rule is called, and several: ("Tuesday", "Tuesdays").

    >>> unit_of("temporal", {"rrule": "FREQ=WEEKLY;BYDAY=TU"})
    ('Tuesday', 'Tuesdays')
    """
    if type == "avoidance":
        days = cast(Sequence[str], rule["days"])
        name = days[0].capitalize() if len(days) == 1 else "day"
        return name, f"{name}s"
    if type != "temporal":
        return "occasion", "occasions"
    parts = dict(part.split("=", 1) for part in cast(str, rule["rrule"]).split(";"))
    days_named = parts.get("BYDAY", "").split(",")
    if parts["FREQ"] == "MONTHLY":
        return "month", "months"
    if len(days_named) == 1 and days_named[0]:
        name = _DAY_NAMES[days_named[0]]
        return name, f"{name}s"
    return "day", "days"
