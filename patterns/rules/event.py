"""One observation as a rule looks at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import polars as pl

from observations.civil_time import WEEKDAYS
from observations.features import FEATURES
from observations.schema import split_column
from patterns.rules.where import Condition, TimeSpan, Where, alternatives, has_value

_NOT_FEATURES = ("id", "user_id", "at", "local", "tz", "actor", *FEATURES)


@dataclass(frozen=True)
class Event:
    """One observation, as a rule looks at it.

    Attributes:
        local: the wall clock.
        timed: True if it has a time of day; an all-day event has none.
        fields: type, action and features by name; a name that has values of two kinds has both.
        at: the instant, aware; None if only the wall clock is known.

    """

    local: datetime
    timed: bool
    fields: Mapping[str, tuple[object, ...]]
    at: datetime | None = None

    def since(self, earlier: Event) -> timedelta:
        """The time that passed since an earlier event: between instants where both are known, else between wall clocks."""
        if self.at is not None and earlier.at is not None:
            return self.at - earlier.at
        return self.local - earlier.local

    def matches(self, where: Where) -> bool:
        """True if the event meets every condition (`patterns.rules.where`)."""
        return all(self._meets(name, condition) for name, condition in where.items())

    @property
    def minute(self) -> float:
        """Minutes since midnight."""
        clock = self.local
        return clock.hour * 60 + clock.minute + clock.second / 60 + clock.microsecond / 60e6

    def day(self, day_starts_at: int = 0) -> date:
        """The local day that the event belongs to, if days begin at that minute; an all-day event names its own."""
        return (self.local - timedelta(minutes=day_starts_at if self.timed else 0)).date()

    def _meets(self, name: str, condition: Condition) -> bool:
        if isinstance(condition, TimeSpan):
            return name == "time_of_day" and self.timed and condition.contains(self.minute)
        return any(
            has_value(found, wanted) for found in self._values(name) for wanted in alternatives(condition)
        )

    def _values(self, name: str) -> tuple[object, ...]:
        if name == "day_of_week":
            return (WEEKDAYS[self.local.weekday()],)
        if name == "time_of_day":
            return (f"{self.local:%H:%M}",) if self.timed else ()
        return self.fields.get(name, ())


def events_of(frame: pl.DataFrame) -> Iterator[Event]:
    """The rows of an observation frame as events, in their order.

    For rules about derived features (`patterns.rules.where.DERIVED`), the frame needs them
    (`observations.features.with_features`).
    """
    columns = [name for name in frame.columns if name not in _NOT_FEATURES or name == "kind:text"]
    names = [split_column(name)[0] if ":" in name else name for name in columns]
    for at, local, *values in frame[["at", "local", *columns]].iter_rows():
        fields: dict[str, tuple[object, ...]] = {}
        for name, value in zip(names, values, strict=True):
            if value is not None:
                fields[name] = (*fields.get(name, ()), value)
        lasts_all_day = any(value is True for value in fields.get("all_day", ()))
        yield Event(local, not lasts_all_day, fields, at)
