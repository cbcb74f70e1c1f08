"""From sources to one frame and a report."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from observations.errors import SourceError
from observations.ingest import format_detection as recognition
from observations.ingest import read_report as reading_report
from observations.ingest.discovery import find_sources
from observations.ingest.format_detection import recognise
from observations.ingest.read import Seen, read_observations, read_sources
from observations.ingest.read_report import ReadingReport, SourceReport
from observations.ingest.registry import READERS
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import ORDER, check_observations, empty_observations
from tests.log_strategies import RECORDS, ndjson

UNTIL = datetime(2026, 6, 1, tzinfo=UTC)
OPTIONS = ReadOptions(until=UNTIL, tz="Europe/Berlin")


def source(content: bytes, label: str = "log.ndjson", found_in: str | None = None) -> Source:
    return Source(label, lambda: io.BytesIO(content), found_in=found_in)


def record(id: str, timestamp: str = "2026-03-02T09:30:00+01:00", **more: object) -> dict[str, object]:
    return {"id": id, "type": "work", "action": "did", "timestamp": timestamp, **more}


def test_every_observation_has_a_user_and_an_id() -> None:
    """Given, or derived from the content."""
    lines = ndjson([record("1", user_id="ada"), {**record("2"), "id": None}])
    frame, _ = read_observations([source(lines)], OPTIONS)
    assert check_observations(frame).select("user_id").to_series().to_list() == ["ada", "me"]
    assert frame.get_column("id").null_count() == 0


def test_the_user_can_be_a_feature() -> None:
    """As in the archive of a list, where it is whom a mail is from."""
    options = ReadOptions(UNTIL, user_field="from")
    frame, _ = read_observations([source(ndjson([record("1", features={"from": "ada@x.org"})]))], options)
    assert frame.get_column("user_id").to_list() == ["ada@x.org"]


def test_the_window_is_cut_and_what_is_outside_counted() -> None:
    """Future records are left out, unless they are asked for."""
    lines = ndjson([record("1", "2026-01-01T00:00:00Z"), record("2"), record("3", "2026-06-02T00:00:00Z")])
    options = ReadOptions(UNTIL, since=datetime(2026, 2, 1, tzinfo=UTC))
    frame, report = read_observations([source(lines)], options)
    assert frame.get_column("id").to_list() == ["2"]
    assert dict(report.sources["log.ndjson"].counts) == {
        ("left_out", "before_since"): 1,
        ("left_out", "after_until"): 1,
    }
    frame, report = read_observations([source(lines)], ReadOptions(UNTIL, allow_future=True))
    assert frame.height == 3
    assert report.count("left_out") == 0


def test_an_export_read_twice_adds_nothing() -> None:
    """Nor do two that overlap; the report says so."""
    one = ndjson([{**record("x"), "id": None, "title": title} for title in "ab"])
    two = ndjson([{**record("x"), "id": None, "title": title} for title in "bc"])
    once, _ = read_observations([source(one, "1"), source(two, "2")], OPTIONS)
    twice, report = read_observations([source(one, "1"), source(two, "2"), source(one, "3")], OPTIONS)
    assert once.height == 3
    assert_frame_equal(once, twice)
    assert [about.observations for about in report.sources.values()] == [2, 1, 0]
    assert report.count("left_out") == 3


def test_of_two_records_with_one_id_the_same_is_taken_in_any_order() -> None:
    """Which one it is does not depend on which file was read first."""
    one, two = source(ndjson([record("1", title="a")]), "1"), source(ndjson([record("1", title="b")]), "2")
    assert_frame_equal(read_observations([one, two], OPTIONS)[0], read_observations([two, one], OPTIONS)[0])
    streamed = [batch.observations for batch in read_sources([one, two], OPTIONS)]
    assert [frame.height for frame in streamed] == [1, 0]


@given(st.lists(RECORDS, min_size=1, max_size=6), st.randoms(use_true_random=False), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_order_and_chunks_do_not_matter(records: list[dict[str, object]], random: object, parts: int) -> None:
    """The same records in any order, in any number of files, read once or twice: the same frame."""
    whole, _ = read_observations([source(ndjson(records))], OPTIONS)
    assert whole.equals(whole.sort(ORDER))
    mixed = [*records, *records[:2]]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    sources = [source(ndjson(mixed[n::parts]), f"{n}.ndjson") for n in range(parts)]
    again, _ = read_observations([part for part in sources if part.head()], OPTIONS)
    assert_frame_equal(whole, again)


def test_a_named_source_that_is_nothing_is_an_error() -> None:
    """The message lists what is read."""
    with pytest.raises(
        SourceError, match=r"^a.bin: unrecognized format; supported formats: .*iCalendar.*JSON"
    ):
        read_observations([source(b"\0\1\2", "a.bin")], OPTIONS)


def test_a_found_file_that_is_nothing_is_counted_where_it_was_found() -> None:
    """A folder of pictures makes one line, not thousands."""
    sources = [source(b"\0\1\2", f"pics/{n}.jpg", "pics") for n in range(3)]
    frame, report = read_observations([*sources, source(ndjson([record("1")]))], OPTIONS)
    assert frame.height == 1
    assert list(report.sources) == ["pics", "log.ndjson"]
    assert dict(report.sources["pics"].counts) == {("left_out", "not_recognised"): 3}


def test_a_folder_of_nothing_but_other_things_is_an_error() -> None:
    """Somebody who names it expects something to be read."""
    with pytest.raises(SourceError, match=r"^pics: contains no file in a supported format: .*JSON"):
        read_observations([source(b"\0\1\2", f"pics/{n}.jpg", "pics") for n in range(3)], OPTIONS)


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), EOFError("cut"), zipfile.BadZipFile("bad CRC")]
)
def test_a_source_that_fails_on_the_way_keeps_what_came_before(error: Exception) -> None:
    """A note if it was found, an error if it was named."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if size is not None and size > 2**16 and self.tell():
                raise error
            return super().read(size)

    content = ndjson([record(str(n)) for n in range(10)])

    def failing(found_in: str | None) -> Source:
        return Source("log.ndjson", lambda: Failing(content), found_in=found_in)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("observations.ingest.json_logs.ndjson.CHUNK_BYTES", 2**16 + 1)
        content *= 200
        frame, report = read_observations([failing("folder")], OPTIONS)
        assert frame.height == 10
        assert report.count("reject") == 1
        with pytest.raises(SourceError, match=r"^log.ndjson: cannot be read to its end"):
            read_observations([failing(None)], OPTIONS)


def test_a_takeout_is_read_whole(tmp_path: Path) -> None:
    """Every kind in it, each by its bytes; the rest counted."""
    event = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260302T093000Z\r\nDTEND:20260302T100000Z\r\nSUMMARY:Gym\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    mail = "From x@y Mon Mar  2 09:30:00 2026\nFrom: ada@x.org\nTo: bo@x.org\nDate: Mon, 2 Mar 2026 10:30:00 +0100\nMessage-ID: <1@x>\nSubject: Hi\n\nbody\n"
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Takeout/Kalender/x.ics", event)
        archive.writestr("Takeout/Mail/Alle E-Mails.mbox", mail)
        archive.writestr("Takeout/logs/log.json", json.dumps([record("of-the-log")]))
        archive.writestr("Takeout/logs/log.csv", "timestamp,title\n2026-03-02 09:30,x\n")
        archive.writestr("Takeout/.bash_history", "#1772443800\nls\n")
        archive.writestr("Takeout/bash_history", "#1772443800\nls\n")
        archive.writestr("Takeout/archive_browser.html", "<html></html>")
    found = find_sources([path])
    frame, report = read_observations(found.sources, OPTIONS, found.notes)
    assert sorted(frame.get_column("type")) == ["calendar", "command", "email", "event", "work"]
    assert report.sources[str(path)].counts["left_out", "not_recognised"] == 1
    assert {about.recognised for about in report.sources.values()} >= {
        "iCalendar",
        "mbox",
        "JSON",
        "CSV table",
    }


def test_notes_are_capped_and_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are."""
    monkeypatch.setattr(reading_report, "NOTES_KEPT", 5)
    _, report = read_observations([source(ndjson([record("1")]) * 3 + b"bad\n" * 9)], OPTIONS)
    about = report.sources["log.ndjson"]
    assert len(about.notes) == 5
    assert about.counts["reject", "bad_line"] == 9


def test_a_found_file_of_a_common_form_must_have_a_time() -> None:
    """Else a folder of anything at all makes a list of complaints; what is named is told what it lacks."""
    other = b'{"title": "a picture", "views": 3}'
    sources = [source(other, "pics/1.json", "pics"), source(b"a,b\n1,2\n", "pics/2.csv", "pics")]
    _, report = read_observations([*sources, source(ndjson([record("1")]))], OPTIONS)
    assert dict(report.sources["pics"].counts) == {("left_out", "not_recognised"): 2}
    _, report = read_observations([source(other, "1.json")], OPTIONS)
    assert report.count("reject") == 1
    mapped = ReadOptions(UNTIL, mapping={"timestamp": "When"})
    frame, _ = read_observations([source(b'{"When": "2026-03-02"}', "a.json", "folder")], mapped)
    assert frame.height == 1


def mail(number: int) -> bytes:
    return (
        f"From: ada@x.org\nTo: bo@x.org\nDate: Mon, 2 Mar 2026 10:{number:02d}:00 +0100\n"
        f"Message-ID: <{number}@x>\nSubject: Hi\n\nbody\n"
    ).encode()


def test_files_of_one_record_each_are_read_together() -> None:
    """A folder of mails is one entry in the report, one that was named is its own."""
    folder = [source(mail(n), f"mail/cur/{n}:2,S", "mail") for n in range(3)]
    _, report = read_observations([*folder, source(ndjson([record("1")])), source(mail(4), "a.eml")], OPTIONS)
    assert [(about.label, about.files, about.observations) for about in report.sources.values()] == [
        ("mail", 3, 3),
        ("log.ndjson", 1, 1),
        ("a.eml", 1, 1),
    ]
    named = [source(mail(n), f"mails/{n}.eml") for n in range(2)]
    batches = list(read_sources(named, OPTIONS))
    assert [batch.observations.height for batch in batches] == [2]


def test_a_file_among_many_that_fails_is_named() -> None:
    """What was read before it stays."""

    def failing() -> io.BytesIO:
        raise OSError(5, "Input/output error")

    folder = [source(mail(n), f"mail/cur/{n}", "mail") for n in range(3)]
    folder[1] = Source("mail/cur/1", failing, found_in="mail", beginning=mail(1))
    frame, report = read_observations(folder, OPTIONS)
    (note,) = [note for note in report.sources["mail"].notes if note.level == "reject"]
    assert str(note) == "mail/cur/1: cannot be read (input/output error)"
    assert frame.height == 2


def test_batches_come_as_they_are_read() -> None:
    """The first before the second source is opened."""
    opened = []

    def opening(label: str) -> Source:
        def opener() -> io.BytesIO:
            opened.append(label)
            return io.BytesIO(ndjson([record(label)]))

        return Source(label, opener)

    batches = read_sources([opening("1"), opening("2")], OPTIONS)
    assert next(batches).observations.height == 1
    assert "2" not in opened


def test_the_table_of_readers_is_in_order_and_complete() -> None:
    """Names are distinct, and no reader takes a file that another is for."""
    names = [reader.name for reader in READERS]
    assert len(set(names)) == len(names)
    samples = {
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n": "iCalendar",
        b'{"buckets": {}}': "ActivityWatch",
        b'{"timestamp": 1}\n{"timestamp": 2}\n': "newline-delimited JSON",
        b'[{"timestamp": 1}]': "JSON",
        b"From a@b Mon Mar  2 09:30:00 2026\nFrom: a@b\n\nx\n": "mbox",
        b": 1772443800:0;ls\n: 1772443900:0;ls\n": "zsh history",
        b"#1772443800\nls\n#1772443900\nls\n": "bash history",
        b"- cmd: ls\n  when: 1772443800\n": "fish history",
        b"timestamp,a\n2026-03-02,1\n": "CSV table",
        b"PAR1\x00\x00": "Parquet",
        b'<?xml version="1.0"?><log xes.version="1.0"><trace>': "XES",
    }
    for head, expected in samples.items():
        reader = recognise(source(head, "unnamed"))
        assert (reader.name if reader else None) == expected


@given(st.lists(st.lists(st.integers(0, 40), max_size=20), max_size=12))
@settings(deadline=None, max_examples=100)
def test_what_was_seen_is_known(batches: list[list[int]]) -> None:
    """The sorted runs answer as a set would."""
    seen, known = Seen(), set[int]()
    for ids in batches:
        frame = (
            empty_observations().clear(len(ids)).with_columns(id=_texts(ids), user_id=_texts([0] * len(ids)))
        )
        met = seen.add(frame).to_list()
        for number, was_met in zip(ids, met, strict=True):
            assert was_met is (number in known)
            known.add(number)


def _texts(numbers: list[int]) -> pl.Series:
    return pl.Series([str(n) for n in numbers], dtype=pl.String)


def test_a_reader_s_own_error_is_a_note_for_a_found_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the folder is read."""

    class Refusing:
        name = "refusing"

        def recognises(self, head: bytes, name: str) -> bool:
            return head.startswith(b"refuse")

        def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
            yield from ()
            raise SourceError(source.label, "has no time")

    monkeypatch.setattr(recognition, "READERS", (Refusing(), *READERS))
    sources = [source(b"refuse", "a", "folder"), source(ndjson([record("1")]), "b", "folder")]
    frame, report = read_observations(sources, OPTIONS)
    assert frame.height == 1
    assert [str(note) for note in report.sources["a"].notes] == ["a: has no time"]


def test_a_report_counts_what_a_note_speaks_for() -> None:
    """One note may stand for many records."""
    from observations.ingest.toolkit.note import Note

    report = ReadingReport({"a": SourceReport("a", "JSON", observations=3)})
    report.add_all([Note("left_out", "a", "x", "…", count=7), Note("reject", "b", "y", "…")])
    assert (report.observations, report.count("left_out"), report.count("reject")) == (3, 7, 1)
