"""Examples: the kept and missed opportunities of one pattern, each with a title that the person recognizes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import polars as pl

from observations.features import with_features
from patterns.model import Pattern
from patterns.registry import rule_of
from patterns.rules.event import events_of
from pipelines.text.sanitize import plain, shortened

_TITLE = 60
"""Maximum length of a title in characters."""

_TITLES = ("title", "subject", "command", "program", "app", "url", "category")
"""Features that serve as the title of an observation, the most specific first."""


def examples(
    pattern: Pattern, opportunities: pl.DataFrame, observed: pl.DataFrame, *, kept: bool, count: int
) -> Iterator[str]:
    """The newest opportunities that were kept (or missed), newest first: the time, and the observation.

    Args:
        pattern: the pattern.
        opportunities: the opportunities of the pattern (`patterns.explain.OPPORTUNITIES`).
        observed: the observations of the person.
        kept: True for kept opportunities, False for missed ones.
        count: the maximum number.
    """
    rows = opportunities.filter(pl.col("kept") == kept).sort("local", descending=True).head(count)
    titles = titles_of(
        observed.filter(pl.col("id").is_in(rows.get_column("observation").drop_nulls().to_list()))
    )
    broken = (
        {}
        if kept or rule_of(pattern.type, pattern.rule).feature_name is None
        else _broken(pattern, observed, rows)
    )
    for local, observation in rows.select("local", "observation").iter_rows():
        seen = titles.get(observation)
        if pattern.type == "avoidance" and kept:
            yield f"{_day(local)}        nothing of the kind{f'; that day: {seen}' if seen else ''}"
        elif (found := seen or broken.get(local)) is not None:
            yield f"{local:%a %Y-%m-%d %H:%M}  {found}"
        else:
            yield f"{_day(local)}        nothing by {local:%H:%M}"


def titles_of(observations: pl.DataFrame) -> dict[str, str]:
    """A title for each observation, by id."""
    there = [f"{name}:text" for name in _TITLES if f"{name}:text" in observations.columns]
    named = pl.coalesce(
        *(pl.when(pl.col(name).str.len_chars() > 0).then(pl.col(name)) for name in there),
        pl.concat_str("type", "action", separator=" ", ignore_nulls=True),
    )
    return {
        id: shortened(plain(title or ""), _TITLE)
        for id, title in observations.select("id", named.alias("title")).iter_rows()
    }


def _broken(pattern: Pattern, observed: pl.DataFrame, rows: pl.DataFrame) -> dict[datetime, str]:
    """The event of each miss with its other value, by wall clock."""
    then = observed.filter(pl.col("local").is_in(rows.get_column("local").to_list()))
    if then.is_empty():
        return {}
    found: dict[datetime, str] = {}
    rule = rule_of(pattern.type, pattern.rule)
    feature, titles = rule.feature_name or "", titles_of(then)
    for id, event in zip(then.get_column("id"), events_of(with_features(then)), strict=True):
        if False in rule.outcomes(event):
            values = ", ".join(plain(_value_text(value)) for value in event.fields[feature])
            found[event.local] = f"{titles[id]} ({feature}: {shortened(values, _TITLE) or 'nobody'})"
    return found


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _day(known: datetime) -> str:
    """The day of a slot that ended then; a slot that ends at midnight belongs to the day before."""
    return f"{known - timedelta(microseconds=1):%a %Y-%m-%d}"
