"""The same export twice, or two exports of one source that overlap, add nothing the second time: in every format."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from observations.ingest import READERS
from observations.ingest.base import ReadOptions
from observations.ingest.reading import ReadingReport, read_sources
from observations.ingest.sources import find_sources
from tests.ics_samples import calendar

OPTIONS = ReadOptions(until=datetime(2027, 1, 1, tzinfo=UTC), tz="Europe/Berlin", me=("maya@example.com",))
BEGAN = datetime(2026, 3, 2, 7, 30, tzinfo=UTC)

Numbers = Sequence[int]
Writer = Callable[[Numbers], bytes]


def at(number: int) -> datetime:
    """When the thing of that number happened: each on a day of its own."""
    return BEGAN + timedelta(days=number)


def seconds(number: int) -> int:
    """The same since 1970."""
    return int(at(number).timestamp())


def ics(numbers: Numbers) -> bytes:
    series = "UID:s\nDTSTART;TZID=Europe/Berlin:20260301T090000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:standup"
    events = [f"UID:{n}\nDTSTART:{at(n):%Y%m%dT%H%M%SZ}\nSUMMARY:event {n}" for n in numbers]
    return calendar(series, *events).encode()


def eml(number: int, *, known_by_id: bool = True) -> str:
    named = f"Message-ID: <{number}@example.com>\n" if known_by_id else ""
    date = f"{at(number):%a, %d %b %Y %H:%M:%S} +0000"
    return f"From: maya@example.com\nTo: ada@example.com\n{named}Date: {date}\nSubject: {number}\n\ntext\n\n"


def mbox(numbers: Numbers) -> bytes:
    """Every third message without a Message-ID, so that it is known by what it says."""
    separator = "From maya@example.com Mon Mar  2 07:30:00 2026\n"
    return "".join(separator + eml(n, known_by_id=n % 3 > 0) for n in numbers).encode()


def bash(numbers: Numbers) -> bytes:
    return "".join(f"#{seconds(n)}\nmake test-{n}\n" for n in numbers).encode()


def zsh(numbers: Numbers) -> bytes:
    return "".join(f": {seconds(n)}:3;make test-{n}\n" for n in numbers).encode()


def fish(numbers: Numbers) -> bytes:
    return "".join(f"- cmd: make test-{n}\n  when: {seconds(n)}\n" for n in numbers).encode()


def atuin(numbers: Numbers) -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE TABLE history (id text primary key, timestamp integer, duration integer, exit integer, "
            "command text, cwd text, session text, hostname text, deleted_at integer)"
        )
        rows = [
            (f"id{n}", seconds(n) * 10**9, 10**9, 0, f"make {n}", "/", "s", "desk:maya", None)
            for n in numbers
        ]
        database.executemany("INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?)", rows)
        database.commit()
        return database.serialize()


def record(number: int) -> dict[str, object]:
    """Without an id: it follows from the content."""
    return {"timestamp": at(number).isoformat(), "type": "work", "action": "did", "title": f"task {number}"}


def ndjson(numbers: Numbers) -> bytes:
    return "".join(json.dumps(record(n)) + "\n" for n in numbers).encode()


def json_array(numbers: Numbers) -> bytes:
    return json.dumps([record(n) for n in numbers], indent=1).encode()


def csv(numbers: Numbers) -> bytes:
    rows = [f"{at(n):%Y-%m-%d %H:%M},work,did,task {n}\n" for n in numbers]
    return ("timestamp,type,action,title\n" + "".join(rows)).encode()


def parquet(numbers: Numbers) -> bytes:
    written = io.BytesIO()
    pl.DataFrame([record(n) for n in numbers]).write_parquet(written)
    return written.getvalue()


def activitywatch(numbers: Numbers) -> bytes:
    events = [
        {"timestamp": at(n).isoformat(), "duration": 600.0, "data": {"app": f"app {n}", "title": "x"}}
        for n in numbers
    ]
    bucket = {"id": "aw-watcher-window_desk", "type": "currentwindow", "hostname": "desk", "events": events}
    return json.dumps({"buckets": {"aw-watcher-window_desk": bucket}}).encode()


def xes(numbers: Numbers) -> bytes:
    events = "".join(
        f'<event><string key="concept:name" value="step {n}"/><string key="org:resource" value="maya"/>'
        f'<date key="time:timestamp" value="{at(n).isoformat()}"/></event>'
        for n in numbers
    )
    return (
        f'<log xes.version="1.0"><trace><string key="concept:name" value="c"/>{events}</trace></log>'.encode()
    )


def ocel(numbers: Numbers) -> bytes:
    events = [{"id": f"e{n}", "type": "pay", "time": at(n).isoformat(), "attributes": []} for n in numbers]
    log = {
        "eventTypes": [{"name": "pay", "attributes": []}],
        "objectTypes": [],
        "events": events,
        "objects": [],
    }
    return json.dumps(log).encode()


WRITERS: tuple[tuple[str, Writer], ...] = (
    ("calendar.ics", ics),
    ("mail.mbox", mbox),
    (".bash_history", bash),
    (".zsh_history", zsh),
    ("fish_history", fish),
    ("history.db", atuin),
    ("log.ndjson", ndjson),
    ("log.json", json_array),
    ("log.csv", csv),
    ("log.parquet", parquet),
    ("aw-buckets-export.json", activitywatch),
    ("log.xes", xes),
    ("log.jsonocel", ocel),
)


def read(*paths: Path) -> tuple[list[pl.DataFrame], ReadingReport]:
    """The batches of each, and what became of it."""
    report = ReadingReport()
    found = find_sources(paths)
    return [batch.observations for batch in read_sources(found.sources, OPTIONS, report)], report


def ids(frames: Sequence[pl.DataFrame]) -> list[str]:
    return sorted(id for frame in frames for id in frame.get_column("id"))


def written(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_exports_that_overlap_are_one(name: str, write: Writer, tmp_path: Path) -> None:
    """Read together in either order they give what one export of everything gives, each thing once."""
    early = written(tmp_path / "early", name, write(range(6)))
    late = written(tmp_path / "late", name, write(range(3, 9)))
    whole, report = read(written(tmp_path / "whole", name, write(range(9))))
    assert report.observations >= 9
    assert len(set(ids(whole))) == report.observations
    for paths in ((early, late), (late, early)):
        frames, _ = read(*paths)
        assert ids(frames) == ids(whole)


@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_an_export_again_adds_nothing(name: str, write: Writer, tmp_path: Path) -> None:
    """Its records are counted as read before, all of them."""
    first = written(tmp_path / "first", name, write(range(6)))
    again = written(tmp_path / "again", name, write(range(6)))
    once, _ = read(first)
    both, report = read(first, again)
    assert ids(both) == ids(once)
    assert report.sources[str(again)].observations == 0
    assert report.sources[str(again)].counts["left_out", "repeated"] == len(ids(once))


def test_a_message_in_an_mbox_and_in_a_maildir_is_one(tmp_path: Path) -> None:
    """What identifies it is in it, whatever holds it."""
    box = written(tmp_path, "mail.mbox", mbox([1, 2, 4]))
    one = written(tmp_path, "1.eml", eml(1).encode())
    assert ids(read(box, one)[0]) == ids(read(box)[0])


def test_every_format_is_here(tmp_path: Path) -> None:
    """All but PowerShell's history, which has no times, and single messages, which the test above has."""
    paths = [written(tmp_path, name, write(range(2))) for name, write in WRITERS]
    recognised = {source.recognised for source in read(*paths)[1].sources.values()}
    assert recognised == {reader.name for reader in READERS} - {"PowerShell history", "mail message"}
