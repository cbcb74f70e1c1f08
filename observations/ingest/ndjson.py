"""Newline-delimited JSON, one observation a line: the contract's own form, and what most programs log.

Two ways lead to the same frame, chunk by chunk (a property test holds them to it):

* The **fast path** hands a whole chunk to polars. polars stops at NaN, a bad line or a cut tail, drops keys that
  its schema lacks, and turns a number into text where other rows have text. The first three raise; the others
  are found by counting, and all of them send the chunk down the other path.
* The **repairing path** reads line by line with orjson, keeps what can be read, and says by number which lines
  cannot.

Measured, 1,000,000 rows of 245 bytes: see ``tests/benchmarks/test_ndjson_speed.py``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

import orjson
import polars as pl

from observations.ingest.base import Batch, Note, ReadOptions, Source
from observations.ingest.ndjson_columns import FastPath
from observations.ingest.rows import RawRows, observe_rows
from observations.ingest.text import as_utf8, head_as_utf8

CHUNK_BYTES = 8 * 2**20
"""Large enough to be worth a call of polars, small enough for memory to stay flat."""

WORKERS = 2
"""Chunks that are read at a time: polars works on several cores, but what comes before and after does not."""

PATIENCE = 3
"""Chunks in a row that the fast path may fail before it is no longer tried: its failures cost time."""

LONGEST_LINE = 64 * 2**20
"""A line longer than this is no record."""


class NdjsonReader:
    """Reads newline-delimited JSON."""

    name = "newline-delimited JSON"

    def recognises(self, head: bytes, name: str) -> bool:
        """Most of the first lines are JSON objects; the name may vouch for a file that begins with damage."""
        head = head_as_utf8(head)
        if head.lstrip()[:1] == b"[":
            return False
        lines = [line for line in head.splitlines()[:20] if line.strip()]
        good = sum(isinstance(_parsed(line), dict) for line in lines)
        return good * 2 >= len(lines) > 0 or (name.endswith((".ndjson", ".jsonl")) and good > 0)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """One batch for each chunk of lines."""
        reading = _Reading(source.label, options)
        with source.open() as stream, as_utf8(stream) as text, ThreadPoolExecutor(WORKERS) as workers:
            coming: deque[Future[Batch]] = deque()
            failure = None
            try:
                for chunk, first_line, lines in _chunks(text):
                    coming.append(workers.submit(reading.batch, chunk, first_line, lines))
                    if len(coming) > WORKERS:
                        yield coming.popleft().result()
            except Exception as error:
                failure = error
            while coming:
                yield coming.popleft().result()
            if failure is not None:
                raise failure


class _Reading:
    """The reading of one source: the same for all its chunks, in whatever thread."""

    def __init__(self, label: str, options: ReadOptions) -> None:
        self._label = label
        self._options = options
        self._fast = FastPath()
        self._failures = 0

    def batch(self, chunk: bytes, first_line: int, lines: int) -> Batch:
        """The observations of a chunk, by the way that can be trusted with it."""
        notes: list[Note] = []
        rows = None
        if self._failures < PATIENCE:
            rows = self._fast.rows(chunk, first_line, lines)
            self._failures = 0 if rows is not None else self._failures + 1
        if rows is None:
            rows = _repaired_rows(chunk, first_line, self._label, notes)
        batch = observe_rows(rows, self._label, self._options)
        return Batch(batch.observations, (*notes, *batch.notes))


def _chunks(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """The stream in pieces that end where a line ends (but for the last), with the first line and how many."""
    first_line = 1
    while chunk := stream.read(CHUNK_BYTES):
        if not chunk.endswith(b"\n"):
            chunk += stream.readline(LONGEST_LINE)
        ends = chunk.count(b"\n")
        yield chunk, first_line, ends + (not chunk.endswith(b"\n"))
        first_line += ends


def _repaired_rows(chunk: bytes, first_line: int, label: str, notes: list[Note]) -> pl.DataFrame:
    """The raw rows of every line that can be read; a note for each that cannot."""
    rows = RawRows()
    add, loads = rows.add, orjson.loads
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        try:
            record = loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                continue
            record = _parsed(line)
            if isinstance(record, dict) and not line.isascii() and not _is_utf8(line):
                notes.append(
                    Note("warning", label, "bad_encoding", "is not UTF-8; odd bytes are shown as �", number)
                )
        if type(record) is dict:
            add(number, record)
        else:
            notes.append(Note("reject", label, "bad_line", "the line is no JSON object", number))
    return rows.take()


def _parsed(line: bytes) -> object:
    """What the line says, by a parser that takes NaN and forgives bytes that are no UTF-8; null for nothing."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


NDJSON = NdjsonReader()
