"""Records gathered one at a time and turned into an observation frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import polars as pl

from observations.civil_time import microseconds
from observations.ingest.toolkit.complete import with_times
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch
from observations.schema import BASE, KINDS, Kind, feature_column

Value = str | bool | int | float | Sequence[str]


@dataclass
class RecordBuilder:
    """Collects records one at a time and returns them as an observation frame.

    For readers that handle each record in Python anyway. Give `at` (aware) or `local` (naive) with a
    zone `tz`; the other one is computed. Give both `at` and `local` where the record carried its own offset.

    >>> records = RecordBuilder()
    >>> records.add("email", "sent", at=datetime.fromisoformat("2026-03-02T08:30:00+00:00"), tz="Europe/Berlin",
    ...             features={"to": ["ana@example.com"]})
    >>> frame = records.take()
    >>> frame.get_column("local").item().isoformat(), frame.get_column("to:list").item().to_list()
    ('2026-03-02T09:30:00', ['ana@example.com'])
    """

    _base: list[tuple[object, ...]] = field(default_factory=list)  # in the order of BASE
    _features: list[Mapping[str, Value | None]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._base)

    def add(
        self,
        type: str,
        action: str,
        *,
        at: datetime | None = None,
        local: datetime | None = None,
        tz: str | None = None,
        features: Mapping[str, Value | None],
        id: str | None = None,
        user_id: str | None = None,
        actor: str = "user",
    ) -> None:
        """Add one record. A feature that is None is left out; numpy numbers and tuples are accepted.

        The mapping of features is kept, not copied: it must not change afterwards.
        """
        assert (at is not None and local is not None) or tz is not None, (
            "an instant and a wall clock, or a zone"
        )
        assert at is not None or local is not None, "a time"
        instant = None if at is None else microseconds(at)
        self._base.append((id, user_id, type, action, instant, local, tz, actor))
        self._features.append(features)

    def take(self) -> pl.DataFrame:
        """All records so far as a frame; the builder is empty afterwards.

        ``id`` and ``user_id`` may still be null: `complete` fills them in.
        """
        told = zip(*self._base, strict=True) if self._base else [()] * len(BASE)
        columns = [
            pl.Series(name, values, dtype=dtype)
            for (name, dtype), values in zip(BASE.items(), told, strict=True)
        ]
        names: set[str] = set().union(*self._features)
        features = [series for name in names for series in self._take_feature(name)]
        self._base, self._features = [], []
        return with_times(pl.DataFrame([*columns, *sorted(features, key=lambda series: series.name)]))

    def _take_feature(self, name: str) -> Iterator[pl.Series]:
        """The column of a feature for each kind that its values have. All values of one feature are looked at
        together, which takes a third of the time of sorting them in one by one.
        """
        values = [features.get(name) for features in self._features]
        of_class: dict[type, Kind] = {
            value.__class__: kind_of(value) for value in values if value is not None
        }
        kinds = set(of_class.values())
        for kind in kinds:
            column = feature_column(name, kind)
            ours = (
                values
                if len(kinds) == 1
                else [v if of_class.get(v.__class__) == kind else None for v in values]
            )
            if kind == "list":
                yield list_series(column, ours)  # type: ignore[arg-type]
            else:
                yield pl.Series(column, ours, dtype=KINDS[kind], strict=False)

    def batches(self, notes: list[Note]) -> Iterator[Batch]:
        """A batch, if there are enough records for one; takes the notes and empties their list."""
        if len(self) >= BATCH_ROWS:
            yield self.rest(notes)

    def rest(self, notes: list[Note]) -> Batch:
        """The remaining records as the last batch; takes the notes and empties their list."""
        taken = tuple(notes)
        notes.clear()
        return Batch(self.take(), taken)


FEW_LISTS = 8
"""So few lists are not worth joining and splitting: that takes 0.1 ms to begin."""

_AFTER_EACH = "\x1f"  # ASCII's own unit separator


def list_series(name: str, values: Sequence[Sequence[str] | None]) -> pl.Series:
    """A series of lists of text.

    The lists are joined to text and split again by polars, which is 20 times as fast as handing it Python lists
    (50,000 rows: 9 ms, 217 ms). Where a value holds the separator itself, the slow way is the right one; for a few
    values it is the quick one.
    """
    if len(values) <= FEW_LISTS or any(
        value is not None and _AFTER_EACH in "".join(value) for value in values
    ):
        return pl.Series(name, values, dtype=KINDS["list"], strict=False)
    joined = [None if value is None else "".join([one + _AFTER_EACH for one in value]) for value in values]
    parts = pl.col(name).str.split(_AFTER_EACH)
    lists = parts.list.head(parts.list.len() - 1)  # nothing follows the last separator
    return pl.DataFrame({name: pl.Series(joined, dtype=pl.String)}).select(lists).to_series()


def kind_of(value: Value) -> Kind:
    """The kind of feature that a Python value is."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "flag"
    if isinstance(value, (int, float, np.number)):
        return "number"
    return "list"
