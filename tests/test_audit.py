"""The audit lists exactly what is stored, and only for the requested user."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import orjson
import polars as pl
from click.testing import CliRunner
from sqlalchemy import func, select

from observations.schema import concat_observations
from pipelines import Store
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from pipelines.store.audit import IN_ARCHIVES, IN_DATABASE
from pipelines.store.database.schema import journal, patterns
from tests.simulate import creature_of_habit, nobody_in_particular

ADA = creature_of_habit(1, weeks=6)
BEA = nobody_in_particular(2, weeks=4, user="bea", tz="Asia/Tokyo")
BOTH = concat_observations([ADA.observations, BEA.observations])


def open_store(place: str, now: datetime = ADA.as_of) -> Store:
    return Store(place, clock=lambda: now)


def test_every_observation_is_counted_where_it_is(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        store.add(BOTH)
        store.archive(timedelta(days=15), tmp_path / "old")
        found = store.audit(ALL_USERS).observations
    assert {one.where for one in found} == {IN_DATABASE, IN_ARCHIVES}
    told: dict[tuple[str, ...], tuple[int, datetime, datetime]] = {}
    for one in found:
        kind = (one.user, one.type, one.action)
        count, first, last = told.get(kind, (0, one.first, one.last))
        told[kind] = (count + one.count, min(first, one.first), max(last, one.last))
    counted = BOTH.group_by("user_id", "type", "action").agg(
        pl.len(), pl.col("at").min().alias("first"), pl.col("at").max().alias("last")
    )
    assert told == {row[:3]: row[3:] for row in counted.iter_rows()}


def test_what_is_derived_is_counted_for_each_user(place: str) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        derived = {(one.user, one.what): one for one in store.audit(ALL_USERS).derived}
        with store.database.reading() as connection:
            for name, table in (("patterns", patterns), ("journal", journal)):
                rows = connection.execute(select(func.count()).select_from(table)).scalar()
                assert sum(one.count for (_, what), one in derived.items() if what == name) == rows
    assert derived["ada", "patterns"].size > 100
    assert {user for user, _ in derived} == {"ada", "bea"}


def test_of_one_user_nothing_of_another_is_said(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        store.archive(timedelta(days=15), tmp_path / "old")
        assert "ada" not in store.audit("bea").to_json().replace(str(tmp_path), "").replace(place, "")
        unknown = store.audit("bee")
        assert (unknown.observations, unknown.derived, unknown.forgotten) == ((), (), ())


def test_the_places_are_the_files(tmp_path: Path) -> None:
    place = tmp_path / "habitus.db"
    with open_store(str(place)) as store:
        store.observe(ADA.observations)
        done = store.archive(timedelta(days=15))
        places = {one.place: one.size for one in store.audit("ada").places}
    for path in (place, *done.files):
        assert places[str(path)] == path.stat().st_size


def test_nothing_changes_by_looking(tmp_path: Path) -> None:
    place = tmp_path / "habitus.db"
    with open_store(str(place)) as store:
        store.observe(ADA.observations)
        store.archive(timedelta(days=15))
    before = place.read_bytes()
    with open_store(str(place)) as store:
        assert store.audit(ALL_USERS) == store.audit(ALL_USERS)
    assert place.read_bytes() == before


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.observe(BOTH)
        store.forget(user="bea")
    table = CliRunner().invoke(main, ["audit", "--db", place, "--all-users"])
    assert table.exit_code == 0, table.output
    for word in (
        "ada",
        "calendar",
        "database",
        "until forgotten",
        "patterns",
        "on the suppression list: 1 span",
    ):
        assert word in table.stdout
    assert "bea" not in table.stdout
    said = orjson.loads(
        CliRunner().invoke(main, ["audit", "--db", place, "--user", "ada", "--format", "json"]).stdout
    )
    assert sum(one["count"] for one in said["observations"]) == ADA.observations.height
    assert said["forgotten"] == []  # the log of erasures names nobody, so it is not shown to one user
    everyone = CliRunner().invoke(main, ["audit", "--db", place, "--all-users", "--format", "json"]).stdout
    assert orjson.loads(everyone)["forgotten"][0]["kind"] == "user"
    assert said["observations"][0]["first"].startswith("2026-")


def test_an_empty_store_has_nothing_of_anybody(place: str) -> None:
    with open_store(place) as store:
        found = store.audit(ALL_USERS)
    assert (found.observations, found.derived, found.forgotten) == ((), (), ())
    assert found.kept_out == {}
