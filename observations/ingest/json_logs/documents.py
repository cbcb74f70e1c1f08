"""JSON that is not one record a line: an array of records, records written over several lines, a wrapped list.

A record is what a line of NDJSON is (`observations.ingest.tabular.row_buffer`). ``{"events": [...]}`` and the like, with a list
of objects under one of `WRAPPERS`, is that list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from observations.ingest.json_logs.stream import BrokenJson, JsonStream
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.encoding import as_utf8, head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source

WRAPPERS = (
    "observations",
    "events",
    "records",
    "items",
    "data",
    "results",
    "rows",
    "entries",
    "logs",
    "value",
)
"""Keys under which programs put the list when they wrap it in an object."""

_ARRAY = re.compile(rb"\s*\[\s*[\[{\]]")
_OBJECT = re.compile(rb"\s*\{\s*(?:\"|\})")


class JsonReader:
    """Reads arrays of records, and records one after another whatever their layout."""

    name = "JSON"

    def recognises(self, head: bytes, name: str) -> bool:
        """An array of objects, or an object; readers of one-line records come before."""
        del name
        text = head_as_utf8(head)
        return bool(_ARRAY.match(text) or _OBJECT.match(text))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each object of the array, or of the array under a key such as `events`."""
        rows, notes = RawRows(), list[Note]()
        with source.open() as stream, as_utf8(stream) as text:
            json = JsonStream(text)
            for line, record in _records(json):
                if isinstance(record, dict):
                    rows.add(line, record)
                else:
                    notes.append(bad_record(source.label, line, record))
                if len(rows) >= BATCH_ROWS:
                    yield _batch(rows, notes, source.label, options)
            notes += cut_note(json, source.label)
        yield _batch(rows, notes, source.label, options)


def cut_note(json: JsonStream, label: str) -> list[Note]:
    """What is to be said where the text ended too early."""
    return [Note("warning", label, "cut_off", "the JSON is truncated", json.line)] if json.cut else []


def bad_record(label: str, line: int, record: object) -> Note:
    """The note on an element that is no object."""
    message = "is not JSON" if isinstance(record, BrokenJson) else "is not a JSON object"
    return Note("reject", label, "bad_record", f"the record that begins here {message}", line)


def _batch(rows: RawRows, notes: list[Note], label: str, options: ReadOptions) -> Batch:
    batch = observe_rows(rows.take(), label, options)
    all_notes = (*notes, *batch.notes)
    notes.clear()
    return Batch(batch.observations, all_notes)


def _records(json: JsonStream) -> Iterator[tuple[int, object]]:
    """Every record of the text, or the `BrokenJson` in its place, with the line on which it begins."""
    while mark := json.peek():
        line = json.line
        try:
            if mark == "[":
                yield from json.elements()
            elif mark == "{":
                yield from _object(json, line)
            else:
                yield line, json.value()
        except BrokenJson as error:
            yield line, error
            json.skip_to_next_object()


def _object(json: JsonStream, line: int) -> Iterator[tuple[int, object]]:
    """The elements of the lists that the object wraps; the object itself if it wraps none."""
    record: dict[str, object] = {}
    wraps = False
    for key in json.members():
        if key in WRAPPERS and json.peek() == "[":
            held = list[object]()
            for place, element in json.elements():
                if isinstance(element, (dict, BrokenJson)):
                    wraps = True
                    yield place, element
                else:
                    held.append(element)
            record[key] = held
        else:
            record[key] = json.value()
    if not wraps:
        yield line, record


JSON = JsonReader()
