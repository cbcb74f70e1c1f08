"""A log as rules count on it: which events match, which local day each belongs to, on which days a person was active.

A rule names the hour at which its days begin (`day_starts_at`), independent of the settings of the log. So times here
are wall clocks, and days begin where the rule begins them::

    wall clock     22:00        00:00        04:00        08:00
    from 00:00  ─── Friday ──────┤├── Saturday ────────────────────
    from 04:00  ─── Friday ───────────────────┤├── Saturday ───────
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from observations.civil_time import MICROSECONDS_PER_DAY, MICROSECONDS_PER_MINUTE, MINUTES_PER_DAY, WEEKDAYS
from patterns.eventlog.arrays import Flags, Floats, Ints, pack, ranges, unpack
from patterns.eventlog.log import ActiveDays, Log, day_key, weekday_of
from patterns.rules.where import FROM_LOCAL_TIME, Condition, TimeSpan, Where, alternatives

RuleT_co = TypeVar("RuleT_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Asked(Generic[RuleT_co]):
    """Rules of one shape, and whose they are.

    Attributes:
        user: (rules,) index into the log's users.
        rules: the rules.
    """

    user: Ints
    rules: Sequence[RuleT_co]

    def __len__(self) -> int:
        return len(self.rules)


@dataclass(frozen=True, eq=False)
class Opportunities:
    """Opportunities whose outcome is known.

    Attributes:
        rule: (n,) which rule's.
        local: (n,) wall clock at which the outcome was known, µs since 1970.
        kept: (n,) True if the rule was kept.
    """

    rule: Ints
    local: Ints
    kept: Flags

    @classmethod
    def joined(cls, parts: Sequence[Opportunities]) -> Opportunities:
        """All of them, one part after the other."""
        if not parts:
            nothing = np.empty(0, dtype=np.int64)
            return cls(nothing, nothing, nothing.astype(np.bool_))
        return cls(
            rule=np.concatenate([part.rule for part in parts]),
            local=np.concatenate([part.local for part in parts]),
            kept=np.concatenate([part.kept for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Days:
    """The local days of a log, each beginning at the same minute.

    Attributes:
        starts_at: minutes after midnight at which a day begins.
        day: (events,) days since 1970.
        minute: (events,) minutes since the day began; nan for an all-day event.
        active: the days on which each person left any trace.
    """

    starts_at: int
    day: Ints
    minute: Floats
    active: ActiveDays

    def wall_clock(self, day: Ints, minute: Floats | Ints) -> Ints:
        """(n,) µs since 1970 of so many minutes after the beginning of each day."""
        offset = np.round((np.asarray(minute, dtype=np.float64) + self.starts_at) * MICROSECONDS_PER_MINUTE)
        return day * MICROSECONDS_PER_DAY + offset.astype(np.int64)

    def active_days(self, user: Ints) -> tuple[Ints, Ints]:
        """Each rule with each day on which its person was active: (rule, day).

        Args:
            user: (rules,) whose the rules are.
        """
        length = self.active.count[user]
        return np.repeat(np.arange(len(user)), length), self.active.day[
            ranges(self.active.start[user], length)
        ]


@dataclass(frozen=True, eq=False)
class RuleLog:
    """A log as rules count on it.

    Attributes:
        log: the events of everybody; its own `day_starts_at` does not matter here.
    """

    log: Log
    _days: dict[int, Days] = field(default_factory=dict)

    @cached_property
    def local(self) -> Ints:
        """(events,) the wall clock, µs since 1970."""
        local: Ints = self.log.frame.get_column("local").dt.epoch("us").to_numpy().astype(np.int64)
        return local

    @cached_property
    def timed(self) -> Flags:
        """(events,) True for events with a time of day; False for all-day events."""
        return ~np.isnan(self.log.minute)

    @cached_property
    def now(self) -> Ints:
        """(users,) the wall clock at the evaluation time, µs since 1970."""
        return self.log.as_of_local + self.log.day_starts_at * 60 * MICROSECONDS_PER_MINUTE

    def days(self, starts_at: int) -> Days:
        """The local days, if each begins at that minute."""
        if starts_at not in self._days:
            # An all-day event belongs to the date that it names.
            shifted = self.local - np.where(self.timed, starts_at * MICROSECONDS_PER_MINUTE, 0)
            day = shifted // MICROSECONDS_PER_DAY
            minute = np.where(
                self.timed, (shifted - day * MICROSECONDS_PER_DAY) / MICROSECONDS_PER_MINUTE, np.nan
            )
            active = ActiveDays.of(self.log.user, day, len(self.log.users))
            self._days[starts_at] = Days(starts_at, day, minute, active)
        return self._days[starts_at]

    def matches(self, user: Ints, wheres: Sequence[Where]) -> tuple[Ints, Ints]:
        """Pairs of a `where` and an event of its person that matches it, sorted by both: (where, event).

        Args:
            user: (wheres,) whose each is.
            wheres: the conditions (`patterns.rules.where`).
        """
        keyed = [_keyed(where) for where in wheres]
        names = [tuple(sorted(keys)) for keys in keyed]
        pairs = [np.empty(0, dtype=np.int64)]
        for fields in sorted(set(names)):
            mine = [i for i, own in enumerate(names) if own == fields]
            rows = [
                (i, int(user[i]), *values) for i in mine for values in product(*(keyed[i][n] for n in fields))
            ]
            schema = {"rule": pl.Int64, "user": pl.Int64} | {
                f"field {n}": pl.String for n in range(len(fields))
            }
            wanted = pl.DataFrame(rows, schema=schema, orient="row")
            for columns in product(*(self._text_columns(name) for name in fields)):
                found = wanted.join(self._by_value(columns), on=wanted.columns[1:])
                pairs.append(pack(found["rule"].to_numpy(), found["event"].to_numpy()))
        rule, event = unpack(np.unique(np.concatenate(pairs)))
        stays = np.ones(len(rule), dtype=np.bool_)
        for i, where in enumerate(wheres):
            for name, condition in where.items():
                if name not in keyed[i]:
                    here = np.flatnonzero(rule == i)
                    stays[here] &= self._meets(name, condition, event[here])
        return rule[stays], event[stays]

    def _text(self, name: str) -> pl.Series:
        """The column of a field that follows from the local time."""
        local = self.log.frame.get_column("local")
        if name == "day_of_week":
            return pl.Series(WEEKDAYS, dtype=pl.String).gather(weekday_of(self.local // MICROSECONDS_PER_DAY))
        return local.dt.strftime("%H:%M").set(pl.Series(~self.timed), None)

    def _text_columns(self, name: str) -> list[str]:
        """The columns that hold a field's texts."""
        if name in FROM_LOCAL_TIME:
            return [name]
        if name in ("type", "action"):
            return [name]
        return [c for c in (f"{name}:text", f"{name}:list") if c in self.log.frame.columns]

    def _by_value(self, columns: Sequence[str]) -> pl.DataFrame:
        """The events with the values they are matched by; an event is there once for each text of a list."""
        frame = pl.DataFrame({"event": np.arange(len(self.log)), "user": self.log.user.astype(np.int64)})
        for n, column in enumerate(columns):
            series = self._text(column) if column in FROM_LOCAL_TIME else self.log.frame.get_column(column)
            frame = frame.with_columns(series.alias(f"field {n}"))
        for n, column in enumerate(columns):
            if column.endswith(":list"):
                frame = frame.explode(f"field {n}")
        return frame.drop_nulls()

    def _meets(self, name: str, condition: Condition, event: Ints) -> Flags:
        """(n,) True where the event meets a condition that is more than a choice of texts."""
        if isinstance(condition, TimeSpan):
            minute = self.days(0).minute[event]
            return (
                condition.contain(minute) if name == "time_of_day" else np.zeros(len(event), dtype=np.bool_)
            )
        met = np.zeros(len(event), dtype=np.bool_)
        for value in alternatives(condition):
            if isinstance(value, str):
                columns = self._text_columns(name)
            else:
                column = f"{name}:{'flag' if isinstance(value, bool) else 'number'}"
                columns = [column] if column in self.log.frame.columns else []
            for column in columns:
                series = (
                    self._text(column) if column in FROM_LOCAL_TIME else self.log.frame.get_column(column)
                )
                chosen = series.gather(event)
                same = chosen.list.contains(value) if column.endswith(":list") else chosen == value
                met |= same.fill_null(False).to_numpy()
        return met


def _keyed(where: Where) -> dict[str, list[str]]:
    """The conditions that are a choice of texts: by field, the texts allowed."""
    found: dict[str, list[str]] = {}
    for name, condition in where.items():
        texts = [value for value in alternatives(condition) if isinstance(value, str)]
        if texts and len(texts) == len(alternatives(condition)):
            found[name] = texts
    return found


def chosen_of_each_day(rule: Ints, day: Ints, *, last: bool = False) -> Ints:
    """Indices of the first (last) event of each rule and day.

    Args:
        rule, day: (n,) of events that are in order of time within a rule.
        last: choose the last of each day.
    """
    keys = day_key(rule, day)
    if last:
        _, at = np.unique(keys[::-1], return_index=True)
        return np.sort(len(keys) - 1 - at)
    _, at = np.unique(keys, return_index=True)
    return np.sort(at)


def minutes_apart(minute: Floats, clock: Floats | float) -> Floats:
    """(n,) minutes between times of day, on the circle."""
    apart: Floats = np.abs(minute - clock) % MINUTES_PER_DAY
    return np.minimum(apart, MINUTES_PER_DAY - apart)
