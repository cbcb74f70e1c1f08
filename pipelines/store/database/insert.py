"""Writes observations into the store: each record once, however often and in whatever order it arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from itertools import groupby

import polars as pl
from sqlalchemy import BigInteger, Connection, Table, bindparam, case, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from pipelines.store.database.codec import Row, encode
from pipelines.store.database.instants import as_number
from pipelines.store.database.observation_queries import Person, read_people
from pipelines.store.database.parquet_archive import without_archived
from pipelines.store.database.schema import observations, people, shapes, sources

GROWTH, HEADSTART = 2, 50
"""A person is evaluated at the latest when their observations exceed `GROWTH` × the last count + `HEADSTART`, so that
the total cost of evaluating a growing history stays proportional to it."""

LONGEST_NAME = 600
"""Maximum length of an id or user name, in characters of up to four bytes."""

NAMES_AT_ONCE = 5_000
"""Names in one statement: databases limit the number of parameters."""

_LATEST = bindparam("latest", type_=BigInteger())
_NOTE_CHANGES = (
    update(people)
    .where(people.c.number == bindparam("whose"))
    .values(
        observations=people.c.observations + bindparam("added"),
        changed=people.c.changed + 1,
        newest=case((people.c.newest > _LATEST, people.c.newest), else_=_LATEST),
    )
)
_SHAPES = select(shapes.c.person, shapes.c.json, shapes.c.number).where(
    shapes.c.person.in_(bindparam("whose", expanding=True))
)


@dataclass(frozen=True)
class Position:
    """How far a source has been read; written in the same transaction as the records read from it.

    Attributes:
        label: name of the source.
        offset: bytes read.
        lines: lines read.
        json: identifies the file behind the label.

    """

    label: str
    offset: int
    lines: int
    json: str


@dataclass(frozen=True)
class Added:
    """Result of an insertion.

    Attributes:
        new: (user, id) of each record that was not in the store.
        grown: true if the observations of a person have doubled since their last evaluation.
        forgotten: records left out, or stored without a person, because of the suppression list.
        refused: records left out because their id or user name cannot be a key in every database.

    """

    new: frozenset[tuple[str, str]]
    grown: bool
    forgotten: int = 0
    refused: int = 0

    def __len__(self) -> int:
        return len(self.new)


def has_grown(rows: int, evaluated_rows: int) -> bool:
    """True if `rows` observations need an evaluation at once, after `evaluated_rows` at the last one."""
    return rows >= GROWTH * evaluated_rows + HEADSTART


def insert_observations(connection: Connection, frame: pl.DataFrame) -> Added:
    """Add the records of an observation frame that the store does not have yet. The suppression list is not applied."""
    coded = list(encode(frame))
    kept = [row for row in coded if _is_name(row.id) and _is_name(row.user)]
    rows = sorted(without_archived(connection, kept), key=lambda row: (row.user, row.at))
    known = _people(connection, [user for user, _ in groupby(rows, key=lambda row: row.user)])
    numbers = {name: person.number for name, person in known.items()}
    numbers_of_shapes = _numbers_of_shapes(connection, numbers, {(row.user, row.shape) for row in rows})
    added = _insert(
        connection,
        [
            {
                "person": numbers[row.user],
                "at": row.at,
                "id": row.id,
                "version": row.version,
                "shape": numbers_of_shapes[row.user, row.shape],
                "content": row.content,
            }
            for row in rows
        ],
    )
    names = {number: name for name, number in numbers.items()}
    counts = Counter(names[person] for person, _ in added)
    _note_changes(connection, numbers, counts, rows)
    return Added(
        frozenset((names[person], id) for person, id in added),
        any(
            has_grown(known[user].observations + count, known[user].evaluated_rows)
            for user, count in counts.items()
        ),
        refused=len(coded) - len(kept),
    )


def _is_name(text: str) -> bool:
    """True if it can be a key: PostgreSQL takes 2,700 bytes at most, and no NUL."""
    return len(text) <= LONGEST_NAME and "\0" not in text


def write_position(connection: Connection, position: Position, now: datetime) -> None:
    """Store how far a source has been read."""
    connection.execute(delete(sources).where(sources.c.label == position.label))
    connection.execute(sources.insert().values(**asdict(position), at=as_number(now)))


def read_position(connection: Connection, label: str) -> Position | None:
    """How far the source with this label has been read, or `None`."""
    columns = (sources.c.label, sources.c.offset, sources.c.lines, sources.c.json)
    row = connection.execute(select(*columns).where(sources.c.label == label)).first()
    return None if row is None else Position(*row)


def numbers_of_people(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """The number of each person; new people are added. Where the database locks rows, theirs are locked.

    Args:
        connection: in a writing transaction.
        names: sorted, so that two writers never wait for each other.
    """
    return {name: person.number for name, person in _people(connection, names).items()}


def _people(connection: Connection, names: Sequence[str]) -> dict[str, Person]:
    known = _known(connection, names)
    if new := [name for name in names if name not in known]:
        nothing = {"observations": 0, "changed": 0, "evaluated": 0, "evaluated_rows": 0}
        entry = _insert_new(connection.dialect.name, people)
        connection.execute(entry, [{"name": name, **nothing} for name in new])
        known |= _known(connection, new)
    return known


def _known(connection: Connection, names: Sequence[str]) -> dict[str, Person]:
    found: dict[str, Person] = {}
    for start in range(0, len(names), NAMES_AT_ONCE):
        asked = people.c.name.in_(names[start : start + NAMES_AT_ONCE])
        found.update((person.name, person) for person in read_people(connection, asked, locked=True))
    return found


def _numbers_of_shapes(
    connection: Connection, numbers: Mapping[str, int], wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The number of each shape of each person; new shapes are added."""
    known = _known_shapes(connection, numbers)
    highest = Counter[str]()
    for (user, _), number in known.items():
        highest[user] = max(highest[user], number)
    new = sorted(wanted - known.keys())
    for user, shape in new:
        highest[user] += 1
        known[user, shape] = highest[user]
    if new:
        entries = [
            {"person": numbers[user], "number": known[user, shape], "json": shape} for user, shape in new
        ]
        connection.execute(shapes.insert(), entries)
    return known


def _known_shapes(connection: Connection, numbers: Mapping[str, int]) -> dict[tuple[str, str], int]:
    names = {number: name for name, number in numbers.items()}
    found: dict[tuple[str, str], int] = {}
    asked = list(names)
    for start in range(0, len(asked), NAMES_AT_ONCE):
        theirs = {"whose": asked[start : start + NAMES_AT_ONCE]}
        rows = connection.execute(_SHAPES, theirs)
        found.update(((names[person], shape), number) for person, shape, number in rows)
    return found


def _insert(connection: Connection, rows: Sequence[Mapping[str, object]]) -> list[tuple[int, str]]:
    """Add rows to the observations; returns person and id of the new ones."""
    if not rows:
        return []
    entry = _insert_observations(connection.dialect.name)
    return [(person, id) for person, id in connection.execute(entry, rows)]


@cache
def _insert_observations(dialect: str) -> ReturningInsert[int, str]:
    return _insert_new(dialect, observations).returning(observations.c.person, observations.c.id)


def _insert_new(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insertion that skips existing rows."""
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def _note_changes(
    connection: Connection, numbers: Mapping[str, int], added: Mapping[str, int], rows: Iterable[Row]
) -> None:
    """Count what was added to each person and mark them for evaluation."""
    newest = {user: max(row.at for row in theirs) for user, theirs in groupby(rows, key=lambda row: row.user)}
    noted = [
        {"whose": numbers[user], "added": count, "latest": newest[user]}
        for user, count in sorted(added.items())
    ]
    if noted:
        connection.execute(_NOTE_CHANGES, noted)
