"""Times as logs write them, a column at once: RFC 3339, epochs of every unit, and what spreadsheets make of dates.

A time says one of three things, and they are kept apart::

    2026-03-02T09:30:00+01:00   instant and wall clock    at and wall
    2026-03-02T08:30:00Z, 1772440200, …                   at only: whose clock showed what is not said
    2026-03-02 09:30, 2.3.2026 9:30 AM, …                 wall only: the zone is not said

Nothing is guessed. An order of day and month that a column does not prove is a problem, and a number or date that
cannot be the time of an activity is refused.

A column is read by the quickest way that reads it, what remains by the next: the plain form by its place in the
text, other forms of RFC 3339, numbers, and each distinct text that is left on its own (`written_times`). A few texts
that are all RFC 3339 are read by the standard library: a column takes 2 ms to begin, a text 1 µs.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import polars as pl

from observations.civil_time import microseconds
from observations.ingest.tabular.timestamp_formats import (
    EARLIEST,
    EPOCH_FROM,
    EPOCH_TO,
    EPOCH_UNITS,
    LATEST,
    parse_written,
)

TIMES = pl.Schema(
    {
        "at": pl.Datetime("us", "UTC"),
        "wall": pl.Datetime("us"),
        "date_only": pl.Boolean(),
        "problem": pl.String(),
    }
)
"""What `parse_timestamps` returns."""

FEW = 100
"""So few texts are not worth a column."""

PLAIN_LENGTH = len("2026-03-02T09:30:00")
LONGEST_OFFSET = len("+01:00")
_COMMON = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)
"""What every way reads alike."""
_OFFSET = r"((?:[Zz]|[+-]\d\d:?(?:\d\d)?))$"


def parse_timestamps(text: pl.Series, day_first: bool | None = None) -> pl.DataFrame:
    """When each of these was, as a frame with the columns of `TIMES` and one row for each.

    Args:
        text: times as they were written; numbers as their digits.
        day_first: how 03/04/2026 is read; None makes it a problem (``ambiguous_date_order``).

    Returns:
        ``at`` where the instant is given, ``wall`` where the wall clock is given, ``date_only`` where only a day
        was written (then ``wall`` is its midnight), ``problem`` where nothing could be made of it.

    """
    if len(text) <= FEW and (few := _few(text.to_list())) is not None:
        return few
    times = _plain(text)
    for parse in (_rfc_3339, _numbers):
        left = _unread(times)
        if not left.any():
            break
        times = times.update(_placed(parse(text.filter(left).str.strip_chars()), left))
    left = _unread(times)
    if left.any():
        times = times.update(_placed(_one_by_one(text.filter(left).str.strip_chars(), day_first), left))
    return _refuse_implausible(times)


def _few(texts: list[str | None]) -> pl.DataFrame | None:
    """The times of texts in the most common form; None if one of them is of another, or cannot be."""
    at, wall = list[int | None](), list[datetime | None]()
    for text in texts:
        if text is None or not _COMMON.fullmatch(text):
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        clock, ahead = moment.replace(tzinfo=None), moment.utcoffset()
        if not EARLIEST <= clock < LATEST:
            return None
        at.append(None if ahead is None else microseconds(clock - ahead))
        wall.append(clock if ahead is None or ahead else None)
    return pl.DataFrame(
        [
            pl.Series("at", at, dtype=TIMES["at"]),
            pl.Series("wall", wall, dtype=TIMES["wall"]),
            pl.Series("date_only", [False] * len(at), dtype=pl.Boolean),
            pl.Series("problem", [None] * len(at), dtype=pl.String),
        ]
    )


def _unread(times: pl.DataFrame) -> pl.Series:
    return times.get_column("at").is_null() & times.get_column("wall").is_null()


def _placed(times: pl.DataFrame, where: pl.Series) -> pl.DataFrame:
    """The rows of `times`, in order, where `where` is true; nulls elsewhere."""
    place = (where.cast(pl.UInt32).cum_sum() - 1).set(~where, None)
    return times.select(pl.all().gather(place))


def _plain(text: pl.Series) -> pl.DataFrame:
    """``2026-03-02T09:30:00`` with nothing, Z or an offset behind it; null for any other text."""
    offset = text.str.slice(PLAIN_LENGTH)
    short = offset.unique().drop_nulls()
    known = {
        o: m for o in short.filter(short.str.len_bytes() <= LONGEST_OFFSET) if (m := _minutes(o)) is not None
    }
    minutes = offset.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.Int32)
    return pl.DataFrame({"offset": offset, "minutes": minutes, "shown": _shown(text)}).select(
        at=(pl.col("shown") - pl.duration(minutes="minutes")).dt.replace_time_zone("UTC"),
        wall=pl.when((pl.col("minutes") != 0) | (pl.col("offset") == "")).then("shown"),
        date_only=pl.lit(False),
        problem=pl.lit(None, pl.String),
    )


def _shown(text: pl.Series) -> pl.Series:
    """The clock that texts begin with, in whole seconds."""
    clock = text.str.head(PLAIN_LENGTH)
    shown = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    if shown.null_count() == clock.null_count():
        return shown
    return shown.fill_null(clock.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False))


def _minutes(offset: str | None) -> int | None:
    """The minutes of an offset; None if it is none."""
    if offset in ("Z", "z"):
        return 0
    parts = re.fullmatch(r"([+-])(\d\d):?([0-5]\d)?", offset or "")
    if parts is None or int(parts[2]) > 23:
        return None
    minutes = int(parts[2]) * 60 + int(parts[3] or 0)
    return -minutes if parts[1] == "-" else minutes


def _rfc_3339(text: pl.Series) -> pl.DataFrame:
    """RFC 3339 with fractions of a second, a blank in place of T, and the like."""
    at = text.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    naive = at.dt.replace_time_zone(None)
    ahead = _shown(text) - naive.dt.truncate("1s")
    odd = at.is_not_null() & ahead.is_null()
    if odd.any():
        spelled = [
            timedelta(minutes=_minutes(offset) or 0) for offset in text.filter(odd).str.extract(_OFFSET)
        ]
        ahead = ahead.scatter(odd.arg_true(), pl.Series(spelled, dtype=pl.Duration("us")))
    return pl.DataFrame({"at": at, "wall": (naive + ahead).set(ahead == timedelta(), None)})


def _numbers(text: pl.Series) -> pl.DataFrame:
    """Epochs: numbers that one of the units puts into their range."""
    is_number = text.str.contains(r"^\d{9,19}(?:\.\d+)?$") & ~text.str.contains(r"^(?:19|20)\d{12}$")
    number = text.set(~is_number, None).cast(pl.Float64, strict=False)
    seconds = pl.coalesce(
        pl.when((number / ticks).is_between(EPOCH_FROM, EPOCH_TO, closed="left")).then(number / ticks)
        for ticks in EPOCH_UNITS
    )
    instant = (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return pl.select(at=instant, wall=pl.lit(None, pl.Datetime("us")))


def _one_by_one(text: pl.Series, day_first: bool | None) -> pl.DataFrame:
    """Whatever it is, each distinct text looked at once."""
    distinct = text.unique()
    moments = [parse_written(value, day_first) for value in distinct]
    found = pl.DataFrame(
        {
            "text": distinct,
            "at": pl.Series([m.at for m in moments], dtype=TIMES["at"]),
            "wall": pl.Series([m.wall for m in moments], dtype=TIMES["wall"]),
            "date_only": pl.Series([m.date_only for m in moments], dtype=pl.Boolean),
            "problem": pl.Series([m.problem for m in moments], dtype=pl.String),
        }
    )
    joined = text.to_frame("text").join(found, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined.select(TIMES.names())


def _refuse_implausible(times: pl.DataFrame) -> pl.DataFrame:
    clock = pl.coalesce(pl.col("wall"), pl.col("at").dt.replace_time_zone(None))
    if times.select(clock.is_between(EARLIEST, LATEST, closed="left").fill_null(True).all()).item():
        return times
    good = clock.is_between(EARLIEST, LATEST, closed="left")
    return times.with_columns(
        pl.when(~good).then(pl.lit("implausible_time")).otherwise("problem").alias("problem"),
        pl.when(good).then("at").alias("at"),
        pl.when(good).then("wall").alias("wall"),
    )
