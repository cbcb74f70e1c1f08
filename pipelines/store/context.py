"""What the parts of the store share: the database, the settings and the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from patterns.settings import Settings
from pipelines.store.database.connection import Database

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class StoreContext:
    """What the parts of a `Store` share.

    Attributes:
        database: holds everything.
        settings: thresholds and weights by which patterns are judged.
        clock: returns the current time, aware.

    """

    database: Database
    settings: Settings
    clock: Clock

    def moment(self, as_of: datetime | None) -> datetime:
        """The evaluation time in UTC: `as_of`, or now if it is `None`."""
        return (as_of or self.clock()).astimezone(UTC)


def clock_at(moment: datetime | None) -> Clock:
    """A clock that always returns `moment`; the system clock if it is `None`."""
    return (lambda: datetime.now(UTC)) if moment is None else (lambda: moment)
