"""Caches profiles in the store: built when patterns change, read with one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl
from sqlalchemy import Connection, delete, func, select, text

from patterns.settings import Settings
from pipelines.memory.feedback import apply_feedback
from pipelines.memory.feedback_record import FeedbackRecord
from pipelines.memory.profile import Profile
from pipelines.memory.profile_ranking import profile_of
from pipelines.store.database.feedback_rows import read_feedback
from pipelines.store.database.instants import as_number
from pipelines.store.database.observation_queries import Person
from pipelines.store.database.schema import observations, profile
from pipelines.store.fast_profile import QUERY, profile_from

# As text: SQLAlchemy compiles an expression once per engine, which takes as long as the query itself.
_QUERY = text(QUERY)


@dataclass(frozen=True)
class BuiltProfiles:
    """Profiles that were built.

    Attributes:
        profiles: by name of the person.
        valid_until: the next instant at which each may change without new data, by name, µs since 1970 UTC.
        feedback: the feedback they include; a profile is not cached if there is newer feedback.
        hidden: user and id of each dismissed pattern.

    """

    profiles: Mapping[str, Profile]
    valid_until: Mapping[str, int]
    feedback: Sequence[FeedbackRecord]
    hidden: frozenset[tuple[str, str]]


def read_profile(connection: Connection, user: str, now: datetime) -> Profile | None:
    """The cached profile of a user if it is still valid at `now`, else `None`."""
    moment = as_number(now)
    row = connection.execute(_QUERY, {"name": user, "now": moment}).scalar()
    return None if row is None else profile_from(str(row), moment)


def build_profiles(
    connection: Connection,
    whose: Sequence[Person],
    patterns: pl.DataFrame,
    frame: pl.DataFrame,
    stale: Mapping[str, int],
    now: datetime,
    settings: Settings,
) -> BuiltProfiles:
    """The profiles of these people.

    Args:
        connection: in the transaction in which the observations were read.
        whose: the people.
        patterns: of these people, as evaluated at `now`.
        frame: the observations of these people up to `now`.
        stale: the next instant at which a pattern of each may change without new data, by name, µs since 1970 UTC.
        now: the evaluation time.
        settings: thresholds and weights.
    """
    feedback = read_feedback(connection, whose, now)
    shown = apply_feedback(patterns, feedback, frame, now, settings)
    hidden = frozenset(patterns.select("user_id", "id").rows()) - set(shown.select("user_id", "id").rows())
    by_user = shown.partition_by("user_id", as_dict=True)
    newest = dict(frame.group_by("user_id").agg(pl.col("local").max().dt.date().cast(pl.String)).iter_rows())
    nothing = patterns.clear()
    profiles = {
        person.name: profile_of(by_user.get((person.name,), nothing), newest.get(person.name), settings)
        for person in whose
    }
    return BuiltProfiles(profiles, _earlier(stale, _ends(feedback, now)), feedback, hidden)


def write_profiles(
    connection: Connection, whose: Sequence[Person], built: BuiltProfiles, now: datetime
) -> None:
    """Replace the cached profiles of these people. Needs a writing transaction."""
    connection.execute(delete(profile).where(profile.c.person.in_([person.number for person in whose])))
    changed = set(map(_key, read_feedback(connection, whose, now))) ^ {
        _key(record) for record in built.feedback if record.user in {person.name for person in whose}
    }
    rows = [
        {
            "person": person.number,
            "text": f"{as_number(now)} {built.profiles[person.name].to_text()}",
            "changed": person.changed,
            "valid_until": built.valid_until.get(person.name),
        }
        for person in whose
        if person.name not in {user for user, *_ in changed}
    ]
    if rows:
        connection.execute(profile.insert(), rows)


def next_observations(connection: Connection, whose: Sequence[Person], now: datetime) -> dict[str, int]:
    """The time of the first stored observation after `now`, by name of the person, µs since 1970 UTC."""
    names = {person.number: person.name for person in whose}
    ahead = (
        select(observations.c.person, func.min(observations.c.at))
        .where(observations.c.person.in_(list(names)), observations.c.at > as_number(now))
        .group_by(observations.c.person)
    )
    return {names[person]: at for person, at in connection.execute(ahead)}


def _ends(feedback: Sequence[FeedbackRecord], now: datetime) -> dict[str, int]:
    """The next instant at which a remembered pattern of each person ends, by name."""
    ends: dict[str, int] = {}
    for record in feedback:
        until = record.about.get("until")
        if until is not None and (end := as_number(datetime.fromisoformat(until))) > as_number(now):
            ends[record.user] = min(end, ends.get(record.user, end))
    return ends


def _earlier(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {
        name: min(times[name] for times in (one, other) if name in times)
        for name in one.keys() | other.keys()
    }


def _key(record: FeedbackRecord) -> tuple[str, str, str, datetime]:
    return (record.user, record.pattern, record.kind, record.at)
