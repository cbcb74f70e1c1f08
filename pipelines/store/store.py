"""The store: what was observed of whom, and what is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import orjson
import polars as pl
from sqlalchemy import ColumnElement, Connection, func, select

from observations.errors import SchemaError, StoreError
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.reader import ReadOptions, complete
from observations.model import Observation
from observations.schema import (
    check_observations,
    concat_observations,
    empty_observations,
    unique_observations,
)
from patterns.settings import Settings
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.answering import Answers
from pipelines.store.connection import Database, default_place
from pipelines.store.evaluation import evaluate_people, note_told, people_to_evaluate
from pipelines.store.insert import Added, Position, insert_observations, keep_position, read_position
from pipelines.store.instants import as_moment
from pipelines.store.observation_queries import Person, parts, read_observations, read_people
from pipelines.store.provisional import foretell
from pipelines.store.schema import people
from pipelines.store.status_change import Change

if TYPE_CHECKING:
    from pipelines.store.archive import Archived
    from pipelines.store.audit import Audit
    from pipelines.store.forget.forget import Forgotten


def clock_at(moment: datetime | None) -> Callable[[], datetime]:
    """A clock that stands still at the moment; the machine's if there is none."""
    return (lambda: datetime.now(UTC)) if moment is None else (lambda: moment)


class _RehearsedError(Exception):
    """Undoes a rehearsal."""


class Store(Answers):
    """Observations and what follows from them, in one database; a context manager.

    It may be read from many threads and processes while one or more write.

    Args:
        place: a file, or a URL such as ``postgresql+psycopg://host/name``; the user's data folder if null.
        settings: the numbers that patterns are judged by.
        clock: says what time it is; the machine's if null.

    Raises:
        StoreError: it cannot be opened, is no store, or was written by a newer habitus.
    """

    def __init__(
        self,
        place: str | Path | None = None,
        *,
        settings: Settings | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.database = Database(place if place is not None else default_place())
        self.settings = settings or Settings()
        self.clock = clock or clock_at(None)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def observe(
        self, observations: pl.DataFrame | Iterable[Observation | Mapping[str, object]], *, tz: str = "UTC"
    ) -> list[Change]:
        """Take in observations and evaluate the people they are of; what changed in what is believed of them.

        Args:
            observations: an observation frame, or records of the contract (section 1), in any order. What is
                there already is passed over.
            tz: zone of times that come without one, in records.

        Raises:
            SchemaError: a record cannot be read; none is stored then.
            StoreError: the store cannot be written.
        """
        frame = (
            check_observations(observations)
            if isinstance(observations, pl.DataFrame)
            else _frame(observations, tz)
        )
        self.add(frame)
        return self.changes()

    def changes(self) -> list[Change]:
        """Evaluate whom it is time to, and say what changed since this was said last."""
        changes = [change for part in self.evaluate() for change in part]
        self.note_told(changes)
        return changes

    def add(self, frame: pl.DataFrame, position: Position | None = None) -> Added:
        """Write the records of an observation frame durably, without evaluating them.

        Args:
            frame: an observation frame (`observations.schema`), in any order. What is there already is passed over.
            position: how far the source they come from has been read; kept together with them.
        """
        now = self.clock()

        def work(connection: Connection) -> Added:
            if position is not None:
                keep_position(connection, position, now)
            return insert_observations(connection, frame)

        return self.database.write(work)

    def position(self, label: str) -> Position | None:
        """How far the source of that name has been read; null if it never was."""
        with self.database.reading() as connection:
            return read_position(connection, label)

    def keep_position(self, position: Position) -> None:
        """Remember how far a source has been read."""
        now = self.clock()
        self.database.write(lambda connection: keep_position(connection, position, now))

    def newest(self) -> datetime | None:
        """When the newest observation of anybody is; null if there is none."""
        with self.database.reading() as connection:
            newest = connection.execute(select(func.max(people.c.newest))).scalar()
        return None if newest is None else as_moment(newest)

    def foretell(self, new: pl.DataFrame) -> list[Change]:
        """The status changes that a few new observations bring at once, before anything is evaluated."""
        with self.database.reading() as connection:
            return foretell(connection, new, self.clock())

    def rehearse(self, frame: pl.DataFrame) -> None:
        """Do what it takes to store and answer an observation, and undo it: the first time takes three times as long.

        Args:
            frame: an observation frame.
        """

        def work(connection: Connection) -> None:
            insert_observations(connection, frame)
            foretell(connection, frame, self.clock())
            raise _RehearsedError

        with suppress(
            _RehearsedError, StoreError
        ):  # what is wrong with the store is said when it is in earnest
            self.database.write(work)

    def evaluate(
        self, *, only_grown: bool = False, untold: bool = False, at_once: int = PEOPLE_AT_ONCE
    ) -> Iterator[list[Change]]:
        """Evaluate the people of whom something may have changed; part by part, what differs from what was told last.

        Args:
            only_grown: only those of whom so much is new that it should not wait.
            untold: else, those too of whom something was found and not told, because a process died in between.
            at_once: observations that are evaluated in one go.
        """
        now = self.clock()
        with self.database.reading() as connection:
            whose = people_to_evaluate(connection, now, only_grown=only_grown, untold=untold)
        return evaluate_people(self.database, whose, now, self.settings, at_once)

    def note_told(self, changes: Sequence[Change]) -> None:
        """Keep that these changes reached their reader: they are not told again."""
        if changes:
            self.database.write(lambda connection: note_told(connection, changes))

    def people(self) -> list[str]:
        """The names of the people in the store, in alphabetical order."""
        with self.database.reading() as connection:
            return [person.name for person in read_people(connection)]

    def observations(self, user: str | None = None, *, as_of: datetime | None = None) -> pl.DataFrame:
        """The observations of a person (or of everybody) up to a moment, one row each, in canonical order."""
        with self.database.reading() as connection:
            frames = [
                read_observations(connection, part, as_of)
                for part in parts(self._whose(connection, user), PEOPLE_AT_ONCE)
            ]
        # Again, for a version that was not chosen may have been alone in a feature.
        return concat_observations([unique_observations(concat_observations(frames))])

    def forget(
        self,
        *,
        user: str | None = None,
        people: Sequence[str] = (),
        since: date | None = None,
        until: date | None = None,
        pattern: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Forget a user; or a person, a span of time or a pattern in that user's records, or in everybody's.

        What is left is evaluated anew, no byte of the rest is left in the files of the store, and it is not let in
        again when the same export is read once more (`pipelines.store.forget.suppression`).

        Args:
            user: whose records.
            people: addresses and names of a person in them.
            since: the first day, on the user's calendar.
            until: the last day; now if null.
            pattern: id of a pattern, or the beginning of it: what supports it is forgotten with it.
            dry_run: only say what would be forgotten.

        Raises:
            SettingError: it is nothing or two things at once, or there is no such user or pattern.
            StoreError: the store or an archive cannot be read or written; nothing is forgotten then.
        """
        from pipelines.store.forget.forget import finish, forget
        from pipelines.store.forget.request import Wish

        wish = Wish(user, tuple(people), since, until, pattern)
        if not dry_run:
            finish(self.database, self.clock(), self.settings)
        return forget(self.database, wish, self.clock(), self.settings, dry_run=dry_run)

    def finish_forgetting(self) -> tuple[str, ...] | None:
        """Do what a crash kept a forgetting from; in words, where something may still be. Null if there was nothing."""
        from pipelines.store.forget.forget import finish

        return finish(self.database, self.clock(), self.settings)

    def allow_again(self, *, user: str | None = None, people: Sequence[str] = ()) -> int:
        """Let in again what was forgotten: of a user, of a person, or all of it; how many rules kept it out."""
        from pipelines.store.forget.forget import allow_again

        return allow_again(self.database, user, people)

    def archive(self, older_than: timedelta, to: Path | None = None) -> Archived:
        """Move old observations into Parquet files, a month each. Every answer stays what it is.

        Args:
            older_than: how old an observation has to be, not negative.
            to: the folder; the one beside the store if null.

        Raises:
            StoreError: the database or a file cannot be read or written. Nothing is lost then.
        """
        from pipelines.store.archive import archive_observations

        self.finish_forgetting()
        return archive_observations(self.database, self.clock() - older_than, to)

    def audit(self, user: str | None = None) -> Audit:
        """What is stored of a user (of everybody if null): kinds, counts, spans, for how long, and where.

        Raises:
            SettingError: nothing is stored of that user.
        """
        from pipelines.store.audit import audit

        return audit(self.database, user)

    @staticmethod
    def _whose(connection: Connection, user: str | None) -> list[Person]:
        conditions: list[ColumnElement[bool]] = [] if user is None else [people.c.name == user]
        return read_people(connection, *conditions)


def _frame(records: Iterable[Observation | Mapping[str, object]], tz: str) -> pl.DataFrame:
    rows = RawRows()
    for number, record in enumerate(records, 1):
        said = record.model_dump(mode="json") if isinstance(record, Observation) else record
        rows.add(number, orjson.loads(orjson.dumps(said)))
    if not len(rows):
        return empty_observations()
    batch = observe_rows(rows.take(), "record", _options(tz))
    for note in batch.notes:
        if note.level == "reject":
            raise SchemaError(f"record {note.line}: {note.message}")
    return complete(batch.observations, _options(tz))


def _options(tz: str) -> ReadOptions:
    return ReadOptions(until=datetime.max.replace(tzinfo=UTC), tz=tz)
