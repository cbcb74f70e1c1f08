"""Support and opportunities of a rule of any shape, as the contract defines and one day or event at a time.

An oracle: knows nothing of the rule classes, frames or arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from dateutil.rrule import rrulestr

WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Happening:
    """One observation: instant, wall clock, None for the minute of an all-day event, and its fields."""

    at: datetime
    local: datetime
    timed: bool
    fields: Mapping[str, Any]

    @property
    def minute(self) -> float:
        return self.local.hour * 60 + self.local.minute

    def day(self, begins: int) -> date:
        return (self.local - timedelta(minutes=begins if self.timed else 0)).date()


def minutes(clock: str | None) -> int:
    return 0 if clock is None else int(clock[:2]) * 60 + int(clock[3:])


def matches(one: Happening, where: Mapping[str, Any]) -> bool:
    for name, wanted in where.items():
        if name == "day_of_week":
            value: Any = WEEK[one.local.weekday()]
        elif name == "time_of_day":
            value = f"{one.local:%H:%M}" if one.timed else None
        else:
            value = one.fields.get(name)
        if value is None:
            return False
        if isinstance(wanted, dict):
            low, high = wanted["from"], wanted["to"]
            if not (low <= value < high if low < high else value >= low or value < high):
                return False
        elif not any(w in value if isinstance(value, list) else w == value for w in _several(wanted)):
            return False
    return True


def _several(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def count(type: str, rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    """Support and opportunities, everything in the life being over."""
    if "per" in rule:
        return _how_often(rule, life)
    if type == "temporal":
        return _when(rule, life)
    if type == "workflow":
        return _workflow(rule, life)
    if type == "avoidance":
        return _avoidance(rule, life)
    return _choice(rule, life)


def _days(life: Sequence[Happening], begins: int) -> list[date]:
    return sorted({one.day(begins) for one in life})


def _due(rule: Rule, day: date) -> bool:
    rrules, starts = _several(rule["rrule"]), rule.get("dtstart")
    starts = starts if isinstance(starts, list) else [starts] * len(rrules)
    for text, start in zip(rrules, starts, strict=True):
        first = date.fromisoformat(start) if start else day
        dates = rrulestr(text, dtstart=datetime.combine(first, time()))
        if dates.between(datetime.combine(day, time()), datetime.combine(day, time()), inc=True):
            return True
    return False


def _chosen(found: list[Happening], begins: int, which: str | None) -> list[Happening]:
    of_day: dict[date, Happening] = {}
    for one in found:
        if which == "last" or one.day(begins) not in of_day:
            of_day[one.day(begins)] = one
    return found if which is None else list(of_day.values())


def _when(rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    begins, which = minutes(rule.get("day_starts_at")), rule.get("which")
    clocks = [minutes(c) for c in rule.get("times") or ([rule["time"]] if "time" in rule else [])]
    may = [one for one in life if matches(one, rule["where"]) and (one.timed or not clocks)]
    may = _chosen(may, begins, which)
    kept = opportunities = 0
    for day in _days(life, begins):
        here = [one for one in may if one.day(begins) == day]
        if not _due(rule, day) or (which and not here):
            continue
        opportunities += 1
        gaps = [abs(one.minute - clock) for one in here for clock in clocks]
        kept += bool(here) if not clocks else any(min(g, 1440 - g) <= rule["tolerance_minutes"] for g in gaps)
    return kept, opportunities


def _how_often(rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    begins = minutes(rule.get("day_starts_at"))

    def period(day: date) -> tuple[int, int]:
        return day.isocalendar()[:2] if rule["per"] == "week" else (day.year, day.month)

    active = _days(life, begins)
    done = _days([one for one in life if matches(one, rule["where"])], begins)
    kept = opportunities = 0
    for one in sorted({period(day) for day in active}):
        if 2 * sum(period(day) == one for day in active) < (7 if rule["per"] == "week" else 30):
            continue
        opportunities += 1
        kept += rule.get("min", 0) <= sum(period(day) == one for day in done) <= rule.get("max", 99)
    return kept, opportunities


def _choice(rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    found = [one for one in life if matches(one, rule["where"])]
    found = _chosen(found, minutes(rule.get("day_starts_at")), rule.get("which"))
    values = [one.fields[rule["feature"]] for one in found if one.fields.get(rule["feature"]) is not None]
    if "value" in rule:
        wanted = rule["value"]
        return sum(wanted in v if isinstance(v, list) else v == wanted for v in values), len(values)
    return sum(rule.get("min", v) <= v <= rule.get("max", v) for v in values), len(values)


def _workflow(rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    life = [one for one in life if one.timed]
    steps, within = rule["steps"], timedelta(minutes=rule["within_minutes"])
    kept = opportunities = 0
    ends: set[int] = set()
    for begun, one in enumerate(life):
        place: int | None = begun if matches(one, steps[0]) else None
        for number, step in enumerate(steps[1:], 2):
            if place is None:
                break
            opportunities += number == len(steps)
            after = (i for i in range(place + 1, len(life)) if matches(life[i], step))
            found = next(after, None)
            in_time = found is not None and life[found].at - life[place].at <= within
            place = found if in_time else None
        if place is not None:
            kept += 1
            ends.add(place)
    if rule.get("given") == "last":
        return len(ends), sum(matches(one, steps[-1]) for one in life)
    return kept, opportunities


def _avoidance(rule: Rule, life: Sequence[Happening]) -> tuple[int, int]:
    begins = minutes(rule.get("day_starts_at"))
    low = (minutes(rule["from"]) - begins) % 1440
    high = (minutes(rule["to"]) - begins - 1) % 1440 + 1
    high += 1440 if high <= low else 0

    def slot_days(one: Happening) -> set[date]:
        day, minute = one.day(begins), (one.minute - begins) % 1440
        if not one.timed:
            return {day} if high - low == 1440 else set()
        return {day - timedelta(days=n) for n in (0, 1) if low <= minute + 1440 * n < high}

    type = rule["where"].get("type")
    kin = [one for one in life if type is None or one.fields["type"] == type]
    recorded = [day for one in kin for day in {one.day(begins), *(slot_days(one) if one.timed else ())}]
    since = date.fromisoformat(rule["since"]) if "since" in rule else date.min
    broken = {day for one in life if matches(one, rule["where"]) for day in slot_days(one)}
    kept = opportunities = 0
    for day in _days(life, begins):
        if not recorded or not min(recorded) <= day <= max(recorded) or day < since:
            continue
        if WEEK[day.weekday()] in rule["days"]:
            opportunities += 1
            kept += day not in broken
    return kept, opportunities
