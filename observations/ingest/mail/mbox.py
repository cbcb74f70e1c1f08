"""Where messages begin in an mbox file, found in one pass and in constant memory.

An mbox is messages one after the other, each behind a line that starts ``From ``. Bodies may have such lines
too, and only some writers quote them (mboxo and mboxrd: ``>From ``), so the line alone proves nothing:
``mailbox.mbox`` of the standard library, which trusts it, sees 12 phantoms among 6,170 real posts of a mailing
list. A line that starts ``From `` begins a message here if

- an empty line stands before it and a header field after it, and it carries a date as From_ lines do, or that
  field is one that mail begins with and another line of a header follows; or
- an empty line stands before it, it carries such a date, and nothing at all follows: a message without headers
  (to be reported, not to be read); or
- no empty line stands before it (the message before was cut off), but it carries such a date and two header
  lines follow, the first of which is one that mail begins with.

Where a message has a ``Content-Length`` that ends exactly at the next From_ line or at the end of the file
(mboxcl, which quotes nothing), that is believed first.

Line ends may be LF, CRLF, both, or CR throughout. NUL bytes, which a crash leaves behind, are dropped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

CHUNK_BYTES = 1024 * 1024
"""Read at once. What is held at a time is this, and a header block."""

HEADER_BYTES = 512 * 1024
"""A header block longer than this is cut: 10,000 recipients fit in."""

FIRST_BYTES = 32 * 1024
"""Read at first of a file that is one message; more only if its header is longer."""

LOOK_AHEAD_BYTES = 4096
"""Bytes after a line that starts with ``From `` that suffice to decide if it begins a message."""

_BLANK_LINE = re.compile(rb"\n\r?\n")
# A relay may have put a second From_ line before the first field.
_FIELD = re.compile(rb"(?:>From [^\n]*\n)?([!-9;-~]+)[ \t]*:")
_DAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# As ctime() writes it, with a zone perhaps; two patterns, for the second costs as much as the first and is rare.
_DATED = re.compile(
    rb"From [^\n]*?"
    + _DAY
    + rb",? +"
    + _MONTH
    + rb" +\d{1,2} +\d{1,2}:\d\d(?::\d\d)?(?: +[-+\w():/]+)*? +\d{4}"
)
_DATED_OTHERWISE = re.compile(
    rb"From [^\n]*?(?:"
    + _DAY
    + rb", +\d{1,2} "
    + _MONTH
    + rb" \d{2,4} \d{1,2}:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d)"
)
_CONTEXT_BYTES = 16  # enough before a From_ line to see whether an empty line stands there
_LENGTH_LINE = re.compile(rb"\d+[ \t]*\r?\n")
_SECOND_LINE = re.compile(rb"[^\n]*\n(?:[ \t]|[!-9;-~]+[ \t]*:)")
_EMPTY_LINE = re.compile(rb"\r?(?:\n|\Z)")
_GAP = re.compile(rb"[\r\n]{0,4}")
# So spelled by all that write mboxcl; to look for any spelling takes twice as long.
_CONTENT_LENGTH = b"\nContent-Length:"
_LENGTH = re.compile(rb"[ \t]*(\d{1,15})[ \t\r]*\n")
_FIRST_FIELDS = frozenset(
    b"arc-authentication-results arc-message-signature arc-seal authentication-results bcc cc content-length "
    b"content-transfer-encoding content-type date delivered-to delivery-date dkim-signature envelope-to from "
    b"in-reply-to message-id mime-version received references reply-to return-path sender status subject to "
    b"user-agent".split()
)


class RawMessage(NamedTuple):
    """The parts of a message that are read.

    Attributes:
        envelope: its From_ line without the line end; empty where it has none.
        header: its header block, from the first field to the end of the last, as it stands in the file.
        line: of the file, from 1, on which the message begins.
        complete: True if an empty line ends the header block; otherwise the file or the message is truncated there.

    """

    envelope: bytes
    header: bytes
    line: int
    complete: bool


def find_messages(stream: BinaryIO) -> Iterator[RawMessage]:
    """The messages of an mbox, in their order. What stands before the first From_ line counts as one, if it
    is more than white space.
    """
    window = _Window(stream)
    start: int | None = window.skip_blank()
    while start is not None and start < len(window.data):
        start = window.with_header_at(start)
        message, body = _read_header(window, start)
        yield message
        start = _find_next(window, start, body)


def read_first_header(stream: BinaryIO) -> RawMessage:
    """The header block of a message that has a file for itself; the body is not read.

    A first line that is only a number (Apple's .emlx: the length of the message) is passed over.
    """
    window = _Window(stream, FIRST_BYTES)
    start = window.skip_blank()
    length = _LENGTH_LINE.match(window.data, start)
    start = length.end() if length else start
    while not (_BLANK_LINE.search(window.data, start) or window.at_end or len(window.data) > HEADER_BYTES):
        window.read_on(0)
    return _read_header(window, start)[0]


def begins_mbox(head: bytes) -> bool:
    """True if a file with these first bytes begins with a From_ line."""
    window = _Window(io.BytesIO(head))
    start = window.skip_blank()
    return window.data.startswith(b"From ", start) and _is_separator(window.data, start, blank_before=True)


class _Window:
    """The part of a stream that is looked at, moved along over it."""

    def __init__(self, stream: BinaryIO, size: int = CHUNK_BYTES) -> None:
        self._stream = stream
        self._size = size
        self._line = 1
        self._line_position = 0
        first = stream.read(size)
        self._only_cr = b"\n" not in first and b"\r" in first
        self.at_end = not first
        self.data = self._cleaned(first)

    def read_on(self, keep: int) -> None:
        """Add the next chunk, and drop what stands before the position `keep`, which becomes 0."""
        self.line_of(keep)
        self._line_position -= keep
        chunk = self._stream.read(self._size)
        self.at_end = not chunk
        self.data = self.data[keep:] + self._cleaned(chunk)

    def with_header_at(self, position: int) -> int:
        """Where `position` is, now that a whole header block follows it, or all there is."""
        while len(self.data) - position < HEADER_BYTES and not self.at_end:
            self.read_on(position)
            position = 0
        return position

    def line_of(self, position: int) -> int:
        """The line of the file, from 1, that a position is on. Positions are asked for in rising order."""
        self._line += self.data.count(b"\n", self._line_position, position)
        self._line_position = max(position, self._line_position)
        return self._line

    def skip_blank(self) -> int:
        """The first position that is neither a byte order mark nor white space."""
        mark = 3 if self.data.startswith(b"\xef\xbb\xbf") else 0
        return len(self.data) - len(self.data[mark:].lstrip())

    def _cleaned(self, chunk: bytes) -> bytes:
        chunk = chunk.replace(b"\0", b"")
        return chunk.replace(b"\r", b"\n") if self._only_cr else chunk


def _read_header(window: _Window, start: int) -> tuple[RawMessage, int]:
    """The message that begins at `start`, and where its body begins."""
    data, line = window.data, window.line_of(start)
    envelope, first = _read_envelope(data, start)
    limit = min(first + HEADER_BYTES, len(data))
    blank = _BLANK_LINE.search(data, max(first - 1, 0), limit)
    last = blank.start() + 1 if blank else limit
    after = blank.end() if blank else limit
    # A message that was cut off inside its header, with the next one right behind it.
    place = data.find(b"\nFrom ", first, last)
    while place >= 0:
        if _is_separator(data, place + 1, blank_before=False):
            return RawMessage(envelope, data[first : place + 1], line, complete=False), place + 1
        place = data.find(b"\nFrom ", place + 1, last)
    return RawMessage(envelope, data[first:last], line, blank is not None), after


def _read_envelope(data: bytes, start: int) -> tuple[bytes, int]:
    """The From_ line at `start`, if there is one, and where the header block begins."""
    if not data.startswith(b"From ", start):
        return b"", start
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    return data[start:end].rstrip(b"\r"), min(end + 1, len(data))


def _find_next(window: _Window, header: int, body: int) -> int | None:
    """Where the message after the one with this header and body begins; None at the end of the file."""
    start = _after_content_length(window, header, body)
    if start is not None:
        return start
    place = max(body - 1, 0)
    while True:
        place = window.data.find(b"\nFrom ", place)
        if place < 0:
            if window.at_end:
                return None
            place = max(len(window.data) - _CONTEXT_BYTES, 0)
            window.read_on(place)
            place = 0
        elif len(window.data) - place < LOOK_AHEAD_BYTES and not window.at_end:
            keep = max(place - _CONTEXT_BYTES, 0)
            window.read_on(keep)
            place -= keep
        elif _is_separator(window.data, place + 1, blank_before=_is_blank_before(window.data, place)):
            return place + 1
        else:
            place += 1


def _after_content_length(window: _Window, header: int, body: int) -> int | None:
    """Where the next message begins if the header's Content-Length is true (and the body at hand)."""
    place = window.data.find(_CONTENT_LENGTH, header, body)
    stated = _LENGTH.match(window.data, place + len(_CONTENT_LENGTH)) if place >= 0 else None
    if stated is None:
        return None
    end = body + int(stated[1])
    if end > len(window.data) - LOOK_AHEAD_BYTES and not window.at_end:
        return None
    gap = _GAP.match(window.data, end)
    if gap is None:
        return None
    start = gap.end()
    if window.at_end and end <= len(window.data) == start:
        return start
    true = window.data.startswith(b"From ", start) and _is_separator(window.data, start, blank_before=True)
    return start if true else None


def _is_blank_before(data: bytes, place: int) -> bool:
    """True if the line that ends at `place` (a LF) is empty."""
    before = data[max(place - 2, 0) : place]
    return before.endswith(b"\n") or before == b"\n\r"


def _is_separator(data: bytes, start: int, *, blank_before: bool) -> bool:
    """True if the line at `start`, which begins with ``From ``, begins a message (see the module)."""
    end = data.find(b"\n", start, start + LOOK_AHEAD_BYTES)
    if end < 0:
        end = len(data)
        if end - start >= LOOK_AHEAD_BYTES:
            return False  # no From_ line is so long
    dated = (_DATED.match(data, start, end) or _DATED_OTHERWISE.match(data, start, end)) is not None
    field = _FIELD.match(data, end + 1)
    if field is None:
        return blank_before and dated and _EMPTY_LINE.match(data, end + 1) is not None
    if dated and blank_before:
        return True
    name = field[1].lower()
    is_first = name in _FIRST_FIELDS or name.startswith(b"x-")
    return (dated or blank_before) and is_first and _SECOND_LINE.match(data, field.end()) is not None
