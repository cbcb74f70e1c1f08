"""Profiles, kept ready in the store: made when patterns change, read with one look-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, select, text

from pipelines.memory.profile import Profile
from pipelines.store.feedback_rows import Said, read_words
from pipelines.store.instants import as_number
from pipelines.store.observation_queries import Person
from pipelines.store.schema import observations, profile

if TYPE_CHECKING:
    import polars as pl

    from patterns.settings import Settings

# As text: SQLAlchemy compiles an expression for each new engine, which takes as long as the look-up itself.
_READY = text(
    "SELECT profile.said FROM people JOIN profile ON profile.person = people.number "
    "WHERE people.name = :name AND profile.changed = people.changed "
    "AND (profile.valid_until IS NULL OR profile.valid_until > :now)"
)


@dataclass(frozen=True)
class Made:
    """Profiles that were made.

    Attributes:
        profiles: by the person's name.
        valid_until: when time alone may change each next, by name, µs since 1970 UTC.
        words: what the people had said by then; a profile is not kept if they have said something since.
        hidden: user and id of each pattern that the person dismissed.

    """

    profiles: Mapping[str, Profile]
    valid_until: Mapping[str, int]
    words: Sequence[Said]
    hidden: frozenset[tuple[str, str]]


def read_profile(connection: Connection, user: str, now: datetime) -> Profile | None:
    """The profile of a person, if one is kept that is what it would be if it were made now."""
    moment = as_number(now)
    said = connection.execute(_READY, {"name": user, "now": moment}).scalar()
    if said is None:
        return None
    made_at, _, kept = str(said).partition(" ")
    return Profile.from_text(kept) if int(made_at) <= moment else None


def make_profiles(
    connection: Connection,
    whose: Sequence[Person],
    patterns: pl.DataFrame,
    frame: pl.DataFrame,
    stale: Mapping[str, int],
    now: datetime,
    settings: Settings,
) -> Made:
    """The profiles of these people.

    Args:
        connection: that sees the store as it was when the observations were read.
        whose: the people.
        patterns: theirs, as evaluated at `now`.
        frame: their observations up to `now`.
        stale: when time alone may change a pattern of each next, by name, µs since 1970 UTC.
        now: the evaluation time.
        settings: by which patterns are judged.
    """
    import polars as pl

    from pipelines.memory.feedback import with_words
    from pipelines.memory.profile_ranking import profile_of

    words = read_words(connection, whose, now)
    spoken_of = with_words(patterns, words, frame, now, settings)
    hidden = frozenset(patterns.select("user_id", "id").rows()) - set(
        spoken_of.select("user_id", "id").rows()
    )
    believed = spoken_of.partition_by("user_id", as_dict=True)
    newest = dict(frame.group_by("user_id").agg(pl.col("local").max().dt.date().cast(pl.String)).iter_rows())
    nothing = patterns.clear()
    profiles = {
        person.name: profile_of(believed.get((person.name,), nothing), newest.get(person.name), settings)
        for person in whose
    }
    return Made(profiles, _sooner(stale, _ends(words, now)), words, hidden)


def keep_profiles(connection: Connection, whose: Sequence[Person], made: Made, now: datetime) -> None:
    """Keep what was made for these people in place of what was kept before. Within a writing transaction."""
    connection.execute(delete(profile).where(profile.c.person.in_([person.number for person in whose])))
    spoken = set(map(_key, read_words(connection, whose, now))) ^ {
        _key(word) for word in made.words if word.user in {person.name for person in whose}
    }
    rows = [
        {
            "person": person.number,
            "said": f"{as_number(now)} {made.profiles[person.name].to_text()}",
            "changed": person.changed,
            "valid_until": made.valid_until.get(person.name),
        }
        for person in whose
        if person.name not in {user for user, *_ in spoken}
    ]
    if rows:
        connection.execute(profile.insert(), rows)


def next_observations(connection: Connection, whose: Sequence[Person], now: datetime) -> dict[str, int]:
    """When the first observation of each person is that lies ahead and will count then, by name, µs since 1970 UTC."""
    names = {person.number: person.name for person in whose}
    ahead = (
        select(observations.c.person, func.min(observations.c.at))
        .where(observations.c.person.in_(list(names)), observations.c.at > as_number(now))
        .group_by(observations.c.person)
    )
    return {names[person]: at for person, at in connection.execute(ahead)}


def _ends(words: Sequence[Said], now: datetime) -> dict[str, int]:
    """When something that each person said for a time only ends next."""
    ends: dict[str, int] = {}
    for word in words:
        until = word.about.get("until")
        if until is not None and (end := as_number(datetime.fromisoformat(until))) > as_number(now):
            ends[word.user] = min(end, ends.get(word.user, end))
    return ends


def _sooner(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {
        name: min(times[name] for times in (one, other) if name in times)
        for name in one.keys() | other.keys()
    }


def _key(word: Said) -> tuple[str, str, str, datetime]:
    return (word.user, word.pattern, word.word, word.at)
