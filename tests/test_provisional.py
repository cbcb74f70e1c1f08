"""A single observation is evaluated against the stored result; what that cannot decide waits for the next evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from pipelines import Change, Store
from pipelines.store.context import clock_at
from pipelines.store.database.schema import patterns, people
from tests.simulate import observations

NOW = datetime(2026, 3, 4, 20, tzinfo=UTC)  # a Wednesday
STANDUP = {
    "where": {"type": "calendar", "kind": "standup"},
    "rrule": "FREQ=DAILY",
    "time": "09:00",
    "tolerance_minutes": 10,
}
ROOM = {"where": {"type": "calendar", "category": "budget"}, "feature": "location", "value": "Attic"}
EVENING = {"where": {"type": "email"}, "days": ["wednesday"], "from": "19:00", "to": "24:00"}
STEPS = {"steps": [{"program": "pull"}, {"program": "test"}], "within_minutes": 10}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in which one person has one observation, long ago."""
    with Store(tmp_path / "habitus.db", clock=clock_at(NOW)) as store:
        store.add(seen("odd", "2026-01-01 00:00"))
        yield store


def seen(type: str, when: str, *, actor: str = "user", user: str = "ada", **features: Value) -> pl.DataFrame:
    """One observation."""
    records = RecordBuilder()
    moment = datetime.fromisoformat(f"{when}+00:00")
    records.add(
        type,
        "did",
        at=moment,
        local=moment.replace(tzinfo=None),
        features=features,
        actor=actor,
        user_id=user,
    )
    return observations(records)


def believe(
    store: Store,
    type: str,
    rule: dict[str, Any],
    status: str = "tracking",
    *,
    if_kept: str = "confirmed",
    if_missed: str = "tracking",
    last_seen: str = "2026-03-03T09:00:00+00:00",
) -> None:
    """As if the last evaluation had found this pattern."""
    said = {
        "id": type,
        "user_id": "ada",
        "type": type,
        "statement": f"a {type}",
        "rule": rule,
        "status": status,
        "confidence": 0.6,
        "last_seen": last_seen,
    }
    entry = {"id": type, "place": 0, "status": status, "json": orjson.dumps(said).decode()}
    with store.database.reading() as connection:
        person = connection.execute(people.select().where(people.c.name == "ada")).one().number
    row = {**entry, "person": person, "if_kept": if_kept, "if_missed": if_missed}
    store.database.write(lambda connection: connection.execute(patterns.insert(), [row]))


def answer(store: Store, new: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    """The provisional changes for the new observation: statuses before and after."""
    store.add(new)
    changes = store.provisional_changes(new)
    assert all(change.provisional for change in changes)
    return [(change.before, change.after) for change in changes]


def test_a_support_that_confirms(store: Store) -> None:
    believe(store, "preference", ROOM)
    new = seen("calendar", "2026-03-04 12:00", category="budget", location="Attic")
    store.add(new)
    assert store.provisional_changes(new) == [
        Change(
            user_id="ada",
            id="preference",
            type="preference",
            statement="a preference",
            before="tracking",
            after="confirmed",
            at="2026-03-04T12:00:00+00:00",
            reason="kept once more",
            confidence=0.6,
            provisional=True,
        )
    ]


def test_a_miss_that_demotes(store: Store) -> None:
    believe(store, "preference", ROOM, "confirmed", if_kept="confirmed", if_missed="tracking")
    new = seen("calendar", "2026-03-04 12:00", category="budget", location="Cellar")
    assert answer(store, new) == [("confirmed", "tracking")]


def test_an_event_in_an_avoided_slot(store: Store) -> None:
    believe(store, "avoidance", EVENING, "confirmed", if_kept="confirmed", if_missed="tracking")
    assert answer(store, seen("email", "2026-03-04 18:59")) == []
    assert answer(store, seen("email", "2026-03-04 19:30")) == [("confirmed", "tracking")]


def test_what_is_derived_from_an_observation_counts(store: Store) -> None:
    believe(store, "temporal", STANDUP)
    new = seen("calendar", "2026-03-04 09:05", title="Re: Standup (week 10)")
    assert answer(store, new) == [("tracking", "confirmed")]


def test_a_last_step_is_looked_at_with_what_came_before_it(store: Store) -> None:
    believe(store, "workflow", STEPS)
    assert answer(store, seen("command", "2026-03-04 12:00", program="test")) == []
    store.add(seen("command", "2026-03-04 13:00", program="pull"))
    assert answer(store, seen("command", "2026-03-04 13:11", program="test")) == []
    store.add(seen("command", "2026-03-04 14:00", program="pull"))
    assert answer(store, seen("command", "2026-03-04 14:09", program="test")) == [("tracking", "confirmed")]


@pytest.mark.parametrize(
    "new",
    [
        seen("calendar", "2026-03-04 12:00", category="budget", location="Attic", actor="agent"),
        seen("calendar", "2026-03-04 12:00", category="budget", location="Attic", automatic=True),
        seen("calendar", "2026-03-04 20:01", category="budget", location="Attic"),
        seen("calendar", "2026-03-03 09:30", category="budget", location="Attic"),
        seen("calendar", "2026-03-04 12:00", category="budget"),
        seen("calendar", "2026-03-04 12:00", category="budget", location="Attic", user="bea"),
    ],
    ids=[
        "an agent's",
        "automatic",
        "ahead of now",
        "the same occasion",
        "without the feature",
        "another person's",
    ],
)
def test_what_is_no_further_evidence_says_nothing(store: Store, new: pl.DataFrame) -> None:
    believe(store, "preference", ROOM)
    assert answer(store, new) == []


def test_a_due_day_is_kept_once(store: Store) -> None:
    """The first standup of the day kept it; a second one, more than an hour later, is no further support."""
    store.add(seen("calendar", "2026-03-04 07:59", title="Standup"))
    believe(store, "temporal", {**STANDUP, "tolerance_minutes": 90}, last_seen="2026-03-04T07:59:00+00:00")
    assert answer(store, seen("calendar", "2026-03-04 09:05", title="Standup")) == []


def test_a_provisional_change_is_not_reported_again_before_it_is_evaluated(store: Store) -> None:
    believe(store, "preference", ROOM)
    new = seen("calendar", "2026-03-04 12:00", category="budget", location="Attic")
    store.mark_notified(store.provisional_changes(new))
    assert (
        store.provisional_changes(seen("calendar", "2026-03-04 15:00", category="budget", location="Attic"))
        == []
    )


def test_of_many_at_once_each_pattern_is_answered_once(store: Store) -> None:
    believe(store, "preference", ROOM)
    times = [NOW - timedelta(hours=hours) for hours in (9, 6, 3)]
    new = pl.concat(
        [seen("calendar", f"{t:%Y-%m-%d %H:%M}", category="budget", location="Attic") for t in times]
    )
    store.add(new)
    (change,) = store.provisional_changes(new.reverse())
    assert change.at == "2026-03-04T11:00:00+00:00"
