"""ActivityWatch exports in both shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.json_logs.activitywatch import ACTIVITYWATCH
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import damaged

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(export: object) -> tuple[pl.DataFrame, list[Note]]:
    content = export if isinstance(export, bytes) else json.dumps(export).encode()
    batches = list(ACTIVITYWATCH.read(Source.of_bytes(content, "aw.json"), OPTIONS))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


def event(minute: int, seconds: float, **data: object) -> dict[str, object]:
    return {"timestamp": f"2026-03-02T10:{minute:02d}:00.903000+00:00", "duration": seconds, "data": data}


def bucket(kind: str, *events: Mapping[str, object], name: str = "watcher_desk") -> dict[str, object]:
    return {"id": name, "type": kind, "client": "watcher", "hostname": "desk", "events": list(events)}


EVENTS = [event(2, 0, app="Shell", title="~"), event(0, 90, app="Editor", title="tiles.md")]


@pytest.mark.parametrize(
    "export",
    [
        {"buckets": {"watcher_desk": bucket("currentwindow", *EVENTS)}},
        bucket("currentwindow", *EVENTS),
        {
            "events": EVENTS,
            "hostname": "desk",
            "client": "watcher",
            "type": "currentwindow",
            "id": "watcher_desk",
        },
    ],
)
def test_a_bucket_is_read_in_every_shape(export: object) -> None:
    """In a whole export, and alone with its members in any order."""
    assert ACTIVITYWATCH.recognises(json.dumps(export).encode(), "aw.json")
    frame, notes = read(export)
    assert notes == []
    assert frame.select("type", "action", "app:text", "title:text", "device:text").rows() == [
        ("application", "used", "Shell", "~", "desk"),
        ("application", "used", "Editor", "tiles.md", "desk"),
    ]
    assert frame.get_column("duration_minutes:number").to_list() == [0, 1.5]
    assert [str(t) for t in frame.get_column("local")] == [
        "2026-03-02 11:02:00.903000",
        "2026-03-02 11:00:00.903000",
    ]


def test_a_bare_list_of_events_tells_its_type_by_the_data() -> None:
    """As the interface answers."""
    export = json.dumps(EVENTS).encode()
    assert ACTIVITYWATCH.recognises(export, "events.json")
    frame, _ = read(export)
    assert frame.get_column("type").to_list() == ["application", "application"]
    frame, _ = read([event(0, 1, url="https://example.com", title="x")])
    assert frame.get_column("type").to_list() == ["web"]


def test_whether_somebody_was_there_is_no_activity() -> None:
    """It is counted and left out."""
    export = {
        "buckets": {"afk": bucket("afkstatus", event(0, 600, status="not-afk"), event(10, 60, status="afk"))}
    }
    frame, notes = read(export)
    assert frame.height == 0
    assert [(note.level, note.reason, note.count) for note in notes] == [("left_out", "afk", 2)]


def test_of_two_events_with_one_start_the_longer_stays() -> None:
    """In a bucket; events of different buckets may overlap."""
    one = bucket("currentwindow", event(0, 61, app="A"), event(0, 120, app="A"), event(0, 30, app="A"))
    other = bucket("web.tab.current", event(0, 10, url="https://example.com"), name="web_desk")
    frame, notes = read({"buckets": {"watcher_desk": one, "web_desk": other}})
    assert frame.select("type", "duration_minutes:number").rows() == [("application", 2), ("web", 10 / 60)]
    assert [(note.reason, note.count) for note in notes] == [("prolonged", 2)]


def test_a_later_export_gives_the_same_ids() -> None:
    """Also where the last event has grown since."""
    first, _ = read(bucket("currentwindow", event(0, 61, app="A")))
    later, _ = read(
        {"buckets": {"watcher_desk": bucket("currentwindow", event(5, 9, app="B"), event(0, 120, app="A"))}}
    )
    assert first.get_column("id").item() == later.get_column("id").to_list()[1]
    assert later.get_column("id").n_unique() == 2


def test_a_bucket_of_another_type_is_called_by_it() -> None:
    """A new watcher needs no change."""
    frame, _ = read(bucket("heartrate", event(0, 1, bpm=60)))
    assert frame.select("type", "action", "bpm:number").rows() == [("heartrate", "recorded", 60)]


def test_a_broken_event_costs_itself_only() -> None:
    """Between others, in one of several buckets."""
    content = json.dumps(
        {"buckets": {"watcher_desk": bucket("currentwindow", *EVENTS, event(7, 1, app="C"))}}
    )
    frame, notes = read(content.replace('"Editor"', "Editor").encode())
    assert frame.get_column("app:text").to_list() == ["Shell", "C"]
    assert [note.level for note in notes] == ["reject"]


def test_what_was_read_before_the_damage_stays() -> None:
    """The events of the bucket in which the export breaks off, and of those before it."""
    whole = {
        "buckets": {"a": bucket("currentwindow", *EVENTS, name="a"), "b": bucket("currentwindow", *EVENTS)}
    }
    content = json.dumps(whole).encode()
    for end in (content.rindex(b"]") + 1, content.rindex(b"{")):
        frame, notes = read(content[:end] + b" oops")
        assert frame.height == 4 - (end == content.rindex(b"{")) * 1
        assert [note.reason for note in notes if note.level == "reject"][-1:] == ["bad_record"]


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_damage_costs_what_it_touches_and_is_said(data: st.DataObject) -> None:
    """Cut, flipped, doubled: no crash, and what is missing is noted unless it can be read as something else."""
    content = json.dumps({"buckets": {"watcher_desk": bucket("currentwindow", *EVENTS)}}).encode()
    half = content.index(b'"events"') + 11
    frame, notes = read(content[:half] + data.draw(damaged(content[half:])))
    assert frame.height >= 1 or notes


@pytest.mark.parametrize("head", [b"", b"[]", b'{"events": []}', b'[{"timestamp": 1}]', b'{"buckets": 3}'])
def test_other_json_is_not_taken_for_it(head: bytes) -> None:
    """It is left to the reader of JSON."""
    assert not ACTIVITYWATCH.recognises(head, "aw.json")
