"""The feed of status changes: evaluates people who need it, and reports each change once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import polars as pl
from sqlalchemy import Connection

from observations.errors import StoreError
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.context import StoreContext
from pipelines.store.evaluation import evaluate_people, mark_notified, people_to_evaluate
from pipelines.store.provisional import provisional_changes
from pipelines.store.status_change import Change
from pipelines.store.stored_observations import add_observations


class _RollbackError(Exception):
    """Rolls back a warm-up."""


class ChangeFeed:
    """Evaluates all users of the store and reports status changes.

    Args:
        context: of the store.

    """

    def __init__(self, context: StoreContext) -> None:
        self._database, self._settings, self._clock = context.database, context.settings, context.clock

    def changes(self) -> list[Change]:
        """Evaluate whom it is time to evaluate, and mark the changes as reported."""
        changes = [change for part in self.evaluate() for change in part]
        self.mark_notified(changes)
        return changes

    def evaluate(
        self, *, only_grown: bool = False, unnotified: bool = False, at_once: int = PEOPLE_AT_ONCE
    ) -> Iterator[list[Change]]:
        """Evaluate whom it is time to evaluate; yields the changes since the last report, part by part."""
        now = self._clock()
        with self._database.reading() as connection:
            whose = people_to_evaluate(connection, now, only_grown=only_grown, unnotified=unnotified)
        return evaluate_people(self._database, whose, now, self._settings, at_once)

    def mark_notified(self, changes: Sequence[Change]) -> None:
        """Store that these changes were reported."""
        if changes:
            self._database.write(lambda connection: mark_notified(connection, changes))

    def provisional(self, new: pl.DataFrame) -> list[Change]:
        """The status changes that a few new observations imply, without an evaluation."""
        with self._database.reading() as connection:
            return provisional_changes(connection, new, self._clock())

    def warm_up(self, frame: pl.DataFrame) -> None:
        """Store these observations, compute their provisional changes, and roll back."""

        def work(connection: Connection) -> None:
            add_observations(connection, frame)
            provisional_changes(connection, frame, self._clock())
            raise _RollbackError

        with suppress(_RollbackError, StoreError):  # errors of the store are reported when it is used
            self._database.write(work)
