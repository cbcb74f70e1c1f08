"""What is stored of people: which kinds of things, how many, from when to when, for how long, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson
import polars as pl
from sqlalchemy import Connection, Table, func, select

from observations.errors import SettingError, did_you_mean
from pipelines.store.connection import Database
from pipelines.store.forget.suppression import read_rules, read_seal
from pipelines.store.instants import as_moment, as_number
from pipelines.store.observation_queries import Person, read_people
from pipelines.store.parquet_archive import read_archived, read_archives, read_file
from pipelines.store.schema import (
    forgotten,
    journal,
    observations,
    patterns,
    profile,
    shapes,
    words,
)

IN_DATABASE, IN_ARCHIVES = "database", "archives"

RETENTION = {
    IN_DATABASE: "until forgotten; moved to the archives by habitus archive",
    IN_ARCHIVES: "until forgotten",
    "derived": "made anew from the observations; gone with them",
    "said": "until taken back or forgotten",
}
"""How long each kind of thing is kept. Nothing goes of its own accord."""


@dataclass(frozen=True)
class Holding:
    """Observations of one kind in one place.

    Attributes:
        user: whose.
        type: of the observations.
        action: of the observations.
        where: database or archives.
        count: records; differing records of one id are counted each.
        first: when the earliest was.
        last: when the latest was.
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
    """What else is kept of a user.

    Attributes:
        user: whose.
        what: patterns, journal, profile or words.
        count: rows.
        size: characters that they hold.
        retention: how long it is kept.

    """

    user: str
    what: str
    count: int
    size: int
    retention: str


@dataclass(frozen=True)
class Place:
    """A file, or a server, in which it lies.

    Attributes:
        place: its path; of a server, its address without a password.
        holds: what is in it.
        size: bytes; null where it is not known.

    """

    place: str
    holds: str
    size: int | None


@dataclass(frozen=True)
class Forgetting:
    """That something was forgotten.

    Attributes:
        at: when.
        kind: what was asked for: user, person, span or pattern.
        counts: for each place, how much is gone and how much was altered.

    """

    at: datetime
    kind: str
    counts: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Audit:
    """What is stored.

    Attributes:
        observations: by user, kind and place.
        derived: what else is kept of each user.
        places: where it lies.
        forgotten: what was forgotten, of anybody.
        kept_out: how many rules keep out what was forgotten: of each kind.

    """

    observations: tuple[Holding, ...]
    derived: tuple[Derived, ...]
    places: tuple[Place, ...]
    forgotten: tuple[Forgetting, ...]
    kept_out: Mapping[str, int]

    def to_json(self) -> str:
        """The audit as one JSON object; moments are RFC 3339, in UTC."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2).decode()


def audit(database: Database, user: str | None = None) -> Audit:
    """What is stored of a user; of everybody if null.

    Raises:
        SettingError: nothing is stored of that user.
        StoreError: the store or an archive cannot be read.
    """
    with database.reading() as connection:
        whose = _whose(connection, user)
        return Audit(
            tuple(_holdings(connection, whose)),
            tuple(_derived(connection, whose)),
            tuple(_places(connection, database, whose)),
            tuple(_forgettings(connection)),
            _kept_out(connection, user),
        )


def _whose(connection: Connection, user: str | None) -> list[Person]:
    everybody = read_people(connection)
    whose = [person for person in everybody if user in (None, person.name)]
    if user is not None and not whose:
        hint = did_you_mean(user, [person.name for person in everybody])
        raise SettingError(f"nothing is stored of a user {user!r}{hint}")
    return whose


def _holdings(connection: Connection, whose: Sequence[Person]) -> list[Holding]:
    counted: dict[tuple[str, str, str, str], list[int]] = {}
    for user, type, action, where, count, first, last in [
        *_in_database(connection, whose),
        *_in_archives(connection, whose),
    ]:
        said = counted.setdefault((user, type, action, where), [0, first, last])
        counted[user, type, action, where] = [said[0] + count, min(said[1], first), max(said[2], last)]
    return [
        Holding(*key, count, as_moment(first), as_moment(last), RETENTION[key[3]])
        for key, (count, first, last) in sorted(counted.items())
    ]


_Row = tuple[str, str, str, str, int, int, int]


def _in_database(connection: Connection, whose: Sequence[Person]) -> list[_Row]:
    """By shape, which says type and action: no content is read."""
    names = {person.number: person.name for person in whose}
    table = observations.c
    span = (func.count(), func.min(table.at), func.max(table.at))
    query = (
        select(table.person, shapes.c.said, *span)
        .join(shapes, (shapes.c.person == table.person) & (shapes.c.number == table.shape))
        .group_by(table.person, shapes.c.said)
    )
    if len(whose) == 1:
        query = query.where(table.person == whose[0].number)
    found: list[_Row] = []
    for person, said, count, first, last in connection.execute(query):
        if person in names:
            type, action, *_ = orjson.loads(said)
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
    kinds: tuple[tuple[str, Table, str], ...] = (
        ("patterns", patterns, "derived"),
        ("journal", journal, "derived"),
        ("profile", profile, "derived"),
        ("words", words, "said"),
    )
    found = []
    for what, table, kind in kinds:
        query = select(table.c.person, func.count(), func.sum(func.length(table.c.said))).group_by(
            table.c.person
        )
        sizes = {person: (count, int(size)) for person, count, size in connection.execute(query)}
        found += [Derived(p.name, what, *sizes.get(p.number, (0, 0)), RETENTION[kind]) for p in whose]
    return sorted(found, key=lambda one: one.user)


def _places(connection: Connection, database: Database, whose: Sequence[Person]) -> list[Place]:
    holds = "observations, patterns, journal, profile, words, what was forgotten (without its content)"
    found = []
    if database.file is None:
        size = connection.execute(select(func.pg_database_size(func.current_database()))).scalar()
        found.append(Place(database.place, holds, None if size is None else int(size)))
    else:
        found.append(Place(str(database.file), holds, _size(database.file)))
        log = database.file.with_name(f"{database.file.name}-wal")
        if _size(log):
            found.append(Place(str(log), "what was written last", _size(log)))
    wanted = pl.col("user_id").is_in([person.name for person in whose])
    for archive in read_archives(connection):
        if read_file(archive, wanted).height:
            found.append(Place(str(archive.path), f"observations of {archive.month}", _size(archive.path)))
    return found


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _forgettings(connection: Connection) -> list[Forgetting]:
    rows = connection.execute(select(forgotten).order_by(forgotten.c.number))
    return [Forgetting(as_moment(row.at), row.kind, orjson.loads(row.said)) for row in rows]


def _kept_out(connection: Connection, user: str | None) -> dict[str, int]:
    rules = read_rules(connection)
    if user is not None and rules:
        owner = read_seal(connection).digest("user", user)
        rules = [rule for rule in rules if rule.owner in ("", owner)]
    kinds = {"address": "person", "name": "person", "text": None}
    counts: dict[str, int] = {}
    for rule in rules:
        kind = kinds.get(rule.kind, rule.kind)
        if kind is not None:
            counts[kind] = counts.get(kind, 0) + 1
    return counts
