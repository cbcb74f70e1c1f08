"""Doubts: where behaviour says otherwise than the person did. They are said beside the word and overrule nothing.

Two things are looked at: how often the rule that came with the word was kept lately, and whether a confirmed pattern
contradicts it: another value of the same feature in the same context, or a time within hours that are avoided.
Words without a rule are compared with preferences alone, by the values that the person was seen to choose from:
"prefers tea" is doubtful if tea is chosen now and then, and coffee habitually.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import orjson
import polars as pl

from observations.civil_time import WEEKDAYS
from observations.features import with_features
from patterns.eventlog.log import weekday_of
from patterns.inference.significance import rate_interval
from patterns.rules.counting import count_rules
from patterns.rules.matching import Event, events_of
from patterns.rules.recurrence import named
from patterns.rules.sameness import minute_of
from patterns.rules.where import Where
from patterns.settings import Settings

LATELY_DAYS = 90
"""How far back it is counted."""

LEAST_OPPORTUNITIES = 5
"""Fewer say nothing."""

HALF = 0.5
"""A rule is in doubt if it is kept less often than this, with 97.5 % certainty."""

_TWO_YEARS = np.arange(20_000, 20_731, dtype=np.int64)

Row = Mapping[str, Any]


def doubts_of(
    row: Row, others: Sequence[Row], observations: pl.DataFrame, as_of: datetime, settings: Settings
) -> list[str]:
    """Why what the person said may not hold, each in one sentence; nothing where behaviour agrees or is silent.

    Args:
        row: an explicit pattern, its ``rule`` read.
        others: the person's other patterns, likewise.
        observations: the person's, up to `as_of`.
        as_of: the evaluation time.
        settings: by which patterns are judged.
    """
    if row["status"] != "confirmed" or observations.is_empty():
        return []
    against = [o for o in others if o["status"] == "confirmed" and o["source"] != "explicit"]
    said = [f"confirmed: {_with_count(other)}" for other in against if _contradicts(row, other, observations)]
    return [*_seldom_kept(row, observations, as_of, settings), *said]


def _with_count(row: Row) -> str:
    return f"{row['statement']} ({row['support']} of {row['opportunities']} times)"


def _seldom_kept(row: Row, observations: pl.DataFrame, as_of: datetime, settings: Settings) -> Iterator[str]:
    if "said" in row["rule"]:
        return
    asked = pl.DataFrame(
        {
            **{name: [row[name]] for name in ("id", "user_id", "type")},
            "rule": [orjson.dumps(row["rule"]).decode()],
        }
    )
    counts = count_rules(observations, asked, as_of - timedelta(days=LATELY_DAYS), as_of, settings)
    kept, of = counts.select("support", "opportunities").row(0)
    _, high = rate_interval(np.array([float(kept)]), np.array([float(of)]))
    if of >= LEAST_OPPORTUNITIES and high[0] < HALF:
        yield f"kept {kept} of {of} times in the last {LATELY_DAYS} days"


def _contradicts(row: Row, other: Row, observations: pl.DataFrame) -> bool:
    mine, its = row["rule"], other["rule"]
    if "said" in mine:
        prefers = row["type"] == other["type"] == "preference" and isinstance(its.get("value"), str)
        return prefers and _names_another(row["statement"], its, observations)
    if row["type"] == other["type"] == "preference":
        return mine["feature"] == its["feature"] and _meet(mine["where"], its["where"]) and _apart(mine, its)
    if (row["type"], other["type"]) == ("temporal", "avoidance"):
        return _is_avoided(mine, its)
    if (row["type"], other["type"]) == ("avoidance", "temporal"):
        return _is_avoided(its, mine)
    return False


def _meet(one: Row, other: Row) -> bool:
    """Whether one context is within the other."""
    return one.items() <= other.items() or other.items() <= one.items()


def _apart(mine: Row, its: Row) -> bool:
    """Whether no value keeps both rules."""
    if "value" in mine and "value" in its:
        return bool(mine["value"] != its["value"])
    if "min" in mine and "min" in its:
        return bool(mine["max"] < its["min"] or its["max"] < mine["min"])
    return False


def _is_avoided(timed: Row, avoided: Row) -> bool:
    """Whether what is due at a time is of what is avoided then."""
    where = timed["where"]
    if any(where.get(name) != value for name, value in avoided["where"].items()):
        return False
    if not minute_of(avoided["from"]) <= minute_of(timed["time"]) < minute_of(avoided["to"]):
        return False
    days = np.array([WEEKDAYS[day] in avoided["days"] for day in weekday_of(_TWO_YEARS)])
    rules = named(timed["rrule"], timed.get("dtstart"))
    return any(bool(np.any(rule.due(_TWO_YEARS) & days)) for rule in rules)


def _names_another(text: str, its: Row, observations: pl.DataFrame) -> bool:
    """Whether the text names a value that was seen where the rule names another."""
    if _names(text, its["value"]):
        return False
    events = events_of(with_features(observations))
    return any(_names(text, value) for value in _values(events, its["where"], its["feature"]))


def _values(events: Iterator[Event], where: Where, feature: str) -> set[str]:
    found: set[str] = set()
    for event in events:
        if event.matches(where):
            for value in event.fields.get(feature, ()):
                found.update(v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str))
    return found


def _names(text: str, value: str) -> bool:
    """Whether the value is in the text, in whole words."""
    return bool(value.strip()) and bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE))
