"""Secrets are redacted in one place, whatever the reader: values of every column, names of features, notes."""

from __future__ import annotations

import io
import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from observations.ingest import registry
from observations.ingest.read import read_observations
from observations.ingest.registry import READERS
from observations.ingest.toolkit.complete import complete, content_ids
from observations.ingest.toolkit.reader import Batch, Reader, ReadOptions, Source
from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from observations.privacy.redact import PLACEHOLDER
from observations.privacy.redact_frame import redact_observations, redact_series
from pipelines.detection import detect
from pipelines.store.store import Store
from tests.simulate import every, regular
from tests.test_ocel import as_json

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")
NINE = "2026-03-02T09:30:00+01:00"
FIELDS = {
    "title": SECRET,
    "people": [f"a {SECRET}", "Ada"],
    f"name {SECRET}": "x",
    "deep": {SECRET: [SECRET]},
}
RECORD = {"id": f"1 {SECRET}", "user_id": f"u {SECRET}", "type": f"t {SECRET}", "action": f"a {SECRET}"}


def ndjson() -> bytes:
    return json.dumps({**RECORD, "timestamp": NINE, "tz": SECRET, "features": FIELDS}).encode() + b"\n"


def parquet() -> bytes:
    file = io.BytesIO()
    columns = {**RECORD, "timestamp": NINE, "title": SECRET, SECRET: "x", "people": [SECRET]}
    pl.DataFrame({name: [value] for name, value in columns.items()}).write_parquet(file)
    return file.getvalue()


def csv() -> bytes:
    columns = {**RECORD, "timestamp": NINE, "title": SECRET, SECRET: "x"}
    return (",".join(columns) + "\n" + ",".join(columns.values()) + "\n").encode()


def atuin(folder: Path) -> bytes:
    path = folder / "history.db"
    with closing(sqlite3.connect(path)) as database:
        columns = (
            "id TEXT, timestamp INTEGER, duration INTEGER, exit INTEGER, command TEXT, cwd TEXT, session TEXT"
        )
        database.execute(f"CREATE TABLE history ({columns}, hostname TEXT)")
        row = (SECRET, 1_772_443_800 * 10**9, -1, -1, f"make {SECRET}", f"/{SECRET}", SECRET, f"h:{SECRET}")
        database.execute("INSERT INTO history VALUES (?,?,?,?,?,?,?,?)", row)
        database.commit()
    return path.read_bytes()


def xes() -> bytes:
    texts = "".join(
        f'<string key="{key}" value="{SECRET}"/>'
        for key in ("concept:name", "org:resource", f"name {SECRET}", "org:group")
    )
    date = f'<date key="time:timestamp" value="{NINE}"/>'
    case = f'<string key="concept:name" value="case {SECRET}"/>'
    log = f'<log xes.version="1.0"><trace>{case}<event>{texts}{date}</event></trace></log>'
    return f'<?xml version="1.0"?>{log}'.encode()


def ocel() -> bytes:
    log = json.loads(as_json())
    for event in log["events"]:
        event["id"] += f" {SECRET}"
        for attribute in event.get("attributes", []):
            attribute["value"] = SECRET
            attribute["name"] += f" {SECRET}"
        for relation in event.get("relationships", []):
            relation["qualifier"] = SECRET
    return json.dumps(log).encode()


def activitywatch() -> bytes:
    data = {"app": SECRET, "title": SECRET, f"x {SECRET}": SECRET}
    event = {"timestamp": NINE, "duration": 60.0, "data": data}
    bucket = {"id": SECRET, "type": "currentwindow", "client": SECRET, "hostname": SECRET, "events": [event]}
    return json.dumps({"buckets": {SECRET: bucket}}).encode()


def ics() -> bytes:
    lines = f"""BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:{SECRET}
BEGIN:VEVENT
UID:{SECRET}
DTSTART;TZID={SECRET}:20260302T093000
SUMMARY:{SECRET}
LOCATION:{SECRET}
ORGANIZER;CN={SECRET}:mailto:{SECRET}@example.com
ATTENDEE;CN={SECRET}:mailto:b{SECRET}
CATEGORIES:{SECRET},b {SECRET}
RRULE:FREQ=WEEKLY;COUNT=3
END:VEVENT
END:VCALENDAR
"""
    return lines.replace("\n", "\r\n").encode()


def eml() -> bytes:
    lines = f"""Message-ID: <{SECRET}@example.com>
Date: Mon, 02 Mar 2026 09:30:00 +0100
From: "From {SECRET}" <{SECRET}@example.com>
To: "{SECRET}" <b.{SECRET}@example.com>
Cc: {SECRET}@example.org
References: <{SECRET}>
List-Id: <{SECRET}.example.com>
X-Gmail-Labels: Inbox,{SECRET}
Subject: {SECRET}

Body {SECRET}
"""
    return lines.encode()


def mbox() -> bytes:
    return f"From {SECRET}@example.com Mon Mar  2 09:30:00 2026\n".encode() + eml()


SAMPLES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "Parquet": ("log.parquet", parquet),
    "XES": ("log.xes", xes),
    "OCEL": ("log.jsonocel", ocel),
    "iCalendar": ("a.ics", ics),
    "ActivityWatch": ("export.json", activitywatch),
    "newline-delimited JSON": ("log.ndjson", ndjson),
    "JSON": ("log.json", lambda: b"[" + ndjson() + b"]"),
    "mbox": ("a.mbox", mbox),
    "mail message": ("a.eml", eml),
    "fish history": ("fish_history", lambda: f"- cmd: make {SECRET}\n  when: 1772443800\n".encode()),
    "zsh history": (".zsh_history", lambda: f": 1772443800:0;make {SECRET}\n".encode()),
    "PowerShell history": ("ConsoleHost_history.txt", lambda: f"make {SECRET}\n".encode()),
    "bash history": (".bash_history", lambda: f"#1772443800\nmake {SECRET}\n".encode()),
    "CSV table": ("log.csv", csv),
}


def sample(reader: Reader, folder: Path) -> Source:
    """The reader's sample; a new reader needs one in `SAMPLES`."""
    if reader.name == "atuin history":
        return Source.of_bytes(atuin(folder), "history.db")
    label, content = SAMPLES[reader.name]
    source = Source.of_bytes(content(), label)
    assert reader.recognises(source.head(), source.name)
    return source


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_secret_passes_a_reader(reader: Reader, tmp_path: Path) -> None:
    """A secret in every text field is in no value, no name and no note."""
    source = sample(reader, tmp_path)
    frame, report = read_observations([source], OPTIONS)
    notes = [note for one in report.sources.values() for note in one.notes]
    assert frame.height or notes
    assert SECRET not in str(frame.to_dicts()) + str(notes) + str(report)
    assert PLACEHOLDER in str(frame.to_dicts()) or not frame.height


@dataclass(frozen=True)
class ToyReader:
    """Reads lines that begin with TOY, and knows nothing of secrets."""

    name: str = "toy"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if the first line begins with TOY."""
        return head.startswith(b"TOY ")

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """One observation a line, with the text of the line wherever a text can be."""
        records = RecordBuilder()
        for number, line in enumerate(source.head().decode().splitlines()):
            at = datetime(2026, 3, 2, 9, number, tzinfo=UTC)
            features: dict[str, Value | None] = {"title": line, "labels": [line, "x"], line: 1.0}
            records.add(line, line, at=at, tz="UTC", features=features, id=line, user_id=line)
        yield records.rest([])


def test_no_secret_passes_a_new_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that redacts nothing is safe."""
    monkeypatch.setattr("observations.ingest.format_detection.READERS", (*registry.READERS, ToyReader()))
    frame, report = read_observations(
        [Source.of_bytes(f"TOY {SECRET}\nTOY b {SECRET}\n".encode(), "a.toy")], OPTIONS
    )
    assert frame.height == 2
    assert SECRET not in str(frame.to_dicts()) + str(report)


def test_no_secret_passes_the_store(tmp_path: Path) -> None:
    """Nothing in the database file holds a secret that was observed."""
    with Store(tmp_path / "store.db") as store:
        store.observe([{**RECORD, "timestamp": NINE, "features": FIELDS}])
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert SECRET.encode() not in written


def test_an_id_with_a_secret_stays_unique_and_stable() -> None:
    """It is derived from the content and the rest of the id, the same in any export."""
    rows = [{"id": f"{n} {SECRET}", "timestamp": NINE, "type": "t", "action": "a"} for n in range(40)]

    def ids(these: list[dict[str, str]]) -> dict[str, str]:
        content = "".join(json.dumps(row) + "\n" for row in these).encode()
        frame, _ = read_observations([Source.of_bytes(content, "log.ndjson")], OPTIONS)
        return dict(zip(sorted(row["id"] for row in these), sorted(frame["id"].to_list()), strict=True))

    whole = ids(rows)
    assert len(set(whole.values())) == len(rows)
    assert set(ids(rows[::-1][:3]).values()) <= set(whole.values())


@pytest.mark.parametrize(
    "harmless",
    [
        str(uuid.UUID(int=2**127 + 12345)),
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "EAA0F13EA4BA4788AE7EE81BEE3B4C4200000000000000000000000000000000",
        "<CAGxyz+EAAbcdefghijklmnopqrstuvwxyz0123@mail.gmail.com>",
        "<CAEAAabc+token_x-1@mail.gmail.com>",
        "<20260302093000.1A2B3C4D5E@mx.example.com>",
        "040000008200E00074C5B7101A82E00800000000E0B1C2D3E4F5D901000000000000000010000000",
        "ada.key@example.com",
        "Security Team",
    ],
)
def test_ids_addresses_and_names_are_no_secrets(harmless: str) -> None:
    """They come out as they went in, alone and in a column."""
    assert redact_series(pl.Series([harmless])).to_list() == [harmless]
    assert redact_series(pl.Series([harmless] * 50)).to_list() == [harmless] * 50


def test_features_that_share_a_redacted_name_are_merged() -> None:
    """Each row keeps the value that it had."""
    other = SECRET[:-4] + "zzzz"
    frame = pl.DataFrame({f"x {SECRET}:text": ["a", None], f"x {other}:text": [None, "b"]})
    assert redact_observations(frame).to_dict(as_series=False) == {f"x {PLACEHOLDER}:text": ["a", "b"]}


def test_ids_derived_from_harmless_content_are_unchanged() -> None:
    """Redaction changes no id of a record without secrets."""
    records = RecordBuilder()
    for minute in range(30):
        at = datetime(2026, 3, 2, 9, minute, tzinfo=UTC)
        records.add("email", "sent", at=at, tz="UTC", features={"subject": "Roof", "to": ["a@example.com"]})
    frame = records.take()
    assert complete(frame, OPTIONS)["id"].to_list() == list(
        content_ids(frame.with_columns(actor=pl.lit("user")))
    )


def test_a_frame_is_redacted_as_a_file_is(tmp_path: Path) -> None:
    """Whatever the way in: a frame given to `detect` or to a store passes the same place."""
    frame = regular("Gym", every(1, 20)).with_columns(pl.lit(f"token={SECRET}").alias("note:text"))
    found = detect(frame)
    assert SECRET not in str(found.observed.rows())
    with Store(tmp_path / "habits.db") as store:
        store.observe(frame)
        assert SECRET not in str(store.observations("ada").rows())
