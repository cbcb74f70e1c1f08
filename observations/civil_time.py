"""Civil time: what a clock on the wall showed, and which instant that was.

A habit lives on the wall clock: 07:00 stays 07:00 when the clocks change. So every observation carries both
the instant (``at``, UTC) and the wall clock (``local``, without a zone), and the two are converted here and
nowhere else.

Two hours of the year need a choice, made once: a wall-clock time that comes **twice** (clocks go back) is the
first of the two; one that **never comes** (clocks go forward) is moved on by the length of the gap, as phones
and Google Calendar do.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import polars as pl

from observations.errors import SettingError, did_you_mean

MINUTES_PER_DAY = 1440
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@cache
def zone(name: str) -> ZoneInfo:
    """The IANA zone of that name.

    Raises:
        SettingError: there is none; suggests the nearest name.

    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        hint = did_you_mean(name, available_timezones()) or "; zones are named like Europe/Berlin or UTC"
        raise SettingError(f"unknown time zone {name!r}{hint}") from error


def with_local(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``local`` computed from ``at`` and ``tz``.

    Args:
        frame: has ``at`` (Datetime, UTC) and ``tz`` (String, IANA names, no nulls).

    """
    return _by_zone(
        frame, lambda name: pl.col("at").dt.convert_time_zone(name).dt.replace_time_zone(None).alias("local")
    )


def with_instant(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``at`` computed from ``local`` and ``tz``; gaps and folds as the module says.

    Args:
        frame: has ``local`` (Datetime without zone) and ``tz`` (String, IANA names, no nulls).

    """
    return _by_zone(frame, _instant)


def to_instant(local: datetime, name: str) -> datetime:
    """The instant, in UTC, of one wall-clock time in one zone; gaps and folds as the module says.

    >>> to_instant(datetime(2026, 3, 29, 2, 30), "Europe/Berlin")  # never came
    datetime.datetime(2026, 3, 29, 1, 30, tzinfo=datetime.timezone.utc)
    """
    # fold=0 reads a time in a gap with the offset before it, which is "moved on by the length of the gap".
    return local.replace(tzinfo=zone(name), fold=0).astimezone(UTC)


def minutes_apart(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Distance of two times of day in minutes, on the circle: 23:55 and 00:05 are ten minutes apart."""
    gap = (a - b).abs() % MINUTES_PER_DAY
    return pl.min_horizontal(gap, MINUTES_PER_DAY - gap)


def clock(minute: float) -> str:
    """Minutes since midnight as HH:MM.

    >>> clock(7 * 60 + 5), clock(1440)
    ('07:05', '00:00')
    """
    whole = round(minute) % MINUTES_PER_DAY
    return f"{whole // 60:02d}:{whole % 60:02d}"


def _instant(name: str) -> pl.Expr:
    exact = pl.col("local").dt.replace_time_zone(name, ambiguous="earliest", non_existent="null")
    # A time in a gap: read it an hour earlier, where it exists, then move on by the same hour. (Gaps longer
    # than an hour are one day in Samoa, 2011; two further hours are tried so that no row is lost.)
    moved = [
        (pl.col("local") - timedelta(hours=h)).dt.replace_time_zone(
            name, ambiguous="earliest", non_existent="null"
        )
        + timedelta(hours=h)
        for h in (1, 2, 24)
    ]
    return pl.coalesce(exact, *moved).dt.convert_time_zone("UTC").alias("at")


def _by_zone(frame: pl.DataFrame, expression: Callable[[str], pl.Expr]) -> pl.DataFrame:
    """Apply an expression that needs one constant zone to each zone's rows; the order of rows stays."""
    names = sorted(name for name in frame.get_column("tz").unique().to_list() if name is not None)
    for name in names:
        zone(name)
    if len(names) <= 1 and frame.get_column("tz").null_count() == 0:
        return frame.with_columns(expression(names[0] if names else "UTC"))
    numbered = frame.with_row_index("_row")
    parts = [numbered.filter(pl.col("tz") == name).with_columns(expression(name)) for name in names]
    return pl.concat(parts).sort("_row").drop("_row") if parts else frame
