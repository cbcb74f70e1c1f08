"""Observations and people out of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Connection, select

from observations.schema import concat_observations
from pipelines.store.codec import decode
from pipelines.store.instants import as_number
from pipelines.store.parquet_archive import read_archived
from pipelines.store.schema import observations, people, shapes


class Person(NamedTuple):
    """A person in the store, as `pipelines.store.schema.people` has them."""

    number: int
    name: str
    observations: int
    changed: int
    evaluated: int
    evaluated_rows: int


def read_people(
    connection: Connection, *conditions: ColumnElement[bool], locked: bool = False
) -> list[Person]:
    """The people of whom all these conditions on `people` hold, in alphabetical order of their names.

    Args:
        connection: in any transaction.
        conditions: on the columns of `people`.
        locked: whether other writers are to wait for them until the transaction ends.
    """
    table = people.c
    query = select(
        table.number, table.name, table.observations, table.changed, table.evaluated, table.evaluated_rows
    ).where(*conditions)
    if locked:
        query = query.order_by(
            table.name
        ).with_for_update()  # in one order, so that no two wait for each other
    # Sorted here, not there: databases differ in what comes before what, and batch sorts by code point.
    return sorted((Person(*row) for row in connection.execute(query)), key=lambda person: person.name)


def read_observations(
    connection: Connection,
    whose: Sequence[Person],
    until: datetime | None = None,
    *,
    since: datetime | None = None,
) -> pl.DataFrame:
    """All records of these people in a span, as an observation frame; differing records of one id are all in it.

    Archived ones are among them: what was learned from them stays the same.

    Args:
        connection: in any transaction.
        whose: a few thousand people at most.
        until: nothing later, or everything if null.
        since: nothing earlier, or everything if null.
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
    """As `read_observations`, but only what is in the database itself."""
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
    said = {
        (person, number): text
        for person, number, text in connection.execute(
            select(shapes.c.person, shapes.c.number, shapes.c.said).where(shapes.c.person.in_(list(names)))
        )
    }
    return decode(
        [
            (names[person], at, id, said[person, shape], content)
            for person, at, id, shape, content in connection.execute(query)
        ]
    )


def parts(whose: Iterable[Person], rows: int, most: int = 4_000) -> Iterator[list[Person]]:
    """The people in their order, in parts of about so many rows and at most so many people."""
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
