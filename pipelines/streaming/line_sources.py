"""Line sources: whole lines from a pipe, or from a file that another process appends to.

Both return the lines that are available, up to a limit, and read on only when asked: a writer that is faster than the
reader blocks (pipe), or the reader catches up later (file). Memory holds one chunk of text at a time.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Protocol

import orjson

from observations.ingest.json_logs.ndjson import LONGEST_LINE
from pipelines.store.database.insert import Position

PIECE_BYTES = 2**21
"""Bytes read in one go: about ten thousand observations, enough for one transaction."""

POLL_SECONDS = 0.1
"""Interval at which a file is polled for new lines."""

HEAD_BYTES = 1_024
"""Number of leading bytes that identify a file."""


@dataclass(frozen=True)
class Lines:
    """A chunk of whole lines.

    Attributes:
        text: the lines; the last may lack its line break at the end of the input.
        first: the number of the first line, from 1.
        count: the number of lines.
        position: the position in the source after these lines; None if it cannot be read again.

    """

    text: bytes
    first: int
    count: int
    position: Position | None = None


class LineSource(Protocol):
    """A source of lines."""

    @property
    def label(self) -> str:
        """The name in messages."""
        ...

    @property
    def ended(self) -> bool:
        """True if no more lines will come."""
        ...

    def read(self, seconds: float, others: Sequence[int] = ()) -> Lines | None:
        """The lines that arrive within `seconds`; None if there are none, or if one of `others` is readable."""
        ...

    def close(self) -> None:
        """Close open files."""
        ...


class Pipe:
    """Lines of a pipe, terminal or file that is read once, to its end."""

    label = "standard input"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._lines = 0
        self._skipping = False
        self.ended = False

    def read(self, seconds: float, others: Sequence[int] = ()) -> Lines | None:
        """As `LineSource` says."""
        ready, _, _ = select.select([self._descriptor, *others], [], [], seconds)
        if self.ended or self._descriptor not in ready:
            return None
        self._take()
        return self._whole_lines()

    def close(self) -> None:
        """Do nothing: the descriptor belongs to the caller."""

    def _take(self) -> None:
        """Read what is available without blocking, up to `PIECE_BYTES`."""
        while True:
            block = os.read(self._descriptor, PIECE_BYTES - min(len(self._waiting), PIECE_BYTES // 2))
            if not block:
                self.ended = True
                return
            self._waiting += block
            if len(self._waiting) >= PIECE_BYTES or not select.select([self._descriptor], [], [], 0)[0]:
                return

    def _whole_lines(self) -> Lines | None:
        end = self._waiting.rfind(b"\n") + 1
        if self.ended or len(self._waiting) > LONGEST_LINE:
            end = len(self._waiting)
        text = bytes(self._waiting[:end])
        del self._waiting[:end]
        if self._skipping:  # the rest of a line that is too long
            _, broken, text = text.partition(b"\n")
            self._skipping = not broken
        if not text:
            return None
        self._skipping = not self.ended and not text.endswith(b"\n")
        count = text.count(b"\n") + (not text.endswith(b"\n"))
        first = self._lines + 1
        self._lines += count
        return Lines(text, first, count)


class Tail:
    """Lines of a growing file; after truncation or replacement, the lines of the new file from its beginning.

    Args:
        path: the file. It need not exist yet.
        position: the position that an earlier run reached; None if there is none.

    """

    def __init__(self, path: Path, position: Position | None) -> None:
        self._path = path
        self.label = label_of(path)
        self.ended = False
        self._file: BinaryIO | None = None
        self._offset = self._lines = 0
        if position is not None:
            self._resume(position)

    def read(self, seconds: float, others: Sequence[int] = ()) -> Lines | None:
        """As `LineSource` says."""
        lines = self._next()
        if lines is None:
            select.select(others, [], [], min(seconds, POLL_SECONDS))
        return lines

    def _next(self) -> Lines | None:
        if self._file is None and not self._open(self._path):
            return None
        assert self._file is not None, "just opened"
        replaced = self._is_replaced()  # checked first, so that the rest of a replaced file is still read
        self._file.seek(self._offset)
        text = self._file.read(PIECE_BYTES)
        while (
            text
            and b"\n" not in text
            and len(text) <= LONGEST_LINE
            and (more := self._file.read(PIECE_BYTES))
        ):
            text += more
        is_last = replaced and not self._file.read(1)
        end = len(text) if is_last or len(text) > LONGEST_LINE else text.rfind(b"\n") + 1
        if end:
            return self._chunk(text[:end])
        if replaced:
            self.close()
        return None

    def _chunk(self, text: bytes) -> Lines:
        count = text.count(b"\n") + (not text.endswith(b"\n"))
        first = self._lines + 1
        self._lines += count
        self._offset += len(text)
        return Lines(text, first, count, self._position())

    def _open(self, path: Path) -> bool:
        try:
            self._file = path.open("rb")
        except FileNotFoundError:
            return False
        self._offset = self._lines = 0
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_replaced(self) -> bool:
        """True if the path refers to another file now; a truncated file is read again from its beginning."""
        assert self._file is not None, "open"
        mine = os.fstat(self._file.fileno())
        if mine.st_size < self._offset:
            self._offset = self._lines = 0
            return False
        try:
            current = self._path.stat()
        except FileNotFoundError:
            return False
        return (current.st_ino, current.st_dev) != (mine.st_ino, mine.st_dev)

    def _position(self) -> Position:
        assert self._file is not None, "open"
        found = os.fstat(self._file.fileno())
        size = min(self._offset, HEAD_BYTES)
        identity = {
            "inode": found.st_ino,
            "device": found.st_dev,
            "head": _digest(self._file, size),
            "size": size,
        }
        return Position(self.label, self._offset, self._lines, orjson.dumps(identity).decode())

    def _resume(self, position: Position) -> None:
        """Continue where an earlier run stopped: in the file, or in the file it was renamed to."""
        identity = orjson.loads(position.json)
        for path in (self._path, *sorted(self._path.parent.glob(f"{_escaped(self._path.name)}*"))):
            if self._is_same_file(path, identity, position.offset) and self._open(path):
                self._offset, self._lines = position.offset, position.lines
                return

    @staticmethod
    def _is_same_file(path: Path, identity: dict[str, object], offset: int) -> bool:
        try:
            found = path.stat()
            if (found.st_ino, found.st_dev) != (
                identity["inode"],
                identity["device"],
            ) or found.st_size < offset:
                return False
            with path.open("rb") as file:
                return _digest(file, int(str(identity["size"]))) == identity["head"]
        except OSError:
            return False


def label_of(path: Path) -> str:
    """The key under which the position of a followed file is stored."""
    return f"follow:{path.absolute()}"


def _digest(file: BinaryIO, size: int) -> str:
    file.seek(0)
    return blake2b(file.read(size), digest_size=16).hexdigest()


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
