"""Features that follow from an observation and that detection works with.

They can always be derived again, so they are never stored: `with_features` is the first step of every evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from observations.kinds import kinds_of

FEATURES: Mapping[str, pl.DataType] = {
    "minute": pl.Float64(),  # minutes since the local midnight; null for a thing of the whole day
    "day": pl.Date(),  # the local day
    "weekday": pl.Int8(),  # of the local day, Monday 0
    "kind:text": pl.String(),  # the kind of thing (`observations.kinds`); null where nothing says
}
"""Columns that `with_features` adds, with their dtypes."""

TITLES = ("title:text", "subject:text")
"""Where the kind of a thing is read off a title: the first of them that a record has."""

COMMANDS = ("subcommand:text", "program:text")
"""Where the kind of a command is read off as it stands: the first of them that a record has."""


def with_features(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the columns of `FEATURES`, in the same order of rows.

    Args:
        frame: observations (`observations.schema`). Columns of these names are replaced; a ``kind:text`` that a
            source gave stays where nothing else says what kind of thing it is.

    """
    local = pl.col("local")
    minute = (local - local.dt.truncate("1d")).dt.total_microseconds() / 60_000_000
    if "all_day:flag" in frame.columns:
        minute = pl.when(pl.col("all_day:flag").fill_null(value=False)).then(None).otherwise(minute)
    return _titled(frame).with_columns(
        minute.cast(pl.Float64).alias("minute"),
        local.dt.date().alias("day"),
        (local.dt.weekday() - 1).cast(pl.Int8).alias("weekday"),
    )


def _titled(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the column ``kind:text``."""
    title = frame.with_columns(_first(TITLES, frame).alias("kind:text")).get_column("kind:text")
    said = pl.coalesce(
        kinds_of(title), _first(COMMANDS, frame), _first_word(frame), _first(("kind:text",), frame)
    )
    return frame.with_columns(said.alias("kind:text"))


def _first(columns: tuple[str, ...], frame: pl.DataFrame) -> pl.Expr:
    """The first of those columns that has something in it."""
    said: list[pl.Expr] = [
        pl.when(pl.col(c).str.strip_chars() != "").then(pl.col(c)) for c in columns if c in frame.columns
    ]
    return pl.coalesce(said or [pl.lit(None, pl.String)])


def _first_word(frame: pl.DataFrame) -> pl.Expr:
    if "command:text" not in frame.columns:
        return pl.lit(None, pl.String)
    return pl.col("command:text").str.extract(r"^\s*(\S+)")
