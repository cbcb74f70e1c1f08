"""Sameness: whether two rules are about the same behaviour.

A pattern keeps its id as evidence comes in; but when older observations arrive late, what it began with changes, and
its id with it. Two rules are of one behaviour if they are about the same thing (`patterns.pattern_frame.DRIFTING` aside), and
what may drift (time of day, hours, a band of numbers) overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from patterns.eventlog.arrays import Flags
from patterns.pattern_frame import DRIFTING
from patterns.rules.recurrence import named

_DAY_MINUTES = 1440
_TWO_YEARS = np.arange(20_000, 20_731, dtype=np.int64)
"""Days on which any two rules that share a day at all share one."""

Rule = Mapping[str, Any]


def is_same(type: str, one: Rule, other: Rule) -> bool:
    """Whether two rules of one type are about the same behaviour.

    >>> one = {"where": {"title": "Gym"}, "rrule": "FREQ=DAILY", "time": "07:00", "tolerance_minutes": 10}
    >>> is_same("temporal", one, {**one, "time": "07:15"}), is_same("temporal", one, {**one, "time": "18:00"})
    (True, False)
    """
    if _lasting(one) != _lasting(other):
        return False
    if type == "temporal":
        return _times_meet(one, other) and bool(np.any(_due(one) & _due(other)))
    if type == "avoidance":
        return bool(one["from"] < other["to"] and other["from"] < one["to"])
    if "min" in one and "min" in other:
        return bool(one["min"] <= other["max"] and other["min"] <= one["max"])
    return ("min" in one) == ("min" in other)


def _lasting(rule: Rule) -> dict[str, Any]:
    return {name: value for name, value in rule.items() if name not in DRIFTING}


def _times_meet(one: Rule, other: Rule) -> bool:
    apart = abs(minute_of(one["time"]) - minute_of(other["time"]))
    within = int(one["tolerance_minutes"]) + int(other["tolerance_minutes"])
    return min(apart, _DAY_MINUTES - apart) <= within


def _due(rule: Rule) -> Flags:
    due = np.zeros(len(_TWO_YEARS), dtype=np.bool_)
    for recurrence in named(rule["rrule"], rule.get("dtstart")):
        due |= recurrence.due(_TWO_YEARS)
    return due


def minute_of(clock: str) -> int:
    """Minutes since midnight of a time in a rule.

    >>> minute_of("07:05")
    425
    """
    return int(clock[:2]) * 60 + int(clock[3:])
