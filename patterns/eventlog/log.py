"""The log: one frame of observations, of many people, turned into the arrays that detectors count with.

Detectors work on these arrays only, for all people at once; people never mix because every key begins with the
person. A row is an event; events are sorted by person and time, so an event's number is also its place in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import polars as pl

from observations.civil_time import (
    MICROSECONDS_PER_DAY,
    MICROSECONDS_PER_HOUR,
    MICROSECONDS_PER_MINUTE,
    MINUTES_PER_DAY,
)
from observations.errors import SettingError
from observations.features import with_features
from observations.schema import check_observations, feature_columns, unique_observations
from patterns.eventlog.arrays import Flags, Floats, Ints, count_table, distinct, pack, unpack
from patterns.eventlog.category_codes import coded, pair_codes
from patterns.settings import Settings

OCCASION_GAP = MICROSECONDS_PER_HOUR
"""Supports closer than this (in microseconds) are one occasion (design, section 4)."""

_UNANSWERED = "needs-action"
"""RFC 5545, section 3.2.12: an invitation that the person has not accepted."""

HOLIDAY_DAYS = 21
"""A silence of up to so many days, after which a person is back, is a holiday."""

_DAY_OFFSET = 2**31


@dataclass(frozen=True, eq=False)
class Log:
    """Events of all people, sorted by person, instant and id.

    Attributes:
        frame: the observations themselves, with the columns of `observations.features.with_features`.
        users: the people's names, in alphabetical order; `user` holds indices into it.
        user: (events,) whose event it is.
        at: (events,) the instant, µs since 1970 UTC.
        day: (events,) the local day, days since 1970.
        minute: (events,) minutes since the day began; nan for what lasts all day.
        as_of_local: (users,) the wall clock at the evaluation time, µs, by each person's latest offset.
        day_starts_at: hour of the clock at which a day begins; `day`, `minute` and `as_of_local` are counted from it.

    """

    frame: pl.DataFrame
    users: tuple[str, ...]
    user: Ints
    at: Ints
    day: Ints
    minute: Floats
    as_of_local: Ints
    day_starts_at: int = 0

    @classmethod
    def of(cls, featured: pl.DataFrame, as_of: datetime | None, settings: Settings) -> Log:
        """The log of an observation frame with features, as far as it counts as evidence by `as_of`.

        Events after `as_of`, by an agent, sent by a machine (``automatic``), and invitations that the person never
        answered are left out. Without `as_of`, each person is judged at their own newest observation, so that nobody's
        answer depends on others.

        Raises:
            SettingError: `as_of` has no time zone.
        """
        newest = pl.col("at").max().over("user_id")
        judged_at = newest if as_of is None else pl.lit(_in_utc(as_of))
        featured = featured.with_columns(judged_at.alias("as_of"))
        evidence = (pl.col("at") <= pl.col("as_of")) & (pl.col("actor") == "user")
        if "automatic:flag" in featured.columns:
            evidence &= ~pl.col("automatic:flag").fill_null(False)
        if "response:text" in featured.columns:
            evidence &= pl.col("response:text").ne_missing(_UNANSWERED)
        frame = featured.filter(evidence).sort("user_id", "at", "id", maintain_order=True)
        shifted = pl.col("local") - pl.duration(hours=settings.day_starts_at)
        timed = pl.col("minute").is_not_null()
        # An all-day event has no hour, so `day_starts_at` does not shift it: its day is the date it names.
        frame = frame.with_columns(
            day=pl.when(timed).then(shifted).otherwise("local").dt.date(),
            minute=pl.when(timed).then((pl.col("minute") - 60.0 * settings.day_starts_at) % MINUTES_PER_DAY),
        )
        codes = frame.get_column("user_id").rle_id().to_numpy().astype(np.int64)
        users = tuple(frame.get_column("user_id").unique(maintain_order=True))
        at = frame.get_column("at").dt.epoch("us").to_numpy().astype(np.int64)
        local = frame.get_column("local").dt.epoch("us").to_numpy().astype(np.int64)
        last = _last_of_each(codes, len(users))
        now = frame.get_column("as_of").dt.epoch("us").to_numpy().astype(np.int64)
        return cls(
            frame=frame.drop("as_of"),
            users=users,
            user=codes,
            at=at,
            day=frame.get_column("day").to_physical().to_numpy().astype(np.int64),
            minute=frame.get_column("minute").to_numpy().astype(np.float64),
            as_of_local=now[last] + local[last] - at[last] - settings.day_starts_at * MICROSECONDS_PER_HOUR,
            day_starts_at=settings.day_starts_at,
        )

    @classmethod
    def of_observations(cls, observations: pl.DataFrame, as_of: datetime | None, settings: Settings) -> Log:
        """The log of an observation frame, in whatever order and however often repeated its rows are.

        Raises:
            SchemaError: `observations` is no observation frame.
            SettingError: `as_of` has no zone.
        """
        return cls.of(with_features(unique_observations(check_observations(observations))), as_of, settings)

    def __len__(self) -> int:
        return len(self.user)

    @property
    def features(self) -> list[str]:
        """The feature columns of the frame."""
        named = feature_columns(self.frame.columns)
        return [c for c in named if ":" in c]

    @cached_property
    def offset(self) -> Ints:
        """(events,) how far the person's clock is ahead of UTC, µs."""
        return (
            self.frame.select(pl.col("local").dt.epoch("us") - pl.col("at").dt.epoch("us"))
            .to_series()
            .to_numpy()
        )

    @cached_property
    def weekday(self) -> Ints:
        """(events,) Monday 0 … Sunday 6."""
        return weekday_of(self.day)

    @cached_property
    def time_rank(self) -> Ints:
        """(events,) the rank of each one's time of day: small whole numbers to sort by."""
        _, rank = np.unique(self.minute, return_inverse=True)
        return np.asarray(rank, dtype=np.int64)

    @cached_property
    def kind(self) -> Ints:
        """(events,) a number for each pair of person and type."""
        return pair_codes(self.user, coded(self.frame.get_column("type"))[0])

    @cached_property
    def recorded(self) -> tuple[Ints, Ints]:
        """(kinds,) first and last day with any event of each `kind`: after a source ends, nothing is missed."""
        kinds = int(self.kind.max(initial=-1)) + 1
        first, last = np.full(kinds, np.iinfo(np.int64).max), np.full(kinds, np.iinfo(np.int64).min)
        np.minimum.at(first, self.kind, self.day)
        np.maximum.at(last, self.kind, self.day)
        return first, last

    @cached_property
    def active(self) -> ActiveDays:
        """The days on which each person has any event."""
        return ActiveDays.of(self.user, self.day, len(self.users))


@dataclass(frozen=True, eq=False)
class ActiveDays:
    """The days on which each person has any event: only these are opportunities (design, property 5).

    Attributes:
        user, day: (active days,) sorted by person and day.
        start: (users + 1,) where each person's days begin.

    """

    user: Ints
    day: Ints
    start: Ints

    @classmethod
    def of(cls, user: Ints, day: Ints, users: int) -> ActiveDays:
        """The distinct days of each person."""
        owner, days = owner_and_day(distinct(day_key(user, day)))
        return cls(owner, days, np.searchsorted(owner, np.arange(users + 1)))

    @cached_property
    def _key(self) -> Ints:
        return day_key(self.user, self.day)

    def position(self, user: Ints, day: Ints) -> Ints:
        """Index of the first active day of that person at or after that day (may be one past their last)."""
        return np.searchsorted(self._key, day_key(user, day))

    def after_holiday(self, user: Ints, day: Ints) -> Ints:
        """(n,) each day, or the end of the holiday in which it lies.

        A holiday is a silence of up to three weeks after which the person is back: nothing was due in it. A longer
        silence, or one that is not over yet, is no holiday: a habit that has stopped must expire.
        """
        following = self.position(user, day)
        back = np.minimum(following, len(self.day) - 1)
        left = np.maximum(following - 1, 0)
        same = (
            (self.user[back] == user)
            & (following < len(self.day))
            & (self.user[left] == user)
            & (following > 0)
        )
        resting = same & (self.day[back] > day) & (self.day[back] - self.day[left] - 1 <= HOLIDAY_DAYS)
        return np.where(resting, self.day[back], day)

    @property
    def count(self) -> Ints:
        """(users,) how many active days each person has."""
        return np.diff(self.start)

    @cached_property
    def by_weekday(self) -> Ints:
        """(users, 7) how many active days of each weekday each person has."""
        return count_table(self.user, weekday_of(self.day), (len(self.start) - 1, 7))


def day_key(owner: Ints, day: Ints) -> Ints:
    """(n,) one key that sorts by owner, then by day; days before 1970 are negative."""
    return pack(owner, day + _DAY_OFFSET)


def owner_and_day(keys: Ints) -> tuple[Ints, Ints]:
    """(n,) the owner and the day of each key that `day_key` made."""
    owner, day = unpack(keys)
    return owner, day - _DAY_OFFSET


def weekday_of(day: Ints) -> Ints:
    """Monday 0 … Sunday 6 of days since 1970 (which began on a Thursday)."""
    return (day + 3) % 7


def wall_clock(day: Ints, minute: Floats) -> Ints:
    """(n,) wall clock, µs since 1970, of days since then and minutes of the day; nan (all day) is midnight."""
    return day * MICROSECONDS_PER_DAY + np.round(np.nan_to_num(minute) * MICROSECONDS_PER_MINUTE).astype(
        np.int64
    )


def occasions(group: Ints, at: Ints) -> Flags:
    """(n,) True for events that begin a new occasion of their group: an hour or more after the one before.

    Args:
        group: (n,) sorted group keys.
        at: (n,) instants in µs, sorted within each group.

    """
    first = np.ones(len(group), dtype=np.bool_)
    first[1:] = (group[1:] != group[:-1]) | (np.diff(at) >= OCCASION_GAP)
    return first


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise SettingError(f"as_of needs a zone or an offset; {moment.isoformat()} has none")
    return moment.astimezone(UTC)


def _last_of_each(codes: Ints, groups: int) -> Ints:
    return np.searchsorted(codes, np.arange(groups), side="right") - 1
