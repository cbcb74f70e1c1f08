"""Archive files: observations in Parquet beside the store.

One file holds one month (UTC) of all users, as an observation frame (`observations.schema`) sorted by user and time, so
that one person's rows are found without reading the rest. Files are never changed, only replaced by new ones. The
table ``archives`` lists the valid files; it is updated in the transaction that deletes the rows from the database, so
after a crash each row is in exactly one place. A file that is not listed is unfinished or replaced, and `sweep` deletes
it.
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
from pipelines.store.database.codec import Row, encode
from pipelines.store.database.instants import as_moment, as_number
from pipelines.store.database.metadata import read_fact, write_fact
from pipelines.store.database.schema import archives

ROWS_A_GROUP = 20_000
"""Rows in a row group, which is read or skipped as a whole: about a megabyte."""

_MARK = "mark of the archives"
_FOLDERS = "folders of the archives"
_OURS = stat.S_IRUSR | stat.S_IWUSR


class Archive(NamedTuple):
    """One row of ``archives``.

    Attributes:
        place: file name in the folder beside the store, or absolute path.
        path: absolute path.
        month: such as 2026-03, in UTC.
        first: instant of the earliest observation, µs since 1970 UTC.
        last: instant of the latest.
        observations: number of rows.

    """

    place: str
    path: Path
    month: str
    first: int
    last: int
    observations: int

    @property
    def folder(self) -> Path | None:
        """The folder, or `None` for the one beside the store."""
        return self.path.parent if Path(self.place).is_absolute() else None


def read_archives(connection: Connection, *conditions: ColumnElement[bool]) -> list[Archive]:
    """The listed files that match all conditions, in order of time."""
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
    """The archived observations of these people in a span, one frame per file.

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
    """The observations of a file that match `wanted`, or all.

    Raises:
        StoreError: the file is missing or damaged.
    """
    try:
        found = pl.scan_parquet(archive.path)
        return (found if wanted is None else found.filter(wanted)).collect()
    except FileNotFoundError as error:
        raise StoreError(
            str(archive.path),
            "archive is missing; restore it from a backup, or try again if another process replaced it",
        ) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise StoreError(str(archive.path), "archive cannot be read; restore it from a backup") from error


def without_archived(connection: Connection, rows: Sequence[Row]) -> Sequence[Row]:
    """The encoded records that are in no archive."""
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


def register_folder(connection: Connection, folder: Path | None) -> Path | None:
    """Store the archive folder and a random mark for file names, before the first file is written, so that `sweep` finds all.

    Args:
        connection: in a writing transaction of its own.
        folder: `None` for the one beside the store; for a store on a server, the one registered before.

    Returns:
        The folder.

    Raises:
        StoreError: the store is on a server and no folder is given or registered.
    """
    known = sorted(_folders(connection))
    if folder is None and known and connection.dialect.name != "sqlite":
        folder = Path(known[0])
    if read_fact(connection, _MARK) is None:
        write_fact(connection, _MARK, secrets.token_hex(4))
    place = _place(folder, "any")
    _path(connection, place)
    write_fact(connection, _FOLDERS, _folders(connection) | {str(Path(place).parent)})
    return folder


def write_file(connection: Connection, folder: Path | None, month: str, frame: pl.DataFrame) -> Archive:
    """Write a new file, synced to disk, and list it; it becomes valid when the transaction commits.

    Args:
        connection: in a writing transaction.
        folder: as registered; `None` for the folder beside the store.
        month: such as 2026-03.
        frame: an observation frame with at least one row.

    Raises:
        StoreError: the file cannot be written.
    """
    place = _place(folder, f"{month}.{read_fact(connection, _MARK)}.{secrets.token_hex(4)}.parquet")
    path = _path(connection, place)
    try:
        _write(path, frame.sort(ORDER))
    except OSError as error:
        raise StoreError(
            str(path), f"cannot be written ({error.strerror}); no observations were moved"
        ) from error
    first, last = (
        as_number(moment) for moment in frame.select(pl.col("at").min(), last=pl.col("at").max()).row(0)
    )
    archive = Archive(place, path, month, first, last, frame.height)
    entry = {name: value for name, value in archive._asdict().items() if name != "path"}
    connection.execute(archives.insert().values(**entry))
    return archive


def drop_file(connection: Connection, archive: Archive) -> None:
    """Remove a file from the list; `sweep` deletes it after the transaction commits."""
    connection.execute(delete(archives).where(archives.c.place == archive.place))


def sweep(connection: Connection) -> None:
    """Delete the files of this store that are not listed. Needs `pipelines.store.archive.maintenance`."""
    listed = {archive.path for archive in read_archives(connection)}
    ours = re.compile(rf"\.?\d{{4,}}-\d\d\.{read_fact(connection, _MARK)}\.[0-9a-f]{{8}}\.parquet(\.part)?")
    for folder in (_path(connection, str(Path(name) / "any")).parent for name in _folders(connection)):
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
    if hasattr(os, "O_DIRECTORY"):  # sync the directory entry too; Windows has no such call
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


def _path(connection: Connection, place: str) -> Path:
    """Absolute path of a file: a bare name is in the folder beside the store, which may be moved with it."""
    if Path(place).is_absolute():
        return Path(place)
    if connection.dialect.name != "sqlite":
        raise StoreError(
            connection.engine.url.render_as_string(hide_password=True),
            "is on a server; name a folder for the archives with `to`",
        )
    database = Path(connection.engine.url.database or "")
    return database.with_name(f"{database.name}-archive") / place


def _place(folder: Path | None, name: str) -> str:
    """The name under which ``archives`` lists a file."""
    return name if folder is None else str(folder.expanduser().absolute() / name)


def _folders(connection: Connection) -> set[str]:
    folders = read_fact(connection, _FOLDERS)
    return set(folders) if isinstance(folders, list) else set()
