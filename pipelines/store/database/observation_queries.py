"""Reads observations and people from the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Connection, select

from observations.schema import concat_observations
from pipelines.store.database.codec import decode
from pipelines.store.database.instants import as_number
from pipelines.store.database.parquet_archive import read_archived
from pipelines.store.database.schema import observations, people, shapes


class Person(NamedTuple):
    """A row of `pipelines.store.database.schema.people`."""

    number: int
    name: str
    observations: int
    changed: int
    evaluated: int
    evaluated_rows: int


def read_people(
    connection: Connection, *conditions: ColumnElement[bool], locked: bool = False
) -> list[Person]:
    """The people that match all conditions, in order of their names.

    Args:
        connection: in any transaction.
        conditions: on the columns of `people`.
        locked: make other writers wait for these people until the transaction ends.
    """
    table = people.c
    query = select(
        table.number, table.name, table.observations, table.changed, table.evaluated, table.evaluated_rows
    ).where(*conditions)
    if locked:
        # In one order, so that two writers never wait for each other.
        query = query.order_by(table.name).with_for_update()
    # Sorted here: databases differ in their collation, and batch sorts by code point.
    return sorted((Person(*row) for row in connection.execute(query)), key=lambda person: person.name)


def read_observations(
    connection: Connection,
    whose: Sequence[Person],
    until: datetime | None = None,
    *,
    since: datetime | None = None,
) -> pl.DataFrame:
    """All records of these people in a span, archived ones included, as an observation frame.

    Differing records with one id are all in it.

    Args:
        connection: in any transaction.
        whose: the people, a few thousand at most.
        until: the last instant; `None` for no bound.
        since: the first instant; `None` for no bound.
    """
    stored = read_stored(connection, whose, until, since=since)
    names = [person.name for person in whose]
    return concat_observations([stored, *read_archived(connection, names, until, since=since)])


def read_stored(
    connection: Connection,
    whose: Sequence[Person],
    until: datetime | None = None,
    *,
    since: datetime | None = None,
) -> pl.DataFrame:
    """As `read_observations`, without the archives."""
    names = {person.number: person.name for person in whose}
    theirs = observations.c.person.in_(list(names))
    query = select(
        observations.c.person,
        observations.c.at,
        observations.c.id,
        observations.c.shape,
        observations.c.content,
    ).where(theirs)
    if until is not None:
        query = query.where(observations.c.at <= as_number(until))
    if since is not None:
        query = query.where(observations.c.at >= as_number(since))
    shape_texts = {
        (person, number): text
        for person, number, text in connection.execute(
            select(shapes.c.person, shapes.c.number, shapes.c.json).where(shapes.c.person.in_(list(names)))
        )
    }
    return decode(
        [
            (names[person], at, id, shape_texts[person, shape], content)
            for person, at, id, shape, content in connection.execute(query)
        ]
    )


def parts(whose: Iterable[Person], rows: int, most: int = 4_000) -> Iterator[list[Person]]:
    """The people, in order, in parts of about `rows` observations and at most `most` people."""
    part: list[Person] = []
    size = 0
    for person in whose:
        if part and (size + person.observations > rows or len(part) == most):
            yield part
            part, size = [], 0
        part.append(person)
        size += person.observations
    if part:
        yield part
