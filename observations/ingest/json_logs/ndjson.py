"""Newline-delimited JSON, one observation a line: the contract's own form, and what most programs log.

Two ways lead to the same frame, chunk by chunk (a property test holds them to it):

* The **fast path** hands a whole chunk to polars. polars stops at NaN, a bad line or a cut tail, drops keys that
  its schema lacks, and turns a number into text where other rows have text. The first three raise; the others
  are found by counting, and all of them send the chunk down the other path.
* The **repairing path** looks at each line with orjson, says by number which cannot be read, and hands the others
  to the fast path again. What that does not take either (a feature that is a number here and text there, nested
  objects) is taken field by field.

Measured, 1,000,000 rows of 245 bytes: see ``tests/benchmarks/test_ndjson_speed.py``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

import orjson
import polars as pl

from observations.ingest.json_logs.ndjson_fast_path import FastPath
from observations.ingest.tabular.contract_fields import observe_rows
from observations.ingest.tabular.row_buffer import RawRows
from observations.ingest.toolkit.encoding import as_utf8, head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source

CHUNK_BYTES = 8 * 2**20
"""Large enough to be worth a call of polars, small enough for memory to stay flat."""

WORKERS = 2
"""Chunks that are read at a time: polars works on several cores, but what comes before and after does not."""

PATIENCE = 3
"""Chunks in a row that the fast path may fail before it is no longer tried: its failures cost time."""

FEW_LINES = 100
"""Up to so many lines are read one by one at once: the fast path takes 8 ms to begin, a line 0.02 ms."""

LONGEST_LINE = 64 * 2**20
"""A line longer than this is no record."""


class NdjsonReader:
    """Reads newline-delimited JSON."""

    name = "newline-delimited JSON"

    def recognises(self, head: bytes, name: str) -> bool:
        """Most of the first lines are JSON objects; the name is enough for a file that begins with damage."""
        head = head_as_utf8(head)
        if head.lstrip()[:1] == b"[":
            return False
        lines = [line for line in head.splitlines()[:20] if line.strip()]
        good = sum(isinstance(_parsed(line), dict) for line in lines)
        return good * 2 >= len(lines) > 0 or (name.endswith((".ndjson", ".jsonl")) and good > 0)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each line: an observation record, or any object with a time."""
        reading = NdjsonReading(source.label, options)
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


class NdjsonReading:
    """The reading of one source: the same for all its chunks, in whatever thread."""

    def __init__(self, label: str, options: ReadOptions) -> None:
        self._label = label
        self._options = options
        self._fast = FastPath()
        self._failures = {"whole": 0, "mended": 0}

    def batch(self, chunk: bytes, first_line: int, lines: int) -> Batch:
        """The observations of a chunk, by the quickest way that can be trusted with it."""
        notes: list[Note] = []
        few = lines <= FEW_LINES
        rows = None if few else self._fast_rows("whole", chunk, range(first_line, first_line + lines))
        if rows is None and not few and self._failures["mended"] < PATIENCE:
            mended, numbers = _mended(chunk, first_line, self._label, notes)
            rows = self._fast_rows("mended", mended, numbers)
        if rows is None:
            notes.clear()
            rows = _one_by_one(chunk, first_line, self._label, notes)
        batch = observe_rows(rows, self._label, self._options)
        return Batch(batch.observations, (*notes, *batch.notes))

    def _fast_rows(self, state: str, chunk: bytes, numbers: Sequence[int]) -> pl.DataFrame | None:
        """The chunk by the fast path, unless it has failed on chunks in this state too often."""
        if self._failures[state] >= PATIENCE or not chunk:
            return None
        rows = self._fast.rows(chunk, numbers)
        self._failures[state] = 0 if rows is not None else self._failures[state] + 1
        return rows


def _chunks(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """The stream in pieces that end where a line ends (but for the last), with the first line and how many."""
    first_line = 1
    while chunk := stream.read(CHUNK_BYTES):
        if not chunk.endswith(b"\n"):
            chunk += stream.readline(LONGEST_LINE)
        ends = chunk.count(b"\n")
        yield chunk, first_line, ends + (not chunk.endswith(b"\n"))
        first_line += ends


def _mended(chunk: bytes, first_line: int, label: str, notes: list[Note]) -> tuple[bytes, list[int]]:
    """The chunk with only those lines that are a JSON object, without NaN, and their numbers."""
    lines, numbers = list[bytes](), list[int]()
    for number, line, record in _objects(chunk, first_line, label, notes):
        lines.append(_written(record) if line is None else line)
        numbers.append(number)
    return b"\n".join(lines), numbers


def _one_by_one(chunk: bytes, first_line: int, label: str, notes: list[Note]) -> pl.DataFrame:
    """The raw rows of every line that is a JSON object."""
    rows = RawRows()
    for number, _, record in _objects(chunk, first_line, label, notes):
        rows.add(number, record)
    return rows.take()


def _objects(
    chunk: bytes, first_line: int, label: str, notes: list[Note]
) -> Iterator[tuple[int, bytes | None, dict[str, object]]]:
    """The number of each line that is a JSON object, the line if orjson can read it, and what it says; a note for others."""
    loads = orjson.loads
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        try:
            record = loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                continue
            record = _parsed(line)
            if isinstance(record, dict) and not line.isascii() and not _is_utf8(line):
                message = "is not UTF-8; invalid bytes are shown as �"
                notes.append(Note("warning", label, "bad_encoding", message, number))
            if isinstance(record, dict):
                yield number, None, record
                continue
        if type(record) is dict:
            yield number, line, record
        else:
            notes.append(Note("reject", label, "bad_line", "the line is not a JSON object", number))


def _parsed(line: bytes) -> object:
    """What the line says, by a parser that takes NaN and forgives bytes that are no UTF-8; None for nothing."""
    try:
        record = json.loads(line.decode("utf-8", "replace"))
        return json.loads(_written(record)) if b"\\u" in line else record  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return None


def _written(record: object) -> bytes:
    """The record as one line, without NaN."""
    try:
        return orjson.dumps(record)
    except TypeError:  # an integer beyond 64 bits, half a surrogate pair
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


NDJSON = NdjsonReader()
