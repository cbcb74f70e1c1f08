"""Which kind of feature a column of text is: what its cells prove when all of them are looked at.

1,500 may be fifteen hundred or one and a half: the column decides, then the delimiter (a file whose cells are cut
by semicolons comes from where the comma is the decimal mark).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from observations.schema import feature_column

ColumnKind = Literal["text", "number", "comma_number", "minutes", "flag", "list"]

TEXT_FEATURES = frozenset(
    ("title", "location", "organizer", "subject", "from", "category", "program", "command", "cwd", "series")
)
LIST_FEATURES = frozenset(("participants", "to", "cc", "labels"))
"""Features whose kind the contract fixes."""

_WHOLE = r"(?:0|[1-9]\d*)"
_POINT = rf"^[+-]?(?:{_WHOLE}|[1-9]\d{{0,2}}(?:,\d{{3}})+)(?:\.\d+)?(?:[eE][+-]?\d+)?$"
_COMMA = rf"^[+-]?(?:{_WHOLE}|[1-9]\d{{0,2}}(?:\.\d{{3}})+)(?:,\d+)?$"
_CLOCK = r"^\d{1,3}:[0-5]\d(?::[0-5]\d)?$"
_FLAG = r"^(?i:true|false)$"


@dataclass
class ColumnProof:
    """What the cells of a column seen so far allow it to be."""

    name: str
    delimiter: str
    point: bool = True
    comma: bool = True
    flag: bool = True
    minutes: bool = True
    seen: bool = False

    def look(self, cells: pl.Series) -> None:
        """Take in some more cells; nulls prove nothing."""
        cells = cells.drop_nulls()
        self.seen = self.seen or len(cells) > 0
        self.point = self.point and _all(cells, _POINT)
        self.comma = self.comma and _all(cells, _COMMA)
        self.flag = self.flag and _all(cells, _FLAG)
        self.minutes = self.minutes and _all(cells, _CLOCK)

    @property
    def kind(self) -> ColumnKind:
        """What the column is."""
        if not self.seen or self.name in TEXT_FEATURES:
            return "text"
        if self.name in LIST_FEATURES:
            return "list"
        if self.minutes and self.name == "duration_minutes":
            return "minutes"
        if self.comma and (self.delimiter == ";" or not self.point):
            return "comma_number"
        if self.point:
            return "number"
        return "flag" if self.flag else "text"


def as_feature(cells: pl.Series, kind: ColumnKind) -> pl.Series:
    """The cells as a feature column of that kind."""
    if kind == "list":
        mark = ";" if cells.str.contains(";", literal=True).any() else ","
        items = cells.to_frame().select(
            pl.col(cells.name).str.split(mark).list.eval(pl.element().str.strip_chars()).list.drop_nulls()
        )
        return items.to_series().alias(feature_column(cells.name, "list"))
    if kind in ("number", "comma_number"):
        cells = cells.str.replace_all("[.]", "").str.replace(",", ".") if kind == "comma_number" else cells
        return (
            cells.str.replace_all(",", "")
            .cast(pl.Float64, strict=False)
            .alias(feature_column(cells.name, "number"))
        )
    if kind == "minutes":
        return _minutes(cells).alias(feature_column(cells.name, "number"))
    if kind == "flag":
        return (cells.str.to_lowercase() == "true").alias(feature_column(cells.name, "flag"))
    return cells.alias(feature_column(cells.name, "text"))


def _minutes(cells: pl.Series) -> pl.Series:
    parts = cells.str.extract_groups(r"^(\d+):(\d\d)(?::(\d\d))?$").struct.unnest().cast(pl.Float64)
    hours, minutes, seconds = parts.get_columns()
    return hours * 60 + minutes + seconds.fill_null(0) / 60


def _all(cells: pl.Series, pattern: str) -> bool:
    return bool(cells.str.contains(pattern).all())
