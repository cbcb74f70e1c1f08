"""The store gives the results of batch for any order of arrival; writing, reading and queries."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from observations.errors import SchemaError, StoreError
from observations.model import Observation
from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.store import ALL_USERS
from tests.simulate import creature_of_habit, every, nobody_in_particular, regular

ADA = creature_of_habit(1, weeks=6)
BEA = nobody_in_particular(2, weeks=4, user="bea", tz="Asia/Tokyo")
BOTH = concat_observations([ADA.observations, BEA.observations])


def open_store(place: str, now: datetime = ADA.as_of) -> Store:
    return Store(place, clock=lambda: now)


def expected(frame: pl.DataFrame, as_of: datetime) -> str:
    """What ``detect --as-of`` prints: nothing later is even read."""
    return detect(frame.filter(pl.col("at") <= as_of), as_of=as_of).to_ndjson()


def test_patterns_are_those_of_a_batch_at_any_time(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        for as_of in (ADA.as_of, ADA.as_of - timedelta(days=9), ADA.as_of + timedelta(days=40)):
            assert store.patterns(ALL_USERS, as_of=as_of).to_ndjson() == expected(BOTH, as_of)
        assert store.patterns(ALL_USERS).confirmed


def test_one_person_is_answered_as_if_alone(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        assert store.patterns("bea").to_ndjson() == expected(BEA.observations, ADA.as_of)
        assert store.observations("bea").equals(concat_observations([BEA.observations]).sort("at", "id"))
        assert store.people() == ["ada", "bea"]


def test_what_is_stored_comes_back_to_the_bit(place: str) -> None:
    with open_store(place) as store:
        store.add(BOTH)
        assert store.observations(ALL_USERS).equals(BOTH.sort("user_id", "at", "id"))


def test_a_record_that_comes_again_changes_nothing(place: str) -> None:
    with open_store(place) as store:
        assert len(store.add(BOTH)) == BOTH.height
        assert store.add(BOTH.sample(fraction=1, shuffle=True, seed=1)).new == frozenset()
        twice = pl.concat([BOTH[:5], BOTH[:5]])
        assert not store.add(twice)


def test_of_differing_records_of_one_id_batch_and_store_choose_the_same(place: str) -> None:
    """A meeting was moved, and its room changed; which record counts depends on the time that is asked about."""
    days = every(7, 12)
    first = regular("Choir", days, "19:00").with_columns(id=pl.format("choir-{}", pl.int_range(12)))
    moved = first.with_columns(
        pl.col("at", "local") + pl.duration(days=pl.int_range(12) % 3), **{"room:text": pl.lit("B")}
    )
    both = concat_observations([moved, first])
    end = datetime(2026, 4, 20, tzinfo=UTC)
    with open_store(place, end) as store:
        store.observe(moved)
        store.observe(first)
        for day in range(0, 100, 13):
            as_of = end - timedelta(days=day)
            if both.filter(pl.col("at") <= as_of).height:
                assert store.patterns(ALL_USERS, as_of=as_of).to_ndjson() == expected(both, as_of)
        assert store.observations(ALL_USERS).height == 12


def test_what_lies_ahead_is_kept_and_counts_from_its_time_on(place: str) -> None:
    early = ADA.as_of - timedelta(days=14)
    with open_store(place, early) as store:
        store.observe(ADA.observations)
        assert store.patterns(ALL_USERS).to_ndjson() == expected(ADA.observations, early)
        assert store.patterns(ALL_USERS, as_of=ADA.as_of).to_ndjson() == expected(ADA.observations, ADA.as_of)


def test_changes_are_told_once(place: str) -> None:
    with open_store(place) as store:
        changes = store.observe(BOTH)
        assert {(c.user_id, c.id, c.after) for c in changes} == {
            (p.user_id, p.id, p.status) for p in store.patterns(ALL_USERS).patterns
        }
        assert all(change.before is None and change.reason for change in changes)
        assert store.observe(BOTH) == []
        assert store.changes() == []


def test_a_change_that_was_not_received_is_told_again(place: str) -> None:
    with open_store(place) as store:
        store.add(ADA.observations)
        assert next(store.evaluate())
        store.add(regular("Swim", [ADA.as_of.date() - timedelta(days=1)], user="ada"))
        assert {c.before for c in store.changes()} == {None}


def test_time_alone_expires_what_is_not_seen(place: str) -> None:
    now = [ADA.as_of]
    with Store(place, clock=lambda: now[0]) as store:
        confirmed = {c.id for c in store.observe(ADA.observations) if c.after == "confirmed"}
        assert confirmed
        now[0] += timedelta(days=365)
        changes = store.changes()
        assert {c.id for c in changes if (c.before, c.after) == ("confirmed", "expired")} == confirmed
        assert store.changes() == []


def test_records_of_the_contract_are_taken(tmp_path: Path) -> None:
    record = {"type": "tea", "action": "brewed", "timestamp": "2026-03-02T07:00:00", "features": {"cups": 2}}
    model = Observation(type="tea", action="brewed", timestamp=datetime(2026, 3, 3, 7, tzinfo=UTC))
    with open_store(str(tmp_path / "tea.db")) as store:
        store.observe([record, model], tz="Europe/Berlin")
        frame = store.observations("me")
        # The contract reads a time at UTC without a zone in that of the call.
        assert frame.get_column("local").dt.strftime("%d %H:%M").to_list() == ["02 07:00", "03 08:00"]
        assert frame.get_column("cups:number").to_list() == [2.0, None]
        with pytest.raises(SchemaError, match="record 2: no timestamp"):
            store.observe([record, {"type": "tea"}])


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "new" / "habitus.db")) as store:
        store.observe(ADA.observations[:20])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == {"habitus.db": 0o600, "habitus.db-wal": 0o600, "habitus.db-shm": 0o600}


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "music.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match=r"music\.db: is a database, but not a habitus store"):
        Store(path)
