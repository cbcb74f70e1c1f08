"""JSON of any size, looked at piece by piece: the elements of an array without holding the array.

The standard library parses each piece (it takes NaN, which programs in Python write); this module only finds where
pieces begin, reads on when one is not yet there as a whole, and after a broken one finds the next.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

READ_CHARACTERS = 2**20
LONGEST_PIECE = 64 * 2**20
"""Characters. A piece that is longer is taken to be broken."""

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_NEXT_OBJECT = re.compile(r"[}\]]\s*,\s*(?=\{)|\n\s*(?=\{)")


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSING = {"}": "{", "]": "["}


class BrokenJson(Exception):  # noqa: N818  never leaves the readers: a broken piece becomes a note
    """A piece is no JSON. `line` is where it begins."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class JsonStream:
    """A cursor over JSON text in UTF-8.

    >>> import io
    >>> stream = JsonStream(io.BytesIO(b'{"a": 1, "b": [{"c": 2}, {"c": 3}]}'))
    >>> [(key, list(stream.elements()) if stream.peek() == "[" else stream.value()) for key in stream.members()]
    [('a', 1), ('b', [(1, {'c': 2}), (1, {'c': 3})])]
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._stream = stream
        self._text = ""
        self._at = 0
        self._ended = False
        self._indent: str | None = None  # before the piece at the cursor, if it begins a line
        self.line = 1
        self.cut = False  # the text ended within a list or an object

    def peek(self) -> str:
        """The character with which the next piece begins; empty at the end of the text."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None, "the pattern matches nothing too"
            if "\n" in blank[0]:
                self._indent = blank[0].rpartition("\n")[2]
            self._advance(blank.end())
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def value(self) -> object:
        """The next piece as a whole.

        Raises:
            BrokenJson: it is none; the cursor stays at its beginning.

        """
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                unfinished = error.pos >= len(self._text) - 16 or error.msg.startswith("Unterminated")
                if unfinished and len(self._text) - self._at < LONGEST_PIECE and self._more():
                    continue
                raise BrokenJson(self.line) from error
            except (ValueError, RecursionError) as error:
                raise BrokenJson(self.line) from error
            # A number at the end of what was read may go on.
            if end == len(self._text) and not isinstance(value, (dict, list, str)) and self._more():
                continue
            self._advance(end)
            return value

    def elements(self) -> Iterator[tuple[int, object]]:
        """The elements of the array at the cursor, each with the line on which it begins.

        A broken element comes as a `BrokenJson`, and the next that can be found after it. An array that does
        not end gives what there is of it.
        """
        assert self.peek() == "[", "an array"
        self._advance(self._at + 1)
        while (mark := self.peek()) not in ("]", ""):
            if mark == ",":
                self._indent = None
                self._advance(self._at + 1)
                continue
            line = self.line
            try:
                yield line, self.value()
            except BrokenJson as error:
                yield line, error
                self._skip_broken()
        self._close(mark)

    def members(self) -> Iterator[str]:
        """The keys of the object at the cursor. The caller takes each one's value before asking for the next.

        Raises:
            BrokenJson: what comes is no object, or no member of one.

        """
        if self.peek() != "{":
            raise BrokenJson(self.line)
        self._advance(self._at + 1)
        while (mark := self.peek()) not in ("}", ""):
            if mark == ",":
                self._advance(self._at + 1)
                continue
            key = self.value()
            if not isinstance(key, str) or self.peek() != ":":
                raise BrokenJson(self.line)
            self._advance(self._at + 1)
            yield key
        self._close(mark)

    def _close(self, mark: str) -> None:
        """Move past the end of a list or object, or note that the text ends before it does."""
        self.cut = self.cut or not mark
        self._advance(self._at + len(mark))

    def _skip_broken(self) -> None:
        """Move past a broken element.

        If it begins a line, to the next line that begins alike; else to where its braces close, if they do; else to
        where an object begins, though that may be one within it.
        """
        while len(self._text) - self._at < READ_CHARACTERS and self._more():
            pass
        alike = self._text.find(f"\n{self._indent}{{", self._at) if self._indent is not None else -1
        end = alike if alike >= 0 else _closed(self._text, self._at)
        if end is None:
            self.skip_to_next_object()
        else:
            self._advance(end)

    def skip_to_next_object(self) -> None:
        """Move past a broken piece, to the next place at which an object seems to begin; else to the end."""
        start = self._at + 1
        while True:
            found = _NEXT_OBJECT.search(self._text, start)
            if found is not None:
                self._advance(found.end())
                return
            keep = max(start, len(self._text) - 256)
            self._advance(keep)
            if not self._more():
                self._advance(len(self._text))
                return
            start = self._at

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end
        if self._at > READ_CHARACTERS:
            self._text, self._at = self._text[self._at :], 0

    def _more(self) -> bool:
        """Read on, at least as much again as is waiting (so that a long piece is not parsed over and over)."""
        if self._ended:
            return False
        size = max(READ_CHARACTERS, len(self._text) - self._at)
        fresh = self._stream.read(size)
        self._ended = not fresh
        self._text = self._text[self._at :] + self._decode(fresh, final=self._ended)
        self._at = 0
        return True


def _closed(text: str, start: int) -> int | None:
    """Where the brace or bracket that opens at `start` is closed, if another element or the end follows."""
    opened: list[str] = []
    for token in _TOKEN.finditer(text, start, start + READ_CHARACTERS):
        mark = token[0]
        if mark in ("{", "["):
            opened.append(mark)
        elif mark in _CLOSING:
            if not opened or opened.pop() != _CLOSING[mark]:
                return None
            if not opened:
                follows = _BLANK.match(text, token.end())
                assert follows is not None, "the pattern matches nothing too"
                return token.end() if text[follows.end() : follows.end() + 1] in (",", "]") else None
    return None
