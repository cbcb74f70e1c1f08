"""``habitus observe`` as a process: what it prints and when, how it stops, and what is stored after it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
import pytest
from sqlalchemy import func, select

from observations.export import to_ndjson
from observations.schema import concat_observations
from pipelines import Store, detect
from pipelines.store import ALL_USERS
from pipelines.store.context import clock_at
from pipelines.store.database.schema import people
from tests.simulate import creature_of_habit, nobody_in_particular
from tests.test_stream import contents

ROOT = Path(__file__).parents[1]
ADA = creature_of_habit(4, weeks=6)
PEOPLE = concat_observations([ADA.observations, nobody_in_particular(5, weeks=3, user="bea").observations])
LINES = to_ndjson(PEOPLE.sort("at", "id")).splitlines(keepends=True)
PROGRAM = [sys.executable, "-c", "from pipelines.cli.main import main; main()", "observe"]
WHEN = "2026-03-01T00:00:00Z"
EXPECTED = detect(PEOPLE, as_of=datetime.fromisoformat(WHEN)).to_ndjson()


@contextmanager
def observing(
    db: Path | str, *words: str, stdin: int | None = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """The running program; it is killed if it is still there in the end."""
    program = subprocess.Popen(
        [*PROGRAM, "--db", str(db), "--tz", "UTC", "--as-of", WHEN, *words],
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # a line that is read takes nothing of the next with it
    )
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def written(stream: IO[bytes] | None, text: bytes) -> None:
    assert stream is not None
    stream.write(text)
    stream.flush()


def line_of(stream: IO[bytes] | None) -> dict[str, object]:
    assert stream is not None
    return dict(json.loads(stream.readline()))


def test_all_that_comes_through_a_pipe(place: str) -> None:
    """Changes are printed while input goes on, from the evaluation beside the stream, and at its end."""
    with observing(place) as program:
        written(program.stdin, b"".join(LINES))
        first = line_of(program.stdout)
        assert first["before"] is None
        out, said = program.communicate(b"nonsense\n", timeout=60)
    changes = [first, *(json.loads(line) for line in out.splitlines())]
    assert program.returncode == 0
    assert f"standard input:{len(LINES) + 1}: the line is not a JSON object" in said.decode()
    assert said.decode().splitlines()[-1] == (
        f"{len(LINES):,} observations, {len(LINES):,} new, 1 reject, {len(changes)} status changes"
    )
    with Store(place) as store:
        found = store.patterns(ALL_USERS, as_of=datetime.fromisoformat(WHEN))
        assert found.to_ndjson() == EXPECTED
    last = {change["id"]: change["after"] for change in changes}
    assert {id: status for id, status in last.items() if status} == {p.id: p.status for p in found.patterns}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_after_the_piece_in_hand(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with observing(tmp_path / "habitus.db") as program:
        written(program.stdin, b"".join(LINES[:50]))
        wait_for_rows(tmp_path / "habitus.db", 50)
        program.send_signal(number)
        _, said = program.communicate(timeout=30)
    assert program.returncode == status
    assert f"stopped by {number.name} after line 50; everything up to it is stored" in said.decode()
    with Store(tmp_path / "habitus.db") as store:
        assert store.observations(ALL_USERS).height == 50


def test_a_file_is_followed_over_a_rotation_and_a_restart(tmp_path: Path) -> None:
    log, db = tmp_path / "log.ndjson", tmp_path / "habitus.db"
    log.write_bytes(b"".join(LINES[:60]))
    with observing(db, "--follow", str(log), stdin=None) as program:
        wait_for_rows(db, 60)
        log.rename(tmp_path / "log.ndjson.1")
        log.write_bytes(b"".join(LINES[60:90]))
        wait_for_rows(db, 90)
        program.send_signal(signal.SIGTERM)
        _, said = program.communicate(timeout=30)
    assert "90 observations, 90 new" in said.decode()
    assert "after line 30" in said.decode()
    with log.open("ab") as file:
        file.write(b"".join(LINES[90:120]))
    with observing(db, "--follow", str(log), stdin=None) as program:
        wait_for_rows(db, 120)
        program.send_signal(signal.SIGTERM)
        _, said = program.communicate(timeout=30)
    assert "30 observations, 30 new" in said.decode()


def wait_for_rows(db: Path, rows: int) -> None:
    """Until the store has so many observations; half a minute at most."""
    end = time.monotonic() + 30
    with Store(db) as store:
        while (found := rows_in(store)) < rows:
            assert time.monotonic() < end, found
            time.sleep(0.05)


def rows_in(store: Store) -> int:
    with store.database.reading() as connection:
        return int(connection.execute(select(func.sum(people.c.observations))).scalar() or 0)


# --- killed ---------------------------------------------------------------------------------------------------

KILLS = 100

_MANY_LIVES = """
import os, signal, sys, time, traceback
from pathlib import Path
import pipelines.streaming.line_sources
from datetime import datetime
from pipelines.streaming.line_sources import Tail, label_of
from pipelines.store.context import clock_at
from pipelines.store.store import Store
import patterns.explain
from tests.streams import OPTIONS, stream

pipelines.streaming.line_sources.PIECE_BYTES = 4_000

def live(db, log):
    with Store(db, clock=clock_at(datetime.fromisoformat(sys.argv[1]))) as store:
        tail = Tail(log, store.position(label_of(log)))
        class Ending:
            label, ended = tail.label, False
            close = staticmethod(tail.close)
            def read(self, seconds, others=()):
                lines = tail.read(0)
                self.ended = lines is None
                return lines
        stream(store, Ending())

for line in sys.stdin:
    db, log, patience = line.rstrip().split("\\t")
    child = os.fork()
    if child == 0:
        try:
            live(db, Path(log))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if float(patience):
        time.sleep(float(patience))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""
"""Each line of input is one life of a stream: a fork of a process in which everything is loaded, killed after a while."""


def test_killed_at_any_moment_it_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    """A log grows while what follows it is killed again and again; then it may finish once."""
    log, db = tmp_path / "log.ndjson", tmp_path / "habitus.db"
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.integers(0, sum(map(len, LINES)), KILLS - 1)).tolist()
    text = b"".join(LINES)
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    with subprocess.Popen(
        [sys.executable, "-c", _MANY_LIVES, WHEN],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as lives:
        killed = 0
        while killed < KILLS:
            with log.open("ab") as file:
                file.write(parts.pop(0) if parts else b"")
            status = life(lives, db, log, float(rng.uniform(0.01, 0.15)))
            assert status in (0, signal.SIGKILL)
            killed += status == signal.SIGKILL
        assert not parts
        assert life(lives, db, log, 0) == 0
        assert lives.stdin is not None
        lives.stdin.close()
    compare(db, tmp_path / "once.db", PEOPLE)


def life(lives: subprocess.Popen[bytes], db: Path, log: Path, seconds: float) -> int:
    """How one life ended: the signal, or 0."""
    written(lives.stdin, f"{db}\t{log}\t{seconds}\n".encode())
    assert lives.stdout is not None
    return int(lives.stdout.readline())


def compare(db: Path, other: Path, frame: pl.DataFrame) -> None:
    """The store is what one is into which all was put at once."""
    now = clock_at(datetime.fromisoformat(WHEN))
    with Store(db, clock=now) as store, Store(other, clock=now) as once:
        once.observe(frame)
        assert store.observations(ALL_USERS).equals(once.observations(ALL_USERS))
        assert store.patterns(ALL_USERS).to_ndjson() == EXPECTED
        assert contents(store) == contents(once)
