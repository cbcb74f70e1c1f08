"""What is to be forgotten, and the rules that say which observations that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

import orjson
import polars as pl
from sqlalchemy import Connection, func, select, true

from observations.errors import SettingError, did_you_mean
from patterns.explain import explain
from patterns.rules.sameness import is_same
from patterns.settings import Settings
from pipelines.store.forget.suppression import Mentions, Rule, Seal, has_words
from pipelines.store.instants import as_number
from pipelines.store.observation_queries import Person, read_observations, read_people
from pipelines.store.schema import patterns, people, words

WishKind = Literal["user", "person", "span", "pattern"]

_ROUNDS = 20
"""After so many rounds nothing like the pattern is left of any real log."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock


@dataclass(frozen=True)
class Wish:
    """What is to be forgotten: a user, or one of the others, of that user or of everybody.

    Attributes:
        user: whose records; everybody's if null.
        people: addresses or names of a person in these records.
        since: the first day, on the user's calendar; null from the beginning.
        until: the last day; null until now.
        pattern: id of a pattern, or the beginning of it.

    Raises:
        SettingError: it is nothing, or two things at once.

    """

    user: str | None = None
    people: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        said = [bool(self.people), self.since is not None or self.until is not None, self.pattern is not None]
        if sum(said) > 1:
            raise SettingError("name one thing to forget at a time: a person, a span of time or a pattern")
        if not any(said) and self.user is None:
            raise SettingError("say what to forget: --user, --person, --from and --to, or --pattern")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise SettingError(
                f"--from {self.since} is later than --to {self.until}; nothing lies between them"
            )
        for name in self.people:
            if not has_words(name):
                raise SettingError(f"--person takes an address or a name, not {name!r}")

    @property
    def kind(self) -> WishKind:
        """What kind of thing it is."""
        if self.people:
            return "person"
        if self.pattern is not None:
            return "pattern"
        return "user" if self.since is None and self.until is None else "span"


@dataclass(frozen=True)
class Meant:
    """A wish, as the store understands it.

    Attributes:
        whose: the people whose records it is about.
        rules: what is not let in from now on.
        pattern: the pattern that is meant, if one is: its type and rule.

    """

    whose: list[Person]
    rules: list[Rule]
    pattern: Mapping[str, Any] | None = None


def understand(connection: Connection, wish: Wish, seal: Seal, now: datetime, settings: Settings) -> Meant:
    """What a wish means in this store.

    Raises:
        SettingError: there is no such user or pattern; or the person to be forgotten is a user as well.
    """
    whose = _whose(connection, wish)
    owner = "" if wish.user is None else seal.digest("user", wish.user)
    if wish.kind == "person":
        rules = [rule for name in wish.people for rule in seal.person(name, owner)]
        _check_no_user(whose, rules, seal, wish)
        return Meant(whose, rules)
    if wish.kind == "pattern":
        return _understand_pattern(connection, wish, whose, seal, now, settings)
    latest = None
    if wish.until is None:  # what comes after this is new
        theirs = people.c.number.in_([person.number for person in whose]) if wish.user is not None else true()
        newest = connection.execute(select(func.max(people.c.newest)).where(theirs)).scalar()
        latest = max(as_number(now), newest or 0)
    since = None if wish.since is None else _wall(wish.since)
    until = None if wish.until is None else _wall(wish.until + timedelta(days=1))
    return Meant(whose, [seal.span(owner, since, until, latest)])


def _whose(connection: Connection, wish: Wish) -> list[Person]:
    if wish.user is None:
        return read_people(connection)
    whose = read_people(connection, people.c.name == wish.user)
    if not whose:
        known = [person.name for person in read_people(connection)]
        hint = did_you_mean(wish.user, known)
        raise SettingError(f"nothing is stored of a user {wish.user!r}{hint}")
    return whose


def _check_no_user(whose: list[Person], rules: list[Rule], seal: Seal, wish: Wish) -> None:
    named = Mentions(rules, seal)
    for person in whose if wish.user is None else []:
        if named(person.name):
            raise SettingError(
                f"{person.name} is also a user, whose own records are stored: forget these first, with "
                f"--user {person.name}, or say with --user in whose records the person is to be forgotten"
            )


def _understand_pattern(
    connection: Connection, wish: Wish, whose: list[Person], seal: Seal, now: datetime, settings: Settings
) -> Meant:
    asked = wish.pattern or ""
    names = {person.number: person for person in whose}
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    for table in (words, patterns):
        query = select(table.c.person, table.c.pattern if table is words else table.c.id, table.c.said)
        for number, id, said in connection.execute(query):
            if number in names and id.startswith(asked):
                found[number, id] = orjson.loads(said)
    if not found:
        raise SettingError(f"there is no pattern {asked!r}; habitus patterns --status all lists them")
    if len(found) > 1:
        which = ", ".join(sorted(f"{id} of {names[number].name}" for number, id in found))
        raise SettingError(f"several patterns are called {asked!r}: {which}; say more of the id, or --user")
    ((number, _), pattern) = found.popitem()
    person = names[number]
    rules = [
        seal.observation(person.name, id) for id in _evidence(connection, person, pattern, now, settings)
    ]
    return Meant([person], rules, pattern)


def _evidence(
    connection: Connection, person: Person, pattern: Mapping[str, Any], now: datetime, settings: Settings
) -> list[str]:
    """Ids of what supports a pattern, and what would support it if that had never been."""
    frame = read_observations(connection, [person], now)
    type, rule = pattern["type"], pattern["rule"]
    ids: set[str] = set()
    for _ in range(_ROUNDS):
        left = frame.filter(~pl.col("id").is_in(list(ids)))
        if not left.height:
            break
        found = explain(left, now, settings)
        named = found.patterns.filter(pl.col("type") == type).select("id", "rule").iter_rows()
        same = [id for id, said in named if is_same(type, rule, orjson.loads(said))]
        kept = found.opportunities.filter(pl.col("kept") & pl.col("pattern_id").is_in(same))
        new = set(kept.get_column("observation").drop_nulls()) - ids
        if not new:
            break
        ids |= new
    return sorted(ids)


def _wall(day: date) -> int:
    return (datetime.combine(day, time()) - _EPOCH) // timedelta(microseconds=1)
