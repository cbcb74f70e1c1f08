"""`Store`: observations, patterns, and everything derived from them, in one database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from types import TracebackType

import polars as pl

from observations.model import Observation
from patterns.candidates import PatternType
from patterns.model import Pattern
from patterns.settings import Settings
from pipelines.detection import Detection
from pipelines.memory.predict import Prediction
from pipelines.memory.profile import Profile
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.archive import Archived, archive_observations
from pipelines.store.audit import Audit, audit
from pipelines.store.change_feed import ChangeFeed
from pipelines.store.context import Clock, StoreContext, clock_at
from pipelines.store.database.connection import Database
from pipelines.store.database.insert import Added, Position
from pipelines.store.database.location import default_place
from pipelines.store.forget.request import ForgetRequest
from pipelines.store.forgetting import Forgetting, Forgotten
from pipelines.store.pattern_queries import PatternQueries, Shown
from pipelines.store.profiles import Profiles
from pipelines.store.record_feedback import FeedbackRecorder
from pipelines.store.status_change import Change
from pipelines.store.stored_observations import StoredObservations, frame_of
from pipelines.store.users import DEFAULT_USER, AllUsers, Users


class Store:
    """Observations and everything derived from them, in one database; a context manager.

    Each method that reads or changes the data of a person acts for one `user`: ``"me"`` unless another is named.
    An unknown user has no observations, no patterns and an empty profile; no method and no message reveals the
    names or data of other users. Operators pass `ALL_USERS` to the methods that accept it, or use `people`, which
    lists the users, and `evaluate`, `changes` and `archive`, which act on all of them.

    Many threads and processes may read a store while others write.

    Args:
        place: a file, or a URL such as ``postgresql+psycopg://host/name``; `None` for a file in the user's data folder.
        settings: thresholds and weights by which patterns are judged.
        clock: returns the current time, aware; `None` for the system clock.

    Raises:
        StoreError: it cannot be opened, is not a store, or was written by a newer habitus.
    """

    def __init__(
        self,
        place: str | Path | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._context = StoreContext(
            Database(place if place is not None else default_place()),
            settings or Settings(),
            clock or clock_at(None),
        )
        self._observations = StoredObservations(self._context)
        self._feed = ChangeFeed(self._context)
        self._queries = PatternQueries(self._context, self._observations)
        self._profiles = Profiles(self._context)
        self._feedback = FeedbackRecorder(self._context, self._queries)
        self._forgetting = Forgetting(self._context)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @property
    def database(self) -> Database:
        """The database."""
        return self._context.database

    @property
    def settings(self) -> Settings:
        """Thresholds and weights by which patterns are judged."""
        return self._context.settings

    @property
    def clock(self) -> Clock:
        """Returns the current time, aware."""
        return self._context.clock

    # --- observations -----------------------------------------------------------------------------------------

    def observe(
        self, observations: pl.DataFrame | Iterable[Observation | Mapping[str, object]], *, tz: str = "UTC"
    ) -> list[Change]:
        """Add observations, evaluate the people they are about, and return the status changes.

        Args:
            observations: an observation frame, or records of the contract (section 1), in any order. Records that
                the store has already are skipped.
            tz: zone of times without one, in records.

        Raises:
            SchemaError: a record cannot be read; nothing is stored then.
            StoreError: the store cannot be written.
        """
        self.add(frame_of(observations, tz))
        return self.changes()

    def add(self, frame: pl.DataFrame, position: Position | None = None) -> Added:
        """Add the records of an observation frame without evaluating them; they are durable when this returns.

        Args:
            frame: an observation frame (`observations.schema`), in any order. Records that the store has already are
                skipped.
            position: how far the source of these records has been read; stored in the same transaction.
        """
        return self._observations.add(frame, position)

    def observations(self, user: Users = DEFAULT_USER, *, as_of: datetime | None = None) -> pl.DataFrame:
        """The observations of a user up to `as_of` (all if `None`), one row per id, in canonical order.

        Args:
            user: name of the user, or `ALL_USERS`.
            as_of: aware.
        """
        return self._observations.read(user, as_of)

    def people(self) -> list[str]:
        """The names of all users, sorted."""
        return self._observations.people()

    def newest(self) -> datetime | None:
        """The time of the newest observation of all users, or `None`."""
        return self._observations.newest()

    def position(self, label: str) -> Position | None:
        """How far the source with this label has been read, or `None`."""
        return self._observations.position(label)

    def write_position(self, position: Position) -> None:
        """Store how far a source has been read."""
        self._observations.write_position(position)

    # --- status changes ---------------------------------------------------------------------------------------

    def changes(self) -> list[Change]:
        """Evaluate all users who need it; the status changes since the last report."""
        return self._feed.changes()

    def evaluate(
        self, *, only_grown: bool = False, unnotified: bool = False, at_once: int = PEOPLE_AT_ONCE
    ) -> Iterator[list[Change]]:
        """Evaluate all users who need it; yields the status changes since the last report, part by part.

        Args:
            only_grown: only users with so many new observations that they should not wait.
            unnotified: also users with status changes that were stored but not reported, because a process died.
            at_once: observations in one evaluation.
        """
        return self._feed.evaluate(only_grown=only_grown, unnotified=unnotified, at_once=at_once)

    def mark_notified(self, changes: Sequence[Change]) -> None:
        """Store that these changes were reported: they are not reported again."""
        self._feed.mark_notified(changes)

    def provisional_changes(self, new: pl.DataFrame) -> list[Change]:
        """The status changes that a few new observations imply, before an evaluation."""
        return self._feed.provisional(new)

    def warm_up(self, frame: pl.DataFrame) -> None:
        """Store observations and roll back, so that the first real ones are not three times as slow as later ones.

        Args:
            frame: an observation frame.
        """
        self._feed.warm_up(frame)

    # --- patterns ---------------------------------------------------------------------------------------------

    def patterns(
        self, user: Users = DEFAULT_USER, *, as_of: datetime | None = None, status: str | None = None
    ) -> Detection:
        """The patterns of a user: those of `pipelines.detect` for the same observations, with feedback applied.

        Args:
            user: name of the user, or `ALL_USERS`.
            as_of: the evaluation time, aware; `None` for now. Later observations are ignored.
            status: only patterns with this status.
        """
        return self._queries.patterns(user, self._context.moment(as_of), status)

    def show(self, id: str, user: str = DEFAULT_USER, *, as_of: datetime | None = None) -> Shown:
        """One pattern and everything behind it.

        Args:
            id: the pattern's id, or a prefix of it.
            user: name of the user.
            as_of: the evaluation time, aware; `None` for now.

        Raises:
            SettingError: the user has no such pattern, or several.
        """
        return self._queries.show(id, user, self._context.moment(as_of))

    def history(self, id: str, user: str = DEFAULT_USER, *, as_of: datetime | None = None) -> pl.DataFrame:
        """The status changes of one pattern and the feedback on it, in order of time.

        Args:
            id, user, as_of: as for `show`.

        Returns:
            `patterns.explain.JOURNAL`; in rows of feedback, `after` is its kind.

        Raises:
            SettingError: as for `show`.
        """
        return self._queries.history(id, user, self._context.moment(as_of))

    def profile(self, user: str = DEFAULT_USER, *, as_of: datetime | None = None) -> Profile:
        """What an assistant is told about a user: ``.markdown()`` or ``.json()``, within a budget of tokens.

        It is cached and rebuilt only after a change; `pipelines.store.fast_profile` reads the cache without this class.

        Args:
            user: name of the user. The profile of an unknown user is empty.
            as_of: the evaluation time, aware; `None` for now.
        """
        return self._profiles.profile(user, self._context.moment(as_of), cache=as_of is None)

    def predict(
        self, user: Users = DEFAULT_USER, *, days: int = 7, as_of: datetime | None = None
    ) -> list[Prediction]:
        """What a user will probably do in the coming days, in order of time.

        Args:
            user: name of the user, or `ALL_USERS`.
            days: how many days ahead.
            as_of: the evaluation time, aware; `None` for now.

        Raises:
            SettingError: `days` is not between 1 and 366.
        """
        return self._queries.predict(user, days, self._context.moment(as_of))

    def backtest(
        self, user: Users = DEFAULT_USER, *, days: int = 28, as_of: datetime | None = None
    ) -> pl.DataFrame:
        """How often the predictions of past days came true, by probability (`pipelines.memory.backtest.BACKTEST`).

        Args:
            user: name of the user, or `ALL_USERS`.
            days: how many days back.
            as_of: the end of the last day, aware; `None` for now.

        Raises:
            SettingError: `days` is not between 1 and 366.
        """
        return self._queries.backtest(user, days, self._context.moment(as_of))

    # --- feedback ---------------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        type: PatternType = "preference",
        *,
        user: str = DEFAULT_USER,
        rule: Mapping[str, object] | None = None,
        until: datetime | None = None,
        undo: bool = False,
    ) -> Pattern:
        """Store what a user says about themselves, as a confirmed pattern with confidence 1.

        Args:
            text: the sentence.
            type: type of the pattern.
            user: name of the user; may be new to the store.
            rule: the rule (contract, section 3) against which behavior is compared.
            until: when it expires, aware; `None` for never.
            undo: delete it instead.

        Raises:
            SettingError: the text is empty, the rule is not of that type, or there is nothing to delete.
        """
        if undo:
            return self._feedback.undo_remember(text, type, user)
        return self._feedback.remember(text, type, user, rule, until)

    def confirm(self, id: str, user: str = DEFAULT_USER, *, undo: bool = False) -> Pattern:
        """Store that a pattern is right: it is confirmed whatever its count. Returns the pattern.

        Args:
            id, user: as for `show`.
            undo: delete this feedback instead.

        Raises:
            SettingError: the user has no such pattern, or several; or there is nothing to undo.
        """
        return (
            self._feedback.undo("confirmed", id, user)
            if undo
            else self._feedback.record("confirmed", id, user)
        )

    def dismiss(self, id: str, user: str = DEFAULT_USER, *, undo: bool = False) -> Pattern:
        """Store that a pattern is unwanted: it is hidden until later observations confirm it on their own.

        Args, raises: as for `confirm`.
        """
        return (
            self._feedback.undo("dismissed", id, user)
            if undo
            else self._feedback.record("dismissed", id, user)
        )

    def pin(self, id: str, user: str = DEFAULT_USER, *, undo: bool = False) -> Pattern:
        """Store that a pattern comes first in the profile.

        Args, raises: as for `confirm`.
        """
        return self._feedback.undo("pinned", id, user) if undo else self._feedback.record("pinned", id, user)

    # --- retention --------------------------------------------------------------------------------------------

    def forget(
        self,
        *,
        user: Users,
        people: Sequence[str] = (),
        since: date | None = None,
        until: date | None = None,
        pattern: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Forget a user; or a person, a span of time or a pattern in the records of that user.

        The rest is re-evaluated, no byte of it remains in the files of the store, and reading the same export again
        does not bring it back (`pipelines.store.forget.suppression`).

        Args:
            user: name of the user, or `ALL_USERS`; no default, since with nothing else the whole user is forgotten.
            people: addresses and names of a person in these records.
            since: the first day, on the user's calendar.
            until: the last day; `None` for now.
            pattern: id of a pattern, or a prefix of it: forgotten with the observations that support it.
            dry_run: only count what would be forgotten.

        Raises:
            SettingError: nothing is named or more than one thing; or the user has no such pattern.
            StoreError: the store or an archive cannot be read or written; nothing is forgotten then.
        """
        request = ForgetRequest(_name(user), tuple(people), since, until, pattern)
        return self._forgetting.forget(request, dry_run=dry_run)

    def finish_forgetting(self) -> tuple[str, ...] | None:
        """Complete an interrupted `forget`: where erased data may remain, in words; `None` if there is none."""
        return self._forgetting.finish()

    def allow_again(self, *, user: Users, people: Sequence[str] = ()) -> int:
        """Delete entries of the suppression list, so that the next reading of a source stores what they kept out.

        Args:
            user: for whose records; `ALL_USERS` for all entries, including those that apply to all users.
            people: only entries about these addresses and names.

        Returns:
            The number of entries deleted.
        """
        return self._forgetting.allow_again(_name(user), people)

    def archive(self, older_than: timedelta, to: Path | None = None) -> Archived:
        """Move old observations of all users into Parquet files, one per month. Every answer stays the same.

        Args:
            older_than: minimum age, not negative.
            to: the folder; `None` for the one beside the store.

        Raises:
            StoreError: the database or a file cannot be read or written. Nothing is lost then.
        """
        self.finish_forgetting()
        return archive_observations(self.database, self.clock() - older_than, to)

    def audit(self, user: Users = DEFAULT_USER) -> Audit:
        """What is stored about a user: kinds, counts, time spans, retention and files.

        Args:
            user: name of the user, or `ALL_USERS`.
        """
        return audit(self.database, user)


def _name(user: Users) -> str | None:
    return None if isinstance(user, AllUsers) else user
