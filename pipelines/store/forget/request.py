"""Requests to forget, and the rules and people they resolve to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

import orjson
import polars as pl
from sqlalchemy import Connection, func, select, true

from observations.errors import SettingError
from patterns.explain import explain
from patterns.registry import rule_of
from patterns.settings import Settings
from pipelines.store.database.instants import as_number
from pipelines.store.database.observation_queries import Person, read_observations, read_people
from pipelines.store.database.schema import feedback, patterns, people
from pipelines.store.forget.suppression import DigestKey, Mentions, Rule, has_words

RequestKind = Literal["user", "person", "span", "pattern"]

_ROUNDS = 20
"""Rounds after which no real log has anything left like the pattern."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock


@dataclass(frozen=True)
class ForgetRequest:
    """What to forget: a user; or a person, span or pattern in the records of one user or of all users.

    Attributes:
        user: in whose records; `None` for those of all users.
        people: addresses or names of a person in these records.
        since: the first day, on the user's calendar; `None` for no bound.
        until: the last day; `None` for now.
        pattern: id of a pattern, or a prefix of it.

    Raises:
        SettingError: nothing is named, or more than one thing.

    """

    user: str | None = None
    people: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        named = [
            bool(self.people),
            self.since is not None or self.until is not None,
            self.pattern is not None,
        ]
        if sum(named) > 1:
            raise SettingError("name only one of: a person, a span of time, a pattern")
        if not any(named) and self.user is None:
            raise SettingError(
                "nothing to forget; name it with `user`, `people`, `since` and `until`, or `pattern`"
            )
        if self.since is not None and self.until is not None and self.since > self.until:
            message = f"`since` {self.since} is later than `until` {self.until}"
            raise SettingError(message, argument="since", value=self.since)
        for name in self.people:
            if not has_words(name):
                message = f"`people` takes addresses or names, not {name!r}"
                raise SettingError(message, argument="people", value=name)

    @property
    def kind(self) -> RequestKind:
        """What kind of thing to forget."""
        if self.people:
            return "person"
        if self.pattern is not None:
            return "pattern"
        return "user" if self.since is None and self.until is None else "span"


@dataclass(frozen=True)
class ResolvedRequest:
    """A request, resolved against the store.

    Attributes:
        whose: the people whose records it applies to.
        rules: new entries of the suppression list.
        pattern: the pattern to forget, if any: its type and rule.

    """

    whose: list[Person]
    rules: list[Rule]
    pattern: Mapping[str, Any] | None = None


def resolve(
    connection: Connection, request: ForgetRequest, key: DigestKey, now: datetime, settings: Settings
) -> ResolvedRequest:
    """Resolve a request against the store.

    Raises:
        SettingError: the pattern does not exist or is ambiguous, or the person is also a user of the store.
    """
    whose = _whose(connection, request)
    owner = "" if request.user is None else key.digest("user", request.user)
    if request.kind == "person":
        rules = [rule for name in request.people for rule in key.person(name, owner)]
        _check_no_user(whose, rules, key, request)
        return ResolvedRequest(whose, rules)
    if request.kind == "pattern":
        return _resolve_pattern(connection, request, whose, key, now, settings)
    latest = None
    if request.until is None:  # later observations are new
        theirs = (
            people.c.number.in_([person.number for person in whose]) if request.user is not None else true()
        )
        newest = connection.execute(select(func.max(people.c.newest)).where(theirs)).scalar()
        latest = max(as_number(now), newest or 0)
    since = None if request.since is None else _wall(request.since)
    until = None if request.until is None else _wall(request.until + timedelta(days=1))
    return ResolvedRequest(whose, [key.span(owner, since, until, latest)])


def _whose(connection: Connection, request: ForgetRequest) -> list[Person]:
    if request.user is None:
        return read_people(connection)
    return read_people(connection, people.c.name == request.user)


def _check_no_user(whose: list[Person], rules: list[Rule], key: DigestKey, request: ForgetRequest) -> None:
    named = Mentions(rules, key)
    for person in whose if request.user is None else []:
        if named(person.name):
            raise SettingError(
                f"{person.name} is also a user of the store; forget their own records first with `user` {person.name}, "
                "or name with `user` in whose records to forget the person"
            )


def _resolve_pattern(
    connection: Connection,
    request: ForgetRequest,
    whose: list[Person],
    key: DigestKey,
    now: datetime,
    settings: Settings,
) -> ResolvedRequest:
    asked = request.pattern or ""
    names = {person.number: person for person in whose}
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    for table in (feedback, patterns):
        query = select(table.c.person, table.c.pattern if table is feedback else table.c.id, table.c.json)
        for number, id, json in connection.execute(query):
            if number in names and id.startswith(asked):
                found[number, id] = orjson.loads(json)
    if not found:
        raise SettingError(f"no pattern has an id that begins with {asked!r}; see the list of all patterns")
    if len(found) > 1:
        which = ", ".join(sorted(f"{id} of {names[number].name}" for number, id in found))
        raise SettingError(
            f"{len(found)} patterns have an id that begins with {asked!r}: {which}; give more of the id, or a user"
        )
    ((number, _), pattern) = found.popitem()
    person = names[number]
    rules = [key.observation(person.name, id) for id in _evidence(connection, person, pattern, now, settings)]
    return ResolvedRequest([person], rules, pattern)


def _evidence(
    connection: Connection, person: Person, pattern: Mapping[str, Any], now: datetime, settings: Settings
) -> list[str]:
    """Ids of the observations that support a pattern, and of those that would support it without these."""
    frame = read_observations(connection, [person], now)
    type, rule = pattern["type"], rule_of(pattern["type"], pattern["rule"])
    ids: set[str] = set()
    for _ in range(_ROUNDS):
        left = frame.filter(~pl.col("id").is_in(list(ids)))
        if not left.height:
            break
        found = explain(left, now, settings)
        named = found.patterns.filter(pl.col("type") == type).select("id", "rule").iter_rows()
        same = [id for id, json in named if rule.is_same(rule_of(type, json))]
        kept = found.opportunities.filter(pl.col("kept") & pl.col("pattern_id").is_in(same))
        new = set(kept.get_column("observation").drop_nulls()) - ids
        if not new:
            break
        ids |= new
    return sorted(ids)


def _wall(day: date) -> int:
    return (datetime.combine(day, time()) - _EPOCH) // timedelta(microseconds=1)
