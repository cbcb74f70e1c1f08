"""Matching: what one observation says to a rule (contract, section 3), without counting everything again.

The detectors count all trials of a rule at once; here one observation is looked at alone, as it comes in, with
those just before it. A test holds the two together: every trial that the detectors count for an observation is
what is said of that observation here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import numpy as np
import polars as pl

from observations.civil_time import WEEKDAYS
from observations.features import FEATURES
from observations.schema import split_column
from patterns.rules.recurrence import named

DERIVED = frozenset({"kind", "program", "subcommand"})
"""Fields that rules speak of and records need not say."""

_MINUTES_PER_DAY = 1440.0
_NOT_FEATURES = ("id", "user_id", "at", "local", "tz", "actor", *FEATURES)


@dataclass(frozen=True)
class Event:
    """One observation, as a rule looks at it.

    Attributes:
        local: the wall clock.
        timed: whether it has a time of day; what lasts all day has none.
        fields: type, action and features by name; a name that has values of two kinds has both.

    """

    local: datetime
    timed: bool
    fields: Mapping[str, tuple[object, ...]]

    def matches(self, where: Mapping[str, object]) -> bool:
        """Whether every field has that value, or contains it."""
        return all(
            any(_is(mine, value) for mine in self.fields.get(name, ())) for name, value in where.items()
        )

    @property
    def minute(self) -> float:
        """Minutes since midnight."""
        clock = self.local
        return clock.hour * 60 + clock.minute + clock.second / 60 + clock.microsecond / 60e6


def hangs_on_derived(rule: Mapping[str, Any], event: Event) -> bool:
    """Whether it hangs on what is derived from the observation whether the rule is about it.

    Args:
        rule: contract, section 3.
        event: the observation as it came, without derived features.

    """
    where = rule["steps"][-1] if "steps" in rule else rule["where"]
    derived = DERIVED & {*where, rule.get("feature")}
    return bool(derived) and event.matches(
        {name: value for name, value in where.items() if name not in derived}
    )


def events_of(frame: pl.DataFrame) -> Iterator[Event]:
    """The rows of an observation frame as events, in their order.

    For rules that speak of `DERIVED`, it must be one with features (`observations.features.with_features`).
    """
    columns = [name for name in frame.columns if name not in _NOT_FEATURES or name == "kind:text"]
    names = [split_column(name)[0] if ":" in name else name for name in columns]
    for local, *values in frame[["local", *columns]].iter_rows():
        fields: dict[str, tuple[object, ...]] = {}
        for name, value in zip(names, values, strict=True):
            if value is not None:
                fields[name] = (*fields.get(name, ()), value)
        lasts_all_day = any(value is True for value in fields.get("all_day", ()))
        yield Event(local, not lasts_all_day, fields)


def outcome(type: str, rule: Mapping[str, Any], event: Event, before: Sequence[Event] = ()) -> bool | None:
    """Whether the event keeps the rule (true), breaks it (false), or says nothing about it (null).

    Args:
        type: the pattern's type.
        rule: contract, section 3.
        event: the observation.
        before: the person's observations of the minutes before it (`reach`), in order of time.

    """
    if type == "temporal":
        return True if _is_on_time(rule, event) else None
    if type == "workflow":
        return True if _follows(rule, event, before) else None
    if type == "avoidance":
        return False if _is_in_slot(rule, event) else None
    if rule["feature"] not in event.fields or not event.matches(rule["where"]):
        return None
    return any(_holds(rule, value) for value in event.fields[rule["feature"]])


def reach(type: str, rule: Mapping[str, Any]) -> timedelta:
    """How far back the observations before one must be known to judge it by this rule."""
    if type != "workflow":
        return timedelta()
    return timedelta(minutes=(len(rule["steps"]) - 1) * float(rule["within_minutes"]))


def waiting_since(rule: Mapping[str, Any], run: Sequence[Event], now: datetime) -> datetime | None:
    """When the last step but one was seen of a workflow whose last step is still to come; null if none is running.

    Args:
        rule: contract, section 3, of a workflow.
        run: the person's observations of the minutes up to now (`reach`), in order of time.
        now: the wall clock.

    """
    *steps, last = cast("Sequence[Mapping[str, object]]", rule["steps"])
    within = timedelta(minutes=float(rule["within_minutes"]))
    timed = [one for one in run if one.timed]
    for begun in reversed(range(len(timed))):
        if not timed[begun].matches(steps[0]):
            continue
        place = _walked(timed, begun, steps[1:], within)
        if place is not None and now - timed[place].local <= within:
            followed = any(later.matches(last) for later in timed[place + 1 :])
            return None if followed else timed[place].local
    return None


def _is(mine: object, value: object) -> bool:
    return value in mine if isinstance(mine, list) else mine == value


def _holds(rule: Mapping[str, Any], value: object) -> bool:
    if "value" in rule:
        return _is(value, rule["value"])
    return isinstance(value, float) and rule["min"] <= value <= rule["max"]


def _is_on_time(rule: Mapping[str, Any], event: Event) -> bool:
    if not event.timed or not event.matches(rule["where"]):
        return False
    apart = abs(event.minute - _minutes(rule["time"])) % _MINUTES_PER_DAY
    if min(apart, _MINUTES_PER_DAY - apart) > float(rule["tolerance_minutes"]):
        return False
    day = _day(event.local - timedelta(minutes=_minutes(rule.get("day_starts_at", "00:00"))))
    return any(known.due(day)[0] for known in named(rule["rrule"], rule.get("dtstart")))


def _is_in_slot(rule: Mapping[str, Any], event: Event) -> bool:
    return (
        event.timed
        and WEEKDAYS[event.local.weekday()] in rule["days"]
        and _minutes(rule["from"]) <= event.minute < _minutes(rule["to"])
        and event.matches(rule["where"])
    )


def _follows(rule: Mapping[str, Any], event: Event, before: Sequence[Event]) -> bool:
    """Whether the event is the first last step after the others, each within the minutes of the one before."""
    *steps, last = cast("Sequence[Mapping[str, object]]", rule["steps"])
    if not event.timed or not event.matches(last):
        return False
    within = timedelta(minutes=float(rule["within_minutes"]))
    run = [*(one for one in before if one.timed), event]
    for begun, first in enumerate(run[:-1]):
        if first.matches(steps[0]) and _walked(run, begun, [*steps[1:], last], within) == len(run) - 1:
            return True
    return False


def _walked(
    run: Sequence[Event], begun: int, steps: Sequence[Mapping[str, object]], within: timedelta
) -> int | None:
    """Where the steps after the first one lead; null if one does not follow in time."""
    place = begun
    for step in steps:
        ahead = range(place + 1, len(run))
        found = next((later for later in ahead if run[later].matches(step)), None)
        if found is None or run[found].local - run[place].local > within:
            return None
        place = found
    return place


def _minutes(clock: str) -> float:
    return int(clock[:2]) * 60.0 + int(clock[3:])


def _day(moment: datetime) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([(moment - datetime(1970, 1, 1)).days], dtype=np.int64)  # noqa: DTZ001  a wall clock
