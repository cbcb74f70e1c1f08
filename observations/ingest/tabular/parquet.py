"""Parquet: what habitus wrote itself, and any table with the contract's columns.

A file is read in slices of rows, so that memory depends on the slice and not on the file; a member of an archive
is held in memory as a whole (compressed), since Parquet is read from its end.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from observations.errors import SchemaError, SourceError
from observations.ingest.tabular.contract_fields import observe_rows, require_timestamp
from observations.ingest.tabular.row_buffer import LARGEST_EXACT, LINE, TEXTS, RawRows
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import BASE, KINDS, Kind, check_observations, feature_column, feature_columns

SLICE_ROWS = 250_000
"""Rows read at a time."""


class ParquetReader:
    """Reads Parquet tables."""

    name = "Parquet"

    def recognises(self, head: bytes, name: str) -> bool:
        """Every Parquet file begins with PAR1."""
        del name
        return head.startswith(b"PAR1")

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each row; `--map` names the columns."""
        first = 1
        try:
            table = pl.scan_parquet(source.path if source.path is not None else source.open())
            for part in table.collect_batches(chunk_size=SLICE_ROWS):
                yield observe_table(part, first, source.label, options)
                first += part.height
        except (pl.exceptions.PolarsError, OSError) as error:
            problem = f"the Parquet file is damaged after row {first - 1:,} ({_first_line(error)})"
            raise SourceError(source.label, problem) from error


def observe_table(part: pl.DataFrame, first_line: int, label: str, options: ReadOptions) -> Batch:
    """The rows of a table as observations: those of an observation frame as they are, others by `options.mapping`.

    Args:
        part: the table, or a part of it.
        first_line: number of its first row.
        label: what the table is called.
        options: how records are read.

    Raises:
        SourceError: it has no column with the time, or not those of an observation frame.
    """
    if BASE.keys() <= set(part.columns):
        try:
            return Batch(check_observations(part).select(*BASE, *feature_columns(part.columns)))
        except SchemaError as error:
            raise SourceError(label, str(error)) from error
    require_timestamp(part.columns, label, options)
    lines = pl.int_range(first_line, first_line + part.height, dtype=pl.Int64, eager=True).alias(LINE)
    return observe_rows(pl.DataFrame([lines, *_raw_columns(part)]), label, options)


def _raw_columns(table: pl.DataFrame) -> Iterator[pl.Series]:
    """The table's columns as those of raw rows; the fields of structs by their own names, joined by dots."""
    seen: set[str] = set()
    for series in _flat(table):
        for column in [_text_column(series)] if series.name in TEXTS else _feature_columns(series):
            if column.name not in seen and column.null_count() < len(column):
                seen.add(column.name)
                yield column


def _flat(table: pl.DataFrame, prefix: str = "") -> Iterator[pl.Series]:
    for series in table.get_columns():
        if not isinstance(series.dtype, pl.Struct):
            yield series.alias(prefix + series.name)
        elif series.dtype.fields:
            inner = "" if series.name == "features" and not prefix else f"{prefix}{series.name}."
            yield from _flat(series.struct.unnest(), inner)


def _text_column(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.Datetime):
        return _written(series)
    return series.cast(pl.String)


def _written(series: pl.Series) -> pl.Series:
    """Instants and wall clocks as RFC 3339, the first with their offset."""
    aware = isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None
    return series.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f" + ("%:z" if aware else ""))


def _feature_columns(series: pl.Series) -> Iterator[pl.Series]:
    """The feature columns that a column makes: one, or another for integers too large to be numbers."""
    name, dtype = series.name, series.dtype
    if dtype == pl.Boolean:
        yield _named(series, name, "flag")
    elif dtype.is_integer():
        wide = series.cast(pl.Int128)
        exact = wide.is_between(-LARGEST_EXACT, LARGEST_EXACT)
        yield _named(wide.set(~exact, None), name, "number")
        yield _named(wide.set(exact, None), name, "text")
    elif dtype.is_numeric():
        number = series.cast(pl.Float64)
        yield _named(number.set(~number.is_finite(), None), name, "number")
    elif isinstance(dtype, pl.Duration):
        yield _named(series.dt.total_milliseconds() / 60_000, f"{name}_minutes", "number")
    elif isinstance(dtype, pl.List) and not dtype.inner.is_nested():
        yield _named(series.list.drop_nulls().cast(pl.List(pl.String)), name, "list")
    elif dtype.is_nested():
        rows = RawRows()
        for value in series.to_list():
            rows.add(None, {name: value})
        yield from rows.take().drop(LINE).get_columns()
    elif isinstance(dtype, pl.Datetime):
        yield _named(_written(series), name, "text")
    elif dtype != pl.Binary:
        yield _named(series.cast(pl.String), name, "text")


def _named(series: pl.Series, name: str, kind: Kind) -> pl.Series:
    return series.cast(KINDS[kind]).alias(feature_column(name, kind))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


PARQUET = ParquetReader()
