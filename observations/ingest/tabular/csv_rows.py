"""The rows of a CSV file, whatever its delimiter, encoding and line ends, with the line each begins on.

The standard library's parser is used, behind a feed of lines that can take lines back: a quote that is opened and
never closed would swallow the rest of the file, so a record that comes out wrong costs its first line only, and
reading goes on with the second.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from observations.ingest.toolkit.encoding import as_utf8, head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Source

DELIMITERS = (",", ";", "\t", "|")
LONGEST_RECORD = 1_000
"""Lines. A record that goes on for longer is a quote that was never closed."""

LONGEST_LINE = 16 * 2**20
"""Bytes."""

SAMPLE_LINES = 50
_SAYS_DELIMITER = re.compile(r"(?i)sep=.")


class Row(NamedTuple):
    """The cells of one record, the line on which it begins (from 1), and whether it ends inside a quote."""

    line: int
    cells: list[str]
    cut: bool = False


class Feed:
    """Lines of text that can be taken back, counted."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._returned: deque[str] = deque()
        self.taken: list[str] = []
        self.line = 0
        self.ended = False  # while a record is read: it wants more lines than there are

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= LONGEST_RECORD:
            raise csv.Error("the record does not end")
        try:
            line = self._returned.popleft() if self._returned else next(self._lines)
        except StopIteration:
            self.ended = True
            raise
        self.taken.append(line)
        self.line += 1
        return line

    def settle(self) -> None:
        """The lines taken made a record."""
        self.taken.clear()

    def return_all_but_first(self) -> None:
        """The lines taken did not make a record: all but the first will be taken again."""
        again = self.taken[1:]
        self._returned.extendleft(reversed(again))
        self.line -= len(again)
        self.ended = False
        self.taken.clear()


def delimiter_of(text: str) -> str | None:
    """The delimiter that cuts the first lines into equally many cells, at least two; None if none does.

    A first line such as ``sep=;``, as Excel writes it, says it; so does a ``timestamp`` among the names.
    """
    lines = [line for line in re.split(r"\r\n|\n|\r", text)[:SAMPLE_LINES] if line.strip()]
    if not lines:
        return None
    if _SAYS_DELIMITER.fullmatch(lines[0]):
        return lines[0][4]
    scores = {delimiter: _evenness(lines, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    return best if scores[best][1] >= 0.5 else None


def is_header(cells: Sequence[str]) -> bool:
    """True if the first record names the columns; False if it only names the delimiter."""
    return cells[0].lower() != "sep="


def _evenness(lines: Sequence[str], delimiter: str) -> tuple[bool, float, int]:
    """How well a delimiter fits: names a timestamp; share of lines with the usual number of cells; that number."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return False, 0.0, 0
    counts = Counter(len(cells) for cells in rows)
    width, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    named = "timestamp" in (cell.strip().lower() for cell in rows[0])
    return named and width > 1, count / len(rows) if width > 1 else 0.0, width


def decoded(head: bytes) -> str:
    """The first bytes of a text, decoded as the whole will be."""
    return _decode(head_as_utf8(head))[0]


def rows_of(source: Source, delimiter: str, width: int | None, notes: list[Note]) -> Iterator[Row]:
    """The records of the source, blank ones left out. A note says what was lost or assumed.

    Args:
        source: what to read.
        delimiter: between cells.
        width: how many cells a record has; a record of several lines with another number swallowed some.
        notes: is added to.

    """
    bare_cr = _has_bare_cr(head_as_utf8(source.head()))
    with source.open() as stream, as_utf8(stream) as text:
        feed = Feed(_lines(_octet_lines(text, bare_cr=bare_cr), source.label, notes))
        reader = csv.reader(feed, delimiter=delimiter, strict=True)
        while True:
            first = feed.line + 1
            try:
                cells: list[str] | None = next(reader)
            except StopIteration:
                return
            except csv.Error:  # a quote that is not closed, or not followed by a delimiter
                cells = _leniently(feed.taken, delimiter)
            if cells is None or (len(feed.taken) > 1 and width not in (None, len(cells))):
                notes.append(Note("reject", source.label, "bad_row", "a quote is never closed", first))
                feed.return_all_but_first()
                reader = csv.reader(feed, delimiter=delimiter, strict=True)
                continue
            cut = feed.ended
            feed.settle()
            if any(cells) and not "".join(cells).isspace():
                yield Row(first, cells, cut)


def _leniently(lines: Sequence[str], delimiter: str) -> list[str] | None:
    """The cells of a record on one line, with quotes where they do not belong; None if that cannot be."""
    if len(lines) > 1:
        return None
    try:
        return next(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return None


def _lines(octets: Iterator[bytes], label: str, notes: list[Note]) -> Iterator[str]:
    """The lines of the text, with their ends: UTF-8, else Windows-1252."""
    warned = False
    for number, line in enumerate(octets, 1):
        text, is_utf8 = _decode(line)
        if not is_utf8 and not warned:
            warned = True
            notes.append(Note("warning", label, "encoding", "is not UTF-8; read as Windows-1252", number))
        yield text.replace("\0", "")


def _octet_lines(stream: BinaryIO, *, bare_cr: bool) -> Iterator[bytes]:
    """The lines as bytes. Where they end in CR alone, as on old Macs, that becomes LF."""
    if not bare_cr:
        while line := stream.readline(LONGEST_LINE):
            yield line
        return
    rest = b""
    while fresh := stream.read(65_536):
        *whole, rest = (rest + fresh).split(b"\r")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _has_bare_cr(head: bytes) -> bool:
    return b"\r\n" not in head and head.count(b"\r") > head.count(b"\n")


def _decode(octets: bytes) -> tuple[str, bool]:
    try:
        return octets.decode(), True
    except UnicodeDecodeError:
        return octets.decode("cp1252", "replace"), False
