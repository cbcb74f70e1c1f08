"""Bash histories: lines, and before each command ``#epoch`` where HISTTIMEFORMAT is set.

Bash itself takes every line from one stamp to the next for one command. That is right for a here-document or a
loop that was kept with its line ends (`shopt -s lithist`), and wrong for lines that a session without
HISTTIMEFORMAT left behind. So a line is part of the command before it only while that command is not complete; what
comes after it has no time.

A stamp is ``#`` and at least ten digits: ``#42`` is a comment that somebody typed. tcsh writes ``#+epoch``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.ingest.shell_history.command_frames import (
    command_frame,
    count_commands,
    decoded,
    empty,
    is_history,
    note_units,
    note_untimed,
    record_pieces,
    to_microseconds,
    without_nuls,
)
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import empty_observations
from observations.shell.lexer import end_of_first, is_open

_STAMP_LINE = r"#\+?(\d{10,19})[ \t\r]*$"
_STAMP = re.compile(rf"^{_STAMP_LINE}\n?", re.MULTILINE)
_STAMP_BYTES = re.compile(rf"^{_STAMP_LINE}".encode(), re.MULTILINE)
_RECORD = re.compile(_STAMP_LINE.encode(), re.MULTILINE)
_NAMES = re.compile(r"bash_history|^\.?(?:sh|ash|ksh|dash|mksh)_history$|^\.history$|\.hist$")
_MOST_HELD = 20  # lines that look like stamps in one command
_ADVICE = "HISTTIMEFORMAT='%F %T ' in ~/.bashrc makes bash keep times"


@dataclass(frozen=True)
class BashReader:
    """Reads the histories of bash, and of shells that write theirs like it."""

    name: str = "bash history"

    def recognises(self, head: bytes, name: str) -> bool:
        """Lines are stamps that can be times. The name decides only for a history without any time."""
        stamps = np.array([int(m[1]) for m in _STAMP_BYTES.finditer(head)], dtype=np.int64)
        if is_history(int((to_microseconds(stamps)[1] > 0).sum()), head, name):
            return True
        return _NAMES.search(name) is not None and b"\0" not in head

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each command with a time (`HISTTIMEFORMAT`)."""
        remarks = NoteCollector(source.label)
        lines = untimed = 0
        with source.open() as stream:
            for piece in record_pieces(stream, _RECORD):
                records = _Records.of(decoded(without_nuls(piece, remarks), remarks), lines, remarks)
                lines += piece.count(b"\n")
                untimed += records.untimed
                good = (records.micros != 0) & ~empty(records.commands, remarks)
                frame = command_frame(records.commands.filter(good), records.micros[good], options.tz, {})
                yield Batch(frame, tuple(remarks.take()))
        note_untimed(remarks, untimed, _ADVICE)
        if notes := remarks.take():
            yield Batch(empty_observations(), tuple(notes))


BASH = BashReader()


@dataclass
class _Records:
    """What a piece of a history holds.

    Attributes:
        micros: when each command was started, in microseconds since 1970; 0 where its stamp is no time.
        commands: as they were typed.
        lines: the line of the file at which the stamp of each stands.
        untimed: how many commands without a stamp lie between.

    """

    micros: npt.NDArray[np.int64]
    commands: pl.Series
    lines: npt.NDArray[np.int64]
    untimed: int

    @classmethod
    def of(cls, text: str, first_line: int, remarks: NoteCollector) -> _Records:
        """The records in the text of a piece that begins after `first_line` lines."""
        before, *parts = _STAMP.split(text)
        bodies = pl.Series("command", parts[1::2], dtype=pl.String)
        stamps = pl.Series(parts[0::2], dtype=pl.String).cast(pl.Int64, strict=False).fill_null(0)
        micros, units = to_microseconds(stamps.to_numpy())
        micros -= (
            micros % 1_000_000
        )  # bash keeps seconds; finer stamps are a mistake of an extension (ble.sh #202)
        note_units(remarks, units)
        breaks = bodies.str.count_matches("\n", literal=True).to_numpy() + 1
        lines = first_line + before.count("\n") + 1 + np.concatenate(([0], np.cumsum(breaks)[:-1]))
        untimed = _count_untimed(before, first_line + 1, remarks)
        records = cls(micros, bodies, lines.astype(np.int64), untimed)
        records._join_documents(parts[0::2])
        # Of two stamps in a row the later one belongs to the command: the earlier has nothing after it.
        records._keep(records.commands.str.contains(r"\S").to_numpy())
        records._settle(remarks)
        return records

    def _keep(self, rows: npt.NDArray[np.bool_]) -> None:
        self.micros, self.lines = self.micros[rows], self.lines[rows]
        self.commands = self.commands.filter(rows)

    def _join_documents(self, stamps: list[str]) -> None:
        """Join to a body those after it that its here-document holds: their stamps are text.

        Where no line ends the document within a few bodies it was cut, and what looks like a stamp is one. (For
        quotes the same would do more harm than good: one that is open by damage closes at the next apostrophe.)
        """
        opening = self.commands.str.contains("<<", literal=True)
        if not opening.any():
            return
        texts = self.commands.to_list()
        kept = np.ones(len(texts), dtype=np.bool_)
        for row in opening.arg_true().to_list():
            if not kept[row] or not is_open(texts[row]):
                continue
            text = texts[row]
            for last in range(row + 1, min(row + 1 + _MOST_HELD, len(texts))):
                text = f"{text}#{stamps[last]}\n{texts[last]}"
                if not is_open(text):
                    texts[row] = text
                    kept[row + 1 : last + 1] = False
                    break
        self.commands = pl.Series("command", texts, dtype=pl.String)
        self._keep(kept)

    def _settle(self, remarks: NoteCollector) -> None:
        """Cut each body to its command; the text after it has no time."""
        whole = self.commands.str.strip_suffix("\n").str.strip_suffix("\r")
        texts = whole.to_list()
        for row in whole.str.contains("\n", literal=True).arg_true().to_list():
            body = texts[row].replace("\r\n", "\n")
            end = end_of_first(body)
            texts[row] = body[:end]
            line = int(self.lines[row]) + 1 + body[:end].count("\n") + 1
            self.untimed += _count_untimed(body[end + 1 :], line, remarks)
        self.commands = pl.Series("command", texts, dtype=pl.String)
        for row in np.flatnonzero(self.micros == 0):
            remarks.reject(
                "bad_timestamp", "the timestamp before this command is invalid", int(self.lines[row])
            )


def _count_untimed(text: str, first: int, remarks: NoteCollector) -> int:
    """How many commands these lines without a stamp are. A line that was a stamp is a reject, with its command."""
    count, block = 0, list[str]()
    of_damaged = False  # the first command of the block is the one whose stamp is damaged
    for number, line in enumerate(text.split("\n"), first):
        if not _was_stamp(line):
            block.append(line)
            continue
        remarks.reject("bad_line", "the timestamp is damaged; the command after it is skipped", number)
        count += max(0, count_commands("\n".join(block)) - of_damaged)
        block, of_damaged = [], True
    return count + max(0, count_commands("\n".join(block)) - of_damaged)


def _was_stamp(line: str) -> bool:
    """True if a line looks like a timestamp with one wrong byte: ``#17000x0000``, ``!1700000000``."""
    line = line.rstrip()
    if len(line) != 11 or " " in line:
        return False
    digits = sum(c.isdigit() for c in line[1:])
    return digits == 10 and not line[0].isdigit() if line[0] != "#" else digits == 9
