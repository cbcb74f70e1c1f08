"""The stream: observations in, status changes out, for as long as there is something to read.

::

    lines ─► records ─► store (durable) ─► provisional changes ─► printed
                              │                                      ▲
                              └─► evaluation when idle ──────────────┘

Each chunk of lines is one transaction that includes the position in a followed file: after a crash, reading the same
input again neither loses nor duplicates records. A change is printed after the observations are durable, and marked as
reported after it was printed, so each change is printed **at least once**, and twice only if the process dies between.

People are evaluated when no input arrives for a moment, at the end of the input, and at the latest when their number of
observations has doubled. A single observation that confirms or breaks a pattern is reported before that, from the result
of the last evaluation (`pipelines.store.provisional`).
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
"""Seconds without input after which people are evaluated."""

REST_SECONDS = 60.0
"""Seconds between checks for people whose patterns may change without new data."""

_WARM_UP = (
    b'{"id":"1","user_id":"nobody","type":"calendar","action":"created","timestamp":"2026-03-02T09:30:00+01:00",'
    b'"tz":"Europe/Berlin","actor":"user","features":{"title":"Tea","minutes":5.0,"participants":["ana"]}}\n'
)

FEW = 100
"""Chunks with at most this many new records are checked for provisional changes; larger ones wait for the evaluation."""


@dataclass
class Streamed:
    """Result of a stream.

    Attributes:
        read: observations read.
        new: observations that were not in the store.
        forgotten: observations left out, or stored without a person, because of the suppression list.
        rejects: lines that could not be read.
        changes: status changes reported.
        last_line: number of the last line read.
        stopped: the signal that ended it; `None` if the input ended.

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
    """Reads lines into a store and reports status changes.

    Attributes:
        store: stores the observations.
        source: gives the lines.
        options: how records are read.
        evaluator: evaluates people in another process.
        notify: called with status changes; returns when they were written.
        note: called with notes about lines.

    """

    store: Store
    source: LineSource
    options: ReadOptions
    evaluator: Evaluator
    notify: Callable[[Sequence[Change]], None]
    note: Callable[[Note], None]
    result: Streamed = field(default_factory=Streamed)
    _provisional: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _dirty: bool = True  # an earlier run may have left people to be evaluated
    _asked_at: float = 0.0

    def warm_up(self) -> None:
        """Store an observation and roll back: the first one takes three times as long as later ones."""
        read = NdjsonReading(self.source.label, self.options).batch(_WARM_UP, 1, 1)
        self.store.warm_up(complete(read.observations, self.options))

    def run(self) -> Streamed:
        """Read until the input ends or a signal asks to stop.

        Raises:
            StoreError: the store cannot be read or written. Everything before the current chunk is stored.
        """
        reading = NdjsonReading(self.source.label, self.options)
        with _until_stopped(self.result) as woken:
            try:
                while not self._is_stopped() and not self.source.ended:
                    lines = self.source.read(self._patience(), [woken, *self.evaluator.descriptors])
                    if lines is not None:
                        self._take_in(reading, lines)
                    self._poll()
                    if lines is None and not self.evaluator.busy:
                        self._evaluate_when_idle()
                self._finish()
            finally:
                self.source.close()
                self.evaluator.close()
        return self.result

    def _is_stopped(self) -> bool:
        return self.result.stopped is not None

    def _patience(self) -> float:
        """Seconds to wait for input."""
        return IDLE_SECONDS if self._dirty and not self.evaluator.busy else 1.0

    def _take_in(self, reading: NdjsonReading, lines: Lines) -> None:
        """Store the records of these lines, and report provisional changes."""
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
            self._notify(self.store.provisional_changes(frame))
        if added.grown and not self.evaluator.busy:
            self._ask(only_grown=True)

    def _poll(self) -> None:
        for changes in self.evaluator.answers():
            self._notify(
                [change for change in map(self._corrected, changes) if change.before != change.after]
            )

    def _corrected(self, change: Change) -> Change:
        """The change relative to provisional changes reported during the evaluation."""
        key = (change.user_id, change.id)
        return replace(change, before=self._provisional[key]) if key in self._provisional else change

    def _evaluate_when_idle(self) -> None:
        """Evaluate, since there is no input."""
        if self._dirty or time.monotonic() - self._asked_at > REST_SECONDS:
            self._dirty = False
            self._ask()

    def _ask(self, *, only_grown: bool = False) -> None:
        self._provisional.clear()  # the store has the provisional changes so far, so the evaluator sees them
        self._asked_at = time.monotonic()
        self.evaluator.ask(only_grown=only_grown)

    def _finish(self) -> None:
        """Report pending changes; at the end of the input, evaluate everyone."""
        while self.evaluator.busy and not self._is_stopped():
            self._poll_soon()
        if self.source.ended and not self._is_stopped():
            self._provisional.clear()
            for changes in self.store.evaluate(unnotified=True, at_once=AT_ONCE):
                self._notify(changes)
                if self._is_stopped():
                    return

    def _poll_soon(self) -> None:
        time.sleep(0.01)
        self._poll()

    def _notify(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        self.notify(changes)
        self.store.mark_notified(changes)
        self.result.changes += len(changes)
        self._provisional.update(((c.user_id, c.id), c.after) for c in changes if c.provisional)


@contextmanager
def _until_stopped(result: Streamed) -> Iterator[int]:
    """Inside the ``with`` block, SIGTERM and Ctrl-C are recorded in the result instead of ending the program.

    Yields a file descriptor that becomes readable when a signal arrives, so that waiting ends.
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
