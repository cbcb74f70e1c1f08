"""Feedback (what people said about patterns) as rows of the store, and back.

Feedback is stored with the rule it is about: ids change when older observations arrive, the behavior does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import orjson
from sqlalchemy import Connection, delete, select

from pipelines.memory.feedback_record import FeedbackKind, FeedbackRecord
from pipelines.store.database.insert import numbers_of_people
from pipelines.store.database.instants import as_moment, as_number
from pipelines.store.database.observation_queries import Person
from pipelines.store.database.schema import feedback, profile

_REPLACES: Mapping[FeedbackKind, tuple[FeedbackKind, ...]] = {
    "confirmed": ("dismissed",),
    "dismissed": ("confirmed", "pinned"),
}
"""The contradicting feedback that each kind removes."""


def read_feedback(
    connection: Connection, people: Sequence[Person], until: datetime | None = None
) -> list[FeedbackRecord]:
    """The feedback of these people up to `until` (or all of it), in order of time."""
    names = {person.number: person.name for person in people}
    query = select(feedback).where(feedback.c.person.in_(list(names)))
    if until is not None:
        query = query.where(feedback.c.at <= as_number(until))
    rows = connection.execute(query.order_by(feedback.c.at, feedback.c.pattern, feedback.c.kind))
    return [
        FeedbackRecord(names[row.person], row.pattern, row.kind, as_moment(row.at), orjson.loads(row.json))
        for row in rows
    ]


def write_feedback(connection: Connection, record: FeedbackRecord) -> None:
    """Store feedback, replacing feedback of the same kind and what it contradicts. Needs a writing transaction."""
    person = numbers_of_people(connection, [record.user])[record.user]
    for kind in (record.kind, *_REPLACES.get(record.kind, ())):
        _delete(connection, person, record.pattern, kind)
    connection.execute(
        feedback.insert().values(
            person=person,
            pattern=record.pattern,
            kind=record.kind,
            at=as_number(record.at),
            json=orjson.dumps(record.about).decode(),
        )
    )


def delete_feedback(connection: Connection, user: str, pattern: str, kind: FeedbackKind) -> bool:
    """Delete feedback; true if there was any. Needs a writing transaction."""
    person = numbers_of_people(connection, [user])[user]
    return _delete(connection, person, pattern, kind)


def _delete(connection: Connection, person: int, pattern: str, kind: FeedbackKind) -> bool:
    connection.execute(delete(profile).where(profile.c.person == person))  # rebuilt on the next request
    match = (feedback.c.person == person) & (feedback.c.pattern == pattern) & (feedback.c.kind == kind)
    return bool(connection.execute(delete(feedback).where(match)).rowcount)
