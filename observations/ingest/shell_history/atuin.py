"""Atuin's history: one SQLite table, read while atuin may be writing it, without changing a byte beside it.

The columns came one after the other: ``deleted_at`` in 2023, ``author`` and ``intent`` in February 2026, ``shell`` in
July, ``author_kind`` in August (crates/atuin-client/migrations). Times and durations are in nanoseconds; -1 is an
unknown duration or exit status. A command of an agent is marked: ``author_kind`` is 1, or the author is one of the agents
that atuin hooks into.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from observations.errors import SourceError
from observations.ingest.shell_history.command_frames import (
    command_frame,
    empty,
    note_untimed,
    to_microseconds,
)
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.ingest.toolkit.sqlite_files import DAMAGED, MAGIC, opened, read_texts
from observations.schema import empty_observations

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
_ADVICE = "their timestamp is none"


@dataclass(frozen=True)
class AtuinReader:
    """Reads atuin's database."""

    name: str = "atuin history"

    def recognises(self, head: bytes, name: str) -> bool:  # noqa: ARG002  recognized by its bytes
        """An SQLite file that has atuin's table."""
        return head.startswith(MAGIC) and _TABLE.search(head) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each command that is not deleted; those that an agent typed are kept and are never evidence.

        Features: ``command``, ``program``, ``subcommand``, ``duration_minutes``, ``exit_status``, ``cwd``, ``hostname``.
        """
        remarks = NoteCollector(source.label)
        with opened(source) as database:
            yield from _read(database, source, options.tz, remarks)
        if notes := remarks.take():
            yield Batch(empty_observations(), tuple(notes))


ATUIN = AtuinReader()


def _read(database: sqlite3.Connection, source: Source, tz: str, remarks: NoteCollector) -> Iterator[Batch]:
    present = _columns(database, source)
    wanted = [c for c in _COLUMNS if c in present]
    absent = [pl.lit(None, pl.String).alias(c) for c in _COLUMNS if c not in present]
    kept = "deleted_at IS NULL" if "deleted_at" in present else "true"
    if "deleted_at" in present:
        _say_deleted(database, remarks)

    def note_damage(problem: str) -> None:
        remarks.reject("damaged", f"the database is damaged ({problem}); the rows beside the damage are read")

    untimed = 0
    for rows in read_texts(database, "history", wanted, kept, note_damage):
        frame, lacking = _frame(rows.with_columns(absent), tz, remarks)
        untimed += lacking
        yield Batch(frame, tuple(remarks.take()))
    note_untimed(remarks, untimed, _ADVICE)


def _columns(database: sqlite3.Connection, source: Source) -> set[str]:
    try:
        columns = {row[1].decode() for row in database.execute("PRAGMA table_info(history)")}
    except DAMAGED as error:
        raise SourceError(source.label, f"is an SQLite file that cannot be read ({error})") from error
    if not {"timestamp", "command"} <= columns:
        raise SourceError(source.label, f"has no atuin history table (columns: {sorted(columns)})")
    return columns


def _say_deleted(database: sqlite3.Connection, remarks: NoteCollector) -> None:
    try:
        (count,) = database.execute("SELECT count(*) FROM history WHERE deleted_at IS NOT NULL").fetchone()
    except DAMAGED:
        return  # reading the rows reports the damage
    if count:
        remarks.leave_out("deleted", "the command was deleted in atuin", count)


def _frame(rows: pl.DataFrame, tz: str, remarks: NoteCollector) -> tuple[pl.DataFrame, int]:
    """The rows, all text, as observations, and how many have no time."""
    stamps, ran, ended = (
        rows.get_column(c).cast(pl.Int64, strict=False) for c in ("timestamp", "duration", "exit")
    )
    micros, units = to_microseconds(stamps.fill_null(0).to_numpy())
    commands = rows.get_column("command").fill_null("")
    blank = empty(commands, remarks)
    no_time = ((stamps == 0) | rows.get_column("timestamp").is_null()).fill_null(False).to_numpy()
    for row in np.flatnonzero((units == 0) & ~no_time & ~blank):
        remarks.reject("bad_timestamp", "the time of this command is invalid", item=rows.item(int(row), "id"))
    features = {
        "id": rows.get_column("id"),
        "actor": _actors(rows),
        "duration_minutes:number": _where(ran.is_between(0, _LONGEST_RUN), ran / 6e10),
        "exit_status:number": _where(ended != -1, ended),
        "cwd:text": _known(rows.get_column("cwd")),
        "hostname:text": _known(rows.get_column("hostname").str.extract("^([^:]*)")),
    }
    good = (units != 0) & ~blank
    kept = {name: column.filter(good) for name, column in features.items()}
    frame = command_frame(commands.filter(good), micros[good], tz, kept)
    return frame, int((no_time & ~blank).sum())


def _actors(rows: pl.DataFrame) -> pl.Series:
    """Who typed each command; the few kinds of author are looked at once."""
    keys = ["author", "author_kind", "intent", "hostname"]
    kinds = rows.select(keys).unique()
    kinds = kinds.with_columns(
        actor=pl.Series([_actor(*kind) for kind in kinds.iter_rows()], dtype=pl.String)
    )
    return rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left").get_column("actor")


def _actor(author: str | None, kind: str | None, intent: str | None, host: str | None) -> str:
    """Who typed a command. The author's name decides where atuin did not keep the kind.

    A person may be called like an agent (`pi`): the user of the machine is never an agent.

    >>> _actor("claude-code", None, None, "desk:ada"), _actor("ada", None, None, "desk:ada"), _actor("pi", None, None, "x:pi")
    ('agent', 'user', 'user')
    """
    if kind in ("0", "1"):
        return "agent" if kind == "1" else "user"
    name = (author or "").strip().lower()
    if not name or name == (host or "").rpartition(":")[2].lower():
        return "user"
    says_why = (intent or "").strip() != ""  # only agents do
    known = name in _AGENTS or _CALLS_ITSELF_AGENT.search(name) is not None
    return "agent" if known or says_why else "user"


def _where(known: pl.Series, values: pl.Series) -> pl.Series:
    return pl.select(pl.when(known).then(values.cast(pl.Float64))).to_series()


def _known(texts: pl.Series) -> pl.Series:
    """The texts, with empty and unknown ones null, as in imports from another history."""
    return texts.replace(["", "unknown"], [None, None])
