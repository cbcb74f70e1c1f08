"""CSV as programs and spreadsheets write it.

The first row names the columns. Those of the contract are what they say; all others are features. A column is one
kind throughout: number or flag where every cell is one, else text. So the file is read twice: once for what its
columns prove (kinds, decimal mark, order of day and month), once for the observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl

from observations.errors import SourceError
from observations.ingest.tabular.contract_fields import column_parts, observe_rows, require_timestamp
from observations.ingest.tabular.csv_rows import Row, decoded, delimiter_of, is_header, rows_of
from observations.ingest.tabular.csv_types import ColumnKind, ColumnProof, as_feature
from observations.ingest.tabular.row_buffer import LINE, TEXTS
from observations.ingest.tabular.timestamp_formats import date_orders
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source

NAMES_THAT_VOUCH = (".csv", ".tsv", ".tab")


@dataclass(frozen=True)
class Column:
    """A column to be: its name, and which cells of a row make it."""

    name: str
    cells: tuple[int, ...]


class CsvReader:
    """Reads CSV tables."""

    name = "CSV table"

    def recognises(self, head: bytes, name: str) -> bool:
        """Lines cut into equally many cells, in a file that is called a table or has a ``timestamp`` column."""
        text = decoded(head)
        if "\0" in text or text.lstrip()[:1] in ("", "{", "[", "<"):
            return False
        delimiter = delimiter_of(text)
        if delimiter is None:
            return False
        first = next((line for line in text.splitlines() if line.strip()), "")
        header = [cell.strip(' "').lower() for cell in first.split(delimiter)]
        return name.endswith(NAMES_THAT_VOUCH) or "timestamp" in header

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each row; `--map` names the columns.

        Raises:
            SourceError: there is no column for the time, or nothing proves the order of day and month in it.

        """
        delimiter = delimiter_of(decoded(source.head())) or ","
        header = next((row for row in rows_of(source, delimiter, None, []) if is_header(row.cells)), None)
        if header is None:
            raise SourceError(source.label, "is empty")
        columns = _columns(header.cells, source.label, options)
        kinds, day_first = _prove(source, delimiter, header, columns)
        settled = replace(
            options, mapping={}, day_first=day_first if options.day_first is None else options.day_first
        )
        notes: list[Note] = []
        for rows in _batched(source, delimiter, header, notes):
            rows = [row for row in rows if _fits(row, len(header.cells), source.label, notes)]
            raw = _raw_rows(rows, columns, kinds)
            batch = observe_rows(raw, source.label, settled)
            _refuse_ambiguous(batch.notes, len(rows))
            yield Batch(batch.observations, (*notes, *batch.notes))
            notes.clear()


def _columns(header: Sequence[str], label: str, options: ReadOptions) -> list[Column]:
    """The columns to be, under the contract's names where `options.mapping` or their own say so."""
    names: list[str] = []
    for place, cell in enumerate(header, 1):
        name = cell.strip() or f"column {place}"
        known = name.lower() if name.lower() in TEXTS else name
        names.append(known if known not in names else f"{known} {place}")
    require_timestamp(names, label, options)
    mapped = {
        name: tuple(names.index(part) for part in column_parts(foreign, names))
        for name, foreign in options.mapping.items()
    }
    used = {place for cells in mapped.values() for place in cells}
    own = [Column(n, (i,)) for i, n in enumerate(names) if i not in used and n not in mapped]
    return [*(Column(name, cells) for name, cells in mapped.items()), *own]


def _prove(
    source: Source, delimiter: str, header: Row, columns: Sequence[Column]
) -> tuple[dict[str, ColumnKind], bool | None]:
    """The kind of each feature column and the order of day and month, by all rows of the file."""
    proofs = {
        column.name: ColumnProof(column.name, delimiter) for column in columns if column.name not in TEXTS
    }
    orders: set[bool] = set()
    for rows in _batched(source, delimiter, header, []):
        rows = [row for row in rows if not row.cut and _fits(row, len(header.cells), source.label, [])]
        for column in columns:
            cells = _cells(rows, column)
            if column.name == "timestamp":
                orders |= date_orders(cells.unique())
            elif column.name not in TEXTS:
                proofs[column.name].look(cells)
    return {name: proof.kind for name, proof in proofs.items()}, orders.pop() if len(orders) == 1 else None


def _batched(source: Source, delimiter: str, header: Row, notes: list[Note]) -> Iterator[list[Row]]:
    rows = rows_of(source, delimiter, len(header.cells), notes)
    rows = (row for row in rows if row.line > header.line)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


def _fits(row: Row, width: int, label: str, notes: list[Note]) -> bool:
    """True if the row can be read; adds a note where cells are missing or too many."""
    if len(row.cells) > width and any(cell.strip() for cell in row.cells[width:]):
        message = f"has {len(row.cells)} cells where the header has {width}"
        notes.append(Note("reject", label, "bad_row", message, row.line))
        return False
    if row.cut:
        message = "ends inside a quoted cell; the incomplete cell is kept"
        notes.append(Note("warning", label, "cut_row", message, row.line))
    elif len(row.cells) < width:
        message = f"has {len(row.cells)} cells where the header has {width}; the missing cells are empty"
        notes.append(Note("warning", label, "short_row", message, row.line))
    return True


def _cells(rows: Sequence[Row], column: Column) -> pl.Series:
    """The column's cells as text, null where empty."""
    if len(column.cells) == 1:
        place = column.cells[0]
        values = [row.cells[place] if place < len(row.cells) else None for row in rows]
    else:
        values = [
            " ".join(row.cells[place] for place in column.cells if place < len(row.cells)) for row in rows
        ]
    series = pl.Series(column.name, values, dtype=pl.String).str.strip_chars()
    return series.set(series == "", None)


def _raw_rows(rows: Sequence[Row], columns: Sequence[Column], kinds: dict[str, ColumnKind]) -> pl.DataFrame:
    made = [pl.Series(LINE, [row.line for row in rows], dtype=pl.Int64)]
    for column in columns:
        cells = _cells(rows, column)
        if column.name in TEXTS:
            made.append(cells)
        elif cells.null_count() < len(cells):
            made.append(as_feature(cells, kinds[column.name]))
    return pl.DataFrame(made)


def _refuse_ambiguous(notes: Sequence[Note], rows: int) -> None:
    """Check that few dates have an ambiguous order of day and month.

    Raises:
        SourceError: they are half of the rows: this is how the file writes its dates.

    """
    ambiguous = [note for note in notes if note.reason == "ambiguous_date_order"]
    if len(ambiguous) * 2 >= max(rows, 1) and ambiguous:
        raise SourceError(f"{ambiguous[0].source}:{ambiguous[0].line}", ambiguous[0].message)


CSV = CsvReader()
