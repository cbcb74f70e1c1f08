"""OCEL 2.0, event logs about several objects at once, as JSON, XML or SQLite (https://www.ocel-standard.org, 2023).

Who did it is either an attribute of the event or one of its objects: `PEOPLE` lists the names that identify them.
The other objects are lists of their ids under the name of their type: an event about two orders and an item
has ``order`` with two values and ``item`` with one.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import lxml.etree as etree

from observations.ingest.json_logs.documents import bad_record, cut_note
from observations.ingest.json_logs.stream import BrokenJson, JsonStream
from observations.ingest.process_logs.xes import TYPE
from observations.ingest.process_logs.xml_events import elements
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.encoding import as_utf8, head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source
from observations.ingest.toolkit.sqlite_files import DAMAGED, MAGIC, opened

PEOPLE = ("resource", "org:resource", "user", "employee", "person", "worker", "actor", "agent", "staff")
"""What an attribute, a type of object or the role of an object is called when it is who did it."""

_JSON = re.compile(rb'\s*\{\s*"(?:objectTypes|eventTypes|objects|events)"\s*:\s*\[')
_JSON_KEYS = (b'"objectTypes"', b'"eventTypes"', b'"objectId"')
_XML = re.compile(rb"<(?:object-types|event-types|objects|relationship)\b")


@dataclass(frozen=True)
class OcelEvent:
    """One event of a log, whatever file it comes from.

    Attributes:
        line: where it is, from 1; None in a database.
        id: what the log calls it.
        activity: what was done.
        time: when, as it is written.
        attributes: name → value.
        objects: the id of each object, and what it is to the event.

    """

    line: int | None
    id: object
    activity: object
    time: object
    attributes: Mapping[str, object] = field(default_factory=dict)
    objects: tuple[tuple[str, str], ...] = ()


class OcelReader:
    """Reads OCEL 2.0 in its three forms."""

    name = "OCEL"

    def recognises(self, head: bytes, name: str) -> bool:
        """An object, a log or a database with events and objects."""
        del name
        if head.startswith(MAGIC):
            return b"event_map_type" in head
        text = head_as_utf8(head).lstrip()
        if text.startswith(b"{"):
            return _JSON.match(text) is not None and any(key in text for key in _JSON_KEYS)
        return text.startswith(b"<") and b"<log" in text and b"<trace" not in text and bool(_XML.search(text))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each event of an object-centric log, version 2.0 as JSON, XML or SQLite; its resource is the user."""
        head = source.head()
        notes: list[Note] = []
        records: Iterator[tuple[int | None, dict[str, object]]]
        if head.startswith(MAGIC):
            records = _records_of_database(source, notes)
        elif head_as_utf8(head).lstrip().startswith(b"{"):
            records = _records_of_json(source, notes)
        else:
            records = _records_of_xml(source, notes)
        rows = RawRows()
        for line, record in records:
            rows.add(line, record)
            if len(rows) >= BATCH_ROWS:
                yield _batch(rows, notes, source.label, options)
        yield _batch(rows, notes, source.label, options)


def record_of(event: OcelEvent, types: Mapping[str, str]) -> dict[str, object]:
    """The event as a record of the contract.

    Args:
        event: what happened.
        types: the type of each object, by its id.

    """
    people, others = _resource(event, types)
    about: dict[str, list[str]] = defaultdict(list)
    for id, role in others:
        about[types.get(id) or role or "object"].append(id)
    attributes = {
        f"{key}.attribute" if key in about else key: value for key, value in event.attributes.items()
    }
    return {
        "id": event.id,
        "user_id": people,
        "type": TYPE,
        "action": event.activity,
        "timestamp": event.time,
        "features": {**attributes, **about},
    }


def _resource(event: OcelEvent, types: Mapping[str, str]) -> tuple[object, list[tuple[str, str]]]:
    """Who did it, and the objects that are left."""
    others = list(event.objects)
    for name in PEOPLE:
        told = next((value for key, value in event.attributes.items() if key.lower() == name and value), None)
        if told is not None:
            return told, others
        for place, (id, role) in enumerate(others):
            if name in (types.get(id, "").lower(), role.lower()):
                del others[place]
                return id, others
    return None, others


def _records_of_json(source: Source, notes: list[Note]) -> Iterator[tuple[int, dict[str, object]]]:
    types: dict[str, str] = {}
    for _, thing in _listed(source, "objects", []):
        types[str(thing.get("id"))] = str(thing.get("type"))
    for line, said in _listed(source, "events", notes):
        attributes = {str(a.get("name")): a.get("value") for a in _objects_in(said.get("attributes"))}
        objects = tuple(
            (str(r.get("objectId")), str(r.get("qualifier") or ""))
            for r in _objects_in(said.get("relationships"))
        )
        event = OcelEvent(line, said.get("id"), said.get("type"), said.get("time"), attributes, objects)
        yield line, record_of(event, types)


def _listed(source: Source, name: str, notes: list[Note]) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects in the list of that name."""
    with source.open() as stream, as_utf8(stream) as text:
        json = JsonStream(text)
        try:
            for key in json.members():
                if key != name or json.peek() != "[":
                    json.value()
                    continue
                for line, element in json.elements():
                    if isinstance(element, dict):
                        yield line, element
                    else:
                        notes.append(bad_record(source.label, line, element))
        except BrokenJson as error:
            message = "invalid JSON; the rest of the file is skipped"
            notes.append(Note("reject", source.label, "bad_record", message, error.line))
        notes += cut_note(json, source.label)


def _objects_in(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _records_of_xml(source: Source, notes: list[Note]) -> Iterator[tuple[int, dict[str, object]]]:
    types: dict[str, str] = {}
    with source.open() as stream:
        for _, thing in elements(stream, ("object",), source.label, []):
            if thing.get("id") is not None:
                types[thing.get("id")] = thing.get("type") or ""
    with source.open() as stream:
        for _, element in elements(stream, ("event",), source.label, notes):
            yield element.sourceline or 0, record_of(_xml_event(element), types)


def _xml_event(element: etree._Element) -> OcelEvent:
    attributes = {a.get("name"): a.text for a in element.iter("{*}attribute") if a.get("name")}
    related = [*element.iter("{*}relationship"), *element.iter("{*}object")]
    objects = tuple((r.get("object-id"), r.get("qualifier") or "") for r in related if r.get("object-id"))
    line = element.sourceline
    return OcelEvent(line, element.get("id"), element.get("type"), element.get("time"), attributes, objects)


def _records_of_database(source: Source, notes: list[Note]) -> Iterator[tuple[None, dict[str, object]]]:
    try:
        with opened(source) as database:
            database.text_factory = lambda octets: octets.decode("utf-8", "replace")
            types = dict(database.execute("SELECT ocel_id, ocel_type FROM object"))
            related = defaultdict(list)
            query = "SELECT ocel_event_id, ocel_object_id, ocel_qualifier FROM event_object ORDER BY 1, 2, 3"
            for of, id, role in database.execute(query):
                related[of].append((id, role or ""))
            kinds = database.execute(
                "SELECT ocel_type, ocel_type_map FROM event_map_type ORDER BY 1"
            ).fetchall()
            for activity, table in kinds:
                for row in _rows(database, f"event_{table}"):
                    id, time = row.pop("ocel_id", None), row.pop("ocel_time", None)
                    event = OcelEvent(None, id, activity, time, row, tuple(related.get(id, ())))
                    yield None, record_of(event, types)
    except DAMAGED as error:
        notes.append(
            Note("reject", source.label, "damaged", f"the database cannot be read to its end ({error})")
        )


def _rows(database: sqlite3.Connection, table: str) -> Iterator[dict[str, object]]:
    quoted = table.replace('"', '""')
    cursor = database.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608  quoted as SQL has it
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def _batch(rows: RawRows, notes: list[Note], label: str, options: ReadOptions) -> Batch:
    batch = observe_rows(rows.take(), label, replace(options, mapping={}))
    all_notes = (*notes, *batch.notes)
    notes.clear()
    return Batch(batch.observations, all_notes)


OCEL = OcelReader()
