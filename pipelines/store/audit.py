"""The audit: what is stored about users: kinds, counts, time spans, retention and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson
import polars as pl
from sqlalchemy import ColumnElement, Connection, Table, func, select

from pipelines.store.database.connection import Database
from pipelines.store.database.instants import as_moment, as_number
from pipelines.store.database.observation_queries import Person
from pipelines.store.database.parquet_archive import read_archived, read_archives, read_file
from pipelines.store.database.schema import (
    feedback,
    forgotten,
    journal,
    observations,
    patterns,
    profile,
    shapes,
)
from pipelines.store.forget.suppression import read_key, read_rules
from pipelines.store.stored_observations import people_of
from pipelines.store.users import AllUsers, Users

IN_DATABASE, IN_ARCHIVES = "database", "archives"

RETENTION = {
    IN_DATABASE: "until forgotten; habitus archive moves it to the archives",
    IN_ARCHIVES: "until forgotten",
    "derived": "rebuilt from the observations; deleted with them",
    "feedback": "until undone or forgotten",
}
"""How long each kind of data is kept. Nothing is deleted automatically."""


@dataclass(frozen=True)
class Holding:
    """Observations of one kind in one place.

    Attributes:
        user: name of the user.
        type: of the observations.
        action: of the observations.
        where: database or archives.
        count: number of records, including differing records with one id.
        first: time of the earliest.
        last: time of the latest.
        retention: how long they are kept.

    """

    user: str
    type: str
    action: str
    where: str
    count: int
    first: datetime
    last: datetime
    retention: str


@dataclass(frozen=True)
class Derived:
    """Other data about a user.

    Attributes:
        user: name of the user.
        what: patterns, journal, profile or feedback.
        count: number of rows.
        size: characters in them.
        retention: how long they are kept.

    """

    user: str
    what: str
    count: int
    size: int
    retention: str


@dataclass(frozen=True)
class Place:
    """A file or server that holds the data.

    Attributes:
        place: its path; for a server, its URL without a password.
        holds: what is in it.
        size: bytes, or `None` if unknown.

    """

    place: str
    holds: str
    size: int | None


@dataclass(frozen=True)
class Erasure:
    """One entry in the log of erasures.

    Attributes:
        at: when.
        kind: user, person, span or pattern.
        counts: for each place, the number of rows deleted and altered.

    """

    at: datetime
    kind: str
    counts: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Audit:
    """What is stored.

    Attributes:
        observations: by user, type, action and place.
        derived: other data about each user.
        places: the files.
        forgotten: the log of erasures; only in the audit of all users, since it does not name users.
        kept_out: number of entries in the suppression list, by kind.

    """

    observations: tuple[Holding, ...]
    derived: tuple[Derived, ...]
    places: tuple[Place, ...]
    forgotten: tuple[Erasure, ...]
    kept_out: Mapping[str, int]

    def to_json(self) -> str:
        """The audit as a JSON object; times are RFC 3339, in UTC."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2).decode()


def audit(database: Database, user: Users) -> Audit:
    """What is stored about a user.

    Raises:
        StoreError: the store or an archive cannot be read.
    """
    with database.reading() as connection:
        whose = people_of(connection, user)
        return Audit(
            tuple(_holdings(connection, whose)),
            tuple(_derived(connection, whose)),
            tuple(_places(connection, database, whose)),
            tuple(_erasures(connection)) if isinstance(user, AllUsers) else (),
            _kept_out(connection, user),
        )


def _holdings(connection: Connection, whose: Sequence[Person]) -> list[Holding]:
    counted: dict[tuple[str, str, str, str], list[int]] = {}
    for user, type, action, where, count, first, last in [
        *_in_database(connection, whose),
        *_in_archives(connection, whose),
    ]:
        known = counted.setdefault((user, type, action, where), [0, first, last])
        counted[user, type, action, where] = [known[0] + count, min(known[1], first), max(known[2], last)]
    return [
        Holding(*key, count, as_moment(first), as_moment(last), RETENTION[key[3]])
        for key, (count, first, last) in sorted(counted.items())
    ]


_Row = tuple[str, str, str, str, int, int, int]


def _in_database(connection: Connection, whose: Sequence[Person]) -> list[_Row]:
    """Counts by shape, which contains type and action: content is not read."""
    names = {person.number: person.name for person in whose}
    table = observations.c
    span = (func.count(), func.min(table.at), func.max(table.at))
    query = (
        select(table.person, shapes.c.json, *span)
        .join(shapes, (shapes.c.person == table.person) & (shapes.c.number == table.shape))
        .group_by(table.person, shapes.c.json)
    )
    if len(whose) == 1:
        query = query.where(table.person == whose[0].number)
    found: list[_Row] = []
    for person, shape, count, first, last in connection.execute(query):
        if person in names:
            type, action, *_ = orjson.loads(shape)
            found.append((names[person], type, action, IN_DATABASE, count, first, last))
    return found


def _in_archives(connection: Connection, whose: Sequence[Person]) -> list[_Row]:
    names = [person.name for person in whose]
    return [
        (user, type, action, IN_ARCHIVES, count, as_number(first), as_number(last))
        for frame in read_archived(connection, names)
        for user, type, action, count, first, last in frame.group_by("user_id", "type", "action")
        .agg(pl.len(), pl.col("at").min().alias("first"), pl.col("at").max().alias("last"))
        .iter_rows()
    ]


def _derived(connection: Connection, whose: Sequence[Person]) -> list[Derived]:
    kinds: tuple[tuple[str, Table, ColumnElement[str], str], ...] = (
        ("patterns", patterns, patterns.c.json, "derived"),
        ("journal", journal, journal.c.json, "derived"),
        ("profile", profile, profile.c.text, "derived"),
        ("feedback", feedback, feedback.c.json, "feedback"),
    )
    found = []
    for what, table, text, kind in kinds:
        query = select(table.c.person, func.count(), func.sum(func.length(text))).group_by(table.c.person)
        sizes = {person: (count, int(size)) for person, count, size in connection.execute(query)}
        found += [Derived(p.name, what, *sizes.get(p.number, (0, 0)), RETENTION[kind]) for p in whose]
    return sorted(found, key=lambda one: one.user)


def _places(connection: Connection, database: Database, whose: Sequence[Person]) -> list[Place]:
    holds = "observations, patterns, journal, profile, feedback, log of erasures (without content)"
    found = []
    if database.file is None:
        size = connection.execute(select(func.pg_database_size(func.current_database()))).scalar()
        found.append(Place(database.place, holds, None if size is None else int(size)))
    else:
        found.append(Place(str(database.file), holds, _size(database.file)))
        log = database.file.with_name(f"{database.file.name}-wal")
        if _size(log):
            found.append(Place(str(log), "the newest changes", _size(log)))
    wanted = pl.col("user_id").is_in([person.name for person in whose])
    for archive in read_archives(connection):
        if read_file(archive, wanted).height:
            found.append(Place(str(archive.path), f"observations of {archive.month}", _size(archive.path)))
    return found


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _erasures(connection: Connection) -> list[Erasure]:
    rows = connection.execute(select(forgotten).order_by(forgotten.c.number))
    return [Erasure(as_moment(row.at), row.kind, orjson.loads(row.json)) for row in rows]


def _kept_out(connection: Connection, user: Users) -> dict[str, int]:
    rules = read_rules(connection)
    if not isinstance(user, AllUsers) and rules:
        owner = read_key(connection).digest("user", user)
        rules = [rule for rule in rules if rule.owner in ("", owner)]
    kinds = {"address": "person", "name": "person", "text": None}
    counts: dict[str, int] = {}
    for rule in rules:
        kind = kinds.get(rule.kind, rule.kind)
        if kind is not None:
            counts[kind] = counts.get(kind, 0) + 1
    return counts
