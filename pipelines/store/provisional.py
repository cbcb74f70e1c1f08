"""Foretelling: the status change that one new observation brings, before the whole is evaluated.

Evaluation keeps, for each pattern, which status one more support or one more miss would give it
(`patterns.explain`). An observation that is that support or miss (`patterns.rules.matching`) is answered with it at once,
in a time that does not depend on how much is stored. The answer is *provisional*: the evaluation that follows
looks at everything and has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
import polars as pl
from sqlalchemy import Connection, and_, bindparam, exists, or_, select

from observations.civil_time import rfc_3339
from observations.features import with_features
from patterns.rules.matching import Event, events_of, hangs_on_derived, outcome, reach
from pipelines.store.observation_queries import read_observations, read_people
from pipelines.store.schema import patterns, people, told, words
from pipelines.store.status_change import Change

_OCCASION = timedelta(hours=1)
"""Trials closer than this count as one (`patterns.eventlog.log.OCCASION_GAP`)."""

_OPEN_ONES = (
    select(
        people.c.name,
        patterns.c.said,
        patterns.c.status,
        patterns.c.if_kept,
        patterns.c.if_missed,
        told.c.status.label("told"),
    )
    .join(patterns, patterns.c.person == people.c.number)
    .outerjoin(told, and_(told.c.person == patterns.c.person, told.c.pattern == patterns.c.id))
    .where(
        people.c.name.in_(bindparam("names", expanding=True)),
        or_(patterns.c.if_kept != patterns.c.status, patterns.c.if_missed != patterns.c.status),
        or_(told.c.provisional.is_(None), told.c.provisional.is_(False)),
        ~exists().where(
            words.c.person == patterns.c.person,
            words.c.pattern == patterns.c.id,
            words.c.word == "dismissed",
        ),
    )
    .order_by(people.c.name, patterns.c.place)
)
"""Made once, as every statement on the way of an answer: to make one takes as long as to run it."""

_REASONS = {True: "one more time kept", False: "one more time not kept"}


def foretell(connection: Connection, new: pl.DataFrame, now: datetime) -> list[Change]:
    """The status changes that these new observations bring, as far as one observation can tell.

    Args:
        connection: in any transaction; the observations are stored already.
        new: an observation frame of a few rows.
        now: what lies ahead of it tells nothing yet.
    """
    open_ones = _open_patterns(connection, sorted(set(new.get_column("user_id").to_list())))
    if not open_ones:
        return []
    if new.height > 1:
        new = new.sort("user_id", "at", "id")
    changes: dict[tuple[str, str], Change] = {}
    for row, event in zip(new.iter_rows(named=True), _events(new, open_ones), strict=True):
        if row["actor"] != "user" or row.get("automatic:flag") or row["at"] > now:
            continue  # no evidence, or not yet
        for pattern in open_ones.get(row["user_id"], []):
            key = (row["user_id"], pattern.said["id"])
            if key not in changes and (change := _change(connection, pattern, row, event)) is not None:
                changes[key] = change
    return list(changes.values())


def _events(new: pl.DataFrame, open_ones: Mapping[str, list[_Open]]) -> Iterator[Event]:
    """The observations as events, with what is derived from them only where a rule asks for it: that takes time."""
    users = new.get_column("user_id").to_list()
    plain = list(events_of(new))
    asked = [
        number
        for number, (user, event) in enumerate(zip(users, plain, strict=True))
        if any(hangs_on_derived(one.said["rule"], event) for one in open_ones.get(user, []))
    ]
    if asked:
        derived = events_of(with_features(new[asked], join_similar=len(asked) > 1))
        for number, event in zip(asked, derived, strict=True):
            plain[number] = event
    yield from plain


class _Open:
    """A pattern whose status hangs on the next observation."""

    def __init__(self, said: str, before: str, if_kept: str | None, if_missed: str | None) -> None:
        self.said: dict[str, Any] = orjson.loads(said)
        self.before = before
        self.after = {True: if_kept, False: if_missed}
        self.last_seen = datetime.fromisoformat(self.said["last_seen"]).replace(tzinfo=None)


def _open_patterns(connection: Connection, names: Sequence[str]) -> Mapping[str, list[_Open]]:
    """By person, the patterns whose status one more outcome changes, but for those already foretold."""
    found: dict[str, list[_Open]] = {}
    for name, said, status, if_kept, if_missed, last in connection.execute(_OPEN_ONES, {"names": names}):
        found.setdefault(name, []).append(_Open(said, last or status, if_kept, if_missed))
    return found


def _change(connection: Connection, pattern: _Open, row: Mapping[str, Any], event: Event) -> Change | None:
    """The change that this event brings to the pattern, if any."""
    said = pattern.said
    if event.local - pattern.last_seen < _OCCASION:
        return None  # late, or the same occasion once more
    if said["type"] == "temporal" and event.local.date() == pattern.last_seen.date():
        return None  # a due day is kept once
    before: list[Event] = []
    if said["type"] == "workflow" and event.matches(said["rule"]["steps"][-1]):
        before = list(_before(connection, row, event, reach(said["type"], said["rule"])))
    kept = outcome(said["type"], said["rule"], event, before)
    if kept is None or pattern.after[kept] in (None, pattern.before):
        return None
    return Change(
        user_id=said["user_id"],
        id=said["id"],
        type=said["type"],
        statement=said["statement"],
        before=pattern.before,
        after=pattern.after[kept],
        at=_timestamp(row),
        reason=_REASONS[kept],
        confidence=said["confidence"],
        provisional=True,
    )


def _before(connection: Connection, row: Mapping[str, Any], event: Event, span: timedelta) -> Iterator[Event]:
    """The person's observations of the time before the event."""
    person = read_people(connection, people.c.name == row["user_id"])
    frame = read_observations(connection, person, row["at"], since=row["at"] - span)
    frame = frame.filter(pl.col("id") != row["id"], pl.col("actor") == "user").sort("at", "id")
    yield from (one for one in events_of(with_features(frame)) if one.local <= event.local)


def _timestamp(row: Mapping[str, Any]) -> str:
    return rfc_3339(row["local"], row["local"] - row["at"].replace(tzinfo=None))
