"""An error of the store is one line, and stored data is not lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import event, text

from observations.errors import StoreError
from observations.export import to_ndjson
from pipelines import Store
from pipelines.cli.main import main
from pipelines.cli.observe_commands import warn_of_the_clock
from pipelines.store import ALL_USERS
from pipelines.store.context import clock_at
from tests.simulate import creature_of_habit

ADA = creature_of_habit(1, weeks=4).observations
ROOT = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a few observations in it."""
    path = tmp_path / "habitus.db"
    with Store(path) as store:
        store.add(ADA[:50])
    return path


def test_a_store_of_a_newer_version_is_left_alone(place: str) -> None:
    with Store(place) as store:
        store.add(ADA[:5])
        store.database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(
        StoreError, match=r"was written by a newer habitus \(store version 9999, .*update habitus"
    ):
        Store(place)


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(StoreError) as caught:
        Store("postgresql+psycopg://ada:hunter2@127.0.0.1:1/nothing?connect_timeout=1")
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "place", ["nonsense://x", "mysql://ada:hunter2@host/x", "://", "postgresql://host:port/x"]
)
def test_an_address_that_is_none_is_an_error(place: str) -> None:
    with pytest.raises(StoreError, match="is not a store location; name a file, or postgresql") as caught:
        Store(place)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ada, " * 500)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"letter\.txt: is not a store"):
        Store(path)
    assert path.read_bytes() == before


def test_a_damaged_store_is_said_to_be_one(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(StoreError, match=r"habitus\.db: is damaged; restore a backup"), Store(path) as store:
        store.observations(ALL_USERS)


def test_a_full_disk_loses_nothing(path: Path) -> None:
    """The maximum size of the database is reached, as on a full disk."""
    with Store(path) as store:
        event.listen(store.database._engine, "checkout", _may_not_grow)
        with pytest.raises(StoreError, match="no space left on the disk; this batch was not stored"):
            store.add(ADA)
        assert store.observations(ALL_USERS).height == 50
    with Store(path) as store:
        assert store.observations(ALL_USERS).height == 50
        store.add(ADA)
        assert store.observations(ALL_USERS).height == ADA.height


def _may_not_grow(connection: sqlite3.Connection, *_: object) -> None:
    connection.execute("PRAGMA max_page_count = 1")  # that is: as many as it has


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everything")
def test_a_file_that_may_only_be_read(path: Path) -> None:
    """Its owner took the right to write away; as somebody who may not override that."""
    path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    for folder in (path.parent, *path.parent.parents):
        if folder != Path("/") and folder.owner() == "root" and folder.is_relative_to("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o755)
    command = [
        sys.executable,
        "-c",
        "from pipelines.cli.main import main; main()",
        "observe",
        "--db",
        str(path),
    ]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    done = subprocess.run(
        command,
        cwd=ROOT,
        input=to_ndjson(ADA),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (1, 1), done.stderr
    assert lines[0].startswith(f"Error: {path}: ")
    assert "write" in lines[0] or "cannot be opened" in lines[0]


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file" / "habitus.db")


def test_a_clock_that_was_set_back_is_said_and_loses_nothing(path: Path) -> None:
    newest = ADA[:50].get_column("at").max()
    assert isinstance(newest, datetime)
    with Store(path, clock=clock_at(newest - timedelta(days=3))) as store:
        store.observe(ADA[:50])
        assert store.observations(ALL_USERS).height == 50
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("click.echo", lambda line, err: said.append(line))
        warn_of_the_clock(newest, newest - timedelta(days=3))
        warn_of_the_clock(newest, newest)
    (line,) = said
    assert line.startswith("warning: the newest observation in the store (2026-")
    assert "check the clock" in line


def test_a_writer_who_waits_too_long_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.store.database.connection.PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with Store(path) as store:
            assert store.observations(ALL_USERS).height == 50  # readers do not wait
            with pytest.raises(StoreError, match="another process has been writing to it for too long"):
                store.add(ADA)
    finally:
        other.close()


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada, " * 500)
    result = CliRunner().invoke(main, ["sync", "--db", str(tmp_path / "letter.txt")], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
