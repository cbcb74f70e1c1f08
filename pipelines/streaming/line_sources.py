"""Whole lines as they come: from a pipe, or from a file that something else writes to.

Both hand out what is there now, up to a bound, and take nothing more until they are asked: whoever writes faster
than is read waits (a pipe) or is caught up with later (a file). Memory holds one piece of text at a time.
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
"""About ten thousand observations: enough for writing them to be worth a transaction."""

POLL_SECONDS = 0.1
"""How often a file is looked at for more."""

HEAD_BYTES = 1_024
"""First bytes by which a file is known again."""


@dataclass(frozen=True)
class Lines:
    """Some whole lines.

    Attributes:
        text: the lines; the last may lack its end if nothing can follow.
        first: number of the first, from 1.
        count: how many.
        position: how far this is in the source; null where it cannot be read again.

    """

    text: bytes
    first: int
    count: int
    position: Position | None = None


class LineSource(Protocol):
    """Where lines come from."""

    @property
    def label(self) -> str:
        """What it is called."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        ...

    def read(self, seconds: float, others: Sequence[int] = ()) -> Lines | None:
        """The lines that are there, or come within so many seconds; null if none do, or one of `others` can be read."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
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
        """Nothing to let go of: the descriptor is the caller's."""

    def _take(self) -> None:
        """What can be read without waiting, up to a piece."""
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
        if self._skipping:  # the rest of a line that is too long to be one
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
    """Lines of a file that grows; after it was cut short or replaced, those of the new one from its beginning.

    Args:
        path: the file. It need not be there yet.
        position: how far it was read by an earlier run; null if it never was.

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
        replaced = (
            self._is_replaced()
        )  # before reading: what was written before it was replaced is read still
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
            return self._handed_out(text[:end])
        if replaced:
            self.close()
        return None

    def _handed_out(self, text: bytes) -> Lines:
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
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_replaced(self) -> bool:
        """Whether the name stands for another file by now, or the file is shorter than what was read of it."""
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
        said = {
            "inode": found.st_ino,
            "device": found.st_dev,
            "head": _digest(self._file, size),
            "size": size,
        }
        return Position(self.label, self._offset, self._lines, orjson.dumps(said).decode())

    def _resume(self, position: Position) -> None:
        """Go on where an earlier run stopped: in the file, or in what it was renamed to since."""
        said = orjson.loads(position.json)
        for path in (self._path, *sorted(self._path.parent.glob(f"{_escaped(self._path.name)}*"))):
            if self._is_the_one(path, said, position.offset) and self._open(path):
                self._offset, self._lines = position.offset, position.lines
                return

    @staticmethod
    def _is_the_one(path: Path, said: dict[str, object], offset: int) -> bool:
        try:
            found = path.stat()
            if (found.st_ino, found.st_dev) != (said["inode"], said["device"]) or found.st_size < offset:
                return False
            with path.open("rb") as file:
                return _digest(file, int(str(said["size"]))) == said["head"]
        except OSError:
            return False


def label_of(path: Path) -> str:
    """The name under which the position of a followed file is kept."""
    return f"follow:{path.absolute()}"


def _digest(file: BinaryIO, size: int) -> str:
    file.seek(0)
    return blake2b(file.read(size), digest_size=16).hexdigest()


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
