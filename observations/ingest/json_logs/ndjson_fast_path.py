r"""The fast path of NDJSON: a chunk of lines to raw rows by polars, or None where polars would change something.

The argument that nothing is changed, for a chunk that passes:

* Every key of every object is followed by a colon, and a quote inside a string is escaped. So the number of
  ``":`` (less the escaped ``\":``) is the number of keys. If it equals the number of values that polars gave
  back (plus the nulls), polars dropped no key, and no object had a key twice.
* polars reads a number only into a number, a truth value only into a flag. Into text it reads anything; so where
  a text column holds something that could be the rendering of a number, truth value, list or object, the column's
  ``"key":"`` are counted as well: all its values must have had quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import orjson
import polars as pl

from observations.ingest.tabular.row_buffer import LARGEST_EXACT, LINE, TEXTS
from observations.schema import KINDS, Kind, feature_column

RENDERED = r"^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|\[.*|\{.*)$"
"""What polars may have made of a value that was no string."""

SAMPLE_ROWS = 200
"""Rows from which a schema is inferred first: to look at all takes as long again as to read them."""

_KEY_END = int.from_bytes(b'":', "little")


class FastPath:
    """Reads chunks of one source, from any number of threads.

    The schema of a chunk that was read is tried on the next: to infer it again takes as long as to read the chunk.
    """

    def __init__(self) -> None:
        self._schema: dict[str, pl.DataType] = {}  # replaced as a whole, never changed

    def rows(self, chunk: bytes, numbers: Sequence[int]) -> pl.DataFrame | None:
        """The chunk's raw rows (`observations.ingest.tabular.row_buffer`), or None if it needs the repairing path.

        Args:
            chunk: whole lines.
            numbers: the number of each of them in its source.

        """
        if b"\\" in chunk and re.search(rb"\\u(?:[dD][89a-fA-F]|0000)", chunk):
            return None  # polars reads a lone surrogate as NUL, without a word
        frame = self._read(chunk)
        if frame is None or frame.height != len(numbers):
            return None  # with blank lines among them, the other path counts
        columns = _columns(frame, chunk)
        if columns is None:
            return None
        return pl.DataFrame([pl.Series(LINE, numbers, dtype=pl.Int64), *columns])

    def _read(self, chunk: bytes) -> pl.DataFrame | None:
        """The chunk as polars reads it with the known schema, else with that of its first rows, else of all."""
        members = _count_members(chunk)
        for schema, sample in ((self._schema, None), (None, SAMPLE_ROWS), (None, None)):
            if schema == {}:
                continue
            try:
                frame = pl.read_ndjson(chunk, schema=schema, infer_schema_length=sample)
                seen = pl.Schema({name: _of_texts(dtype) for name, dtype in frame.schema.items()})
                if seen != frame.schema:
                    frame = pl.read_ndjson(chunk, schema=seen)
            except (pl.exceptions.PolarsError, ValueError):
                continue
            values = _count_values(frame)
            if values == members or values == members - _count_nulls(chunk):
                if schema is None:
                    self._schema = dict(frame.schema)
                return frame
        return None


def _of_texts(dtype: pl.DataType | pl.datatypes.DataTypeClass) -> pl.DataType | pl.datatypes.DataTypeClass:
    """The type with lists of text where the rows that were looked at had only empty lists.

    polars reads the texts of later rows into a list of nulls as nulls, without a word.
    """
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _of_texts(field.dtype) for field in dtype.fields})
    return pl.List(pl.String()) if dtype == pl.List(pl.Null()) else dtype


def _count_members(chunk: bytes) -> int:
    """How many members all objects of the chunk have: a quote and a colon, but for an escaped quote."""
    pairs = (np.frombuffer(chunk, "<u2", offset=start, count=(len(chunk) - start) // 2) for start in (0, 1))
    count = sum(int(np.count_nonzero(pair == _KEY_END)) for pair in pairs)
    return count - chunk.count(b'\\":') if b"\\" in chunk else count


def _count_nulls(chunk: bytes) -> int:
    """How many of the members are null."""
    count = chunk.count(b'":null') + chunk.count(b'": null')
    return count - chunk.count(b'\\":null') - chunk.count(b'\\": null')


def _count_values(frame: pl.DataFrame) -> int:
    """How many values that are not null the frame has, an object counting as one besides its own."""
    total = 0
    for series in frame.get_columns():
        total += series.len() - series.null_count()
        if isinstance(series.dtype, pl.Struct) and series.dtype.fields:
            total += _count_values(series.struct.unnest())
    return total


def _columns(frame: pl.DataFrame, chunk: bytes) -> list[pl.Series] | None:
    """The frame's columns under the names of raw rows, or None if one is not what it seems.

    A name both beside and in ``features`` is one of the things that only a look at each record can settle.
    """
    found: dict[str, pl.Series] = {}
    for series in _flat(frame):
        if series.null_count() == len(series):
            continue
        column = _text_column(series, chunk) if series.name in TEXTS else _feature_column(series, chunk)
        if column is None or series.name in found:
            return None
        found[series.name] = column
    return list(found.values())


def _flat(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """The fields of the record, then its features; a feature named like a contract field keeps its place."""
    for series in frame.get_columns():
        if series.name != "features" or not isinstance(series.dtype, pl.Struct):
            yield series
        elif series.dtype.fields:
            for inner in series.struct.unnest().get_columns():
                yield inner.alias(f"features/{inner.name}") if inner.name in TEXTS else inner


def _text_column(series: pl.Series, chunk: bytes) -> pl.Series | None:
    """A contract field as text: strings, or numbers that have one spelling."""
    if series.dtype == pl.Int64:
        return series.cast(pl.String)
    if series.dtype == pl.Float64 and series.name == "timestamp":
        return series.cast(pl.String)
    return series if series.dtype == pl.String and _was_text(series, series.name, chunk) else None


def _feature_column(series: pl.Series, chunk: bytes) -> pl.Series | None:
    name, dtype = series.name.removeprefix("features/"), series.dtype
    if dtype == pl.Boolean:
        return _named(series, name, "flag")
    if dtype.is_integer():
        exact = series.is_between(-LARGEST_EXACT, LARGEST_EXACT).all()
        return _named(series, name, "number") if exact else None
    if dtype == pl.Float64:
        return _named(series, name, "number") if (series.abs() <= LARGEST_EXACT).all() else None
    if dtype == pl.String:
        return _named(series, name, "text") if _was_text(series, name, chunk) else None
    if isinstance(dtype, pl.List) and dtype.inner in (pl.String, pl.Null):
        items = series.explode().drop_nulls().cast(pl.String)
        strings = not items.str.contains(RENDERED).any()
        return _named(series.list.drop_nulls(), name, "list") if strings else None
    return None


def _was_text(series: pl.Series, name: str, chunk: bytes) -> bool:
    if not series.str.contains(RENDERED).any():
        return True
    key = orjson.dumps(name)
    quoted = chunk.count(key + b':"') + chunk.count(key + b': "')
    return quoted == len(series) - series.null_count()


def _named(series: pl.Series, name: str, kind: Kind) -> pl.Series:
    return series.cast(KINDS[kind]).alias(feature_column(name, kind))
