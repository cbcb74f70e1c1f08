"""A store of every earlier version is migrated with all its data."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from pipelines import Store
from pipelines.store.database.schema import metadata
from pipelines.store.database.version import NEWEST

DUMPS = sorted((Path(__file__).parents[1] / "fixtures" / "stores").glob("version-*.sql"))


def test_the_migrations_lead_to_the_tables_of_today(place: str) -> None:
    with Store(place) as store, store.database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = [d for d in compare_metadata(context, metadata) if "alembic_version" not in repr(d)]
    assert differences == []


def test_there_is_a_store_of_each_version() -> None:
    assert [dump.stem.removeprefix("version-") for dump in DUMPS] == [
        f"{version:04d}" for version in range(1, int(NEWEST) + 1)
    ]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_a_store_of_an_older_version_is_brought_up_with_all_that_is_in_it(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "habitus.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    with Store(path) as store:
        frame = store.observations("ada")
        assert frame.height == 12
        assert frame.get_column("title:text").unique().to_list() == ["Tea"]
        assert frame.get_column("local").dt.strftime("%H:%M").unique().to_list() == ["07:00"]
        with store.database.reading() as reading:
            assert reading.execute(text("SELECT version_num FROM alembic_version")).scalar() == NEWEST
            assert reading.execute(text("SELECT count(*) FROM patterns")).scalar() == 1
            assert reading.execute(text("SELECT count(*) FROM journal")).scalar() == 2
