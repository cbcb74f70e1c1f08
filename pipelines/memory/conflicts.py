"""Doubts: reasons why what a person said may not hold. They are shown beside the pattern and do not change it.

There are two kinds: the rule that came with the feedback was kept too rarely lately, or a confirmed pattern contradicts
it with another value of the same feature in the same context, or a time within avoided hours. Feedback without a rule
is compared only with preferences, by the values the person was seen to choose from: "prefers tea" is doubtful if tea is
chosen sometimes, and coffee habitually.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import orjson
import polars as pl

from observations.features import with_features
from patterns.count_rules import count_rules
from patterns.inference.significance import rate_interval
from patterns.registry import rule_of
from patterns.rules.choice_rules import ValueRule
from patterns.rules.event import Event, events_of
from patterns.rules.stated_rule import StatedRule
from patterns.settings import Settings

LATELY_DAYS = 90
"""How many days back are counted."""

LEAST_OPPORTUNITIES = 5
"""With fewer opportunities there is no doubt."""

HALF = 0.5
"""A rule is in doubt if it is kept less often than this, with 97.5 % certainty."""

Row = Mapping[str, Any]


def doubts_of(
    row: Row, others: Sequence[Row], observations: pl.DataFrame, as_of: datetime, settings: Settings
) -> list[str]:
    """Why what the person said may not hold, one sentence each; empty if behavior agrees or there is no evidence.

    Args:
        row: an explicit pattern with a parsed ``rule``.
        others: the other patterns of the person, likewise.
        observations: of the person, up to `as_of`.
        as_of: the evaluation time.
        settings: thresholds and weights.
    """
    if row["status"] != "confirmed" or observations.is_empty():
        return []
    against = [o for o in others if o["status"] == "confirmed" and o["source"] != "explicit"]
    conflicts = [
        f"confirmed: {_with_count(other)}" for other in against if _contradicts(row, other, observations)
    ]
    return [*_seldom_kept(row, observations, as_of, settings), *conflicts]


def _with_count(row: Row) -> str:
    return f"{row['statement']} ({row['support']} of {row['opportunities']} times)"


def _seldom_kept(row: Row, observations: pl.DataFrame, as_of: datetime, settings: Settings) -> Iterator[str]:
    if isinstance(rule_of(row["type"], row["rule"]), StatedRule):
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
    mine, its = rule_of(row["type"], row["rule"]), rule_of(other["type"], other["rule"])
    if isinstance(mine, StatedRule):
        prefers = row["type"] == other["type"] == "preference"
        return prefers and isinstance(its, ValueRule) and _names_another(row["statement"], its, observations)
    return mine.contradicts(its) or its.contradicts(mine)


def _names_another(text: str, its: ValueRule, observations: pl.DataFrame) -> bool:
    """True if the text names a value that was observed where the rule names another."""
    if not isinstance(its.value, str) or _names(text, its.value):
        return False
    return any(_names(text, value) for value in _values(events_of(with_features(observations)), its))


def _values(events: Iterator[Event], rule: ValueRule) -> set[str]:
    """The texts of the rule's feature in its context."""
    found: set[str] = set()
    for event in events:
        if event.matches(rule.where):
            for value in event.fields.get(rule.feature, ()):
                found.update(v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str))
    return found


def _names(text: str, value: str) -> bool:
    """Whether the value is in the text, in whole words."""
    return bool(value.strip()) and bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE))
