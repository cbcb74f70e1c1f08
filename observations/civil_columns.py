"""Civil time for whole columns: the wall clock from the instant, the instant from the wall clock, RFC 3339.

The rules for repeated and skipped hours are those of `observations.civil_time`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import polars as pl

from observations.civil_time import zone


def with_local(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``local`` computed from ``at`` and ``tz``.

    Args:
        frame: has ``at`` (Datetime, UTC) and ``tz`` (String, IANA names, no nulls).

    """
    return _by_zone(
        frame, lambda name: pl.col("at").dt.convert_time_zone(name).dt.replace_time_zone(None).alias("local")
    )


def with_instant(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``at`` computed from ``local`` and ``tz``; gaps and folds as in `observations.civil_time`.

    Args:
        frame: has ``local`` (Datetime without zone) and ``tz`` (String, IANA names, no nulls).

    """
    return _by_zone(frame, _instant)


def rfc_3339(wall: pl.Expr, offset_minutes: pl.Expr) -> pl.Expr:
    """Wall clocks as RFC 3339 text with their offset from UTC; fractions of a second only where there are any.

    Args:
        wall: Datetime without a zone.
        offset_minutes: integers, how far each clock is ahead of UTC.

    """
    size = offset_minutes.abs()
    return pl.concat_str(
        wall.dt.strftime("%Y-%m-%dT%H:%M:%S%.f"),
        pl.when(offset_minutes < 0).then(pl.lit("-")).otherwise(pl.lit("+")),
        (size // 60).cast(pl.String).str.zfill(2),
        pl.lit(":"),
        (size % 60).cast(pl.String).str.zfill(2),
    )


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
