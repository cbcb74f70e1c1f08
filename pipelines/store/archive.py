"""Archiving: old observations out of the database into files beside it. What was learned stays the same.

Month by month, in one transaction each: the rows are read, the file is written and durable, the file counts and the
rows are gone. A crash before the end of the transaction leaves the rows and a file that does not count; after it, the
file and no rows (`pipelines.store.parquet_archive`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, delete, func, select, text

from observations.civil_time import MICROSECONDS_PER_DAY
from observations.errors import StoreError
from observations.schema import concat_observations
from pipelines.store.connection import Database
from pipelines.store.instants import as_moment, as_number
from pipelines.store.observation_queries import parts, read_people, read_stored
from pipelines.store.parquet_archive import announce, drop_file, read_archives, read_file, sweep, write_file
from pipelines.store.schema import archives, observations


@dataclass(frozen=True)
class Archived:
    """What was moved.

    Attributes:
        before: what was older than this.
        observations: rows that were moved.
        files: the files that hold them now, in order of time.
        size: bytes of these files.
        left: rows that are in the database after it.

    """

    before: datetime
    observations: int
    files: tuple[Path, ...]
    size: int
    left: int


def archive_observations(database: Database, before: datetime, folder: Path | None = None) -> Archived:
    """Move what is older than a moment into files.

    Args:
        database: the store's.
        before: everything earlier than this is moved.
        folder: where to; null for the folder beside the store. Months that have a file already stay where they are.

    Raises:
        StoreError: the database or the files cannot be read or written. Nothing is lost then.
    """
    moved: Counter[Path] = Counter()
    with tidying(database):
        with database.reading() as connection:
            months = _months(connection, before)
        if months:
            folder = database.write(partial(announce, folder=folder))
        for month in months:
            path, count = database.write(partial(_move, month=month, before=before, folder=folder))
            moved[path] += count
        # Scrubbing waits for those who may still read from files that do not count any more; else they stay for now.
        is_clear = database.scrub().is_done if moved else True
        with database.reading() as connection:
            if is_clear:
                sweep(connection)
            left = int(connection.execute(select(func.count()).select_from(observations)).scalar() or 0)
    size = sum(path.stat().st_size for path in moved)
    return Archived(before, moved.total(), tuple(moved), size, left)


@contextmanager
def tidying(database: Database) -> Iterator[None]:
    """While this lasts, nobody else archives or forgets.

    Raises:
        StoreError: somebody does.
    """
    with database.alone("tidying") as alone:
        if not alone:
            raise StoreError(
                database.place, "is being archived or forgotten from just now; try again when that is done"
            )
        yield


def lock_observations(connection: Connection) -> None:
    """Keep observations from being added before the transaction ends; in SQLite none can be anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE unwanted IN EXCLUSIVE MODE"))  # each insertion shares it


def _months(connection: Connection, before: datetime) -> list[datetime]:
    """The beginnings of the months in which something is to be moved, in order."""
    day = (observations.c.at // MICROSECONDS_PER_DAY).label("day")
    query = select(day).where(observations.c.at < as_number(before)).distinct()
    days = {as_moment(int(number) * MICROSECONDS_PER_DAY) for number in connection.execute(query).scalars()}
    return sorted({moment.replace(day=1) for moment in days})


def _move(connection: Connection, month: datetime, before: datetime, folder: Path | None) -> tuple[Path, int]:
    lock_observations(connection)
    end = min((month + timedelta(days=31)).replace(day=1), before)
    name = f"{month:%Y-%m}"
    last = end - timedelta(microseconds=1)
    everybody = parts(read_people(connection), sys.maxsize)
    frame = concat_observations(read_stored(connection, part, last, since=month) for part in everybody)
    old = read_archives(connection, archives.c.month == name)
    for archive in old:
        drop_file(connection, archive)
        folder = archive.folder
    new = write_file(connection, folder, name, concat_observations([frame, *map(read_file, old)]))
    span = (observations.c.at >= as_number(month)) & (observations.c.at < as_number(end))
    connection.execute(delete(observations).where(span))
    return new.path, frame.height
