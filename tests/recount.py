"""Support and opportunities of a rule counted again, as the contract defines and one event at a time.

Knows nothing of detectors, trials or arrays: a rule, a list of events, and two moments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import polars as pl
from dateutil.rrule import rrulestr

from observations.features import with_features
from tests.naive import matches

WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

Event = Mapping[str, Any]
Counts = tuple[int, int]
"""Support, opportunities."""


def as_events(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The observations as records of named features, in time order, with their kind of thing."""
    kinds = with_features(frame).sort("at", maintain_order=True)
    return [
        {name.rpartition(":")[0] or name: value for name, value in row.items() if value is not None}
        for row in kinds.drop("minute", "day", "weekday").iter_rows(named=True)
    ]


def recount(rule: Mapping[str, Any], events: Sequence[Event], first: datetime, now: datetime) -> Counts:
    """Support and opportunities from the first support on until now (both wall clocks).

    Args:
        rule: contract, section 3.
        events: one person's, in time order.
        first: the pattern's ``first_seen``, to the second.
        now: the evaluation time.

    """
    if "rrule" in rule:
        return _temporal(rule, events, first, now)
    if "days" in rule:
        return _avoidance(rule, events, first, now)
    if "steps" in rule:
        return _workflow(rule, events, first, now)
    return _preference(rule, events, first, now)


def minutes_of(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def minute(event: Event) -> float:
    """Minutes since midnight; nan for what lasts all day, which is near no time and in no hours."""
    if event.get("all_day"):
        return math.nan
    local = event["local"]
    return float(local.hour * 60 + local.minute + local.second / 60 + local.microsecond / 6e7)


def apart(a: float, b: float) -> float:
    """Minutes between two times of day, on the circle."""
    gap = abs(a - b) % 1440
    return min(gap, 1440 - gap)


def midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def active_days(events: Sequence[Event], first: datetime, now: datetime) -> list[date]:
    """Days with any trace at all, from the first support's on."""
    days = {event["local"].date() for event in events}
    return sorted(day for day in days if first.date() <= day <= now.date())


def _temporal(rule: Mapping[str, Any], events: Sequence[Event], first: datetime, now: datetime) -> Counts:
    start = date.fromisoformat(rule["dtstart"]) if "dtstart" in rule else first.date()
    dates = rrulestr(rule["rrule"], dtstart=midnight(start))
    due = {moment.date() for moment in dates.between(midnight(start), now, inc=True)}
    support = opportunities = 0
    for day in active_days(events, first, now):
        if day not in due:
            continue
        kept = any(
            event["local"].date() == day
            and event["local"] <= now
            and matches(event, rule["where"])
            and apart(minute(event), minutes_of(rule["time"])) <= rule["tolerance_minutes"] + 1e-6
            for event in events
        )
        end = midnight(day) + timedelta(minutes=minutes_of(rule["time"]) + rule["tolerance_minutes"])
        support += kept
        opportunities += kept or end <= now
    return support, opportunities


def _preference(rule: Mapping[str, Any], events: Sequence[Event], first: datetime, now: datetime) -> Counts:
    support = opportunities = 0
    for event in events:
        if not (first <= event["local"].replace(microsecond=0) and event["local"] <= now):
            continue
        if matches(event, rule["where"]) and rule["feature"] in event:
            opportunities += 1
            support += holds(event[rule["feature"]], rule)
    return support, opportunities


def holds(value: Any, rule: Mapping[str, Any]) -> bool:
    """True if the value of a feature is that of the preference."""
    if "value" in rule:
        return bool(rule["value"] in value if isinstance(value, list) else value == rule["value"])
    return bool(rule["min"] <= value <= rule["max"])


def _avoidance(rule: Mapping[str, Any], events: Sequence[Event], first: datetime, now: datetime) -> Counts:
    low, high = minutes_of(rule["from"]), minutes_of(rule["to"])
    support = opportunities = 0
    kin = [
        event["local"].date() for event in events if event["type"] == rule["where"].get("type", event["type"])
    ]
    for day in active_days(events, first, now):
        # Before the source's first event and after its last one nothing is avoided (said in `detectors.avoidance`).
        if not min(kin) <= day <= max(kin):
            continue
        if WEEK[day.weekday()] not in rule["days"]:
            continue
        broken = any(
            event["local"].date() == day and low <= minute(event) < high and matches(event, rule["where"])
            for event in events
        )
        over = midnight(day) + timedelta(minutes=high) <= now
        support += over and not broken
        opportunities += over
    return support, opportunities


def _workflow(rule: Mapping[str, Any], events: Sequence[Event], first: datetime, now: datetime) -> Counts:
    steps, within = rule["steps"], timedelta(minutes=rule["within_minutes"])
    events = [event for event in events if not event.get("all_day")]
    support = opportunities = 0
    for begun in range(len(events)):
        place: int | None = begun if matches(events[begun], steps[0]) else None
        for step in steps[1:-1]:
            place = _next(events, place, step, within)
        if place is None:
            continue
        followed = _next(events, place, steps[-1], within)
        known = events[followed]["local"] if followed is not None else events[place]["local"] + within
        if first <= known.replace(microsecond=0) and known <= now:
            opportunities += 1
            support += followed is not None
    return support, opportunities


def _next(
    events: Sequence[Event], place: int | None, step: Mapping[str, Any], within: timedelta
) -> int | None:
    """The first event after that one, within the minutes, that is the step."""
    if place is None:
        return None
    for later in range(place + 1, len(events)):
        if events[later]["at"] - events[place]["at"] > within:
            return None
        if matches(events[later], step):
            return later
    return None
