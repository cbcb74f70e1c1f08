"""From raw rows to observations: what the fields of the contract mean, in whatever file they came.

NDJSON, JSON arrays, CSV and Parquet differ in how bytes become values (`observations.ingest.tabular.row_buffer`); what the
values mean is the same, and is decided here once.

Columns are handled one at a time and without lazy queries: the stream reads a line on its own, and each query costs
it 0.1 ms and two switches of threads, which on a busy machine are the longest part of an answer (4.3 ms of
processor and 39 switches with queries, 1.1 ms and 3 without). A file is read no slower for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import polars as pl

from observations.civil_columns import with_local
from observations.civil_time import zone
from observations.errors import SettingError, SourceError, did_you_mean
from observations.ingest.tabular.row_buffer import LINE, TEXTS
from observations.ingest.tabular.timestamps import parse_timestamps
from observations.ingest.toolkit.complete import with_times
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Batch, ReadOptions
from observations.schema import BASE, DERIVED, KINDS, feature_column, split_column

DEFAULT_TYPE, DEFAULT_ACTION = "event", "happened"
"""The type and action of a record that names none."""

PROBLEMS = {
    "no_timestamp": "no timestamp; the record is skipped",
    "bad_timestamp": "the time {value!r} cannot be read",
    "implausible_time": "the time {value!r} is out of range",
    "ambiguous_date_order": "the date {value!r} fits both orders; `day_first` decides",
}
"""The message for a record whose time cannot be used."""


def observe_rows(raw: pl.DataFrame, source: str, options: ReadOptions) -> Batch:
    """The observations in these raw rows, and notes on rows that are not observations.

    Foreign names are translated by `options.mapping`; missing fields get their default; a time
    without an offset is read in the record's zone, else in `options.tz`.
    """
    rows = _with_texts(_translate(raw, options.mapping))
    times = parse_timestamps(rows.get_column("timestamp"), options.day_first)
    notes = _time_notes(rows, times, source)
    if notes:
        good = times.get_column("problem").is_null()
        rows, times = rows.filter(good), times.filter(good)
    zones, zone_notes = _zones(rows, source)
    frame = _assemble(rows, _clocks(times, zones, options.tz), times.get_column("date_only"))
    return Batch(frame, (*notes, *zone_notes, *_default_notes(rows, source)))


def require_timestamp(columns: Iterable[str], source: str, options: ReadOptions) -> None:
    """Check that a table with these columns has a time for each record.

    Raises:
        SourceError: it cannot, or it lacks a column that `options.mapping` names; says which there are.

    """
    there = list(columns)
    named = ", ".join(there[:20]) + (", …" if len(there) > 20 else "")
    for name, foreign in options.mapping.items():
        if not all(part in there for part in column_parts(foreign, there)):
            hint = did_you_mean(foreign, there)
            raise SourceError(
                source, f"no column {foreign!r} for {name} (`mapping`); the columns are: {named}{hint}"
            )
    if "timestamp" not in there and "timestamp" not in options.mapping:
        raise SourceError(
            source,
            f"no column 'timestamp'; name the one that has it with `mapping` timestamp=COLUMN: {named}",
        )


def column_parts(foreign: str, columns: Iterable[str]) -> list[str]:
    """The columns that a mapping names: one, or several joined by + (``Start Date+Start Time``)."""
    return [foreign] if foreign in columns or "+" not in foreign else [p.strip() for p in foreign.split("+")]


def _translate(raw: pl.DataFrame, mapping: Mapping[str, str]) -> pl.DataFrame:
    """The rows with foreign columns under the contract's names."""
    if not mapping:
        return raw
    found: dict[str, pl.Expr] = {}
    used: set[str] = set()
    for name, foreign in mapping.items():
        columns = columns_of(raw.columns, foreign)
        if not columns:
            continue
        used.update(columns)
        if name in TEXTS:
            said = [
                pl.col(c).list.first() if c.endswith(":list") else pl.col(c).cast(pl.String) for c in columns
            ]
            found[name] = pl.coalesce(*said)
        else:
            for column in columns:
                kind = "text" if column in TEXTS else split_column(column)[1]
                found[feature_column(name, kind)] = pl.col(column)
    kept = [pl.col(c) for c in raw.columns if c not in used and c not in found]
    return raw.select(*kept, *(value.alias(name) for name, value in found.items()))


def columns_of(columns: Iterable[str], name: str) -> list[str]:
    """Those raw columns that hold the field of this name, whatever its kind."""
    wanted = {name} if name in TEXTS else {feature_column(name, kind) for kind in KINDS}
    return [c for c in columns if c in wanted]


def _with_texts(raw: pl.DataFrame) -> pl.DataFrame:
    """The rows with all of `TEXTS`; an empty text is an absent one."""
    others = [column for column in raw.get_columns() if column.name not in TEXTS]
    lines = [] if LINE in raw.columns else [_nothing(LINE, pl.Int64(), raw.height)]
    return pl.DataFrame([*others, *(_text(raw, name) for name in TEXTS), *lines])


def _text(raw: pl.DataFrame, name: str) -> pl.Series:
    if name not in raw.columns:
        return _nothing(name, pl.String(), raw.height)
    said = raw.get_column(name)
    empty = said == ""
    return said.set(empty, None) if empty.any() else said


def _nothing(name: str, dtype: pl.DataType, height: int) -> pl.Series:
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, height)


def _time_notes(rows: pl.DataFrame, times: pl.DataFrame, source: str) -> list[Note]:
    problems = times.get_column("problem")
    if problems.null_count() == len(problems):
        return []
    bad = rows.select(LINE, "timestamp", "id").with_columns(problems).filter(pl.col("problem").is_not_null())
    return [
        Note("reject", source, problem, PROBLEMS[problem].format(value=_shown(value)), line, item)
        for line, value, item, problem in bad.iter_rows()
    ]


def _shown(value: str | None) -> str:
    """The value as a message may show it: only what looks like a time, for anything else may be private."""
    looks_like_one = value is not None and re.fullmatch(r"[\d:/.,+\-TZeE ]{1,40}", value)
    return value.removesuffix(".0") if value and looks_like_one else "…"


def _zones(rows: pl.DataFrame, source: str) -> tuple[pl.Series, list[Note]]:
    """The zones that the rows name, null where that is none, and a warning for each that is none."""
    said = rows.get_column("tz")
    notes = []
    for name in sorted(name for name in said.unique().to_list() if name is not None):
        try:
            zone(name)
        except SettingError as error:
            where = rows.filter(pl.col("tz") == name).get_column(LINE)
            said = said.set(said == name, None)
            message = f"{error}; the time is read without it"
            notes.append(Note("warning", source, "tz_unknown", message, where.first(), count=len(where)))  # type: ignore[arg-type]
    return said, notes


def _clocks(times: pl.DataFrame, zones: pl.Series, default: str) -> pl.DataFrame:
    """Instant, wall clock and zone of each row, as ``at``, ``local``, ``tz``."""
    at, wall, tz = times.get_column("at"), times.get_column("wall").alias("local"), zones.alias("tz")
    if (
        at.null_count() == 0 and tz.null_count() == 0
    ):  # the zone says what the clock showed, whatever was written
        return with_local(pl.DataFrame([at, tz]))
    naive, homeless = at.is_null(), tz.is_null()
    told = ~naive & wall.is_not_null()
    usual = pl.Series("tz", [default], dtype=pl.String).new_from_index(0, len(tz))
    shown = wall.zip_with(naive | homeless, _nothing("local", wall.dtype, len(at)))
    clocks = with_times(pl.DataFrame([at, shown, usual.zip_with(homeless & ~told, tz)]))
    if not naive.any():
        return clocks
    # A clock never showed a time within a gap: what it showed follows from the instant.
    return with_times(clocks.with_columns(pl.when(~naive).then("local").alias("local")))


def _assemble(rows: pl.DataFrame, clocks: pl.DataFrame, date_only: pl.Series) -> pl.DataFrame:
    derived = {feature_column(name, kind) for name in DERIVED for kind in KINDS}
    columns = [c for c in rows.columns if c not in (*TEXTS, LINE) and c not in derived]
    features = [rows.get_column(c) for c in columns]
    base = {
        "id": rows.get_column("id"),
        "user_id": rows.get_column("user_id"),
        "type": _or_default(rows.get_column("type"), DEFAULT_TYPE),
        "action": _or_default(rows.get_column("action"), DEFAULT_ACTION),
        **{column.name: column for column in clocks.get_columns()},
        "actor": _actors(rows.get_column("actor")),
    }
    frame = pl.DataFrame([*(base[name] for name in BASE), *features])
    if date_only.any():
        frame = _as_all_day(frame, date_only)
    return frame


def _or_default(said: pl.Series, default: str) -> pl.Series:
    return said.fill_null(default) if said.null_count() else said


def _actors(said: pl.Series) -> pl.Series:
    """The actor of each row: ``agent`` where it says so, else ``user``."""
    user = pl.Series(said.name, ["user"], dtype=pl.String).new_from_index(0, len(said))
    if said.null_count() == len(said):
        return user
    agents = said.str.to_lowercase() == "agent"
    return said.str.to_lowercase().zip_with(agents, user) if agents.any() else user


def _as_all_day(frame: pl.DataFrame, date_only: pl.Series) -> pl.DataFrame:
    """A date without a time has no time of day: it is that whole day, not midnight."""
    said = pl.col("all_day:flag") if "all_day:flag" in frame.columns else pl.lit(None, pl.Boolean)
    return frame.with_columns(pl.when(date_only).then(pl.lit(True)).otherwise(said).alias("all_day:flag"))


def _default_notes(rows: pl.DataFrame, source: str) -> list[Note]:
    """Notes on defaults where a record names no type or action, or an actor that is neither user nor agent."""
    notes = []
    for name, default in (("type", DEFAULT_TYPE), ("action", DEFAULT_ACTION)):
        if count := rows.get_column(name).null_count():
            message = f"no {name}; read as {default!r} (`mapping` {name}=COLUMN names it)"
            notes.append(Note("warning", source, f"no_{name}", message, count=count))
    return notes
