"""Observation frames to the contract's NDJSON, and to Parquet, batch by batch so that memory stays flat."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import orjson
import polars as pl

from observations.civil_columns import rfc_3339
from observations.civil_time import WEEKDAYS
from observations.schema import BASE, empty_observations, feature_columns, split_column

ROWS_AT_ONCE = 100_000
"""Rows made into text at a time."""


def write_ndjson(frames: Iterable[pl.DataFrame], stream: BinaryIO) -> int:
    """Write the frames' observations as NDJSON, as they come; returns how many there were."""
    written = 0
    for frame in frames:
        for part in frame.iter_slices(ROWS_AT_ONCE):
            stream.write(to_ndjson(part))
            written += part.height
    return written


def write_parquet(frames: Iterable[pl.DataFrame], path: Path) -> int:
    """Write the frames' observations as one Parquet file with all their columns; returns how many there were.

    Each frame is set aside in a file of its own first, for only the last one shows which columns there are.
    """
    folder = Path(tempfile.mkdtemp(prefix=".habitus-", dir=path.parent))
    try:
        parts: list[Path] = []
        written = 0
        for frame in frames:
            if frame.height:
                parts.append(folder / f"{len(parts)}.parquet")
                frame.write_parquet(parts[-1])
                written += frame.height
        if parts:
            whole = pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal")
            columns = sorted(feature_columns(whole.collect_schema().names()))
            whole.select(*BASE, *columns).sink_parquet(path)
        else:
            empty_observations().write_parquet(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return written


def to_ndjson(frame: pl.DataFrame) -> bytes:
    """The observations as NDJSON (contract, section 1), one line a row, in the frame's order.

    The timestamp shows the local wall clock with its offset. Features that a row lacks are not written, whole
    numbers are written without a point, ``time_of_day`` and ``day_of_week`` are added.
    """
    if frame.height == 0:
        return b""
    texts = [_member(name, _json_text(pl.col(name))) for name in ("id", "user_id", "type", "action")]
    base = [*texts, _timestamp(), _zone(), _member("actor", _json_text(pl.col("actor")))]
    features = _features(frame)
    # Members as columns of their own: polars makes several columns at a time, but one expression on one core.
    members = frame.select(member.alias(str(place)) for place, member in enumerate([*base, *features]))
    names = members.columns
    inner = pl.lit('"features":') + _object(names[len(base) :])
    lines = members.select(_object([*names[: len(base)], inner]) + "\n").to_series()
    return str(lines.str.join("").item()).encode()


def _features(frame: pl.DataFrame) -> list[pl.Expr]:
    """The members of each row's ``features``, null where a row lacks one."""
    members = []
    written: dict[str, pl.Expr] = {}  # by name, whether a row has that feature already in another kind
    for column in feature_columns(frame.columns):
        name, kind = split_column(column)
        write = {"number": _json_number, "flag": _json_flag, "text": _json_text, "list": _json_text}[kind]
        value = pl.col(column)
        members.append(
            _member(name, write(pl.when(~written[name]).then(value) if name in written else value))
        )
        written[name] = written.get(name, pl.lit(False)) | value.is_not_null()
    timed = pl.lit(True)
    if "all_day:flag" in frame.columns:
        timed = ~pl.col("all_day:flag").fill_null(False)
    clock = pl.when(timed).then(pl.col("local").dt.strftime("%H:%M"))
    day = pl.col("local").dt.weekday().replace_strict(dict(enumerate(WEEKDAYS, 1)), return_dtype=pl.String)
    members += [_member("time_of_day", _quoted(clock)), _member("day_of_week", _quoted(day))]
    return members


def _object(members: Sequence[str | pl.Expr]) -> pl.Expr:
    return "{" + pl.concat_str(members, separator=",", ignore_nulls=True) + "}"


def _member(name: str, value: pl.Expr) -> pl.Expr:
    return pl.lit(f"{orjson.dumps(name).decode()}:") + value


def _json_text(column: pl.Expr) -> pl.Expr:
    """Strings or lists of strings as JSON; null stays null."""
    encoded = pl.struct(column.alias("v")).struct.json_encode()
    return pl.when(column.is_not_null()).then(encoded.str.slice(5, encoded.str.len_chars() - 6))


def _json_number(column: pl.Expr) -> pl.Expr:
    whole = (column == column.round(0)) & (column.abs() < 1e15)
    return (
        pl.when(whole).then(column.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(_json_text(column))
    )


def _json_flag(column: pl.Expr) -> pl.Expr:
    return pl.when(column).then(pl.lit("true")).when(~column).then(pl.lit("false"))


def _quoted(text: pl.Expr) -> pl.Expr:
    return '"' + text + '"'


def _timestamp() -> pl.Expr:
    # RFC 3339 has whole minutes; zones before 1900 had seconds, and the instant must stay what it is.
    offset = (pl.col("local") - pl.col("at").dt.replace_time_zone(None)).dt.total_minutes()
    wall = pl.col("at").dt.replace_time_zone(None) + pl.duration(minutes=offset)
    return _member("timestamp", _quoted(rfc_3339(wall, offset)))


def _zone() -> pl.Expr:
    # +00:00 without a zone would be read in the reader's zone: say that this clock showed UTC.
    at_zero = pl.col("local") == pl.col("at").dt.replace_time_zone(None)
    zone = pl.coalesce("tz", pl.when(at_zero).then(pl.lit("UTC")))
    return _member("tz", _json_text(zone))
