"""Features that follow from an observation and that detection works with.

They can always be derived again, so they are never stored: `with_features` is the first step of every evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from observations.civil_time import MICROSECONDS_PER_MINUTE
from observations.shell.parse import with_command_features
from observations.titles.normalize import kinds_of
from observations.titles.similarity import join_near_identical

FEATURES: Mapping[str, pl.DataType] = {
    "minute": pl.Float64(),  # minutes since the local midnight; null for a thing of the whole day
    "day": pl.Date(),  # the local day
    "weekday": pl.Int8(),  # of the local day, Monday 0
    "kind:text": pl.String(),  # the kind of thing (`observations.titles.normalize`); null where nothing says
}
"""Columns that `with_features` adds, with their dtypes."""

TITLES = ("title:text", "subject:text")
"""Where the kind of a thing is read off a title: the first of them that a record has."""

COMMANDS = ("subcommand:text", "program:text")
"""Where the kind of a command is read off as it stands: the first of them that a record has."""


def with_features(frame: pl.DataFrame, *, join_similar: bool = True) -> pl.DataFrame:
    """The frame with the columns of `FEATURES`, in the same order of rows.

    Args:
        frame: observations (`observations.schema`). Columns of these names are replaced; a ``kind:text`` that a
            source gave stays where nothing else says what kind of thing it is.
        join_similar: whether titles of one user and type in slightly other words are one kind
            (`observations.titles.similarity`). What kind a title is then depends on the other titles in the frame.

    """
    local = pl.col("local")
    minute = (local - local.dt.truncate("1d")).dt.total_microseconds() / MICROSECONDS_PER_MINUTE
    if "all_day:flag" in frame.columns:
        minute = pl.when(pl.col("all_day:flag").fill_null(value=False)).then(None).otherwise(minute)
    return _with_kinds(with_command_features(frame), join_similar).with_columns(
        minute.cast(pl.Float64).alias("minute"),
        local.dt.date().alias("day"),
        (local.dt.weekday() - 1).cast(pl.Int8).alias("weekday"),
    )


def _with_kinds(frame: pl.DataFrame, join_similar: bool) -> pl.DataFrame:
    """The frame with the column ``kind:text``."""
    titles = frame.with_columns(_first(TITLES, frame).alias("kind:text")).get_column("kind:text")
    titled = kinds_of(titles)
    if join_similar:
        titled = _joined(frame.select("user_id", "type", "actor", titled.alias("kind")))
    said = (titled, _first(COMMANDS, frame), _first_word(frame), _first(("kind:text",), frame))
    return frame.with_columns(pl.coalesce(said).alias("kind:text"))


def _joined(titled: pl.DataFrame) -> pl.Series:
    """The kinds with near-identical ones joined. What an agent wrote counts for nothing."""
    key = ["user_id", "type", "kind"]
    own = titled.filter(pl.col("kind").is_not_null(), pl.col("actor") != "agent")
    joins = join_near_identical(own.group_by(key).len("count"))
    if joins.is_empty():
        return titled.get_column("kind")
    mapped = titled.join(joins, on=key, how="left", maintain_order="left")
    return mapped.select(pl.coalesce("joined", "kind")).to_series()


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
