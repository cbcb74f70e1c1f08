"""XES logs of processes."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.errors import SourceError
from observations.ingest.process_logs.xes import XES
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.schema import check_observations, concat_observations
from tests.log_strategies import damaged

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC), tz="Europe/Berlin")


def read(content: str | bytes) -> tuple[pl.DataFrame, list[Note]]:
    octets = content.encode() if isinstance(content, str) else content
    batches = list(XES.read(Source.of_bytes(octets, "log.xes"), OPTIONS))
    frame = concat_observations(batch.observations for batch in batches)
    return check_observations(frame), [note for batch in batches for note in batch.notes]


def event(
    name: str, time: str | None, resource: str = "Ada", transition: str | None = None, more: str = ""
) -> str:
    lines = [
        f'<string key="concept:name" value="{name}"/>',
        f'<string key="org:resource" value="{resource}"/>',
    ]
    if transition:
        lines.append(f'<string key="lifecycle:transition" value="{transition}"/>')
    if time:
        lines.append(f'<date key="time:timestamp" value="{time}"/>')
    return f"<event>{''.join(lines)}{more}</event>\n"


def log(*traces: str, attributes: str = 'xmlns="http://www.xes-standard.org/" xes.version="1.0"') -> str:
    cases = "".join(
        f'<trace><string key="concept:name" value="case {n}"/>\n{t}</trace>\n' for n, t in enumerate(traces)
    )
    defaults = '<global scope="event"><date key="time:timestamp" value="1970-01-01T00:00:00Z"/></global>\n'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<log {attributes}>\n{defaults}{cases}</log>'


NINE, HALF_PAST = "2026-03-02T09:00:00.000+01:00", "2026-03-02T09:30:00+01:00"


@pytest.mark.parametrize("attributes", ["", 'xes.version="1.0"', 'xmlns="http://www.xes-standard.org/"'])
def test_an_event_is_an_observation_of_its_resource(attributes: str) -> None:
    """With or without the standard's namespace; the log's defaults are no event."""
    content = log(event("decide", "2026-07-23T10:00:00.000+05:00", "Bo"), attributes=attributes)
    assert XES.recognises(content.encode(), "x")
    frame, notes = read(content)
    row = frame.row(0, named=True)
    assert (frame.height, notes) == (1, [])
    assert (row["user_id"], row["type"], row["action"], row["case:text"]) == (
        "Bo",
        "process",
        "decide",
        "case 0",
    )
    assert str(row["local"]) == "2026-07-23 10:00:00"


def test_start_and_completion_are_one_observation() -> None:
    """At the start, as long as it took; the first to start is the first to complete."""
    trace = (
        event("a", NINE, transition="start")
        + event("a", "2026-03-02T09:10:00+01:00", transition="start")
        + event("b", "2026-03-02T09:20:00+01:00", transition="COMPLETE")
        + event("a", HALF_PAST, transition="complete")
        + event("a", "2026-03-02T10:00:00+01:00", transition="complete")
    )
    frame, _ = read(log(trace))
    assert frame.select("action", "duration_minutes:number").rows() == [("a", 30), ("a", 50), ("b", None)]


def test_instances_tell_which_completion_is_whose() -> None:
    """Where the log names them."""
    one, two = (f'<string key="concept:instance" value="{n}"/>' for n in "12")
    trace = (
        event("a", NINE, transition="start", more=one)
        + event("a", "2026-03-02T09:10:00+01:00", transition="start", more=two)
        + event("a", "2026-03-02T09:20:00+01:00", transition="complete", more=two)
        + event("a", HALF_PAST, transition="complete", more=one)
    )
    frame, _ = read(log(trace))
    assert frame.get_column("duration_minutes:number").to_list() == [30, 10]


def test_a_start_without_completion_and_the_reverse_stay() -> None:
    """So does a completion before the start, or in another case."""
    frame, _ = read(
        log(
            event("a", HALF_PAST, transition="start") + event("a", NINE, transition="complete"),
            event("a", HALF_PAST, transition="complete"),
        )
    )
    assert frame.height == 3
    assert "duration_minutes:number" not in frame.columns


def test_bookkeeping_is_counted_and_left_out() -> None:
    """What is scheduled was not done by anybody yet."""
    frame, notes = read(log(event("a", NINE, transition="schedule") * 2 + event("a", NINE)))
    assert frame.height == 1
    assert [(note.level, note.reason, note.count) for note in notes] == [("left_out", "bookkeeping", 2)]


def test_an_event_without_a_time_is_rejected_by_line() -> None:
    """And one whose time cannot be."""
    frame, notes = read(log(event("a", None) + event("b", "0001-01-01T00:00:00Z") + event("c", NINE)))
    assert frame.get_column("action").to_list() == ["c"]
    assert [(note.reason, note.line) for note in notes] == [("no_timestamp", 5), ("implausible_time", 6)]


def test_attributes_keep_their_types() -> None:
    """And their names; nested ones and lists too."""
    more = (
        '<int key="cost" value="12"/><float key="share" value="0.5"/><boolean key="ok" value="true"/>'
        '<int key="odd" value="many"/><string key="org:group" value="sales"><string key="site" value="Kiel"/></string>'
        '<list key="tags"><string key="t" value="x"/><string key="t" value="y"/></list>'
    )
    frame, _ = read(log(event("a", NINE, more=more)))
    row = frame.row(0, named=True)
    assert (row["cost:number"], row["share:number"], row["ok:flag"], row["odd:text"]) == (
        12,
        0.5,
        True,
        "many",
    )
    assert (row["org:group:text"], row["org:group.site:text"], row["tags:list"]) == (
        "sales",
        "Kiel",
        ["x", "y"],
    )


def test_events_without_a_trace_are_read() -> None:
    """As streams of events are logged."""
    frame, _ = read(f'<log xes.version="2.0">{event("a", NINE)}{event("b", NINE)}</log>')
    assert frame.get_column("action").to_list() == ["a", "b"]


def test_damage_costs_the_event_that_it_is_in() -> None:
    """A value without quotes; the end of the file."""
    content = log(event("a", NINE) + event("b", NINE) + event("c", NINE))
    frame, notes = read(content.replace('value="b"', "value=b"))
    assert frame.filter(pl.col("action").is_in(["a", "c"])).height == 2
    assert {note.reason for note in notes} >= {"broken_xml"}
    frame, notes = read(content[: content.index('value="c"')])
    assert frame.get_column("action").to_list()[:2] == ["a", "b"]
    assert "broken_xml" in {note.reason for note in notes}


def test_nothing_outside_the_file_is_read() -> None:
    """An external entity is not resolved."""
    content = log(event("a", NINE, more='<string key="x" value="y">&secret;</string>')).replace(
        "<log", '<!DOCTYPE log [<!ENTITY secret SYSTEM "file:///etc/passwd">]><log', 1
    )
    frame, _ = read(content)
    assert "root:" not in str(frame.to_dicts())


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_any_damage_is_survived(data: st.DataObject) -> None:
    """Cut, flipped, doubled, or no XML at all."""
    content = log(
        event("a", NINE, transition="start") + event("a", HALF_PAST, transition="complete")
    ).encode()
    octets = data.draw(st.one_of(damaged(content), st.binary(max_size=100)))
    XES.recognises(octets, "x.xes")
    try:
        read(octets)
    except SourceError as error:
        message = str(error)
        assert message.startswith("log.xes: is not XML")


@pytest.mark.parametrize(
    "head", [b"", b"<log>", b"<html><body>", b"log", b'<log><objects/><events><event id="1"/></events></log>']
)
def test_other_xml_is_not_taken_for_it(head: bytes) -> None:
    """A log needs traces, or to say what it is."""
    assert not XES.recognises(head, "x.xml")
