"""Provisional status changes: what one new observation changes, before a full evaluation.

An evaluation stores, for each pattern, the status it would have after one more support or one more miss
(`patterns.explain`). A new observation that is that support or miss (`Rule.outcomes`) is reported at once,
in a time that does not depend on the size of the store. The evaluation that follows may correct it.
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
from patterns.registry import rule_of
from patterns.rules.event import Event, events_of
from patterns.rules.rule import Rule
from patterns.rules.workflow_rule import WorkflowRule
from pipelines.store.database.observation_queries import read_observations, read_people
from pipelines.store.database.schema import feedback, notified, patterns, people
from pipelines.store.status_change import Change

_OCCASION = timedelta(hours=1)
"""Observations closer than this count as one (`patterns.eventlog.log.OCCASION_GAP`)."""

_OPEN_ONES = (
    select(
        people.c.name,
        patterns.c.json,
        patterns.c.status,
        patterns.c.if_kept,
        patterns.c.if_missed,
        notified.c.status.label("notified"),
    )
    .join(patterns, patterns.c.person == people.c.number)
    .outerjoin(notified, and_(notified.c.person == patterns.c.person, notified.c.pattern == patterns.c.id))
    .where(
        people.c.name.in_(bindparam("names", expanding=True)),
        or_(patterns.c.if_kept != patterns.c.status, patterns.c.if_missed != patterns.c.status),
        or_(notified.c.provisional.is_(None), notified.c.provisional.is_(False)),
        ~exists().where(
            feedback.c.person == patterns.c.person,
            feedback.c.pattern == patterns.c.id,
            feedback.c.kind == "dismissed",
        ),
    )
    .order_by(people.c.name, patterns.c.place)
)
"""Built once: building a statement takes as long as running it."""

_REASONS = {True: "kept once more", False: "missed once more"}


def provisional_changes(connection: Connection, new: pl.DataFrame, now: datetime) -> list[Change]:
    """The status changes that each of these new observations implies on its own.

    Args:
        connection: in any transaction, after the observations were stored.
        new: an observation frame of a few rows.
        now: later observations are ignored.
    """
    open_ones = _open_patterns(connection, sorted(set(new.get_column("user_id").to_list())))
    if not open_ones:
        return []
    if new.height > 1:
        new = new.sort("user_id", "at", "id")
    changes: dict[tuple[str, str], Change] = {}
    for row, event in zip(new.iter_rows(named=True), _events(new, open_ones), strict=True):
        if row["actor"] != "user" or row.get("automatic:flag") or row["at"] > now:
            continue  # no evidence, or in the future
        for pattern in open_ones.get(row["user_id"], []):
            key = (row["user_id"], pattern.pattern["id"])
            if key not in changes and (change := _change(connection, pattern, row, event)) is not None:
                changes[key] = change
    return list(changes.values())


def _events(new: pl.DataFrame, open_ones: Mapping[str, list[_Open]]) -> Iterator[Event]:
    """The observations as events; derived features are computed only where a rule needs them, since that is slow."""
    users = new.get_column("user_id").to_list()
    plain = list(events_of(new))
    needed = [
        number
        for number, (user, event) in enumerate(zip(users, plain, strict=True))
        if any(one.rule.needs_derived(event) for one in open_ones.get(user, []))
    ]
    if needed:
        derived = events_of(with_features(new[needed], join_similar=len(needed) > 1))
        for number, event in zip(needed, derived, strict=True):
            plain[number] = event
    yield from plain


class _Open:
    """A pattern whose status depends on the next observation."""

    def __init__(self, json: str, before: str, if_kept: str | None, if_missed: str | None) -> None:
        self.pattern: dict[str, Any] = orjson.loads(json)
        self.rule = rule_of(self.pattern["type"], self.pattern["rule"])
        self.before = before
        self.after = {True: if_kept, False: if_missed}
        self.last_seen = datetime.fromisoformat(self.pattern["last_seen"]).replace(tzinfo=None)


def _open_patterns(connection: Connection, names: Sequence[str]) -> Mapping[str, list[_Open]]:
    """By user, the patterns whose status one more outcome changes, without those already reported."""
    found: dict[str, list[_Open]] = {}
    for name, json, status, if_kept, if_missed, last in connection.execute(_OPEN_ONES, {"names": names}):
        found.setdefault(name, []).append(_Open(json, last or status, if_kept, if_missed))
    return found


def _change(connection: Connection, pattern: _Open, row: Mapping[str, Any], event: Event) -> Change | None:
    """The status change that this event implies, if any."""
    fields = pattern.pattern
    if event.local - pattern.last_seen < _OCCASION:
        return None  # late, or the same occasion
    settled = _settled(connection, pattern.rule, row, event)
    if not settled:
        return None
    kept = settled[0]
    if pattern.after[kept] in (None, pattern.before):
        return None
    return Change(
        user_id=fields["user_id"],
        id=fields["id"],
        type=fields["type"],
        statement=fields["statement"],
        before=pattern.before,
        after=pattern.after[kept],
        at=_timestamp(row),
        reason=_REASONS[kept],
        confidence=fields["confidence"],
        provisional=True,
    )


def _settled(connection: Connection, rule: Rule, row: Mapping[str, Any], event: Event) -> tuple[bool, ...]:
    """The opportunities that the event settles. Earlier events are read only where they can matter."""
    may_settle = event.matches(rule.judged) if isinstance(rule, WorkflowRule) else bool(rule.outcomes(event))
    if not may_settle:
        return ()
    before = list(_before(connection, row, rule.reach)) if rule.reach else []
    return rule.outcomes(event, before)


def _before(connection: Connection, row: Mapping[str, Any], span: timedelta) -> Iterator[Event]:
    """The person's observations within `span` before the event."""
    person = read_people(connection, people.c.name == row["user_id"])
    frame = read_observations(connection, person, row["at"], since=row["at"] - span)
    earlier = (pl.col("at") < row["at"]) | ((pl.col("at") == row["at"]) & (pl.col("id") < row["id"]))
    yield from events_of(with_features(frame.filter(earlier, pl.col("actor") == "user").sort("at", "id")))


def _timestamp(row: Mapping[str, Any]) -> str:
    return rfc_3339(row["local"], row["local"] - row["at"].replace(tzinfo=None))
