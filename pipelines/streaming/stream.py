"""The stream: observations in, status changes out, for as long as there is something to read.

::

    lines ─► records ─► store (durable) ─► foretold at once ─► printed
                              │                                   ▲
                              └─► evaluated when there is time ───┘

Each piece of lines is one transaction, with the position of a followed file in it: after a crash the same input
loses nothing and doubles nothing. A line of output is printed after what it rests on is durable, and noted down
after it was printed: each status change is told **at least once**, and twice only if the power fails between.

People are evaluated when nothing comes in for a moment, at the end, and at the latest when what they have has
doubled; a single observation that completes or breaks a pattern is answered before that, from what the last
evaluation kept (`pipelines.store.provisional`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

import polars as pl

from observations.ingest.json_logs.ndjson import NdjsonReading
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions
from pipelines.store.database.insert import LONGEST_NAME
from pipelines.store.status_change import Change
from pipelines.store.store import Store
from pipelines.streaming.line_sources import Lines, LineSource
from pipelines.streaming.worker import AT_ONCE, Evaluator

IDLE_SECONDS = 0.05
"""So long nothing comes in before there is time to evaluate."""

REST_SECONDS = 60.0
"""So often people are looked at of whom time alone may have changed something."""

_REHEARSED = (
    b'{"id":"1","user_id":"nobody","type":"calendar","action":"created","timestamp":"2026-03-02T09:30:00+01:00",'
    b'"tz":"Europe/Berlin","actor":"user","features":{"title":"Tea","minutes":5.0,"participants":["ana"]}}\n'
)

FEW = 100
"""Up to so many new records of a piece are foretold; of more the evaluation follows soon enough."""


@dataclass
class Streamed:
    """What came of a stream.

    Attributes:
        read: observations.
        new: those that were not in the store.
        forgotten: those that were left out, or let in without a person, because that was forgotten.
        rejects: lines that could not be read.
        changes: status changes that were told.
        last_line: number of the last line that was dealt with.
        stopped: the signal that ended it; null if the input ended.

    """

    read: int = 0
    new: int = 0
    forgotten: int = 0
    rejects: int = 0
    changes: int = 0
    last_line: int = 0
    stopped: signal.Signals | None = None


@dataclass
class Stream:
    """Reads a source of lines into a store and tells what changes.

    Attributes:
        store: where to.
        source: where from.
        options: how records are read.
        evaluator: evaluates beside it.
        tell: is given changes, and returns when they have been handed on.
        note: is given what is to be said about lines.

    """

    store: Store
    source: LineSource
    options: ReadOptions
    evaluator: Evaluator
    tell: Callable[[Sequence[Change]], None]
    note: Callable[[Note], None]
    result: Streamed = field(default_factory=Streamed)
    _foretold: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _dirty: bool = True  # an earlier run may have left people to be evaluated
    _asked_at: float = 0.0

    def rehearse(self) -> None:
        """Go through an answer once, without leaving anything behind: the first takes three times as long as the others."""
        read = NdjsonReading(self.source.label, self.options).batch(_REHEARSED, 1, 1)
        self.store.warm_up(complete(read.observations, self.options))

    def run(self) -> Streamed:
        """Read until the input ends or a signal asks to stop.

        Raises:
            StoreError: the store cannot be read or written. Everything up to the piece in hand is in it.
        """
        reading = NdjsonReading(self.source.label, self.options)
        with _until_stopped(self.result) as woken:
            try:
                while not self._is_stopped() and not self.source.ended:
                    lines = self.source.read(self._patience(), [woken, *self.evaluator.descriptors])
                    if lines is not None:
                        self._take_in(reading, lines)
                    self._hear()
                    if lines is None and not self.evaluator.busy:
                        self._use_the_rest()
                self._finish()
            finally:
                self.source.close()
                self.evaluator.close()
        return self.result

    def _is_stopped(self) -> bool:
        return self.result.stopped is not None

    def _patience(self) -> float:
        """How long to wait for input, in seconds."""
        return IDLE_SECONDS if self._dirty and not self.evaluator.busy else 1.0

    def _take_in(self, reading: NdjsonReading, lines: Lines) -> None:
        """Store what the lines say, and answer what can be answered at once."""
        batch = reading.batch(lines.text, lines.first, lines.count)
        frame = complete(batch.observations, self.options)
        if not self.options.allow_future:
            frame = frame.filter(pl.col("at") <= self.options.until)
        if self.options.since is not None:
            frame = frame.filter(pl.col("at") >= self.options.since)
        added = self.store.add(frame, lines.position)
        notes = batch.notes
        if added.refused:
            message = f"the id or user has a NUL in it or more than {LONGEST_NAME} characters; the record is left out"
            notes += (Note("reject", self.source.label, "bad_name", message, count=added.refused),)
        for note in notes:
            self.result.rejects += note.count if note.level == "reject" else 0
            self.note(note)
        self.result.read += frame.height
        self.result.new += len(added)
        self.result.forgotten += added.forgotten
        self.result.last_line = lines.first + lines.count - 1
        self._dirty |= bool(added.new)
        if 0 < len(added) <= FEW:
            if len(added) < frame.height:
                frame = frame.filter([key in added.new for key in frame.select("user_id", "id").iter_rows()])
            self._tell(self.store.provisional_changes(frame))
        if added.grown and not self.evaluator.busy:
            self._ask(only_grown=True)

    def _hear(self) -> None:
        for changes in self.evaluator.answers():
            self._tell([change for change in map(self._corrected, changes) if change.before != change.after])

    def _corrected(self, change: Change) -> Change:
        """The change as it follows on what was foretold while it was being found out."""
        key = (change.user_id, change.id)
        return replace(change, before=self._foretold[key]) if key in self._foretold else change

    def _use_the_rest(self) -> None:
        """Nothing came in: time to evaluate."""
        if self._dirty or time.monotonic() - self._asked_at > REST_SECONDS:
            self._dirty = False
            self._ask()

    def _ask(self, *, only_grown: bool = False) -> None:
        self._foretold.clear()  # what was foretold so far is in the store for the evaluator to see
        self._asked_at = time.monotonic()
        self.evaluator.ask(only_grown=only_grown)

    def _finish(self) -> None:
        """What is known already is told; at the end of the input, everybody is evaluated."""
        while self.evaluator.busy and not self._is_stopped():
            self._hear_soon()
        if self.source.ended and not self._is_stopped():
            self._foretold.clear()
            for changes in self.store.evaluate(unnotified=True, at_once=AT_ONCE):
                self._tell(changes)
                if self._is_stopped():
                    return

    def _hear_soon(self) -> None:
        time.sleep(0.01)
        self._hear()

    def _tell(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        self.tell(changes)
        self.store.mark_notified(changes)
        self.result.changes += len(changes)
        self._foretold.update(((c.user_id, c.id), c.after) for c in changes if c.provisional)


@contextmanager
def _until_stopped(result: Streamed) -> Iterator[int]:
    """While this lasts, SIGTERM and Ctrl-C are noted in the result instead of ending the program.

    Gives a descriptor that can be read once one came, so that no wait outlasts it.
    """
    woken, wake = os.pipe()

    def stop(number: int, _: FrameType | None) -> None:
        result.stopped = signal.Signals(number)
        os.write(wake, b".")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield woken
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(woken)
        os.close(wake)
