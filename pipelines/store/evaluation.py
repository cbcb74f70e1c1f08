"""What follows from the observations, computed anew for people of whom something changed, and kept at hand.

Kept is what the stream compares with, the profile is made of and the journal shows. Nobody's answer rests on it:
``patterns`` evaluates the observations themselves, at the time it is asked about.
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
from pipelines.store.connection import Database
from pipelines.store.insert import has_grown
from pipelines.store.instants import as_moment, as_number
from pipelines.store.observation_queries import Person, parts, read_observations, read_people
from pipelines.store.profile_cache import Made, keep_profiles, make_profiles, next_observations
from pipelines.store.schema import journal, patterns, people, told
from pipelines.store.status_change import Change

SAVED_AT_ONCE = 20
"""People whose answer is written in one transaction."""

_ANEW = "all that is known by now says so"
_GONE = "it does not stand out from chance any more, or another pattern says it better"

_DIRTY = people.c.changed != people.c.evaluated
_UNTOLD = (
    select(patterns.c.person)
    .outerjoin(told, and_(told.c.person == patterns.c.person, told.c.pattern == patterns.c.id))
    .where(told.c.status.is_distinct_from(patterns.c.status))
)


def people_to_evaluate(
    connection: Connection, now: datetime, *, only_grown: bool = False, untold: bool = False
) -> list[Person]:
    """The people of whom the stored patterns may be out of date.

    Args:
        connection: in any transaction.
        now: those of whom time alone may have changed something by then are among them.
        only_grown: only those of whom so much is new that it should not wait.
        untold: else, those too of whom something was found and not told, because a process died in between.
    """
    if only_grown:
        dirty = read_people(connection, _DIRTY)
        return [person for person in dirty if has_grown(person.observations, person.evaluated_rows)]
    due = or_(_DIRTY, people.c.stale_at <= as_number(now))
    return read_people(connection, or_(due, people.c.number.in_(_UNTOLD)) if untold else due)


def evaluate_people(
    database: Database,
    whose: Sequence[Person],
    now: datetime,
    settings: Settings,
    at_once: int = PEOPLE_AT_ONCE,
) -> Iterator[list[Change]]:
    """Evaluate these people at `now` and keep what is believed; part by part, what differs from what was told last.

    Args:
        database: the store's.
        whose: the people.
        now: the evaluation time.
        settings: the numbers that patterns are judged by.
        at_once: observations that are evaluated in one go.

    """
    for part in parts(whose, at_once):
        with database.reading() as connection:
            # As they are in this snapshot: what comes in meanwhile leaves them to be evaluated again.
            current = read_people(connection, people.c.number.in_([person.number for person in part]))
            frame = read_observations(connection, current, now)
            ahead = next_observations(connection, current, now)
            found = explain(frame, now, settings)
            stale = _stale(found, frame, now, ahead)
            made = make_profiles(connection, current, found.patterns, frame, stale, now, settings)
        rows = _rows(found, {person.name: person.number for person in current})
        changes: list[Change] = []
        # A few people a transaction: other writers wait for it.
        for start in range(0, len(current), SAVED_AT_ONCE):
            few = current[start : start + SAVED_AT_ONCE]
            changes += database.write(partial(_save, current=few, rows=rows, stale=stale, made=made, now=now))
        # What the person dismissed is not told; if they take that back, it is.
        yield [change for change in changes if (change.user_id, change.id) not in made.hidden]


def make_profile(database: Database, user: str, now: datetime, settings: Settings, *, keep: bool) -> Profile:
    """The profile of one person at `now`, from their observations.

    Args:
        database: the store's.
        user: their name.
        now: the evaluation time.
        settings: by which patterns are judged.
        keep: whether to keep it for the next who asks.
    """
    with database.reading() as connection:
        whose = read_people(connection, people.c.name == user)
        frame = read_observations(connection, whose, now)
        found = explain(frame, now, settings)
        stale = _stale(found, frame, now, next_observations(connection, whose, now))
        made = make_profiles(connection, whose, found.patterns, frame, stale, now, settings)
    if keep:
        database.write(partial(_keep_one, whose=whose, made=made, now=now))
    return made.profiles[user]


def _keep_one(connection: Connection, whose: Sequence[Person], made: Made, now: datetime) -> None:
    """Keep the profile, unless the person has changed meanwhile."""
    there = read_people(connection, people.c.number.in_([person.number for person in whose]), locked=True)
    keep_profiles(connection, [person for person in whose if person in there], made, now)


def note_told(connection: Connection, changes: Sequence[Change]) -> None:
    """Keep that these changes have been told, in their order: what is told next is told against them."""
    latest = {(change.user_id, change.id): change for change in changes}
    if not latest:
        return
    names = {user for user, _ in latest}
    numbers = {
        person.name: person.number for person in read_people(connection, people.c.name.in_(sorted(names)))
    }
    rows = [
        {"whose": numbers[user], "which": id, "said": change.after, "guessed": change.provisional}
        for (user, id), change in latest.items()
        if user in numbers
    ]
    if not rows:
        return
    which = (told.c.person == bindparam("whose")) & (told.c.pattern == bindparam("which"))
    connection.execute(delete(told).where(which), rows)
    kept = [row for row in rows if row["said"] is not None or row["guessed"]]
    if kept:
        entry = told.insert().values(
            person=bindparam("whose"),
            pattern=bindparam("which"),
            status=bindparam("said"),
            provisional=bindparam("guessed"),
        )
        connection.execute(entry, kept)


class _Rows:
    """Rows for the tables that an evaluation fills, by person."""

    def __init__(self) -> None:
        self.patterns: dict[int, list[dict[str, object]]] = {}
        self.journal: dict[int, list[dict[str, object]]] = {}


def _rows(found: Explanation, numbers: Mapping[str, int]) -> _Rows:
    rows = _Rows()
    ahead = {(row["user_id"], row["pattern_id"]): row for row in _outlook(found).iter_rows(named=True)}
    said = write_patterns(found.patterns)
    listed = found.patterns.select("user_id", "id", "status").iter_rows()
    for (user, id, status), text in zip(listed, said, strict=True):
        theirs = rows.patterns.setdefault(numbers[user], [])
        outlook = ahead[user, id]
        theirs.append(
            {
                "person": numbers[user],
                "id": id,
                "place": len(theirs),
                "status": status,
                "said": text.decode(),
                **{name: outlook[name] for name in ("next_due", "if_kept", "if_missed", "expires")},
            }
        )
    transitions = found.journal.drop("local").iter_rows(named=True)
    count: dict[tuple[str, str], int] = {}
    for row in transitions:
        user, id = row.pop("user_id"), row.pop("pattern_id")
        number = count[user, id] = count.get((user, id), -1) + 1
        rows.journal.setdefault(numbers[user], []).append(
            {"person": numbers[user], "pattern": id, "number": number, "said": orjson.dumps(row).decode()}
        )
    return rows


def _outlook(found: Explanation) -> pl.DataFrame:
    return found.outlook.with_columns(pl.col("next_due", "expires").dt.epoch("us"))


def _stale(
    found: Explanation, frame: pl.DataFrame, now: datetime, ahead: Mapping[str, int]
) -> dict[str, int]:
    """When time alone may change something for each person next, µs since 1970 UTC.

    Args:
        found: what was found at `now`.
        frame: the observations up to then.
        now: the evaluation time.
        ahead: when what is stored already counts next.
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
    made: Made,
    now: datetime,
) -> list[Change]:
    """Put the new answer in the place of the old one; what differs from what was told."""
    asked = [person.number for person in current]
    there = {p.number: p for p in read_people(connection, people.c.number.in_(asked), locked=True)}
    # Another process may have evaluated more than was there when this one began, or forgotten somebody, whose number
    # somebody else may have by now.
    still = [p for p in current if p.number in there and there[p.number].name == p.name]
    whose = [p for p in still if there[p.number].evaluated <= p.changed]
    changes = _changes(connection, whose, rows, now)
    numbers = [person.number for person in whose]
    for table, new in ((patterns, rows.patterns), (journal, rows.journal)):
        connection.execute(delete(table).where(table.c.person.in_(numbers)))
        if entries := [row for number in numbers for row in new.get(number, [])]:
            connection.execute(table.insert(), entries)
    keep_profiles(connection, whose, made, now)
    settled = [p.number for p in whose if there[p.number].changed == p.changed]
    connection.execute(update(told).where(told.c.person.in_(settled)).values(provisional=False))
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
    """What differs between what was told of these people and what is believed now."""
    numbers = [person.number for person in whose]
    before: dict[int, dict[str, str | None]] = {number: {} for number in numbers}
    for person, id, status in connection.execute(
        select(told.c.person, told.c.pattern, told.c.status).where(told.c.person.in_(numbers))
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
                changes.append(_change(orjson.loads(str(row["said"])), was, last.get(row["id"]), now))
        changes += [
            _vanished(old[number, id], before[number][id], now)
            for number, id in sorted(gone)
            if number == person.number and (number, id) in old
        ]
    return changes


def _old(connection: Connection, numbers: set[int]) -> dict[tuple[int, str], dict[str, object]]:
    if not numbers:
        return {}
    query = select(patterns.c.person, patterns.c.id, patterns.c.said).where(
        patterns.c.person.in_(sorted(numbers))
    )
    return {(person, id): orjson.loads(said) for person, id, said in connection.execute(query)}


def _change(
    pattern: Mapping[str, object],
    before: str | None,
    transition: Mapping[str, object] | None,
    now: datetime,
) -> Change:
    told_of = orjson.loads(str(transition["said"])) if transition is not None else {}
    left = told_of.get("before") or "expired"  # an episode begins from nothing, or after one that expired
    if before is not None and before != left:
        # The journal, written anew from all that is known, has no such step.
        told_of = {"at": as_moment(as_number(now)).isoformat(timespec="seconds"), "reason": _ANEW}
    return Change(
        user_id=str(pattern["user_id"]),
        id=str(pattern["id"]),
        type=str(pattern["type"]),
        statement=str(pattern["statement"]),
        before=before,
        after=str(pattern["status"]),
        at=str(told_of.get("at", pattern["last_seen"])),
        reason=str(told_of.get("reason", "")),
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
