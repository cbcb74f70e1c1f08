"""A small export in every format, of numbered records, so that the overlap of any two exports is known."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

import polars as pl

from tests.ics_samples import calendar

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
    """Every third message without a Message-ID, so that it is identified by its content."""
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
