"""SQLite files that other programs own: opened without changing a byte beside them, read in columns, also if damaged.

The rows of a table come as frames of text, gathered by SQLite itself into one string a column: 1 µs a row of ten
columns, where rows of Python objects, and the collection of them, took 5 µs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from observations.ingest.toolkit.reader import BATCH_ROWS, Source

DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What sqlite3 raises on a damaged file. It decodes its own messages, which quote names of the file, as UTF-8."""

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""

_BETWEEN, _NULL = "\x1e", "\x1f"  # control characters that part cells, and stand for no value
_BEFORE_ALL = -(2**63)

Row = tuple[object, ...]


@contextmanager
def opened(source: Source) -> Iterator[sqlite3.Connection]:
    """The database, open for reading; texts come as bytes.

    A write-ahead log beside the file means that its program is running (there is shared memory as well) or was killed.
    In the first case SQLite's own locks are used; in the second it would write to recover, so a copy is read. Without
    a log nobody has the file open, and "immutable" keeps SQLite from putting one there.
    """
    with ExitStack() as stack:
        path = source.path
        if path is not None and not _log(path).exists():
            uri = f"{path.resolve().as_uri()}?immutable=1"
        elif path is not None and (database := _try_shared(path)):
            yield stack.enter_context(closing(database))
            return
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="habitus-")))
            uri = _copy(source, folder / "copy.db").as_uri()
        yield stack.enter_context(closing(_connect(uri)))


def read_texts(
    database: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    where: str,
    on_damage: Callable[[str], None],
) -> Iterator[pl.DataFrame]:
    """The rows of a table that has rowids, in their order, as frames of `BATCH_ROWS` rows.

    Args:
        database: open, with texts as bytes.
        table: its name. Like the following two, from a reader's own source, never from data.
        columns: the names of the columns to read.
        where: a condition on the rows.
        on_damage: called with SQLite's message if the file is damaged. Rows before the damage are read, and from the end
            back those after it.

    Returns:
        All columns as String: numbers as their digits, bytes as UTF-8, NULL as null.

    """
    rows = _Rows(database, table, columns, where)
    after = _BEFORE_ALL
    try:
        while (last := rows.end_of_batch(after)) is not None:
            yield rows.between(after, last)
            after = last
    except DAMAGED as error:
        on_damage(str(error))
        yield from rows.beside_damage(after)


@dataclass(frozen=True)
class _Rows:
    """The rows of a table that a condition leaves."""

    database: sqlite3.Connection
    table: str
    columns: Sequence[str]
    where: str

    def end_of_batch(self, after: int) -> int | None:
        """The rowid of the last row of the batch that begins after this one; None if there is none."""
        batch = f"SELECT rowid AS r FROM {self.table} WHERE ({self.where}) AND rowid > ? ORDER BY r LIMIT {BATCH_ROWS}"  # noqa: S608
        (last,) = self.database.execute(f"SELECT max(r) FROM ({batch})", (after,)).fetchone()  # noqa: S608
        return None if last is None else int(last)

    def between(self, after: int, last: int) -> pl.DataFrame:
        """The rows after one rowid and up to another."""
        joined = ", ".join(
            f"group_concat(coalesce({name}, '{_NULL}'), '{_BETWEEN}')" for name in self.columns
        )
        source = f"FROM {self.table} WHERE ({self.where}) AND rowid > ? AND rowid <= ?"
        try:
            count, *texts = self.database.execute(
                f"SELECT count(*), {joined} {source}", (after, last)
            ).fetchone()
        except sqlite3.DataError:  # longer than SQLite lets a string be
            count, texts = 0, []
        series = [_parted(name, text) for name, text in zip(self.columns, texts, strict=False)]
        if series and all(len(column) == count for column in series):
            return pl.DataFrame(series)
        # Some text has one of the control characters in it.
        rows = self.database.execute(
            f"SELECT {', '.join(self.columns)} {source} ORDER BY rowid", (after, last)
        )
        return self._frame(rows.fetchall())

    def beside_damage(self, after: int) -> Iterator[pl.DataFrame]:
        """The rows after `after`, one by one: up to the damage, then from the end back to it."""
        names = ", ".join(self.columns)
        for order in ("ASC", "DESC"):
            query = f"SELECT rowid, {names} FROM {self.table} WHERE ({self.where}) AND rowid > ? ORDER BY rowid {order}"  # noqa: S608
            rows: list[Row] = []
            with suppress(*DAMAGED):  # said already; the rows before it are in the list
                rows.extend(iter(self.database.execute(query, (after,))))
            if rows:
                yield self._frame([row[1:] for row in rows])
                after = int(str(rows[-1][0])) if order == "ASC" else after

    def _frame(self, rows: Sequence[Row]) -> pl.DataFrame:
        cells = zip(*rows, strict=True)
        return pl.DataFrame(
            {
                name: [_as_text(cell) for cell in column]
                for name, column in zip(self.columns, cells, strict=True)
            },
            schema=dict.fromkeys(self.columns, pl.String),
        )


def _parted(name: str, text: bytes) -> pl.Series:
    cells = pl.Series(name, [text.decode(errors="replace")]).str.split(_BETWEEN).explode()
    return cells.set(cells == _NULL, None)


def _as_text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _try_shared(path: Path) -> sqlite3.Connection | None:
    """The database through the shared memory of the program that has it open; None if there is none to be had."""
    if not path.with_name(f"{path.name}-shm").exists():
        return None
    database = _connect(f"{path.resolve().as_uri()}?mode=ro")
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        database.close()
        return None
    return database


def _copy(source: Source, to: Path) -> Path:
    with source.open() as stream, to.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    if source.path is not None:
        shutil.copyfile(_log(source.path), _log(to))
    return to


def _connect(uri: str) -> sqlite3.Connection:
    database = sqlite3.connect(uri, uri=True)
    database.text_factory = bytes
    return database
