"""The two frame kinds of this package: observations and notes.

**Observations.** One row is one thing that happened. The columns of `BASE` are always there, in this order;
then come the features, one column for each *name and kind*, called ``name:kind``:

========  ==================  ==========================
kind      dtype               example
========  ==================  ==========================
text      String              ``category:text``
number    Float64             ``duration_minutes:number``
flag      Boolean             ``all_day:flag``
list      List(String)        ``participants:list``
========  ==================  ==========================

A feature that is a number in one record and text in another fills two columns, so no value ever changes its
type because of its neighbours (what one person's tool exports cannot alter another person's data).
A null is "this record does not have the feature"; an empty list is a value.

``at`` is the instant, in UTC. ``local`` is what the person's clock showed, without a zone: habits live there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import polars as pl

from observations.errors import SchemaError

Kind = Literal["text", "number", "flag", "list"]
"""What a feature's value can be."""

KINDS: Mapping[Kind, pl.DataType] = {
    "text": pl.String(),
    "number": pl.Float64(),
    "flag": pl.Boolean(),
    "list": pl.List(pl.String()),
}

BASE: Mapping[str, pl.DataType] = {
    "id": pl.String(),  # unique within a user
    "user_id": pl.String(),  # whose behaviour this is
    "type": pl.String(),  # calendar, email, command, …
    "action": pl.String(),  # created, sent, ran, …
    "at": pl.Datetime("us", "UTC"),  # the instant
    "local": pl.Datetime("us"),  # the person's wall clock at that instant
    "tz": pl.String(),  # IANA zone where it is known, else null
    "actor": pl.String(),  # user or agent
}
"""Columns that every observation frame has, with their dtypes, in order."""

DERIVED = ("time_of_day", "day_of_week")
"""Features that follow from ``local``; written on output, never stored."""

ORDER = ("user_id", "at", "id")
"""The canonical order of rows."""


def feature_column(name: str, kind: Kind) -> str:
    """The column that holds values of this kind for the feature `name`.

    >>> feature_column("category", "text")
    'category:text'
    """
    return f"{name}:{kind}"


def split_column(column: str) -> tuple[str, Kind]:
    """The feature's name and kind for one of the feature columns.

    >>> split_column("a:b:number")
    ('a:b', 'number')
    """
    name, _, kind = column.rpartition(":")
    if kind not in KINDS:
        raise SchemaError(
            f"{column!r} is not a feature column; they end in {', '.join(f':{k}' for k in KINDS)}"
        )
    return name, kind  # type: ignore[return-value]


def feature_columns(columns: Iterable[str]) -> list[str]:
    """Those of `columns` that hold features, in their order."""
    return [c for c in columns if c not in BASE]


def empty_observations() -> pl.DataFrame:
    """An observation frame without rows or features."""
    return pl.DataFrame(schema=dict(BASE))


def concat_observations(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """One observation frame with the rows of all; features that a frame lacks are null there.

    Feature columns come out in alphabetical order, and those that no row has not at all, so the same rows give
    the same frame in whatever order and with whatever neighbours the parts were read.
    """
    parts = [f for f in frames if f.height]
    if not parts:
        return empty_observations()
    joined = pl.concat(parts, how="diagonal")
    features = [
        c for c in feature_columns(joined.columns) if joined.get_column(c).null_count() < joined.height
    ]
    return joined.select(*BASE, *sorted(features))


def check_observations(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame itself, if it is an observation frame.

    Raises:
        SchemaError: a column is missing or has another dtype; says which.

    """
    for name, dtype in BASE.items():
        if name not in frame.columns:
            raise SchemaError(
                f"an observation frame needs the column {name!r} ({dtype}); this has {frame.columns}"
            )
        if frame.schema[name] != dtype:
            raise SchemaError(f"the column {name!r} must be {dtype}, not {frame.schema[name]}")
    for column in feature_columns(frame.columns):
        _, kind = split_column(column)
        if frame.schema[column] != KINDS[kind]:
            raise SchemaError(f"the column {column!r} must be {KINDS[kind]}, not {frame.schema[column]}")
    return frame


def unique_observations(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each user and id, in canonical order, whatever the order and repetition of the input.

    Where two records share user and id and differ, the one that sorts last by all its values stays: a rule
    that gives the same answer in any order of reading.
    """
    keyed = frame.sort(ORDER, maintain_order=True)
    twice = keyed.select(pl.struct("user_id", "id").is_duplicated()).to_series()
    if not twice.any():
        return keyed
    plain = [c for c in keyed.columns if not isinstance(keyed.schema[c], pl.List)]
    lists = [pl.col(c).list.join("\x1f") for c in keyed.columns if c not in plain]
    doubled = (
        keyed.filter(twice)
        .sort([*plain, *lists], nulls_last=False)
        .unique(["user_id", "id"], keep="last", maintain_order=True)
    )
    return pl.concat([keyed.filter(~twice), doubled]).sort(ORDER, maintain_order=True)
