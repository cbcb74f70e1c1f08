"""Feature values as small numbers that can be counted.

A value is a number of minutes, a place, a person in a list, or a band of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from observations.schema import split_column
from patterns.eventlog.arrays import Flags, Ints, ranges
from patterns.eventlog.category_codes import coded
from patterns.eventlog.log import Log

_MAIL = ("from:text", "to:list", "cc:list")

_DECILES = 10
_WIDEST_BAND = 6
"""Bands run over one to six tenths of a person's values: wider ones are no preference."""
_BANDS = tuple((a, b) for a in range(_DECILES) for b in range(a, min(a + _WIDEST_BAND, _DECILES)))
"""The first and the last tenth of each band."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One feature's values as small numbers.

    Attributes:
        column: the column of the log that holds it.
        has: (events,) True if the event has the feature.
        count: (events,) how many values each event has.
        value: (pairs,) the values of each event in turn.
        means: what each number stands for: a value, or the ends of a band.
        several: True for a list: its values do not compete for an event.
        bands: True if the values are bands of numbers.
    """

    column: str
    has: Flags
    count: Ints
    value: Ints
    means: Sequence[object]
    several: bool
    bands: bool = False

    @property
    def name(self) -> str:
        """What a rule calls it."""
        return feature_name(self.column)


def feature_name(column: str) -> str:
    """The feature that a column of the log holds.

    >>> feature_name("duration_minutes:number")
    'duration_minutes'
    """
    return split_column(column)[0]


def values_of(log: Log, column: str) -> Feature:
    """The values of a column as they are."""
    return _coded(_chosen(log, column), column)


def bands_of(log: Log, column: str) -> Feature:
    """Bands of a number: every run of one to six tenths of the person's distinct values.

    Tenths of what a person's tool ever shows; a person with fewer distinct values than tenths has no bands.
    """
    series = _chosen(log, column)
    known = np.flatnonzero(series.is_not_null().to_numpy())
    users, numbers = log.user[known], series.drop_nulls().to_numpy()
    count = np.zeros(len(log), dtype=np.int64)
    codes: list[Ints] = []
    means: list[tuple[float, float]] = []
    for user in np.unique(users):
        mine = users == user
        distinct = np.unique(numbers[mine])
        if len(distinct) < _DECILES:
            continue
        parts = np.array_split(distinct, _DECILES)
        tenth = np.searchsorted([part[-1] for part in parts], numbers[mine])
        count[known[mine]] = _BANDS_PER_TENTH[tenth]
        codes.append(len(means) + _bands_with(tenth))
        means += [(float(parts[a][0]), float(parts[b][-1])) for a, b in _BANDS]
    value = np.concatenate(codes) if codes else np.empty(0, dtype=np.int64)
    return Feature(
        column=column, has=count > 0, count=count, value=value, means=means, several=False, bands=True
    )


_BANDS_OF_TENTH = [[i for i, (a, b) in enumerate(_BANDS) if a <= tenth <= b] for tenth in range(_DECILES)]
_BANDS_PER_TENTH = np.array([len(bands) for bands in _BANDS_OF_TENTH])


def _bands_with(tenth: Ints) -> Ints:
    """The bands that each tenth is in, one tenth after the other, as indices into `_BANDS`."""
    flat, start = np.concatenate(_BANDS_OF_TENTH), np.cumsum(_BANDS_PER_TENTH) - _BANDS_PER_TENTH
    bands: Ints = flat[ranges(start[tenth], _BANDS_PER_TENTH[tenth])]
    return bands


def others_in(log: Log, column: str) -> Feature:
    """The people in a column, without the person themselves; participants of mails only without from, to and cc."""
    frame = log.frame
    people = pl.col(column)
    if "from:text" in frame.columns:
        sent = (
            frame.filter(pl.col("action") == "sent").select("user_id", _me="from:text").drop_nulls().unique()
        )
        own = sent.group_by("user_id").agg("_me")
        frame = frame.join(own, on="user_id", how="left", maintain_order="left")
        mine = pl.col("_me").fill_null([])
        if column.endswith(":list"):
            people = people.list.set_difference(mine)
        else:
            people = pl.when(~mine.list.contains(people)).then(people)
    if feature_name(column) == "participants" and (named := [c for c in _MAIL if c in frame.columns]):
        people = pl.when(pl.all_horizontal(pl.col(c).is_null() for c in named)).then(people)
    return _coded(frame.select(people.alias(column)).to_series(), column)


def _chosen(log: Log, column: str) -> pl.Series:
    """The values of a column that somebody chose; nobody chooses how long a command takes."""
    values = pl.col(column)
    if feature_name(column) == "duration_minutes":
        values = pl.when(pl.col("type") != "command").then(values)
    return log.frame.select(values.alias(column)).to_series()


def _coded(series: pl.Series, column: str) -> Feature:
    pairs = pl.DataFrame({"event": np.arange(len(series)), "value": series})
    several = column.endswith(":list")
    if several:
        pairs = pairs.explode("value", empty_as_null=True).unique(maintain_order=True)
    pairs = pairs.drop_nulls("value")
    code, meaning = coded(pairs["value"])
    count = np.bincount(pairs["event"].to_numpy(), minlength=len(series))
    return Feature(
        column=column,
        has=series.is_not_null().to_numpy(),
        count=count,
        value=code,
        means=meaning.to_list(),
        several=several,
    )
