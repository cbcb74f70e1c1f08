"""OCEL 2.0 logs in their three forms."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.errors import SourceError
from observations.ingest.process_logs.ocel import OCEL
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import damaged

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")

OBJECTS = [("o1", "order"), ("o2", "order"), ("i1", "item"), ("ada", "Employee"), ("bo", "Employee")]
EVENTS: list[tuple[str, str, str, dict[str, object], list[tuple[str, str]]]] = [
    (
        "e1",
        "place order",
        "2026-03-02T08:30:00Z",
        {"cost": 12.5},
        [("o1", "placed"), ("i1", ""), ("ada", "by")],
    ),
    ("e2", "pack", "2026-03-02T09:30:00Z", {}, [("o1", ""), ("o2", ""), ("bo", "")]),
    ("e3", "ship", "2026-03-02T10:30:00Z", {"resource": "cy"}, [("o2", "")]),
]


def as_json(indent: int | None = None) -> bytes:
    log = {
        "objectTypes": [{"name": "order", "attributes": []}],
        "eventTypes": [{"name": "pack", "attributes": []}],
        "events": [
            {
                "id": id,
                "type": kind,
                "time": time,
                "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
                "relationships": [{"objectId": o, "qualifier": q} for o, q in objects],
            }
            for id, kind, time, attributes, objects in EVENTS
        ],
        "objects": [{"id": id, "type": kind, "attributes": []} for id, kind in OBJECTS],
    }
    return json.dumps(log, indent=indent).encode()


def as_xml() -> bytes:
    objects = "".join(f'<object id="{id}" type="{kind}"><attributes/></object>\n' for id, kind in OBJECTS)
    events = ""
    for id, kind, time, attributes, related in EVENTS:
        told = "".join(f'<attribute name="{name}">{value}</attribute>' for name, value in attributes.items())
        links = "".join(f'<relationship object-id="{o}" qualifier="{q}"/>' for o, q in related)
        events += (
            f'<event id="{id}" type="{kind}" time="{time}">'
            f"<attributes>{told}</attributes><objects>{links}</objects></event>\n"
        )
    return (
        '<?xml version="1.0"?>\n<log><object-types/><event-types/>\n'
        f"<objects>{objects}</objects><events>{events}</events></log>"
    ).encode()


def as_sqlite(path: Path) -> bytes:
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE event (ocel_id TEXT, ocel_type TEXT);
        CREATE TABLE event_map_type (ocel_type TEXT, ocel_type_map TEXT);
        CREATE TABLE event_object (ocel_event_id TEXT, ocel_object_id TEXT, ocel_qualifier TEXT);
        CREATE TABLE object (ocel_id TEXT, ocel_type TEXT);
        """
    )
    database.executemany("INSERT INTO object VALUES (?, ?)", OBJECTS)
    for id, kind, time, attributes, objects in EVENTS:
        table = "".join(word.capitalize() for word in kind.split())
        columns = "".join(f", {name}" for name in attributes)
        database.execute(f"CREATE TABLE event_{table} (ocel_id TEXT, ocel_time TEXT{columns})")
        values = (id, time, *attributes.values())
        database.execute(f"INSERT INTO event_{table} VALUES ({', '.join('?' * len(values))})", values)
        database.execute("INSERT INTO event VALUES (?, ?)", (id, kind))
        database.execute("INSERT INTO event_map_type VALUES (?, ?)", (kind, table))
        database.executemany("INSERT INTO event_object VALUES (?, ?, ?)", [(id, o, q) for o, q in objects])
    database.commit()
    database.close()
    return path.read_bytes()


def read(content: bytes) -> tuple[pl.DataFrame, list[Note]]:
    batches = list(OCEL.read(Source.of_bytes(content, "log"), OPTIONS))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame).sort("at"), [note for batch in batches for note in batch.notes]


def test_an_event_is_an_observation_of_its_resource() -> None:
    """An attribute or an object says who; the other objects are features by their type."""
    frame, notes = read(as_json())
    assert notes == []
    assert frame.select("id", "user_id", "type", "action").rows() == [
        ("e1", "ada", "process", "place order"),
        ("e2", "bo", "process", "pack"),
        ("e3", "cy", "process", "ship"),
    ]
    assert frame.get_column("order:list").to_list() == [["o1"], ["o1", "o2"], ["o2"]]
    assert frame.get_column("item:list").to_list() == [["i1"], None, None]
    assert frame.get_column("cost:number").to_list() == [12.5, None, None]
    assert frame.get_column("local").dt.strftime("%H:%M").to_list() == ["09:30", "10:30", "11:30"]


def test_the_three_forms_say_the_same(tmp_path: Path) -> None:
    """But that XML has no numbers: there a number is text."""
    frame, _ = read(as_json(indent=2))
    assert_frame_equal(read(as_sqlite(tmp_path / "log.sqlite"))[0], frame)
    xml = read(as_xml())[0]
    assert xml.get_column("cost:text").to_list() == ["12.5", None, None]
    assert_frame_equal(xml.drop("cost:text"), frame.drop("cost:number"))


def test_each_form_is_recognised(tmp_path: Path) -> None:
    """By its bytes; other logs are not taken for it."""
    for content in (as_json(), as_json(indent=2), as_xml(), as_sqlite(tmp_path / "x.db")):
        assert OCEL.recognises(content[:65_536], "unnamed")
    for head in (b"", b'{"events": [{"id": 1}]}', b"<log><trace/></log>", b"SQLite format 3\0", b"<html>"):
        assert not OCEL.recognises(head, "unnamed")


def test_an_event_without_a_time_is_rejected() -> None:
    """By its line and its id."""
    frame, notes = read(as_json(indent=1).replace(b"2026-03-02T09:30:00Z", b""))
    assert frame.get_column("id").to_list() == ["e1", "e3"]
    assert [(note.level, note.reason, note.item) for note in notes] == [("reject", "no_timestamp", "e2")]


def test_damage_costs_the_event_that_it_is_in(tmp_path: Path) -> None:
    """And is said."""
    frame, notes = read(as_json(indent=1).replace(b'"pack",\n   "time"', b'pack,\n   "time"'))
    assert frame.get_column("id").to_list() == ["e1", "e3"]
    assert [note.reason for note in notes] == ["bad_record"]
    frame, notes = read(as_xml().replace(b'type="pack"', b"type=pack"))
    assert {"e1", "e3"} <= set(frame.get_column("id"))
    assert "broken_xml" in {note.reason for note in notes}


@given(st.data())
@settings(deadline=None, max_examples=120)
def test_any_damage_is_survived(data: st.DataObject) -> None:
    """Cut, flipped, doubled: every form."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        forms = [as_json(), as_xml(), as_sqlite(Path(folder, "x.db"))]
    content = data.draw(damaged(data.draw(st.sampled_from(forms))))
    OCEL.recognises(content, "x")
    try:
        read(content)
    except SourceError as error:
        message = str(error)
        assert message.startswith("log: is not XML")


@pytest.mark.parametrize("kind", ["order", "resource"])
def test_an_attribute_called_like_a_type_of_object_keeps_its_value(kind: str) -> None:
    """Both are there."""
    content = as_json().replace(b'"cost"', b'"item"')
    frame, _ = read(content)
    assert frame.get_column("item.attribute:number").to_list() == [12.5, None, None]
    assert kind not in frame.columns
