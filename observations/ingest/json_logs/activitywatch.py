"""ActivityWatch: which application, web page or file was in front, and for how long.

Both shapes of its exports are read: whole exports (``{"buckets": {name: {…, "events": […]}}}``) and the events of
one bucket (the bucket alone, or the bare list that its interface answers with).

An event's start is its identity: a watcher that prolongs the last event writes it again, so of two events of a
bucket with the same start the longer stays (ActivityWatch/aw-watcher-afk #61), and its id follows from bucket and
start, so a later export adds nothing. Events of different buckets overlap, and may. Whether the person was at
the keyboard (``afkstatus``) says something about the other events and is no activity itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from observations.ingest.json_logs.documents import bad_record, cut_note
from observations.ingest.json_logs.stream import BrokenJson, JsonStream
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.encoding import as_utf8, head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source
from observations.schema import empty_observations

ACTIVITIES: Mapping[str, tuple[str, str]] = {
    "currentwindow": ("application", "used"),
    "web.tab.current": ("web", "visited"),
    "app.editor.activity": ("editor", "edited"),
    "general.stopwatch": ("stopwatch", "timed"),
}
"""Type and action of the events in a bucket of this type; of others, the type as it is and ``recorded``."""

FILTER = "afkstatus"
"""The type of bucket that says whether somebody was there."""

TOLD_BY: Mapping[str, str] = {
    "status:text": FILTER,
    "url:text": "web.tab.current",
    "app:text": "currentwindow",
    "file:text": "app.editor.activity",
}
"""The type of a bucket that does not name it, by a feature that its events have."""

_WHOLE = re.compile(rb'\s*\{\s*"buckets"\s*:\s*\{')
_BUCKET = re.compile(rb'\s*\{(?=.{0,2000}"(?:client|hostname)"\s*:)(?=.{0,2000}"events"\s*:\s*\[)', re.DOTALL)
_EVENTS = re.compile(rb"\s*\[\s*\{")
_EVENT_KEYS = (b'"timestamp"', b'"duration"', b'"data"')


class ActivityWatchReader:
    """Reads ActivityWatch exports."""

    name = "ActivityWatch"

    def recognises(self, head: bytes, name: str) -> bool:
        """An object with buckets, a bucket, or a list of events that have a duration and data."""
        del name
        text = head_as_utf8(head)
        if _WHOLE.match(text) or _BUCKET.match(text):
            return True
        return bool(_EVENTS.match(text)) and all(key in text[:2_000] for key in _EVENT_KEYS)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each event of an application, page or file in front."""
        notes: list[Note] = []
        with source.open() as stream, as_utf8(stream) as text:
            json = JsonStream(text)
            try:
                for bucket in _buckets(json, source.label, notes):
                    yield _batch(bucket, source.label, options)
            except BrokenJson as error:
                message = "invalid JSON; the rest of the file is skipped"
                notes.append(Note("reject", source.label, "bad_record", message, error.line))
            notes += cut_note(json, source.label)
        yield Batch(empty_observations(), tuple(notes))


@dataclass
class Bucket:
    """A bucket as far as it was read. Its events are raw rows (`observations.ingest.tabular.row_buffer`)."""

    name: str = ""
    type: str | None = None
    hostname: str | None = None
    events: list[pl.DataFrame] = field(default_factory=list)
    broken: BrokenJson | None = None

    def read_member(self, key: str, json: JsonStream, label: str, notes: list[Note]) -> None:
        """Take in the member of the bucket at whose value the cursor is."""
        if key == "events" and json.peek() == "[":
            self.read_events(json, label, notes)
            return
        value = json.value()
        if key == "id" and isinstance(value, str):
            self.name = value
        elif key == "type" and isinstance(value, str):
            self.type = value
        elif key == "hostname" and isinstance(value, str):
            self.hostname = value

    def read_events(self, json: JsonStream, label: str, notes: list[Note]) -> None:
        """Take in the list of events at the cursor."""
        rows = RawRows()
        for line, event in json.elements():
            if isinstance(event, dict):
                rows.add(line, _record(event))
            else:
                notes.append(bad_record(label, line, event))
            if len(rows) >= BATCH_ROWS:
                self.events.append(rows.take())
        self.events.append(rows.take())


def _buckets(json: JsonStream, label: str, notes: list[Note]) -> Iterator[Bucket]:
    """The buckets of the export, each with its events."""
    bucket = Bucket()
    if json.peek() == "[":
        bucket.read_events(json, label, notes)
        yield bucket
        return
    for key in json.members():
        if key == "buckets" and json.peek() == "{":
            for name in json.members():
                named = _bucket(name, json, label, notes)
                yield named
                if named.broken is not None:
                    raise named.broken
        else:
            bucket.read_member(key, json, label, notes)
    yield bucket


def _bucket(name: str, json: JsonStream, label: str, notes: list[Note]) -> Bucket:
    """The bucket at the cursor, as far as it can be read."""
    bucket = Bucket(name)
    try:
        for key in json.members():
            bucket.read_member(key, json, label, notes)
    except BrokenJson as error:
        bucket.broken = error
    return bucket


def _record(event: Mapping[str, object]) -> dict[str, object]:
    """The event as a record of the contract."""
    seconds, data = event.get("duration"), event.get("data")
    features = dict(data) if isinstance(data, dict) else {}
    if isinstance(seconds, (int, float)) and seconds >= 0:
        features["duration_minutes"] = seconds / 60
    return {"timestamp": event.get("timestamp"), "features": features}


def _batch(bucket: Bucket, label: str, options: ReadOptions) -> Batch:
    """The bucket's observations, the longest for each start."""
    raw = pl.concat(bucket.events, how="diagonal") if bucket.events else pl.DataFrame()
    if raw.height == 0:
        return Batch(empty_observations())
    kind = bucket.type or next((kind for column, kind in TOLD_BY.items() if column in raw.columns), "event")
    if kind == FILTER:
        message = "only says whether the person was at the keyboard"
        return Batch(
            empty_observations(),
            (Note("left_out", label, "afk", message, item=bucket.name, count=raw.height),),
        )
    kind_of_event, action = ACTIVITIES.get(kind, (kind, "recorded"))
    raw = raw.with_columns(type=pl.lit(kind_of_event), action=pl.lit(action))
    if bucket.hostname:
        raw = raw.with_columns(pl.lit(bucket.hostname).alias("device:text"))
    batch = observe_rows(raw, label, replace(options, mapping={}))
    longest = _longest(batch.observations)
    notes = batch.notes
    if shorter := batch.observations.height - longest.height:
        message = "is the shorter of two with the same start"
        notes += (Note("left_out", label, "prolonged", message, item=bucket.name, count=shorter),)
    return Batch(longest.with_columns(id=_ids(longest, bucket.name or kind)), notes)


def _longest(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each instant, the longest; in the order of the frame."""
    if "duration_minutes:number" not in frame.columns:
        return frame.unique("at", keep="first", maintain_order=True)
    numbered = frame.with_row_index("_row")
    longest = numbered.sort("duration_minutes:number", "_row", descending=[True, False], nulls_last=True)
    return longest.unique("at", keep="first").sort("_row").drop("_row")


def _ids(frame: pl.DataFrame, bucket: str) -> pl.Series:
    instants = frame.get_column("at").dt.epoch("us")
    said = (f"{bucket}\x1f{instant}".encode() for instant in instants)
    return pl.Series(
        "id", [hashlib.blake2b(text, digest_size=8).hexdigest() for text in said], dtype=pl.String
    )


ACTIVITYWATCH = ActivityWatchReader()
