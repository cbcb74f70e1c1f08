"""JSON that is not one record a line."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.json_logs import stream as json_stream
from observations.ingest.json_logs.documents import JSON
from observations.ingest.json_logs.stream import BrokenJson, JsonStream
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import damaged

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(content: bytes) -> tuple[pl.DataFrame, list[Note]]:
    batches = list(JSON.read(Source.of_bytes(content, "log.json"), OPTIONS))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


def record(name: str) -> dict[str, object]:
    return {"id": name, "type": "work", "action": "did", "timestamp": "2026-03-02T09:30:00Z"}


def ids(content: bytes) -> list[str]:
    frame, _ = read(content)
    return frame.get_column("id").to_list()


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("key", [None, "events", "data"])
def test_a_list_is_read_however_it_is_laid_out(indent: int | None, encoding: str, key: str | None) -> None:
    """Pretty or not, wrapped or not, in any encoding."""
    records = [record("a"), record("é")]
    wrapped = {"count": 2, key: records} if key else records
    content = json.dumps(wrapped, indent=indent, ensure_ascii=False).encode(encoding)
    assert JSON.recognises(content, "log.json")
    assert ids(content) == ["a", "é"]


def test_records_one_after_another_are_read() -> None:
    """As jq prints them, and one alone."""
    assert ids(b"\n".join(json.dumps(record(name), indent=2).encode() for name in "abc")) == ["a", "b", "c"]
    assert ids(json.dumps(record("a")).encode()) == ["a"]


def test_an_empty_list_has_no_observations() -> None:
    """And nothing to be said."""
    frame, notes = read(b" [ ] ")
    assert (frame.height, notes) == (0, [])


def test_a_list_of_a_record_is_a_feature() -> None:
    """Only a list of objects is what an object wraps."""
    frame, _ = read(json.dumps(record("a") | {"items": ["x", "y"]}).encode())
    assert frame.get_column("items:list").to_list() == [["x", "y"]]


def test_a_broken_record_costs_itself_only() -> None:
    """It is named by the line on which it begins, and so are things that are no records."""
    parts = [
        json.dumps(record("a")),
        '{"id": oops, "x": 1}',
        json.dumps(record("b")),
        "7",
        json.dumps(record("c")),
    ]
    content = ("[\n" + ",\n".join(parts) + "\n]").encode()
    frame, notes = read(content)
    assert frame.get_column("id").to_list() == ["a", "b", "c"]
    assert [(note.level, note.reason, note.line) for note in notes] == [
        ("reject", "bad_record", 3),
        ("reject", "bad_record", 5),
    ]


def test_a_list_that_is_cut_off_gives_what_there_is() -> None:
    """The record at the cut is named."""
    content = json.dumps([record("a"), record("b"), record("c")], indent=1).encode()
    frame, notes = read(content[:-40])
    assert frame.get_column("id").to_list() == ["a", "b"]
    assert [note.reason for note in notes] == ["bad_record", "cut_off"]


def test_a_long_list_is_never_held_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held is about one piece, however long the text."""
    monkeypatch.setattr(json_stream, "READ_CHARACTERS", 64)
    content = json.dumps([record(str(n)) | {"title": "é" * n} for n in range(100)]).encode()
    stream = JsonStream(io.BytesIO(content))
    longest, found = 0, 0
    for _, element in stream.elements():
        assert isinstance(element, dict)
        longest, found = max(longest, len(stream._text)), found + 1
    assert found == 100
    assert longest < len(content) / 10


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)), st.lists, max_leaves=20
    )
)
@settings(deadline=None, max_examples=150)
def test_any_piece_is_read_as_the_standard_library_reads_it(value: object) -> None:
    """Also where the reading has to go on in the middle of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "READ_CHARACTERS", 3)
        assert JsonStream(io.BytesIO(json.dumps(value).encode())).value() == value


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_damage_costs_the_records_it_touches(data: st.DataObject) -> None:
    """Records on other lines are read, or the damage reached them as an open quote or brace does."""
    lines = [json.dumps(record(str(n))).encode() for n in range(8)]
    hurt = data.draw(st.integers(0, 7))
    lines[hurt] = data.draw(damaged(lines[hurt])).replace(b"\n", b" ")
    found = set(ids(b"[\n" + b",\n".join(lines) + b"\n]"))
    assert {str(n) for n in range(hurt)} <= found
    assert {str(n) for n in range(hurt + 2, 8)} <= found


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    """Whatever is there is an observation or a note."""
    JSON.recognises(content, "log.json")
    for octets in (content, b"[" + content, b'{"events": [' + content):
        frame, _ = read(octets)
        assert frame.height == 0


def test_a_broken_piece_says_where_it_begins() -> None:
    """And leaves the cursor there."""
    stream = JsonStream(io.BytesIO(b"\n\n oops"))
    with pytest.raises(BrokenJson, match="line 3"):
        stream.value()
    assert stream.peek() == "o"
