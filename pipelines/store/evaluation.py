"""Evaluates people whose observations changed, and stores the result.

The stored result is for the stream (which compares against it), the profile and the outlook. No query depends on it:
``Store.patterns`` evaluates the observations themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

import orjson
import polars as pl
from sqlalchemy import Connection, and_, bindparam, delete, or_, select, update

from patterns.explain import Explanation, explain
from patterns.model import write_patterns
from patterns.settings import Settings
from pipelines.memory.profile import Profile
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.database.connection import Database
from pipelines.store.database.insert import has_grown
from pipelines.store.database.instants import as_moment, as_number
from pipelines.store.database.observation_queries import Person, parts, read_observations, read_people
from pipelines.store.database.schema import journal, notified, patterns, people
from pipelines.store.profile_cache import (
    BuiltProfiles,
    build_profiles,
    next_observations,
    write_profiles,
)
from pipelines.store.status_change import Change

SAVED_AT_ONCE = 20
"""People written in one transaction."""

_LATE_DATA = "re-evaluated with late data"
_GONE = "no longer significant, or covered by a simpler pattern"

_DIRTY = people.c.changed != people.c.evaluated
_UNNOTIFIED = (
    select(patterns.c.person)
    .outerjoin(notified, and_(notified.c.person == patterns.c.person, notified.c.pattern == patterns.c.id))
    .where(notified.c.status.is_distinct_from(patterns.c.status))
)


def people_to_evaluate(
    connection: Connection, now: datetime, *, only_grown: bool = False, unnotified: bool = False
) -> list[Person]:
    """The people whose stored patterns may be out of date.

    Args:
        connection: in any transaction.
        now: the evaluation time.
        only_grown: only people with so many new observations that they should not wait.
        unnotified: also people with status changes that were stored but not reported, because a process died.
    """
    if only_grown:
        dirty = read_people(connection, _DIRTY)
        return [person for person in dirty if has_grown(person.observations, person.evaluated_rows)]
    due = or_(_DIRTY, people.c.stale_at <= as_number(now))
    return read_people(connection, or_(due, people.c.number.in_(_UNNOTIFIED)) if unnotified else due)


def evaluate_people(
    database: Database,
    whose: Sequence[Person],
    now: datetime,
    settings: Settings,
    at_once: int = PEOPLE_AT_ONCE,
) -> Iterator[list[Change]]:
    """Evaluate these people at `now` and store the result; yields the status changes, part by part.

    Args:
        database: the store's.
        whose: the people.
        now: the evaluation time.
        settings: thresholds and weights.
        at_once: observations in one evaluation.

    """
    for part in parts(whose, at_once):
        with database.reading() as connection:
            # As of this snapshot: observations that arrive meanwhile mark the person for another evaluation.
            current = read_people(connection, people.c.number.in_([person.number for person in part]))
            frame = read_observations(connection, current, now)
            ahead = next_observations(connection, current, now)
            found = explain(frame, now, settings)
            stale = _stale(found, frame, now, ahead)
            built = build_profiles(connection, current, found.patterns, frame, stale, now, settings)
        rows = _rows(found, {person.name: person.number for person in current})
        changes: list[Change] = []
        # A few people per transaction: other writers wait for it.
        for start in range(0, len(current), SAVED_AT_ONCE):
            few = current[start : start + SAVED_AT_ONCE]
            changes += database.write(
                partial(_save, current=few, rows=rows, stale=stale, built=built, now=now)
            )
        # Dismissed patterns are not reported until the dismissal is undone.
        yield [change for change in changes if (change.user_id, change.id) not in built.hidden]


def evaluate_profile(
    database: Database, user: str, now: datetime, settings: Settings, *, cache: bool
) -> Profile:
    """The profile of one person at `now`, from their observations; empty for an unknown user.

    Args:
        database: the store's.
        user: their name.
        now: the evaluation time.
        settings: thresholds and weights.
        cache: write it to the cache.
    """
    with database.reading() as connection:
        whose = read_people(connection, people.c.name == user)
        if not whose:
            return Profile(None, ())
        frame = read_observations(connection, whose, now)
        found = explain(frame, now, settings)
        stale = _stale(found, frame, now, next_observations(connection, whose, now))
        built = build_profiles(connection, whose, found.patterns, frame, stale, now, settings)
    if cache:
        database.write(partial(_cache_profile, whose=whose, built=built, now=now))
    return built.profiles[user]


def _cache_profile(
    connection: Connection, whose: Sequence[Person], built: BuiltProfiles, now: datetime
) -> None:
    """Cache the profile, unless the person changed meanwhile."""
    there = read_people(connection, people.c.number.in_([person.number for person in whose]), locked=True)
    write_profiles(connection, [person for person in whose if person in there], built, now)


def mark_notified(connection: Connection, changes: Sequence[Change]) -> None:
    """Store that these changes were reported, in their order; later changes are relative to them."""
    latest = {(change.user_id, change.id): change for change in changes}
    if not latest:
        return
    names = {user for user, _ in latest}
    numbers = {
        person.name: person.number for person in read_people(connection, people.c.name.in_(sorted(names)))
    }
    rows = [
        {"whose": numbers[user], "which": id, "after": change.after, "is_provisional": change.provisional}
        for (user, id), change in latest.items()
        if user in numbers
    ]
    if not rows:
        return
    which = (notified.c.person == bindparam("whose")) & (notified.c.pattern == bindparam("which"))
    connection.execute(delete(notified).where(which), rows)
    kept = [row for row in rows if row["after"] is not None or row["is_provisional"]]
    if kept:
        entry = notified.insert().values(
            person=bindparam("whose"),
            pattern=bindparam("which"),
            status=bindparam("after"),
            provisional=bindparam("is_provisional"),
        )
        connection.execute(entry, kept)


class _Rows:
    """Rows to write to the tables, by person."""

    def __init__(self) -> None:
        self.patterns: dict[int, list[dict[str, object]]] = {}
        self.journal: dict[int, list[dict[str, object]]] = {}


def _rows(found: Explanation, numbers: Mapping[str, int]) -> _Rows:
    rows = _Rows()
    ahead = {(row["user_id"], row["pattern_id"]): row for row in _outlook(found).iter_rows(named=True)}
    texts = write_patterns(found.patterns)
    listed = found.patterns.select("user_id", "id", "status").iter_rows()
    for (user, id, status), text in zip(listed, texts, strict=True):
        theirs = rows.patterns.setdefault(numbers[user], [])
        outlook = ahead[user, id]
        theirs.append(
            {
                "person": numbers[user],
                "id": id,
                "place": len(theirs),
                "status": status,
                "json": text.decode(),
                **{name: outlook[name] for name in ("next_due", "if_kept", "if_missed", "expires")},
            }
        )
    transitions = found.journal.drop("local").iter_rows(named=True)
    count: dict[tuple[str, str], int] = {}
    for row in transitions:
        user, id = row.pop("user_id"), row.pop("pattern_id")
        number = count[user, id] = count.get((user, id), -1) + 1
        rows.journal.setdefault(numbers[user], []).append(
            {"person": numbers[user], "pattern": id, "number": number, "json": orjson.dumps(row).decode()}
        )
    return rows


def _outlook(found: Explanation) -> pl.DataFrame:
    return found.outlook.with_columns(pl.col("next_due", "expires").dt.epoch("us"))


def _stale(
    found: Explanation, frame: pl.DataFrame, now: datetime, ahead: Mapping[str, int]
) -> dict[str, int]:
    """The next instant at which each person's patterns may change without new data, by name, µs since 1970 UTC.

    Args:
        found: the evaluation at `now`.
        frame: the observations up to `now`.
        now: the evaluation time.
        ahead: time of the first stored observation after `now`, by name.
    """
    offset = (pl.col("local") - pl.col("at").dt.replace_time_zone(None)).dt.total_microseconds()
    offsets = frame.sort("at").group_by("user_id").agg(offset.last().alias("offset"))
    moments = pl.min_horizontal(
        *(
            pl.when(instant > as_number(now)).then(instant)
            for instant in (pl.col(name) - pl.col("offset") for name in ("next_due", "expires"))
        )
    )
    next_of_each = (
        _outlook(found).join(offsets, on="user_id").group_by("user_id").agg(moments.min().alias("moment"))
    )
    known = dict(next_of_each.drop_nulls().iter_rows())
    return {name: min(known.get(name, at), at) for name, at in (known | dict(ahead)).items()}


def _save(
    connection: Connection,
    current: Sequence[Person],
    rows: _Rows,
    stale: Mapping[str, int],
    built: BuiltProfiles,
    now: datetime,
) -> list[Change]:
    """Replace the stored result; returns the changes relative to what was last reported."""
    asked = [person.number for person in current]
    there = {p.number: p for p in read_people(connection, people.c.number.in_(asked), locked=True)}
    # Meanwhile another process may have evaluated newer data, or forgotten a person, whose number may be reused.
    still = [p for p in current if p.number in there and there[p.number].name == p.name]
    whose = [p for p in still if there[p.number].evaluated <= p.changed]
    changes = _changes(connection, whose, rows, now)
    numbers = [person.number for person in whose]
    for table, new in ((patterns, rows.patterns), (journal, rows.journal)):
        connection.execute(delete(table).where(table.c.person.in_(numbers)))
        if entries := [row for number in numbers for row in new.get(number, [])]:
            connection.execute(table.insert(), entries)
    write_profiles(connection, whose, built, now)
    settled = [p.number for p in whose if there[p.number].changed == p.changed]
    connection.execute(update(notified).where(notified.c.person.in_(settled)).values(provisional=False))
    if whose:
        connection.execute(
            update(people)
            .where(people.c.number == bindparam("whose"))
            .values(
                evaluated=bindparam("seen"),
                evaluated_rows=bindparam("size"),
                evaluated_at=as_number(now),
                stale_at=bindparam("stale"),
            ),
            [
                {
                    "whose": person.number,
                    "seen": person.changed,
                    "size": person.observations,
                    "stale": stale.get(person.name),
                }
                for person in whose
            ],
        )
    return changes


def _changes(connection: Connection, whose: Sequence[Person], rows: _Rows, now: datetime) -> list[Change]:
    """The changes between the last reported statuses of these people and the current ones."""
    numbers = [person.number for person in whose]
    before: dict[int, dict[str, str | None]] = {number: {} for number in numbers}
    for person, id, status in connection.execute(
        select(notified.c.person, notified.c.pattern, notified.c.status).where(notified.c.person.in_(numbers))
    ):
        before[person][id] = status
    gone = [
        (person.number, id)
        for person in whose
        for id in before[person.number].keys() - {row["id"] for row in rows.patterns.get(person.number, [])}
    ]
    old = _old(connection, {number for number, _ in gone})
    changes: list[Change] = []
    for person in whose:
        last = {row["pattern"]: row for row in rows.journal.get(person.number, [])}
        for row in rows.patterns.get(person.number, []):
            was = before[person.number].get(str(row["id"]))
            if row["status"] != was:
                changes.append(_change(orjson.loads(str(row["json"])), was, last.get(row["id"]), now))
        changes += [
            _vanished(old[number, id], before[number][id], now)
            for number, id in sorted(gone)
            if number == person.number and (number, id) in old
        ]
    return changes


def _old(connection: Connection, numbers: set[int]) -> dict[tuple[int, str], dict[str, object]]:
    if not numbers:
        return {}
    query = select(patterns.c.person, patterns.c.id, patterns.c.json).where(
        patterns.c.person.in_(sorted(numbers))
    )
    return {(person, id): orjson.loads(json) for person, id, json in connection.execute(query)}


def _change(
    pattern: Mapping[str, object],
    before: str | None,
    transition: Mapping[str, object] | None,
    now: datetime,
) -> Change:
    entry = orjson.loads(str(transition["json"])) if transition is not None else {}
    left = entry.get("before") or "expired"  # an episode starts from nothing or from an expired one
    if before is not None and before != left:
        # Late data changed the journal: it no longer contains the reported status.
        entry = {"at": as_moment(as_number(now)).isoformat(timespec="seconds"), "reason": _LATE_DATA}
    return Change(
        user_id=str(pattern["user_id"]),
        id=str(pattern["id"]),
        type=str(pattern["type"]),
        statement=str(pattern["statement"]),
        before=before,
        after=str(pattern["status"]),
        at=str(entry.get("at", pattern["last_seen"])),
        reason=str(entry.get("reason", "")),
        confidence=float(str(pattern["confidence"])),
    )


def _vanished(pattern: Mapping[str, object], before: str | None, now: datetime) -> Change:
    return Change(
        user_id=str(pattern["user_id"]),
        id=str(pattern["id"]),
        type=str(pattern["type"]),
        statement=str(pattern["statement"]),
        before=before,
        after=None,
        at=as_moment(as_number(now)).isoformat(timespec="seconds"),
        reason=_GONE,
        confidence=0.0,
    )
