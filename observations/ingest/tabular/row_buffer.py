"""*Raw rows*: what records say, in columns, before anything is made of it.

A frame of raw rows has

* ``_line`` (Int64): where the row is in its source, from 1; null where that means nothing;
* any of `TEXTS` (String): what the record said, numbers as their digits. Absent columns are absent values;
* feature columns ``name:kind`` (`observations.schema`), for every other field of the record.

Values that are no feature as they stand are kept all the same: a nested object becomes one feature for each leaf,
its name joined by dots; an element of a list that is no string becomes its JSON text; an integer too large for
a Float64 becomes text; a field beside ``features`` that is called like one in them becomes ``record.name``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

import orjson
import polars as pl

from observations.ingest.toolkit.record_builder import Value, kind_of, list_series
from observations.schema import KINDS, feature_column, split_column

LINE = "_line"
TEXTS = ("id", "user_id", "type", "action", "timestamp", "tz", "actor")
"""The contract's fields that are no features."""

LARGEST_EXACT = 2**53
"""Up to here every integer is a Float64."""

DEEPEST = 8
"""Objects nested deeper are kept as JSON text."""

RECORDS_AT_ONCE = 512
"""Records that wait to be looked at together: few enough for the garbage collector to leave them alone."""

_Record = Mapping[str, object]
_NOTHING: _Record = {}


@dataclass
class RawRows:
    """Gathers records as the raw rows that `observe_rows` takes.

    Records are kept by their *shape* (which keys they have), for the records of one program have few, and all
    values of a key in one shape can be looked at together: three times as fast as one by one.

    >>> rows = RawRows()
    >>> rows.add(1, {"timestamp": 1709287200, "features": {"room": {"floor": 2}, "seats": [1, "2b"]}})
    >>> rows.take().to_dicts()
    [{'_line': 1, 'timestamp': '1709287200', 'room.floor:number': 2.0, 'seats:list': ['1', '2b']}]
    """

    _lines: list[int | None] = field(default_factory=list)
    _shapes: dict[tuple[tuple[str, ...], ...], list[tuple[int, _Record, _Record]]] = field(
        default_factory=dict
    )
    _cells: dict[str, tuple[list[int], list[object]]] = field(
        default_factory=lambda: defaultdict(lambda: ([], []))
    )

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: int | None, record: _Record) -> None:
        """Take in one record: the contract's fields, ``features``, and any others, which are features too."""
        features = record.get("features")
        if type(features) is not dict:
            features = _NOTHING
        shape = (tuple(record), tuple(features))
        alike = self._shapes.get(shape)
        if alike is None:
            alike = self._shapes[shape] = []
        alike.append((len(self._lines), record, features))
        self._lines.append(line)
        if len(self._lines) % RECORDS_AT_ONCE == 0:
            self._sort_out()

    def take(self) -> pl.DataFrame:
        """The rows gathered so far; the gatherer is empty afterwards."""
        self._sort_out()
        height = len(self)
        series = [pl.Series(LINE, self._lines, dtype=pl.Int64)]
        for column in sorted(self._cells, key=lambda name: (name not in TEXTS, name)):
            places, cells = self._cells[column]
            dtype = pl.String() if column in TEXTS else KINDS[split_column(column)[1]]
            series.append(scattered(column, places, cells, dtype, height))
        self._lines = []
        self._cells.clear()
        return pl.DataFrame(series)

    def _sort_out(self) -> None:
        """Turn the records that wait into cells of columns."""
        for (keys, names), alike in self._shapes.items():
            rows = [row for row, _, _ in alike]
            for key in keys:
                values = [record[key] for _, record, _ in alike]
                if key in TEXTS:
                    self._put_texts(key, rows, values)
                elif key == "features" and names:
                    continue
                elif key in names:
                    self._put_beside(
                        key, rows, values, [features[key] is not None for _, _, features in alike]
                    )
                else:
                    self._put_features(key, rows, values)
            for name in names:
                self._put_features(name, rows, [features[name] for _, _, features in alike])
        self._shapes.clear()

    def _put_texts(self, key: str, rows: list[int], values: list[object]) -> None:
        if set(map(type, values)) != {str}:
            told = [
                (row, as_text(value))
                for row, value in zip(rows, values, strict=True)
                if _says_something(value)
            ]
            rows, values = [row for row, _ in told], [text for _, text in told]
        self._put(key, rows, values)

    def _put_features(self, name: str, rows: list[int], values: list[object]) -> None:
        kinds = set(map(type, values))
        if kinds == {str}:
            self._put(f"{name}:text", rows, values)
        elif kinds == {bool}:
            self._put(f"{name}:flag", rows, values)
        elif kinds <= {int, float} and all(-LARGEST_EXACT <= value <= LARGEST_EXACT for value in values):  # type: ignore[operator]
            self._put(f"{name}:number", rows, values)
        elif kinds == {list} and set(map(type, chain.from_iterable(values))) <= {str}:  # type: ignore[arg-type]
            self._put(f"{name}:list", rows, values)
        else:
            for row, value in zip(rows, values, strict=True):
                for leaf_name, leaf in leaves(name, value):
                    self._put(feature_column(leaf_name, kind_of(leaf)), [row], [leaf])

    def _put_beside(self, name: str, rows: list[int], values: list[object], taken: list[bool]) -> None:
        """Features of records that have another one of this name, among their ``features``, where it is `taken`."""
        for there, called in ((False, name), (True, f"record.{name}")):
            chosen = [place for place, is_taken in enumerate(taken) if is_taken is there]
            self._put_features(called, [rows[place] for place in chosen], [values[place] for place in chosen])

    def _put(self, column: str, rows: list[int], values: Sequence[object]) -> None:
        if rows:
            places, cells = self._cells[column]
            places.extend(rows)
            cells.extend(values)


def leaves(name: str, value: object, depth: int = 0) -> Iterator[tuple[str, Value]]:
    """The features that one value of a record makes, each with its name."""
    if isinstance(value, dict):
        if depth >= DEEPEST:
            yield name, as_text(value)
            return
        for key, inner in value.items():
            yield from leaves(f"{name}.{key}", inner, depth + 1)
    elif isinstance(value, list):
        yield name, [as_text(item) for item in value if _says_something(item)]
    elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
        yield name, str(value)
    elif _says_something(value):
        yield name, cast("Value", value)


def _says_something(value: object) -> bool:
    """True if the value is present: None, NaN and infinity are not."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def as_text(value: object) -> str:
    """The value as text: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):  # an integer beyond 64 bits, a lone surrogate, nesting beyond reason
        return repr(value)


def scattered(name: str, rows: list[int], values: list[Any], dtype: pl.DataType, height: int) -> pl.Series:
    """A series with `values` at `rows` and null elsewhere; of two values for one row the later stays."""
    if dtype == KINDS["list"]:
        series = list_series(name, values)
    else:
        series = pl.Series(name, values, dtype=dtype, strict=False)
    if len(rows) == height and rows == list(range(height)):
        return series
    places = pl.Series([None], dtype=pl.UInt32).new_from_index(0, height)
    places = places.scatter(rows, pl.int_range(len(rows), dtype=pl.UInt32, eager=True))
    return series.gather(places)
