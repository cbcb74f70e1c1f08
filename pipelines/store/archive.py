"""Archiving: moves old observations from the database into Parquet files beside it. Every answer stays the same.

Each month is one transaction: read the rows, write the file and sync it, list the file, delete the rows. A crash before
the commit leaves the rows and an unlisted file; after it, the listed file and no rows
(`pipelines.store.database.parquet_archive`).
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
from pipelines.store.database.connection import Database
from pipelines.store.database.instants import as_moment, as_number
from pipelines.store.database.observation_queries import parts, read_people, read_stored
from pipelines.store.database.parquet_archive import (
    drop_file,
    read_archives,
    read_file,
    register_folder,
    sweep,
    write_file,
)
from pipelines.store.database.schema import archives, observations


@dataclass(frozen=True)
class Archived:
    """What was archived.

    Attributes:
        before: the age limit: everything earlier was moved.
        observations: number of rows moved.
        files: the files that now hold them, in order of time.
        size: bytes of these files.
        left: rows left in the database.

    """

    before: datetime
    observations: int
    files: tuple[Path, ...]
    size: int
    left: int


def archive_observations(database: Database, before: datetime, folder: Path | None = None) -> Archived:
    """Move observations earlier than `before` into files.

    Args:
        database: the store's.
        before: the age limit.
        folder: target folder; `None` for the one beside the store. Months that have a file already stay in its folder.

    Raises:
        StoreError: the database or the files cannot be read or written. Nothing is lost then.
    """
    moved: Counter[Path] = Counter()
    with maintenance(database):
        with database.reading() as connection:
            months = _months(connection, before)
        if months:
            folder = database.write(partial(register_folder, folder=folder))
        for month in months:
            path, count = database.write(partial(_move, month=month, before=before, folder=folder))
            moved[path] += count
        # Scrubbing waits for readers of files that are no longer listed; if they do not finish, the files stay for now.
        is_clear = database.scrub().is_done if moved else True
        with database.reading() as connection:
            if is_clear:
                sweep(connection)
            left = int(connection.execute(select(func.count()).select_from(observations)).scalar() or 0)
    size = sum(path.stat().st_size for path in moved)
    return Archived(before, moved.total(), tuple(moved), size, left)


@contextmanager
def maintenance(database: Database) -> Iterator[None]:
    """Hold the lock for archiving and forgetting.

    Raises:
        StoreError: another process holds it.
    """
    with database.alone("tidying") as alone:
        if not alone:
            raise StoreError(
                database.place, "another process is archiving or forgetting; try again when it is done"
            )
        yield


def lock_observations(connection: Connection) -> None:
    """Block the insertion of observations until the transaction ends; in SQLite a writing transaction already does."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE unwanted IN EXCLUSIVE MODE"))  # each insertion takes a share lock


def _months(connection: Connection, before: datetime) -> list[datetime]:
    """The first days of the months that have rows to move, in order."""
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
