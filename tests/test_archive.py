"""Archived observations count as before; none are lost or duplicated, even after an interruption."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import textwrap
import threading
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from sqlalchemy import func, select

from observations.errors import StoreError
from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.cli.main import main
from pipelines.store import ALL_USERS
from pipelines.store.database import parquet_archive as archive_files
from pipelines.store.database.observation_queries import read_observations, read_people
from pipelines.store.database.parquet_archive import read_archives
from pipelines.store.database.schema import observations
from tests.simulate import creature_of_habit, nobody_in_particular

ADA = creature_of_habit(1, weeks=8)
BEA = nobody_in_particular(2, weeks=4, user="bea", tz="Asia/Tokyo")
BOTH = concat_observations([ADA.observations, BEA.observations])
CUT = timedelta(days=15)


def open_store(place: str, now: datetime = ADA.as_of) -> Store:
    return Store(place, clock=lambda: now)


def rows_in(store: Store) -> int:
    with store.database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(observations)).scalar() or 0)


def files_of(store: Store) -> list[Path]:
    with store.database.reading() as connection:
        return [archive.path for archive in read_archives(connection)]


def expected(frame: pl.DataFrame, as_of: datetime = ADA.as_of) -> str:
    return detect(frame.filter(pl.col("at") <= as_of), as_of=as_of).to_ndjson()


def test_every_answer_stays_what_it_is(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        before = store.patterns(ALL_USERS).to_ndjson()
        done = store.archive(CUT, tmp_path / "old")
        old = BOTH.filter(pl.col("at") < ADA.as_of - CUT)
        assert done.observations == old.height > 0
        assert rows_in(store) == done.left == BOTH.height - old.height
        assert store.patterns(ALL_USERS).to_ndjson() == before
        assert store.observations(ALL_USERS).equals(BOTH.sort("user_id", "at", "id"))
        earlier = ADA.as_of - timedelta(days=25)
        assert store.patterns("ada", as_of=earlier).to_ndjson() == expected(ADA.observations, earlier)


def test_what_comes_after_it_counts_together_with_what_was_archived(place: str, tmp_path: Path) -> None:
    """In time, and late: the late ones come into the archive with the next run."""
    early = pl.col("at") < ADA.as_of - timedelta(days=10)
    late = pl.int_range(pl.len()) % 7 == 0
    with open_store(place) as store:
        store.observe(BOTH.filter(early & ~late))
        store.archive(CUT, tmp_path)
        store.observe(BOTH.filter(~early | late))
        assert store.patterns(ALL_USERS).to_ndjson() == expected(BOTH)
        files = files_of(store)
        assert store.archive(CUT).observations == BOTH.filter(late & (pl.col("at") < ADA.as_of - CUT)).height
        assert store.patterns(ALL_USERS).to_ndjson() == expected(BOTH)
        assert len(files_of(store)) == len(files)
        assert {path.parent for path in files_of(store)} == {tmp_path}
        assert sorted(path for path in tmp_path.glob("*.parquet")) == sorted(files_of(store))


def test_what_is_archived_is_recognised_when_it_comes_again(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        store.observe(BOTH)
        store.archive(CUT, tmp_path)
        assert not store.add(BOTH).new
        other = BOTH[:3].with_columns(pl.lit("moved").alias("location:text"))
        assert len(store.add(concat_observations([other, BOTH]))) == 3
        assert store.observations(ALL_USERS).height == BOTH.height


def test_the_files_are_a_month_each_and_for_the_owner_alone(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "habitus.db")) as store:
        store.add(BOTH)
        done = store.archive(CUT)
        assert {path.parent for path in done.files} == {tmp_path / "habitus.db-archive"}
        assert stat.S_IMODE((tmp_path / "habitus.db-archive").stat().st_mode) == 0o700
        for path in done.files:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            frame = pl.read_parquet(path)
            assert frame.get_column("at").dt.strftime("%Y-%m").unique().to_list() == [path.name[:7]]
            assert frame.equals(frame.sort("user_id", "at", "id"))
        assert done.size == sum(path.stat().st_size for path in done.files)


def test_a_store_can_be_moved_with_its_archive(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "habitus.db")) as store:
        store.observe(BOTH)
        store.archive(CUT)
    new = tmp_path / "elsewhere"
    new.mkdir()
    for path in tmp_path.glob("habitus.db*"):
        path.rename(new / path.name)
    with open_store(str(new / "habitus.db")) as store:
        assert store.patterns(ALL_USERS).to_ndjson() == expected(BOTH)


def test_a_missing_or_damaged_file_is_said_in_one_line(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "habitus.db")) as store:
        store.add(BOTH)
        path = store.archive(CUT).files[0]
        path.write_bytes(b"something else")
        with pytest.raises(StoreError, match="archive cannot be read; restore it"):
            store.observations(ALL_USERS)
        path.unlink()
        with pytest.raises(StoreError, match="archive is missing; restore it"):
            store.observations(ALL_USERS)


def test_a_folder_that_cannot_be_written_to_loses_nothing(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with open_store(place) as store:
        store.add(BOTH)
        with pytest.raises(StoreError, match="no observations were moved"):
            store.archive(CUT, tmp_path / "file" / "old")
        assert rows_in(store) == BOTH.height


def test_a_store_on_a_server_asks_for_a_folder(place: str) -> None:
    with open_store(place) as store:
        store.add(BOTH)
        if store.database.file is None:
            with pytest.raises(StoreError, match="name a folder for the archives with `to`"):
                store.archive(CUT)
        else:
            assert store.archive(CUT).observations


def test_two_stores_share_a_folder(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as one, open_store(str(tmp_path / "b.db")) as other:
        for store in (one, other):
            store.observe(BOTH)
            store.archive(CUT, tmp_path / "old")
        one.forget(user="ada")
        other.forget(user="bea")
        assert one.people() == ["bea"]
        assert other.patterns(ALL_USERS).to_ndjson() == expected(ADA.observations)


def test_whoever_is_reading_reads_to_the_end(place: str, tmp_path: Path) -> None:
    """A reader sees the store as it was when they began, though files are replaced meanwhile."""
    with open_store(place) as store:
        store.add(BOTH[::2])
        store.archive(CUT, tmp_path)
        store.add(BOTH)
        with open_store(place) as other, other.database.reading() as reading:
            whose = read_people(reading)
            writer = threading.Thread(target=store.archive, args=[CUT])
            writer.start()
            writer.join(1.0)
            assert read_observations(reading, whose).height == BOTH.height
        writer.join()
        assert store.observations(ALL_USERS).height == BOTH.height
        assert sorted(tmp_path.glob("*.parquet")) == sorted(files_of(store))


STEPS = {
    "before the file is whole": "archive_files._write",
    "when the file is whole": "archive.delete",
    "when the rows are gone and nothing is settled": "archive.sweep",
    "before the log is emptied": "archive.Database.scrub",
}

KILLED = """
    import os, signal, sys
    from datetime import timedelta
    from pipelines import Store
    from pipelines.store import archive
    from pipelines.store.database import parquet_archive as archive_files

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    home, _, name = sys.argv[2].rpartition(".")
    owner = {"archive_files": archive_files, "archive": archive, "archive.Database": archive.Database}[home]
    setattr(owner, name, die)
    with Store(sys.argv[1]) as store:
        store.archive(timedelta(0))
"""


@pytest.mark.parametrize("step", STEPS)
def test_killed_on_the_way_nothing_is_lost_or_doubled(step: str, tmp_path: Path) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.add(BOTH)
    words = [sys.executable, "-c", textwrap.dedent(KILLED), place, STEPS[step]]
    assert subprocess.run(words, cwd=Path(__file__).parents[1]).returncode == -signal.SIGKILL
    with open_store(place) as store:
        assert store.observations(ALL_USERS).equals(BOTH.sort("user_id", "at", "id"))
        assert not store.add(BOTH).new
        store.archive(timedelta(0))
        assert store.observations(ALL_USERS).equals(BOTH.sort("user_id", "at", "id"))
        assert rows_in(store) == BOTH.filter(pl.col("at") >= ADA.as_of).height
        assert sorted(Path(f"{place}-archive").iterdir()) == sorted(files_of(store))


def test_a_transaction_that_is_undone_leaves_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with open_store(str(tmp_path / "habitus.db")) as store:
        store.add(BOTH)
        monkeypatch.setattr(archive_files, "_write", full)
        with pytest.raises(StoreError, match="No space left on device"):
            store.archive(CUT)
        assert rows_in(store) == BOTH.height
        assert files_of(store) == []


def test_the_command_says_what_it_moved(tmp_path: Path) -> None:
    place = str(tmp_path / "habitus.db")
    with open_store(place) as store:
        store.add(BOTH)
    run = CliRunner().invoke(main, ["archive", "--db", place, "--older-than", "1d"])
    assert run.exit_code == 0, run.output
    assert f"{BOTH.height:,} observations from before " in run.stdout
    assert "0 observations left in the database" in run.stdout
    run = CliRunner().invoke(main, ["archive", "--db", place])
    assert run.stdout.startswith("nothing to archive: no observation in the database is older than ")
    run = CliRunner().invoke(main, ["archive", "--db", place, "--older-than", "soon"])
    assert run.exit_code == 1
    assert run.stderr == "Error: --older-than takes an age such as 180d, 26w or 1y, not 'soon'\n"
