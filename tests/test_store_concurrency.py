"""Concurrent processes: two writers and ten readers lose nothing and see no lock error."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import select

from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.store import ALL_USERS
from pipelines.store.context import clock_at
from pipelines.store.database.schema import people
from tests.simulate import creature_of_habit, nobody_in_particular

WRITERS, READERS = 2, 10
PIECE = 20
ADA = creature_of_habit(4, weeks=6)
FRAME = concat_observations(
    [ADA.observations, *(nobody_in_particular(n, weeks=2, user=f"user-{n}").observations for n in range(6))]
).sort("at", "id")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pipelines.store.store", "tests.simulate"])


def write(place: str, parts: list[pl.DataFrame], evaluate: bool, said: Connection) -> None:
    """Run a writer: store the parts, evaluating now and then."""
    try:
        with Store(place, clock=clock_at(ADA.as_of)) as store:
            for number, part in enumerate(parts):
                store.add(part)
                if evaluate and number % 8 == 0:
                    store.changes()
        said.send("done")
    except BaseException as error:
        said.send(repr(error))


def read(place: str, written: Event, said: Connection) -> None:
    """Run a reader while there are writers: all data is complete, and never less than before."""
    try:
        before, is_last = 0, False
        with Store(place, clock=clock_at(ADA.as_of)) as store:
            while not is_last:
                is_last = written.wait(0.1)
                frame = store.observations("ada")
                assert frame.height >= before
                before = frame.height
                store.people()
        assert before == ADA.observations.height
        said.send("done")
    except BaseException as error:
        said.send(repr(error))


def test_two_write_and_ten_read(place: str) -> None:
    Store(place).close()
    parts = [FRAME[at : at + PIECE] for at in range(0, FRAME.height, PIECE)]
    # Both write everything, one forwards and one backwards: in the middle they meet.
    work = [(write, (place, parts, True)), (write, (place, parts[::-1], False))]
    written = CONTEXT.Event()
    work += [(read, (place, written))] * READERS  # type: ignore[list-item]
    ends = []
    processes = []
    for target, arguments in work:
        hear, say = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=target, args=(*arguments, say))
        process.start()
        say.close()
        ends.append(hear)
        processes.append(process)
    try:
        assert [end.recv() for end in ends[:WRITERS]] == ["done"] * WRITERS
        written.set()
        assert [end.recv() for end in ends[WRITERS:]] == ["done"] * READERS
    finally:
        written.set()
        for process, end in zip(processes, ends, strict=True):
            process.join()
            end.close()
    with Store(place, clock=clock_at(ADA.as_of)) as store:
        store.changes()
        assert store.observations(ALL_USERS).equals(concat_observations([FRAME]).sort("user_id", "at", "id"))
        assert store.patterns(ALL_USERS).to_ndjson() == detect(FRAME, as_of=ADA.as_of).to_ndjson()
        with store.database.reading() as connection:
            counted = connection.execute(select(people.c.name, people.c.observations)).all()
    assert {row.name: row.observations for row in counted} == dict(
        FRAME.group_by("user_id").len().iter_rows()
    )


def open_new(place: str, together: Barrier, said: Connection) -> None:
    """Open a store that is not there yet, at the same moment as others."""
    together.wait()
    try:
        with Store(place) as store:
            said.send(store.people())
    except BaseException as error:
        said.send(repr(error))


def test_many_that_create_a_store_at_once_all_find_it(place: str) -> None:
    together = CONTEXT.Barrier(6)
    ends, processes = [], []
    for _ in range(6):
        hear, say = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=open_new, args=(place, together, say))
        process.start()
        say.close()
        ends.append(hear)
        processes.append(process)
    assert [end.recv() for end in ends] == [[]] * 6
    for process, end in zip(processes, ends, strict=True):
        process.join()
        end.close()


def test_a_new_store_is_waited_for_while_another_process_is_at_it(tmp_path: Path) -> None:
    """SQLite raises a lock error at once, with any timeout."""
    path = tmp_path / "habitus.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.rollback)
    release.start()
    with Store(path) as store:
        assert store.people() == []
    release.join()
    other.close()


def test_many_threads_read_one_store(tmp_path: Path) -> None:
    with Store(tmp_path / "habitus.db", clock=clock_at(ADA.as_of)) as store:
        store.add(FRAME)
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(store.observations("ada").height)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [ADA.observations.height] * 8


def test_one_sync_at_a_time(place: str) -> None:
    with Store(place) as store, Store(place) as other:
        with store.database.alone("sync") as first, other.database.alone("sync") as second:
            assert (first, second) == (True, False)
        with other.database.alone("sync") as later:
            assert later


@pytest.mark.parametrize("moment", [None, datetime.fromisoformat("2026-03-01T00:00:00Z")])
def test_a_clock_stands_still_only_where_it_is_told_to(moment: datetime | None) -> None:
    clock = clock_at(moment)
    first, second = clock(), clock()
    assert first <= second
    assert (first == second == moment) is (moment is not None)
