"""Files of observations beside the store: which there are, and what is in them.

One file holds a month (UTC) of everybody, as an observation frame (`observations.schema`) in Parquet, sorted by user and
time, so that one person's part is found without reading the rest. A file is never changed: what changes is a new file,
and which file counts says the table ``archives``, in the same transaction that takes the rows out of the database.
After a crash a row is therefore in one place: a file that is not listed was not finished, or is done with, and is
swept away (`sweep`).
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Connection, delete, select

from observations.errors import StoreError
from observations.schema import ORDER
from pipelines.store.codec import Row, encode
from pipelines.store.instants import as_moment, as_number
from pipelines.store.metadata import fact, keep_fact
from pipelines.store.schema import archives

ROWS_A_GROUP = 20_000
"""Rows that are skipped or read together: about a megabyte."""

_MARK = "mark of the archives"
_FOLDERS = "folders of the archives"
_OURS = stat.S_IRUSR | stat.S_IWUSR


class Archive(NamedTuple):
    """One file, as the store lists it.

    Attributes:
        place: its name in the folder beside the store, or its whole path.
        path: where it is.
        month: such as 2026-03, in UTC.
        first: instant of the earliest observation in it, µs since 1970 UTC.
        last: of the latest.
        observations: rows.

    """

    place: str
    path: Path
    month: str
    first: int
    last: int
    observations: int

    @property
    def folder(self) -> Path | None:
        """Where it is; null for the folder beside the store."""
        return self.path.parent if Path(self.place).is_absolute() else None


def read_archives(connection: Connection, *conditions: ColumnElement[bool]) -> list[Archive]:
    """The files that count, of which all these conditions on `archives` hold, in order of time."""
    query = select(archives).where(*conditions).order_by(archives.c.month, archives.c.place)
    return [
        Archive(row.place, _path(connection, row.place), row.month, row.first, row.last, row.observations)
        for row in connection.execute(query)
    ]


def read_archived(
    connection: Connection,
    names: Collection[str],
    until: datetime | None = None,
    *,
    since: datetime | None = None,
) -> Iterator[pl.DataFrame]:
    """The archived observations of these people in a span, file by file.

    Raises:
        StoreError: a file is missing or damaged.
    """
    wanted = pl.col("user_id").is_in(list(names))
    conditions: list[ColumnElement[bool]] = []
    if until is not None:
        wanted &= pl.col("at") <= until
        conditions.append(archives.c.first <= as_number(until))
    if since is not None:
        wanted &= pl.col("at") >= since
        conditions.append(archives.c.last >= as_number(since))
    for archive in read_archives(connection, *conditions):
        yield read_file(archive, wanted)


def read_file(archive: Archive, wanted: pl.Expr | None = None) -> pl.DataFrame:
    """The observations of a file, or those of them that are wanted.

    Raises:
        StoreError: it is missing or damaged.
    """
    try:
        found = pl.scan_parquet(archive.path)
        return (found if wanted is None else found.filter(wanted)).collect()
    except FileNotFoundError as error:
        raise StoreError(
            str(archive.path), "is missing, and holds archived observations; put it back (or try again)"
        ) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise StoreError(str(archive.path), "cannot be read; put back a copy of this archive") from error


def without_archived(connection: Connection, rows: Sequence[Row]) -> Sequence[Row]:
    """Those of the coded records that are in no archive."""
    if not rows:
        return rows
    first, last = min(row.at for row in rows), max(row.at for row in rows)
    repeated: set[tuple[str, str, int]] = set()
    for archive in read_archives(connection, archives.c.first <= last, archives.c.last >= first):
        asked = [row for row in rows if archive.first <= row.at <= archive.last]
        if asked:
            wanted = (
                pl.col("user_id").is_in(list({row.user for row in asked}))
                & pl.col("at").is_in(sorted({as_moment(row.at) for row in asked}))
                & pl.col("id").is_in(list({row.id for row in asked}))
            )
            repeated.update((row.user, row.id, row.version) for row in encode(read_file(archive, wanted)))
    return [row for row in rows if (row.user, row.id, row.version) not in repeated] if repeated else rows


def announce(connection: Connection, folder: Path | None) -> Path | None:
    """Keep where files will be, and what tells them from those of another store, before the first: none is lost sight of.

    Args:
        connection: in a writing transaction of its own.
        folder: null for the one beside the store; of a store on a server, one that was announced before.

    Returns:
        The folder.

    Raises:
        StoreError: there is no folder beside a store on a server, and none was announced.
    """
    known = sorted(_folders(connection))
    if folder is None and known and connection.dialect.name != "sqlite":
        folder = Path(known[0])
    if fact(connection, _MARK) is None:
        keep_fact(connection, _MARK, secrets.token_hex(4))
    place = _place(folder, "any")
    _path(connection, place)
    keep_fact(connection, _FOLDERS, _folders(connection) | {str(Path(place).parent)})
    return folder


def write_file(connection: Connection, folder: Path | None, month: str, frame: pl.DataFrame) -> Archive:
    """A new file with these observations, durable and listed; it counts when the transaction does.

    Args:
        connection: in a writing transaction.
        folder: where to, as announced; null for the folder beside the store.
        month: which it is.
        frame: an observation frame with a row at least.

    Raises:
        StoreError: it cannot be written.
    """
    place = _place(folder, f"{month}.{fact(connection, _MARK)}.{secrets.token_hex(4)}.parquet")
    path = _path(connection, place)
    try:
        _write(path, frame.sort(ORDER))
    except OSError as error:
        raise StoreError(str(path), f"cannot be written ({error.strerror}); nothing was moved") from error
    first, last = (
        as_number(moment) for moment in frame.select(pl.col("at").min(), last=pl.col("at").max()).row(0)
    )
    archive = Archive(place, path, month, first, last, frame.height)
    entry = {name: value for name, value in archive._asdict().items() if name != "path"}
    connection.execute(archives.insert().values(**entry))
    return archive


def drop_file(connection: Connection, archive: Archive) -> None:
    """Let a file count no longer, once the transaction does; `sweep` removes it."""
    connection.execute(delete(archives).where(archives.c.place == archive.place))


def sweep(connection: Connection) -> None:
    """Remove the files of this store that do not count. Nobody else may be archiving or forgetting."""
    listed = {archive.path for archive in read_archives(connection)}
    ours = re.compile(rf"\.?\d{{4,}}-\d\d\.{fact(connection, _MARK)}\.[0-9a-f]{{8}}\.parquet(\.part)?")
    for folder in (_path(connection, str(Path(said) / "any")).parent for said in _folders(connection)):
        if folder.is_dir():
            for path in folder.iterdir():
                if ours.fullmatch(path.name) and path not in listed:
                    path.unlink()


def _write(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OURS)
    with os.fdopen(descriptor, "wb") as file:
        frame.write_parquet(file, compression="zstd", row_group_size=ROWS_A_GROUP)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    if hasattr(os, "O_DIRECTORY"):  # the name is as durable as the content; Windows has no such call
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


def _path(connection: Connection, place: str) -> Path:
    """Where a file is: names alone are meant from the folder beside the store, which may be moved with it."""
    if Path(place).is_absolute():
        return Path(place)
    if connection.dialect.name != "sqlite":
        raise StoreError(
            connection.engine.url.render_as_string(hide_password=True),
            "is on a server: say with --to in which folder the archives are to lie",
        )
    database = Path(connection.engine.url.database or "")
    return database.with_name(f"{database.name}-archive") / place


def _place(folder: Path | None, name: str) -> str:
    """How the store calls a file in a folder."""
    return name if folder is None else str(folder.expanduser().absolute() / name)


def _folders(connection: Connection) -> set[str]:
    said = fact(connection, _FOLDERS)
    return set(said) if isinstance(said, list) else set()
