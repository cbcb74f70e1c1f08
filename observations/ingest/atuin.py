"""Atuin's history: one SQLite table, read while atuin may be writing it, without changing a byte beside it.

The columns came one after the other: ``deleted_at`` in 2023, ``author`` and ``intent`` in February 2026, ``shell`` in
July, ``author_kind`` in August (crates/atuin-client/migrations). Times and durations are in nanoseconds; -1 is an
unknown duration or exit status. What an agent typed says so: ``author_kind`` is 1, or the author is one of the agents
that atuin hooks into.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.errors import SourceError
from observations.ingest.base import BATCH_ROWS, Batch, ReadOptions, Source
from observations.ingest.history import command_frame, empty, say_untimed, to_microseconds
from observations.ingest.remarks import Remarks
from observations.schema import empty_observations

_MAGIC = b"SQLite format 3\0"
_TABLE = re.compile(
    rb"CREATE TABLE[^()]*\bhistory\b[^()]*\((?=[^;]*\btimestamp\b)(?=[^;]*\bcommand\b)", re.IGNORECASE
)
_COLUMNS = (
    "id",
    "timestamp",
    "duration",
    "exit",
    "command",
    "cwd",
    "hostname",
    "author",
    "intent",
    "author_kind",
)
_AGENTS = frozenset(
    (
        *(
            "aider",
            "amp",
            "antigravity",
            "auggie",
            "claude",
            "claude-code",
            "cline",
            "codex",
            "codex-cli",
            "copilot",
        ),
        *(
            "copilot-cli",
            "crush",
            "cursor",
            "cursor-agent",
            "devin",
            "droid",
            "gemini",
            "gemini-cli",
            "goose",
            "kilo",
        ),
        *("kimi", "kiro", "opencode", "openhands", "pi", "qwen", "qwen-code", "roo", "windsurf"),
    )
)
"""Those that atuin 18.24 knows (claude-code, codex, copilot, opencode, pi) and others that write their name."""

_CALLS_ITSELF_AGENT = re.compile(
    r"(?<![a-z])(?:agent|assistant|ai|bot|llm|claude|codex|copilot|gemini|gpt)(?![a-z])"
)
_LONGEST_RUN = 10 * 366 * 86_400 * 10**9
Row = tuple[object, ...]
_ADVICE = "their timestamp is none"


@dataclass(frozen=True)
class AtuinReader:
    """Reads atuin's database."""

    name: str = "atuin history"

    def recognises(self, head: bytes, name: str) -> bool:  # noqa: ARG002  the bytes say it
        """An SQLite file that has atuin's table."""
        return head.startswith(_MAGIC) and _TABLE.search(head) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """One observation for each command that is not deleted.

        Features: ``command``, ``program``, ``subcommand``, ``duration_minutes``, ``exit_status``, ``cwd``, ``hostname``.
        """
        remarks = Remarks(source.label)
        with _opened(source) as database:
            yield from _read(database, source, options.tz, remarks)
        if notes := remarks.take():
            yield Batch(empty_observations(), tuple(notes))


ATUIN = AtuinReader()


def _read(database: sqlite3.Connection, source: Source, tz: str, remarks: Remarks) -> Iterator[Batch]:
    present = _columns(database, source)
    wanted = [c if c in present else f"NULL AS {c}" for c in _COLUMNS]
    query = f"SELECT rowid, {', '.join(wanted)} FROM history"  # noqa: S608  names of ours
    if "deleted_at" in present:
        query += " WHERE deleted_at IS NULL"
        _say_deleted(database, remarks)
    untimed = 0
    for rows in _rows(database, query, remarks):
        frame, lacking = _frame(rows, tz, remarks)
        untimed += lacking
        yield Batch(frame, tuple(remarks.take()))
    say_untimed(remarks, untimed, _ADVICE)


def _columns(database: sqlite3.Connection, source: Source) -> set[str]:
    try:
        columns = {row[1] for row in database.execute("PRAGMA table_info(history)")}
    except sqlite3.DatabaseError as error:
        raise SourceError(source.label, f"is an SQLite file that cannot be read ({error})") from error
    if not {"timestamp", "command"} <= columns:
        raise SourceError(source.label, f"has no history as atuin keeps it (its columns: {sorted(columns)})")
    return columns


def _say_deleted(database: sqlite3.Connection, remarks: Remarks) -> None:
    try:
        (count,) = database.execute("SELECT count(*) FROM history WHERE deleted_at IS NOT NULL").fetchone()
    except sqlite3.DatabaseError:
        return  # the reading of the rows will meet the damage, and say so
    if count:
        remarks.leave_out("deleted", "the command was deleted in atuin", count)


def _rows(database: sqlite3.Connection, query: str, remarks: Remarks) -> Iterator[Sequence[Row]]:
    """The rows in batches. Where the file is damaged, those before the damage and, from the end back, those after it."""
    last = None
    try:
        for rows in _batches(database, f"{query} ORDER BY rowid"):
            last = rows[-1][0]
            yield rows
        return
    except sqlite3.DatabaseError as error:
        remarks.reject("damaged", f"the database is damaged ({error}); rows beside the damage are read")
    joiner = "AND" if "WHERE" in query else "WHERE"
    rest = query if last is None else f"{query} {joiner} rowid > {last}"
    try:
        yield from _batches(database, f"{rest} ORDER BY rowid DESC", size=100)
    except sqlite3.DatabaseError:
        return  # the other side of the damage


def _batches(database: sqlite3.Connection, query: str, size: int = BATCH_ROWS) -> Iterator[list[Row]]:
    """The rows of a query; those before an error are handed on before it is raised."""
    rows: list[Row] = []
    try:
        for row in database.execute(query):
            rows.append(row)
            if len(rows) >= size:
                yield rows
                rows = []
    except sqlite3.DatabaseError:
        if rows:
            yield rows
        raise
    if rows:
        yield rows


def _frame(rows: Sequence[Row], tz: str, remarks: Remarks) -> tuple[pl.DataFrame, int]:
    """The rows as observations, and how many have no time."""
    _, ids, stamps, durations, exits, texts, folders, hosts, authors, intents, kinds = zip(*rows, strict=True)
    micros, units = to_microseconds(_whole_numbers(stamps, 0))
    commands = _texts(texts).fill_null("").alias("command")
    blank = empty(commands, remarks)
    zero = np.array([stamp in (0, None) for stamp in stamps])
    for row in np.flatnonzero((units == 0) & ~zero & ~blank):
        remarks.reject("bad_timestamp", "the time of this command is none", item=str(ids[row]))
    ran, ended = _whole_numbers(durations, -1), _whole_numbers(exits, -1)
    features = {
        "id": _texts(ids).alias("id"),
        "actor": pl.Series(list(map(_actor, authors, kinds, intents, hosts)), dtype=pl.String),
        "duration_minutes:number": _where((ran >= 0) & (ran < _LONGEST_RUN), ran / 6e10),
        "exit_status:number": _where(ended != -1, ended),
        "cwd:text": _known(_texts(folders)),
        "hostname:text": _known(_texts(hosts).str.extract("^([^:]*)")),
    }
    good = (units != 0) & ~blank
    kept = {name: column.filter(good) for name, column in features.items()}
    frame = command_frame(commands.filter(good), micros[good], tz, kept)
    return frame, int(((units == 0) & zero & ~blank).sum())


@lru_cache(maxsize=4_096)
def _actor(author: object, kind: object, intent: object, host: object) -> str:
    """Who typed a command. The author's name decides where atuin did not keep the kind.

    A person may be called like an agent (`pi`): whoever is the user of the machine is no agent.

    >>> _actor("claude-code", None, None, "desk:ada"), _actor("ada", None, None, "desk:ada"), _actor("pi", None, None, "x:pi")
    ('agent', 'user', 'user')
    """
    if isinstance(kind, int):
        return "agent" if kind == 1 else "user"
    if not isinstance(author, str) or not author.strip():
        return "user"
    name = author.strip().lower()
    if name == str(host).rpartition(":")[2].lower():
        return "user"
    says_why = isinstance(intent, str) and intent.strip() != ""  # only agents do
    known = name in _AGENTS or _CALLS_ITSELF_AGENT.search(name) is not None
    return "agent" if known or says_why else "user"


def _whole_numbers(values: Sequence[object], otherwise: int) -> npt.NDArray[np.int64]:
    return np.array([v if type(v) is int else otherwise for v in values], dtype=np.int64)


def _texts(values: Sequence[object]) -> pl.Series:
    """The texts among values that SQLite does not hold to a type; bytes are read as UTF-8."""
    texts = [v.decode(errors="replace") if isinstance(v, bytes) else v for v in values]
    return pl.Series([v if isinstance(v, str) else None for v in texts], dtype=pl.String)


def _where(
    known: npt.NDArray[np.bool_], values: npt.NDArray[np.float64] | npt.NDArray[np.int64]
) -> pl.Series:
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(values, dtype=pl.Float64))).to_series()


def _known(texts: pl.Series) -> pl.Series:
    """The texts without those that say nothing: an import from another history has none."""
    return texts.replace(["", "unknown"], [None, None])


@contextmanager
def _opened(source: Source) -> Iterator[sqlite3.Connection]:
    """The database, open for reading.

    A write-ahead log beside the file means that atuin is running (there is shared memory as well) or was killed. In
    the first case SQLite's own locks are used; in the second it would write to recover, so a copy is read. Without a
    log nobody has the file open, and "immutable" keeps SQLite from putting one there.
    """
    with ExitStack() as stack:
        path = source.path
        uri = ""
        if path is None or _has_log(path):
            shared = path is not None and path.with_name(f"{path.name}-shm").exists()
            if path is not None and shared and (database := _try_shared(path)):
                yield stack.enter_context(closing(database))
                return
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="habitus-")))
            uri = _copy(source, folder / "history.db").as_uri()
        else:
            uri = f"{path.resolve().as_uri()}?immutable=1"
        yield stack.enter_context(closing(_connect(uri)))


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _try_shared(path: Path) -> sqlite3.Connection | None:
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
    if source.path is not None and _has_log(source.path):
        shutil.copyfile(source.path.with_name(f"{source.path.name}-wal"), to.with_name(f"{to.name}-wal"))
    return to


def _connect(uri: str) -> sqlite3.Connection:
    database = sqlite3.connect(uri, uri=True)
    database.text_factory = lambda content: content.decode(errors="replace")
    return database
