"""Reads a cached profile from a SQLite store without SQLAlchemy, polars or anything else that is slow to import.

``habitus profile`` runs before every prompt of an assistant. A process that reads a profile takes 0.05 CPU s with this
module, of which Python itself takes 0.02, and 1.3 with `Store` (SQLAlchemy alone: 0.23; Python 3.11, best of 4). `tests/test_fast_profile.py` checks that both paths give the same answer.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from pipelines.memory.profile import Profile
from pipelines.store.database.instants import as_number
from pipelines.store.database.location import file_of
from pipelines.store.database.version import NEWEST

QUERY = (
    "SELECT profile.said FROM people JOIN profile ON profile.person = people.number "
    "WHERE people.name = :name AND profile.changed = people.changed "
    "AND (profile.valid_until IS NULL OR profile.valid_until > :now)"
)
"""The cached profile of a user, unless new data or the time `now` made it invalid."""

_WAIT_SECONDS = 1.0


def read_cached_profile(place: str | Path | None, user: str, as_of: datetime | None = None) -> Profile | None:
    """The profile that `Store.profile` would return, if it is cached and valid; else `None`: ask the `Store`.

    Args:
        place: as for `Store`. A URL, and a file that is missing, unreadable or of another version, give `None`.
        user: name of the user.
        as_of: the evaluation time, aware; `None` for now.
    """
    file, now = file_of(place), as_number(as_of or datetime.now(UTC))
    if file is None:
        return None
    try:
        # mode=rw: never creates a file.
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", timeout=_WAIT_SECONDS, uri=True)) as db:
            if db.execute("SELECT version_num FROM alembic_version").fetchone() != (NEWEST,):
                return None
            row = db.execute(QUERY, {"name": user, "now": now}).fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else profile_from(row[0], now)


def profile_from(text: str, now: int) -> Profile | None:
    """The profile of a row of ``profile``, or `None` if it was evaluated after `now` (µs since 1970 UTC)."""
    evaluated_at, _, profile = text.partition(" ")
    return Profile.from_text(profile) if int(evaluated_at) <= now else None
