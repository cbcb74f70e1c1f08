"""XES, the event logs of process mining (IEEE 1849): who did which step of which case, when.

The resource is the user, the activity (``concept:name``) the action. Activities that a log records as they start and
as they complete are one observation with a duration::

    start ──────────── complete      one observation at the start, ``duration_minutes`` long
             complete                one observation
    start ─ ─ (log ends)             one observation, its length unknown

Other transitions (scheduled, assigned, suspended, …) are changes in a system's books and are left out, counted.
What a ``global`` element says are defaults of the log's schema, not events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import lxml.etree as etree

from observations.ingest.process_logs.xml_events import elements, local_name
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.tabular.timestamp_formats import parse_timestamp
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import BATCH_ROWS, Batch, ReadOptions, Source

BOOKKEEPING = frozenset(
    (
        "schedule",
        "assign",
        "reassign",
        "suspend",
        "resume",
        "withdraw",
        "autoskip",
        "manualskip",
        "pi_abort",
        "ate_abort",
    )
)
"""Transitions of the standard lifecycle that are neither the start nor the completion of work."""

TYPE = "process"
"""The type of these observations."""


@dataclass(frozen=True)
class Step:
    """One event of a trace."""

    line: int
    action: str | None
    resource: str | None
    transition: str
    timestamp: str | None
    features: Mapping[str, object]
    minutes: float | None = None

    @property
    def instant(self) -> datetime | None:
        """When it was, to be compared with others of its trace; None if that cannot be read."""
        try:
            moment: datetime | None = datetime.fromisoformat(self.timestamp or "")
        except ValueError:
            read = parse_timestamp(self.timestamp or "")
            moment = read.at or read.wall
        return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


class XesReader:
    """Reads XES logs."""

    name = "XES"

    def recognises(self, head: bytes, name: str) -> bool:
        """An XML log with traces, or one that says that it is XES."""
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith(b"<") or b"<log" not in text:
            return False
        return (
            b"xes" in text.partition(b"<log")[2][:2_000].lower() or b"<trace" in text or name.endswith(".xes")
        )

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each activity of a process log; its resource is the user."""
        rows, notes, skipped = RawRows(), list[Note](), Counter[str]()
        with source.open() as stream:
            steps = list[Step]()
            for name, element in elements(stream, ("event", "trace"), source.label, notes):
                if name == "event":
                    steps.append(_step(element))
                if name == "trace" or not _is_in_trace(element):
                    case = _attributes(element) if name == "trace" else {}
                    for step in _joined(steps, skipped):
                        rows.add(step.line, _record(step, case))
                    steps.clear()
                if len(rows) >= BATCH_ROWS:
                    yield _batch(rows, notes, source.label, options)
        notes += _skipped_notes(skipped, source.label)
        yield _batch(rows, notes, source.label, options)


def _is_in_trace(event: etree._Element) -> bool:
    parent = event.getparent()
    return parent is not None and local_name(parent) == "trace"


def _step(event: etree._Element) -> Step:
    said = _attributes(event)
    texts = {
        key: str(value) if (value := said.pop(key, None)) is not None else None
        for key in ("concept:name", "org:resource", "lifecycle:transition", "time:timestamp")
    }
    return Step(
        line=event.sourceline or 0,
        action=texts["concept:name"],
        resource=texts["org:resource"],
        transition=(texts["lifecycle:transition"] or "complete").lower(),
        timestamp=texts["time:timestamp"],
        features=said,
    )


def _attributes(element: etree._Element) -> dict[str, object]:
    """The attributes of an event or trace, each under its key; those of an attribute under both, joined by a dot."""
    said: dict[str, object] = {}
    for child in element:
        key, kind = child.get("key"), local_name(child)
        if key is None or kind in ("event", "trace"):
            continue
        if kind == "list":
            said[key] = [value.get("value") for value in child.iter() if value.get("value") is not None]
            continue
        said[key] = _value(kind, child.get("value"))
        if len(child):
            said |= {f"{key}.{inner}": value for inner, value in _attributes(child).items()}
    return said


def _value(kind: str, text: str | None) -> object:
    """An attribute's value by its type; as text where it is not what its type says."""
    if text is None:
        return None
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
    except ValueError:
        return text
    return text.lower() == "true" if kind == "boolean" and text.lower() in ("true", "false") else text


def _joined(steps: list[Step], skipped: Counter[str]) -> Iterator[Step]:
    """The steps that are observations: each start with the completion that is its own, in the order of the trace."""
    joined: list[Step | None] = list(steps)
    started: dict[tuple[str | None, object], list[int]] = defaultdict(list)
    for place, step in enumerate(steps):
        activity = (step.action, step.features.get("concept:instance"))
        if step.transition in BOOKKEEPING:
            skipped[step.transition] += 1
            joined[place] = None
        elif step.transition == "start":
            started[activity].append(place)
        elif step.transition == "complete" and started[activity]:
            start = steps[started[activity][0]]
            minutes = _minutes_between(start, step)
            if minutes is not None:
                first = started[activity].pop(0)
                features = {**step.features, **start.features}
                resource = start.resource or step.resource
                joined[first] = replace(start, resource=resource, features=features, minutes=minutes)
                joined[place] = None
    return (step for step in joined if step is not None)


def _minutes_between(start: Step, end: Step) -> float | None:
    began, ended = start.instant, end.instant
    if began is None or ended is None or ended < began:
        return None
    return (ended - began).total_seconds() / 60


def _record(step: Step, case: Mapping[str, object]) -> dict[str, object]:
    """The step as a record of the contract."""
    features = dict(step.features)
    for key, value in case.items():
        features["case" if key == "concept:name" else f"case.{key}"] = value
    if step.minutes is not None:
        features["duration_minutes"] = step.minutes
    return {
        "type": TYPE,
        "action": step.action,
        "user_id": step.resource,
        "timestamp": step.timestamp,
        "features": features,
    }


def _skipped_notes(skipped: Counter[str], label: str) -> list[Note]:
    return [
        Note(
            "left_out",
            label,
            "bookkeeping",
            f"is neither start nor completion of work ({transition})",
            count=count,
        )
        for transition, count in sorted(skipped.items())
    ]


def _batch(rows: RawRows, notes: list[Note], label: str, options: ReadOptions) -> Batch:
    batch = observe_rows(rows.take(), label, replace(options, mapping={}))
    all_notes = (*notes, *batch.notes)
    notes.clear()
    return Batch(batch.observations, all_notes)


XES = XesReader()
