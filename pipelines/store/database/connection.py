"""The database: SQLite in one file, or PostgreSQL; transactions; error messages.

Readers see a snapshot as of their start and never wait. Writers take turns: SQLite admits one at a time (`BEGIN
IMMEDIATE`), PostgreSQL locks the rows of the people that are written.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc, make_url, text
from sqlalchemy.engine import URL

from observations.errors import StoreError
from pipelines.store.database.location import file_of
from pipelines.store.database.upgrade import migrate, version_of
from pipelines.store.database.version import NEWEST

PATIENCE_SECONDS = 60.0
"""How long a writer waits for its turn before it fails."""

ATTEMPTS = 8
"""How often a transaction is tried that conflicts with another (a deadlock in PostgreSQL)."""

_OURS = stat.S_IRUSR | stat.S_IWUSR
_WRITING = "habitus_writing"

T = TypeVar("T")


class Scrubbed(NamedTuple):
    """Result of `Database.scrub`.

    Attributes:
        left: where deleted data may remain, in words.
        is_done: true if another attempt would change nothing.

    """

    left: tuple[str, ...]
    is_done: bool


class Database:
    """Opens a store, creates or migrates it if needed, and runs transactions.

    Args:
        place: a file, or a URL such as ``postgresql+psycopg://host/name``.

    Raises:
        StoreError: it cannot be opened, is not a store, or has a newer version.
    """

    def __init__(self, place: str | Path) -> None:
        self.address = str(place)  # may contain a password: for connecting, never for messages
        self.place = _shown(place)
        self.url = _url(place)
        try:
            if self.file is not None:
                _create(self.file)
            self._engine = _engine(self.url)
        except OSError as error:
            raise StoreError(self.place, f"cannot be opened ({error.strerror})") from error
        except ImportError as error:
            raise StoreError(
                self.place, "needs the postgres extra: pip install 'habitus[postgres]'"
            ) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @property
    def file(self) -> Path | None:
        """The file of the store, or `None` for a server."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees a snapshot of the store as of now.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._store_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**_snapshot(self.url))
            with connection.begin():
                yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """The result of `work`, run in one transaction that commits when it returns and rolls back if it raises.

        `work` is called again if the transaction conflicts with another.

        Raises:
            StoreError: the database cannot be written.
        """
        with self._store_errors():
            for attempt in range(ATTEMPTS):
                try:
                    with self._engine.connect() as connection:
                        connection = connection.execution_options(**{_WRITING: True})
                        with connection.begin():
                            return work(connection)
                except exc.OperationalError as error:
                    if not _lost(error) or attempt == ATTEMPTS - 1:
                        raise
                    time.sleep(0.01 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def alone(self, purpose: str) -> Iterator[bool]:
        """An exclusive lock named `purpose`, held inside the ``with`` block; false if another process holds it."""
        if self.file is not None:
            with _file_alone(self.file.with_name(f"{self.file.name}-{purpose}")) as got:
                yield got
            return
        with self._store_errors(), self._engine.connect() as connection:
            lock = "(hashtext(:purpose), hashtext(current_schema()))"
            named = {"purpose": f"habitus {purpose}"}
            got = bool(connection.execute(text(f"SELECT pg_try_advisory_lock{lock}"), named).scalar())
            connection.commit()  # the session holds the lock, not the transaction
            try:
                yield got
            finally:
                if got:
                    connection.execute(text(f"SELECT pg_advisory_unlock{lock}"), named)
                    connection.commit()

    def scrub(self) -> Scrubbed:
        """Remove deleted data from the files: rewrite the database (`VACUUM`) and empty the write-ahead log.

        Can be repeated.
        """
        if self.file is None:
            return self._scrub_server()
        left = []
        connection = self._engine.raw_connection()
        try:
            connection.cursor().execute("VACUUM")
        except sqlite3.Error as error:
            left.append(
                f"{self.place}: could not be rewritten ({_problem(error)}); deleted data is overwritten with zeros"
            )
        try:
            busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            busy = 1
        finally:
            connection.close()
        if busy:
            left.append(
                f"{self.place}-wal, because another process is reading the store; run habitus forget when it is done"
            )
        return Scrubbed(tuple(left), is_done=not left)

    def _scrub_server(self) -> Scrubbed:
        from pipelines.store.database.schema import metadata

        left = ["the server's write-ahead log and its copies, until the server recycles them"]
        with self._store_errors(), self._engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.execute(
                text(f"SET lock_timeout = '{PATIENCE_SECONDS:.0f}s'")
            )  # wait for readers, up to a limit
            for name in metadata.tables:
                try:
                    alone.execute(text(f'VACUUM FULL "{name}"'))
                except exc.DBAPIError as error:
                    left.append(f"the table {name}, which could not be rewritten ({_problem(error.orig)})")
            alone.execute(text("RESET lock_timeout"))
        return Scrubbed(tuple(left), is_done=len(left) == 1)

    def _prepare(self) -> None:
        """Migrate the store if it is not at the newest version."""
        with self.reading() as connection:
            version = version_of(connection)
        if version == NEWEST:
            return

        def bring_up(connection: Connection) -> None:
            if self.url.get_backend_name() == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('habitus'))"))
            migrate(connection, self.place)

        self.write(bring_up)

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        """Turn errors of the database into `StoreError`."""
        try:
            yield
        except exc.DBAPIError as error:
            raise StoreError(self.place, _problem(error.orig)) from error


def _url(place: str | Path) -> URL:
    """The URL to connect to.

    Raises:
        StoreError: the address is for another kind of database.
    """
    if isinstance(place, str) and "://" in place:
        try:
            url = make_url(place)
        except (exc.ArgumentError, ValueError):
            url = None
        if url is None or url.drivername not in ("postgresql", "postgresql+psycopg"):
            raise StoreError(
                _shown(place), "is not a store location; name a file, or postgresql+psycopg://HOST/NAME"
            )
        return url.set(drivername="postgresql+psycopg")
    return URL.create("sqlite", database=str(file_of(place)))


def _shown(place: str | Path) -> str:
    """The location for messages, without a password."""
    if isinstance(place, str) and "://" in place:
        try:
            return make_url(place).render_as_string(hide_password=True)
        except (exc.ArgumentError, ValueError):
            return "the store"  # unparsable: may contain a password anywhere
    return str(place)


def _create(file: Path) -> None:
    """Create an empty file that only its owner can read. SQLite gives its side files the same mode."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, _OURS))


@contextmanager
def _file_alone(path: Path) -> Iterator[bool]:
    """An exclusive lock on this file, created for the purpose; the system releases it when the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows: no lock; doing the same work twice is harmless
        yield True
        return
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, _OURS)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": PATIENCE_SECONDS})
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # `_begin` starts transactions
    _use_wal(connection)
    for pragma in (
        "synchronous = FULL",  # commits survive a power failure
        "foreign_keys = ON",
        "secure_delete = ON",  # overwrite deleted rows
        "cache_size = -65536",
        "wal_autocheckpoint = 8192",  # pages: one commit in a thousand waits for it, not one in a hundred
    ):
        connection.execute(f"PRAGMA {pragma}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait here while others open or close the file, so retry."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get(_WRITING)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _snapshot(url: URL) -> dict[str, str]:
    return {} if url.get_backend_name() == "sqlite" else {"isolation_level": "REPEATABLE READ"}


def _lost(error: exc.OperationalError) -> bool:
    """True if a transaction failed only because it conflicted with another."""
    return getattr(error.orig, "sqlstate", None) in {"40001", "40P01"}


def _problem(error: BaseException | None) -> str:
    """What went wrong and what to do, for common errors; otherwise the message of the database."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    for sign, message in _MESSAGES.items():
        if sign in text:
            return message
    return f"database error: {text}"


_MESSAGES = {
    "database is locked": "another process has been writing to it for too long; try again when it is done",
    "database or disk is full": "no space left on the disk; this batch was not stored, earlier data is intact",
    "disk I/O error": "the disk failed to read or write; check the disk",
    "attempt to write a readonly database": "is read-only; get write permission, or name another store with `place`",
    "file is not a database": "is not a store, or is damaged; name another file with `place`, or restore a backup",
    "database disk image is malformed": "is damaged; restore a backup, or name another file with `place`",
    "unable to open database file": "cannot be opened; check that its folder exists and is writable",
}
"""Messages for errors of SQLite."""
