"""The database under the store: SQLite in one file, or PostgreSQL; transactions; what its errors mean.

Readers see the store as it was when they began and wait for nobody. Writers take turns: SQLite lets one in at a
time (`BEGIN IMMEDIATE`, others wait), PostgreSQL locks the people that are written about.
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

import platformdirs
from sqlalchemy import Connection, Engine, create_engine, event, exc, make_url, text
from sqlalchemy.engine import URL

from observations.errors import StoreError
from pipelines.store.migrations import migrate

PATIENCE_SECONDS = 60.0
"""How long a writer waits for its turn before it says so."""

ATTEMPTS = 8
"""How often a transaction is tried that lost against another (a deadlock in PostgreSQL)."""

_OURS = stat.S_IRUSR | stat.S_IWUSR
_WRITING = "habitus_writing"

T = TypeVar("T")


def default_place() -> Path:
    """The file of the store where none is named: in the user's data folder."""
    return platformdirs.user_data_path("habitus") / "habitus.db"


class Scrubbed(NamedTuple):
    """What came of a scrubbing.

    Attributes:
        left: in words, where something that was deleted may still be.
        is_done: whether doing it again would change nothing of that.

    """

    left: tuple[str, ...]
    is_done: bool


class Database:
    """Opens a store, creating or migrating it where needed, and runs transactions in it.

    Args:
        place: a file, or a URL such as ``postgresql+psycopg://host/name``.

    Raises:
        StoreError: it cannot be opened, is no store, or is of a newer version.
    """

    def __init__(self, place: str | Path) -> None:
        self.address = str(place)  # with a password, if it has one: for connecting, never for showing
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
                self.place, "needs the extra postgres: pip install 'habitus[postgres]'"
            ) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @property
    def file(self) -> Path | None:
        """The file that holds the store; null where a server does."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees the store as it is now, whatever others write meanwhile.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._plainly(), self._engine.connect() as connection:
            connection = connection.execution_options(**_snapshot(self.url))
            with connection.begin():
                yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, done in one transaction: durable when this returns, undone if it raises.

        It may be called again, from the beginning, when the transaction lost against another.

        Raises:
            StoreError: the database cannot be written.
        """
        with self._plainly():
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
        """Whether nobody else holds the store for this purpose; nobody else gets it while this lasts."""
        if self.file is not None:
            with _file_alone(self.file.with_name(f"{self.file.name}-{purpose}")) as got:
                yield got
            return
        with self._plainly(), self._engine.connect() as connection:
            lock = "(hashtext(:purpose), hashtext(current_schema()))"
            purpose_said = {"purpose": f"habitus {purpose}"}
            got = bool(connection.execute(text(f"SELECT pg_try_advisory_lock{lock}"), purpose_said).scalar())
            connection.commit()  # the lock is the session's, not the transaction's: others need not wait for it
            try:
                yield got
            finally:
                if got:
                    connection.execute(text(f"SELECT pg_advisory_unlock{lock}"), purpose_said)
                    connection.commit()

    def scrub(self) -> Scrubbed:
        """Overwrite what was deleted, and give its room back.

        In SQLite the file is written anew (`VACUUM`) and the write-ahead log emptied. Nothing of this undoes
        anything: it can be done again.
        """
        if self.file is None:
            return self._scrub_server()
        left = []
        connection = self._engine.raw_connection()
        try:
            connection.cursor().execute("VACUUM")
        except sqlite3.Error as error:
            left.append(
                f"{self.place}: could not be written anew ({_problem(error)}); what was deleted is overwritten"
            )
        try:
            busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            busy = 1
        finally:
            connection.close()
        if busy:
            left.append(
                f"{self.place}-wal, as another process is reading the store; run habitus forget when it is done"
            )
        return Scrubbed(tuple(left), is_done=not left)

    def _scrub_server(self) -> Scrubbed:
        from pipelines.store.schema import metadata

        left = ["the server's write-ahead log and the copies that were made of it, until it recycles them"]
        with self._plainly(), self._engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.execute(
                text(f"SET lock_timeout = '{PATIENCE_SECONDS:.0f}s'")
            )  # readers go first, but not for ever
            for name in metadata.tables:
                try:
                    alone.execute(text(f'VACUUM FULL "{name}"'))
                except exc.DBAPIError as error:
                    left.append(f"the table {name}, which could not be written anew ({_problem(error.orig)})")
            alone.execute(text("RESET lock_timeout"))
        return Scrubbed(tuple(left), is_done=len(left) == 1)

    def _prepare(self) -> None:
        """Migrate, if this is not the newest version."""
        from pipelines.store.migrations import NEWEST, version_of

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
    def _plainly(self) -> Iterator[None]:
        """Errors of the database as one line that a person can act on."""
        try:
            yield
        except exc.DBAPIError as error:
            raise StoreError(self.place, _problem(error.orig)) from error


def _url(place: str | Path) -> URL:
    """Where to connect to.

    Raises:
        StoreError: it is an address of something else.
    """
    if isinstance(place, str) and "://" in place:
        try:
            url = make_url(place)
        except (exc.ArgumentError, ValueError):
            url = None
        if url is None or url.drivername not in ("postgresql", "postgresql+psycopg"):
            raise StoreError(
                _shown(place), "is no place for a store: name a file, or postgresql+psycopg://HOST/NAME"
            )
        return url.set(drivername="postgresql+psycopg")
    return URL.create("sqlite", database=str(Path(place).expanduser().absolute()))


def _shown(place: str | Path) -> str:
    """The place as messages name it, without a password."""
    if isinstance(place, str) and "://" in place:
        try:
            return make_url(place).render_as_string(hide_password=True)
        except (exc.ArgumentError, ValueError):
            return "--db"  # what cannot be taken apart may hold a password anywhere
    return str(place)


def _create(file: Path) -> None:
    """An empty file that only its owner can read, if there is none. SQLite gives its side files the same mode."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, _OURS))


@contextmanager
def _file_alone(path: Path) -> Iterator[bool]:
    """Whether nobody else holds this file, which is created for the purpose; the system lets go of it with the process."""
    try:
        import fcntl
    except ImportError:  # Windows: writing twice what is written once does no harm
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
    connection.isolation_level = None  # transactions begin where `_begin` says
    _use_wal(connection)
    for pragma in (
        "synchronous = FULL",  # what was written stays written when the power fails
        "foreign_keys = ON",
        "secure_delete = ON",  # what is deleted is overwritten
        "cache_size = -65536",
        "wal_autocheckpoint = 8192",  # pages: one answer in a thousand waits for it, not one in a hundred
    ):
        connection.execute(f"PRAGMA {pragma}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite does not wait for its turn here when others open or close the file as well."""
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
    """Whether a transaction failed only because of another."""
    return getattr(error.orig, "sqlstate", None) in {"40001", "40P01"}


def _problem(error: BaseException | None) -> str:
    """What went wrong and what to do, for errors that a person meets; else what the database says."""
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    for sign, meaning in _MEANINGS.items():
        if sign in said:
            return meaning
    return f"the database says: {said}"


_MEANINGS = {
    "database is locked": "another process has been writing to it for too long; try again when that is done",
    "database or disk is full": "there is no room left to write; nothing of this batch was stored, what was before is intact",
    "disk I/O error": "the disk does not take or give what it should; look at the disk",
    "attempt to write a readonly database": "may only be read; give its owner the right to write to it, or name another with --db",
    "file is not a database": "is no store (it is damaged, or something else); name another file with --db, or put back a copy",
    "database disk image is malformed": "is damaged; put back a copy of it, or name another file with --db",
    "unable to open database file": "cannot be opened; look whether its folder is there and may be written to",
}
"""What SQLite's words mean for a person."""
