"""Observations in the store: adding them, reading them, and how far each source has been read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import polars as pl
from sqlalchemy import Connection, func, select

from observations.errors import SchemaError
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.model import Observation
from observations.schema import (
    check_observations,
    concat_observations,
    empty_observations,
    unique_observations,
)
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.context import StoreContext
from pipelines.store.database.insert import (
    Added,
    Position,
    insert_observations,
    read_position,
    write_position,
)
from pipelines.store.database.instants import as_moment
from pipelines.store.database.observation_queries import Person, parts, read_observations, read_people
from pipelines.store.database.schema import people
from pipelines.store.forget.observation_filter import apply_suppression_list
from pipelines.store.users import AllUsers, Users


class StoredObservations:
    """Adds and reads observations.

    Args:
        context: of the store.

    """

    def __init__(self, context: StoreContext) -> None:
        self._database, self._clock = context.database, context.clock

    def add(self, frame: pl.DataFrame, position: Position | None = None) -> Added:
        """Write an observation frame, and the position of its source, in one transaction."""
        now = self._clock()

        def work(connection: Connection) -> Added:
            if position is not None:
                write_position(connection, position, now)
            return add_observations(connection, frame)

        return self._database.write(work)

    def position(self, label: str) -> Position | None:
        """How far the source with this label has been read, or `None`."""
        with self._database.reading() as connection:
            return read_position(connection, label)

    def write_position(self, position: Position) -> None:
        """Store how far a source has been read."""
        now = self._clock()
        self._database.write(lambda connection: write_position(connection, position, now))

    def newest(self) -> datetime | None:
        """The time of the newest observation of all users, or `None`."""
        with self._database.reading() as connection:
            newest = connection.execute(select(func.max(people.c.newest))).scalar()
        return None if newest is None else as_moment(newest)

    def people(self) -> list[str]:
        """The names of all users, sorted."""
        with self._database.reading() as connection:
            return [person.name for person in read_people(connection)]

    def read(self, user: Users, as_of: datetime | None = None) -> pl.DataFrame:
        """The observations of a user up to `as_of`, one row per id, in canonical order."""
        with self._database.reading() as connection:
            return _read(connection, people_of(connection, user), as_of)

    def read_people(self, whose: Sequence[Person], as_of: datetime) -> pl.DataFrame:
        """As `read`, for these people."""
        with self._database.reading() as connection:
            return _read(connection, whose, as_of)


def add_observations(connection: Connection, frame: pl.DataFrame) -> Added:
    """Add the records of an observation frame that the store does not have yet and the suppression list allows."""
    allowed, suppressed = apply_suppression_list(connection, frame)
    return replace(insert_observations(connection, allowed), forgotten=suppressed)


def people_of(connection: Connection, user: Users) -> list[Person]:
    """The row of a user, or all rows for `ALL_USERS`; empty for an unknown user."""
    return (
        read_people(connection)
        if isinstance(user, AllUsers)
        else read_people(connection, people.c.name == user)
    )


def frame_of(records: pl.DataFrame | Iterable[Observation | Mapping[str, object]], tz: str) -> pl.DataFrame:
    """Records of the contract (section 1), or an observation frame, with users, ids and secrets redacted.

    Args:
        records: in any order.
        tz: zone of times without one.

    Raises:
        SchemaError: a record cannot be read, or the frame is not an observation frame.
    """
    if isinstance(records, pl.DataFrame):
        return complete(check_observations(records), _options(tz))
    rows = RawRows()
    for number, record in enumerate(records, 1):
        fields = record.model_dump(mode="json") if isinstance(record, Observation) else record
        rows.add(number, orjson.loads(orjson.dumps(fields)))
    if not len(rows):
        return empty_observations()
    batch = observe_rows(rows.take(), "record", _options(tz))
    for note in batch.notes:
        if note.level == "reject":
            raise SchemaError(f"record {note.line}: {note.message}")
    return complete(batch.observations, _options(tz))


def _options(tz: str) -> ReadOptions:
    return ReadOptions(until=datetime.max.replace(tzinfo=UTC), tz=tz)


def _read(connection: Connection, whose: Sequence[Person], as_of: datetime | None) -> pl.DataFrame:
    frames = [read_observations(connection, part, as_of) for part in parts(whose, PEOPLE_AT_ONCE)]
    # Normalized once more: a record that was dropped as a duplicate may have been the only one with a feature.
    return concat_observations([unique_observations(concat_observations(frames))])
