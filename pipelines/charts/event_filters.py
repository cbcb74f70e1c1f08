"""Filters: observations that count as evidence, and those that match a rule's `where` (contract, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from observations.civil_time import WEEKDAYS, parse_clock
from patterns.rules.where import Condition, TimeSpan, Where, alternatives


def evidence_in(observations: pl.DataFrame) -> pl.DataFrame:
    """The observations that can be evidence: not those of an agent, nor automatic messages."""
    own = observations.filter(pl.col("actor") == "user")
    if "automatic:flag" in own.columns:
        own = own.filter(~pl.col("automatic:flag").fill_null(False))
    return own


def matching(frame: pl.DataFrame, where: Where) -> pl.Expr:
    """True for observations that have all these values; a list feature must contain them.

    Args:
        frame: observations with the derived features that the rule refers to (`observations.features`).
        where: conditions over type, action, the features and the local time (`patterns.rules.where`).

    """
    parts = [_meets(frame, field, condition) for field, condition in where.items()]
    return pl.all_horizontal(pl.lit(True), *parts)


def _meets(frame: pl.DataFrame, field: str, condition: Condition) -> pl.Expr:
    minute = pl.col("local").dt.hour().cast(pl.Float64) * 60 + pl.col("local").dt.minute()
    timed = ~pl.col("all_day:flag").fill_null(False) if "all_day:flag" in frame.columns else pl.lit(True)
    if isinstance(condition, TimeSpan):
        low, high = parse_clock(condition.begin), parse_clock(condition.end)
        after, before = minute >= low, minute < high
        return timed & (after & before if low < high else after | before)
    if field == "time_of_day":
        return timed & pl.col("local").dt.strftime("%H:%M").is_in([str(v) for v in alternatives(condition)])
    if field == "day_of_week":
        days = [WEEKDAYS.index(str(day)) + 1 for day in alternatives(condition) if day in WEEKDAYS]
        return pl.col("local").dt.weekday().is_in(days)
    return contains(frame, field, alternatives(condition))


def contains(frame: pl.DataFrame, feature: str, values: Sequence[object]) -> pl.Expr:
    """True if the feature is one of these values, or is a list that contains one."""
    return pl.any_horizontal(pl.lit(False), *(_has(frame, feature, value) for value in values))


def has_feature(frame: pl.DataFrame, feature: str) -> pl.Expr:
    """True if the observation has this feature."""
    known = [pl.col(c).is_not_null() for c in _columns(frame, feature)]
    return pl.any_horizontal(pl.lit(False), *known)


def _has(frame: pl.DataFrame, field: str, value: object) -> pl.Expr:
    if field in ("type", "action"):
        return pl.col(field) == str(value)
    tests = []
    for column in _columns(frame, field):
        kind = frame.schema[column]
        if isinstance(kind, pl.List):
            tests.append(pl.col(column).list.contains(str(value)))
        elif (kind == pl.String and isinstance(value, str)) or (
            kind == pl.Boolean and isinstance(value, bool)
        ):
            tests.append(pl.col(column) == value)
        elif kind == pl.Float64 and isinstance(value, (int, float)) and not isinstance(value, bool):
            tests.append(pl.col(column) == float(value))
    return pl.any_horizontal(pl.lit(False), *tests).fill_null(False)


def _columns(frame: pl.DataFrame, feature: str) -> list[str]:
    return [c for c in frame.columns if c.rpartition(":")[0] == feature]
