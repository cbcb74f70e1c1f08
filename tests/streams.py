"""Streams in the process of the test: what a source gives goes into a store, and changes and notes are gathered."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import ReadOptions
from pipelines.store.status_change import Change
from pipelines.store.store import Store
from pipelines.streaming.line_sources import LineSource, Pipe
from pipelines.streaming.stream import Stream, Streamed

OPTIONS = ReadOptions(until=datetime(2100, 1, 1, tzinfo=UTC), allow_future=True)


class OwnEvaluator:
    """Evaluates when it is asked, in this process."""

    descriptors: tuple[int, ...] = ()

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answers: list[list[Change]] = []
        self.busy = False
        self.asked: list[bool] = []

    def ask(self, *, only_grown: bool = False) -> None:
        self.asked.append(only_grown)
        self._answers += self._store.evaluate(only_grown=only_grown)
        self.busy = True

    def answers(self) -> Iterator[list[Change]]:
        yield from self._answers
        self._answers = []
        self.busy = False

    def close(self) -> None:
        self.busy = False


@dataclass
class Run:
    """What one stream did."""

    changes: list[Change] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    result: Streamed = field(default_factory=Streamed)
    evaluations: list[bool] = field(default_factory=list)


def stream(store: Store, source: LineSource) -> Run:
    """Read the source to its end."""
    run = Run()
    evaluator = OwnEvaluator(store)
    run.result = Stream(
        store,
        source,
        OPTIONS,
        evaluator,  # type: ignore[arg-type]
        run.changes.extend,
        run.notes.append,
    ).run()
    run.evaluations = evaluator.asked
    return run


def stream_chunks(store: Store, chunks: Iterable[bytes], *, gap_seconds: float = 0.0) -> Run:
    """Read what a program writes chunk by chunk into a pipe, so many seconds apart."""
    reading, writing = os.pipe()

    def write() -> None:
        wait = threading.Event()
        with os.fdopen(writing, "wb", buffering=0) as end:
            for chunk in chunks:
                end.write(chunk)
                wait.wait(gap_seconds)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return stream(store, Pipe(reading))
    finally:
        writer.join()
        os.close(reading)
