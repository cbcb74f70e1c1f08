"""Newline-delimited JSON: two code paths give the same frame, and no line is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.ingest.json_logs import ndjson
from observations.ingest.json_logs.ndjson import NDJSON, NdjsonReading
from observations.ingest.json_logs.ndjson_fast_path import FastPath
from observations.ingest.tabular import timestamps
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.toolkit import record_builder
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.privacy import redact_frame as privacy
from observations.schema import check_observations, concat_observations
from tests.log_strategies import RECORDS, damaged
from tests.log_strategies import ndjson as written

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(content: bytes, options: ReadOptions = OPTIONS) -> tuple[pl.DataFrame, list[Note]]:
    batches = list(NDJSON.read(Source.of_bytes(content, "log.ndjson"), options))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


def line(**fields: object) -> bytes:
    return written([{"timestamp": "2026-03-02T09:30:00+01:00", "type": "work", "action": "did", **fields}])


def fast(content: bytes) -> Batch | None:
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    rows = FastPath().rows(content, range(1, lines + 1))
    return observe_rows(rows, "log.ndjson", OPTIONS) if rows is not None else None


def repaired(content: bytes) -> Batch:
    notes: list[Note] = []
    rows = ndjson._one_by_one(content, 1, "log.ndjson", notes)
    batch = observe_rows(rows, "log.ndjson", OPTIONS)
    return Batch(batch.observations, (*notes, *batch.notes))


def assert_same(quick: Batch, thorough: Batch) -> None:
    assert_frame_equal(quick.observations, thorough.observations, check_column_order=False)
    assert set(quick.notes) == set(thorough.notes)


@given(st.lists(RECORDS, min_size=1, max_size=6), st.booleans())
@settings(deadline=None, max_examples=150)
def test_the_fast_path_agrees_with_the_repairing_one(records: list[dict[str, object]], spaced: bool) -> None:
    """Where polars is trusted with a chunk, it gives what a look at each line gives."""
    content = written(records, spaced=spaced)
    quick = fast(content)
    if quick is not None:
        assert_same(quick, repaired(content))


@given(st.lists(RECORDS, min_size=1, max_size=4).map(written).flatmap(damaged))
@settings(deadline=None, max_examples=150)
def test_the_paths_agree_on_damaged_files_too(content: bytes) -> None:
    """What polars accepts of a damaged file means the same to both."""
    quick = fast(content) if content.strip() else None
    if quick is not None:
        assert_same(quick, repaired(content))


@given(st.lists(RECORDS, min_size=1, max_size=4).map(written).flatmap(damaged))
@settings(deadline=None, max_examples=150)
def test_what_is_mended_is_what_is_read_one_by_one(content: bytes) -> None:
    """The lines that are handed to the fast path again say what they said."""
    notes: list[Note] = []
    mended, numbers = ndjson._mended(content, 1, "log.ndjson", notes)
    rows = FastPath().rows(mended, numbers) if mended else None
    if rows is not None:
        batch = observe_rows(rows, "log.ndjson", OPTIONS)
        assert_same(Batch(batch.observations, (*notes, *batch.notes)), repaired(content))


def test_lists_that_were_empty_in_all_the_rows_before_are_read() -> None:
    """polars took them for lists of nulls, and made nothing of what came after."""
    record = '{{"timestamp":"2026-03-02T07:00:{:02d}Z","type":"email","id":"{}","features":{{"cc":[{}]}}}}'
    before = [record.format(n % 60, n, "") for n in range(300)]
    after = [record.format(n % 60, n, '"omar@example.org"') for n in range(300, 600)]
    one_chunk, path = "\n".join([*before, *after]).encode(), FastPath()
    chunks = [path.rows("\n".join(part).encode(), range(300)) for part in (before, after)]
    for rows in (FastPath().rows(one_chunk, range(600)), pl.concat(c for c in chunks if c is not None)):
        assert rows is not None
        assert rows.get_column("cc:list").to_list() == [[]] * 300 + [["omar@example.org"]] * 300


def test_a_file_with_bad_lines_goes_back_to_the_fast_path() -> None:
    """NaN, blank and broken lines cost one look at each line, no more."""
    content = line(features={"a": 1}) * 3 + b"bad\n\n" + line(features={"a": float("nan")})
    mended, numbers = ndjson._mended(content, 1, "log.ndjson", [])
    assert numbers == [1, 2, 3, 6]
    assert FastPath().rows(mended, numbers) is not None


@pytest.mark.parametrize(
    "content",
    [
        line(features={"a": 1}) + line(features={"a": 2.5}),
        line(features={"room": "101"}) + line(features={"room": "annex"}),
        line(features={"people": ["ana", "bo"]}) + line(features={"people": []}),
        line(features={"note": 'say "hi": null, {x}'}),
        line(features={"all_day": True}) + line(),
        line(id=7, user_id="ada", extra="kept"),
    ],
)
def test_plain_files_take_the_fast_path(content: bytes) -> None:
    """The speed is no accident of the benchmark's data."""
    assert fast(content) is not None


@pytest.mark.parametrize(
    "content",
    [
        line(features={"a": 1}) + line(features={"a": "1"}),
        line(features={"a": True}) + line(features={"a": "true"}),
        line(features={"a": ["x"]}) + line(features={"a": "x"}),
        line(features={"a": ["1"]}) + line(features={"a": [1]}),
        line(features={"a": {"b": 1}}),
        line(features={"a": 2**60}),
        line(title="outside", features={"title": "inside"}),
        b'{"timestamp":"2026-03-02T09:30:00Z","features":{"a":1,"a":2}}\n',
        b'{"timestamp":"2026-03-02T09:30:00Z","features":{"a":"\\ud800"}}\n',
    ],
)
def test_what_polars_would_change_is_not_left_to_it(content: bytes) -> None:
    """Mixed kinds, doubled keys, nested objects, large integers: line by line."""
    assert fast(content) is None


def test_a_value_keeps_its_kind_beside_other_kinds() -> None:
    """A feature that is a number here and text there fills two columns."""
    frame, _ = read(line(features={"size": 2}) + line(features={"size": "2"}) + line(features={"size": True}))
    assert frame.get_column("size:number").to_list() == [2.0, None, None]
    assert frame.get_column("size:text").to_list() == [None, "2", None]
    assert frame.get_column("size:flag").to_list() == [None, None, True]


@given(st.lists(RECORDS, min_size=1, max_size=8))
@settings(deadline=None, max_examples=150)
def test_each_record_is_read_as_if_it_were_alone(records: list[dict[str, object]]) -> None:
    """Whatever shapes its neighbours have, nothing of them ends up in it."""
    together, _ = read(written(records))
    alone = concat_observations(read(written([record]))[0] for record in records)
    assert_frame_equal(together, alone)


@given(
    st.one_of(
        st.lists(RECORDS, min_size=1, max_size=6).map(written),
        st.lists(RECORDS, min_size=1, max_size=4).map(written).flatmap(damaged),
    )
)
@settings(deadline=None, max_examples=200)
def test_few_lines_are_read_as_many_are(content: bytes) -> None:
    """A line in the stream is what it is in a file: the short cuts for few lines change nothing."""
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    few = NdjsonReading("log.ndjson", OPTIONS).batch(content, 1, lines)
    with (
        patch.object(ndjson, "FEW_LINES", 0),
        patch.object(timestamps, "FEW", 0),
        patch.object(record_builder, "FEW_LISTS", 0),
        patch.object(privacy, "FEW", 0),
    ):
        many = NdjsonReading("log.ndjson", OPTIONS).batch(content, 1, lines)
        completed = complete(many.observations, OPTIONS)
    assert_same(few, many)
    assert_frame_equal(complete(few.observations, OPTIONS), completed, check_column_order=False)


def test_nothing_of_a_record_is_lost() -> None:
    """Fields outside ``features``, nested objects, lists of anything, integers beyond floats."""
    frame, notes = read(
        line(room="4a", features={"at": {"lat": 1.5}, "seen": [1, "x", None], "order": 2**60})
    )
    row = frame.row(0, named=True)
    assert notes == []
    assert row["room:text"] == "4a"
    assert row["at.lat:number"] == 1.5
    assert row["seen:list"] == ["1", "x"]
    assert row["order:text"] == str(2**60)


def test_not_a_number_is_a_feature_that_is_not_there() -> None:
    """What Python's json writes for a missing measurement costs nothing else."""
    frame, notes = read(
        line(features={"a": 1}) + line(features={"a": float("nan"), "b": float("inf")}) + line()
    )
    assert frame.height == 3
    assert notes == []
    assert frame.get_column("a:number").to_list() == [1.0, None, None]
    assert "b:number" not in frame.columns


def test_an_id_that_is_not_a_number_is_none() -> None:
    """It was the text "null" where a line was read on its own, and no id in a file."""
    frame, _ = read(line(id=float("inf")))
    assert frame.get_column("id").item() is None


def test_bad_lines_are_named_and_their_neighbours_read() -> None:
    """No object, no JSON, a cut end: each by its number."""
    frame, notes = read(line(id="1") + b"x\n[1]\n\n" + line(id="2") + b'{"timestamp": "2026-03-0')
    assert frame.get_column("id").to_list() == ["1", "2"]
    assert [(note.level, note.reason, note.line) for note in notes] == [
        ("reject", "bad_line", 2),
        ("reject", "bad_line", 3),
        ("reject", "bad_line", 6),
    ]


def test_a_mark_carriage_returns_and_blank_lines_are_fine() -> None:
    """As Windows programs write."""
    content = b"\xef\xbb\xbf" + (line(id="1") + b"\n" + line(id="2")).replace(b"\n", b"\r\n")
    frame, notes = read(content)
    assert frame.get_column("id").to_list() == ["1", "2"]
    assert notes == []


def test_half_a_surrogate_pair_is_no_text() -> None:
    """It is shown as what it is not."""
    frame, notes = read(b'{"type":"a","action":"b","timestamp":1772443800,"title":"x\\ud800y"}\n')
    assert frame.get_column("title:text").to_list() == ["x?y"]
    assert notes == []


def test_utf_16_is_read() -> None:
    """As PowerShell redirects."""
    frame, notes = read(line(features={"title": "Café"}).decode().encode("utf-16"))
    assert frame.get_column("title:text").to_list() == ["Café"]
    assert notes == []


def test_bytes_that_are_no_utf_8_cost_themselves_only() -> None:
    """The line is read, and said to be odd."""
    frame, notes = read(line(id="1", features={"title": "x"}).replace(b'"x"', b'"caf\xe9"'))
    assert frame.get_column("title:text").to_list() == ["caf�"]
    assert [(note.level, note.line) for note in notes] == [("warning", 1)]


def test_a_key_that_comes_late_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same chunk, and in a later one than the one whose schema is known."""
    late = line(features={"duration_minutes": 45})
    frame, _ = read(line() * 300 + late)
    assert frame.get_column("duration_minutes:number").to_list()[-1] == 45
    monkeypatch.setattr(ndjson, "CHUNK_BYTES", 500)
    frame, _ = read(line() * 300 + late + line() * 10 + late)
    assert frame.get_column("duration_minutes:number").drop_nulls().to_list() == [45, 45]


def test_line_numbers_hold_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record far into the file is named by its own line."""
    monkeypatch.setattr(ndjson, "CHUNK_BYTES", 256)
    _, notes = read(line() * 50 + line(timestamp="x") + line() * 50 + b"bad\n" + line())
    assert [(note.reason, note.line) for note in notes] == [("bad_timestamp", 51), ("bad_line", 102)]


def test_times_are_on_the_wall_clock_that_the_record_shows() -> None:
    """An offset is the person's; UTC and naive times are read in the zone that was given; ``tz`` beats both."""
    content = (
        line(timestamp="2026-03-02T09:30:00-05:00")
        + line(timestamp="2026-03-02T14:30:00Z")
        + line(timestamp="2026-03-02 09:30")
        + line(timestamp="2026-03-02T14:30:00Z", tz="Asia/Tokyo")
        + line(timestamp="2026-03-02T14:30:00", tz="Asia/Tokyo")
    )
    frame, _ = read(content)
    assert [t.strftime("%H:%M") for t in frame.get_column("local")] == [
        "09:30",
        "15:30",
        "09:30",
        "23:30",
        "14:30",
    ]
    assert [t.strftime("%H:%M") for t in frame.get_column("at")] == [
        "14:30",
        "14:30",
        "08:30",
        "14:30",
        "05:30",
    ]
    assert frame.get_column("tz").to_list() == [
        None,
        "Europe/Berlin",
        "Europe/Berlin",
        "Asia/Tokyo",
        "Asia/Tokyo",
    ]


def test_a_time_that_no_clock_showed_is_moved_on() -> None:
    """As phones do when the clocks go forward."""
    frame, _ = read(line(timestamp="2026-03-29 02:30"))
    assert str(frame.get_column("local").item()) == "2026-03-29 03:30:00"
    assert str(frame.get_column("at").item()) == "2026-03-29 01:30:00+00:00"


def test_an_unknown_zone_is_said_and_not_used() -> None:
    """The time itself is still good."""
    frame, notes = read(line(tz="Europe/Berln") * 2)
    assert frame.height == 2
    assert frame.get_column("tz").to_list() == [None, None]
    assert [(note.level, note.reason, note.count) for note in notes] == [("warning", "tz_unknown", 2)]
    assert "did you mean Europe/Berlin?" in notes[0].message


def test_derived_features_are_dropped() -> None:
    """They are computed from the local time when written; a stale one must not win."""
    frame, _ = read(line(features={"time_of_day": "23:00", "day_of_week": "friday", "title": "x"}))
    assert [c for c in frame.columns if c.endswith(":text")] == ["title:text"]


def test_a_date_without_a_time_is_all_day() -> None:
    """Midnight would be a time of day that nobody kept."""
    frame, _ = read(line(timestamp="2026-03-02") + line())
    assert frame.get_column("all_day:flag").to_list() == [True, None]


def test_foreign_names_are_mapped() -> None:
    """In the record and in its features."""
    options = ReadOptions(OPTIONS.until, mapping={"timestamp": "when", "category": "label", "user_id": "who"})
    frame, _ = read(b'{"when":1772443800,"who":"ada","features":{"label":"gym"}}\n', options)
    row = frame.row(0, named=True)
    assert (row["user_id"], row["category:text"]) == ("ada", "gym")
    assert "who:text" not in frame.columns


def test_what_is_assumed_is_said() -> None:
    """A record without type or action is read, with a warning."""
    frame, notes = read(b'{"timestamp":1772443800}\n{"timestamp":1772443801}\n')
    assert frame.get_column("type").to_list() == ["event", "event"]
    assert [(note.level, note.reason, note.count) for note in notes] == [
        ("warning", "no_type", 2),
        ("warning", "no_action", 2),
    ]


def test_secrets_never_reach_a_feature_or_a_note() -> None:
    """In text, in lists, under a telling name, in a time that is none."""
    content = line(
        features={
            "command": "mysql -u root -phunter2 shop",
            "links": ["https://ada:hunter2@example.com/"],
            "password": "hunter2",
            "pin": 4711,
        }
    )
    frame, notes = read(content + line(timestamp="password=hunter2"))
    frame = complete(frame, OPTIONS)
    assert "hunter2" not in str(frame.to_dicts()) + str(notes)
    assert "4711" not in str(frame.to_dicts())
    assert "mysql" in frame.get_column("command:text").item()


def test_an_agent_is_told_from_the_person() -> None:
    """In any case of letters; whoever else is named is the person."""
    frame, _ = read(line(actor="agent") + line(actor="Agent") + line(actor="ada") + line())
    assert frame.get_column("actor").to_list() == ["agent", "agent", "user", "user"]


@given(st.lists(RECORDS, min_size=1, max_size=6), st.data())
@settings(deadline=None, max_examples=150)
def test_a_damaged_file_loses_no_undamaged_line(
    records: list[dict[str, object]], data: st.DataObject
) -> None:
    """Whatever happens to one line, the others are read as before."""
    lines = written(records).splitlines(keepends=True)
    hurt = data.draw(st.integers(0, len(lines) - 1))
    broken = data.draw(damaged(lines[hurt].rstrip(b"\n"))).replace(b"\n", b" ")
    frame, notes = read(b"".join(lines[:hurt]) + broken + b"\n" + b"".join(lines[hurt + 1 :]))
    whole = sum(read(other)[0].height for place, other in enumerate(lines) if place != hurt)
    assert frame.height >= whole
    rejected = sum(note.count for note in notes if note.level == "reject")
    assert frame.height + rejected in (len(lines), len(lines) - (not broken.strip()))


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_read_without_a_crash(content: bytes) -> None:
    """Every line with something on it is an observation or a note."""
    NDJSON.recognises(content, "log")
    frame, notes = read(content)
    assert frame.height == 0 or notes


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b'{"a":1}\n{"a":2}\n', "x", True),
        (b'\xef\xbb\xbf{"a":1}\n', "x", True),
        (b'bad\n{"a":2}\n', "x", True),
        (b'bad\nbad\nbad\n{"a":2}\n', "x.ndjson", True),
        (b'[\n{"a":1},\n{"a":2}\n]', "x.ndjson", False),
        (b'{\n "a": 1\n}\n', "x.json", False),
        (b"a,b\n1,2\n", "x.ndjson", False),
    ],
)
def test_it_is_recognised_by_its_lines(head: bytes, name: str, expected: bool) -> None:
    """The name vouches only for a file that begins with damage."""
    assert NDJSON.recognises(head, name) is expected
