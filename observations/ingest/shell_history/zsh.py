"""Zsh histories: ``: start:elapsed;command``, as ``setopt EXTENDED_HISTORY`` writes them.

Three things are zsh's own (Src/hist.c and Src/utils.c of zsh 5.9):

- A newline inside a command is written as backslash, newline; after a command that ends in a backslash a blank is
  written, which reading takes away.
- Bytes that mean something to zsh are *metafied*: 0x83, then the byte xor 0x20. Half of the Cyrillic letters and
  most Chinese characters have such a byte.
- Lines without the prefix are commands from before the option was set. They have no time.
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
from observations.shell.lexer import is_open

_PREFIX = r": *(\d{1,19}):(\d{1,19});"
_STAMP = re.compile(rf"^{_PREFIX}", re.MULTILINE)
_STAMP_BYTES = re.compile(rf"^{_PREFIX}".encode(), re.MULTILINE)
_RECORD = re.compile(rb"(?<!\\\n)" + _PREFIX.encode())
_DAMAGED = re.compile(r": *\d{5,}\S*$|: *\d{5,}[:;]|: *\S{8,20}:\d+;")
_UNMETAFIABLE = np.isin(np.arange(256), [0x20, *range(0x80, 0x83), *range(0xA3, 0xC0)])
_MOST_SWALLOWED = (
    100  # lines that look like stamps in one command; a quote left open must not take the file along
)
_LONGEST_RUN = 10 * 366 * 86_400
_ADVICE = "setopt EXTENDED_HISTORY makes zsh keep times"


@dataclass(frozen=True)
class ZshReader:
    """Reads zsh histories."""

    name: str = "zsh history"

    def recognises(self, head: bytes, name: str) -> bool:
        """Lines begin with ``: start:elapsed;``. The name decides only for a history without any time."""
        if is_history(len(_STAMP_BYTES.findall(head)), head, name):
            return True
        return ("zsh_history" in name or name in (".zhistory", ".histfile")) and b"\0" not in head

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """Each command with a time (`setopt EXTENDED_HISTORY`).

        Features: ``command``, ``duration_minutes``.
        """
        remarks = NoteCollector(source.label)
        lines = untimed = 0
        with source.open() as stream:
            for piece in record_pieces(stream, _RECORD):
                text = decoded(unmetafied(without_nuls(piece, remarks)), remarks)
                records = _Records.of(text, lines, remarks)
                lines += piece.count(b"\n")
                frame = _frame(records, options.tz, remarks)
                untimed += records.untimed
                yield Batch(frame, tuple(remarks.take()))
        note_untimed(remarks, untimed, _ADVICE)
        if notes := remarks.take():
            yield Batch(empty_observations(), tuple(notes))


ZSH = ZshReader()


def unmetafied(piece: bytes) -> bytes:
    r"""The bytes as they were before zsh hid those that it uses itself.

    A line that is UTF-8 as it stands, and is not once unmetafied, was written by another program and stays.

    >>> unmetafied(b"\xd1\x83\xa3").decode()
    'у'
    """
    if b"\x83" not in piece:
        return piece
    plain = _without_meta(piece)
    if _is_utf8(plain):
        return plain
    return b"\n".join(_line_unmetafied(line) for line in piece.split(b"\n"))


def _line_unmetafied(line: bytes) -> bytes:
    plain = _without_meta(line)
    return line if not _is_utf8(plain) and _is_utf8(line) else plain


def _without_meta(piece: bytes) -> bytes:
    codes = np.frombuffer(piece, np.uint8)
    metas = np.flatnonzero(codes[:-1] == 0x83)
    metas = metas[_UNMETAFIABLE[codes[metas + 1]]]
    plain = codes.copy()
    plain[metas + 1] ^= 0x20
    return np.delete(plain, metas).tobytes()


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass
class _Records:
    """What a piece of a history holds.

    Attributes:
        starts: stamps, as digits.
        elapsed: how long each command ran, as digits.
        commands: as they were typed.
        lines: the line of the file at which each begins.
        untimed: how many commands without a stamp lie between.

    """

    starts: list[str]
    elapsed: list[str]
    commands: pl.Series
    lines: npt.NDArray[np.int64]
    untimed: int

    @classmethod
    def of(cls, text: str, first_line: int, remarks: NoteCollector) -> _Records:
        """The records in the text of a piece that begins after `first_line` lines."""
        before, *parts = _STAMP.split(text)
        bodies = pl.Series("command", parts[2::3], dtype=pl.String)
        breaks = bodies.str.count_matches("\n", literal=True).to_numpy()
        lines = first_line + before.count("\n") + 1 + np.concatenate(([0], np.cumsum(breaks)[:-1]))
        untimed = _count_untimed(before.split("\n"), first_line + 1, remarks)
        records = cls(parts[0::3], parts[1::3], bodies, lines.astype(np.int64), untimed)
        records._settle_lines(remarks)
        return records

    def _settle_lines(self, remarks: NoteCollector) -> None:
        """Cut each body to its command: the first line, and those that a backslash ties to it."""
        whole = self.commands.str.strip_suffix("\n").str.strip_suffix("\r")
        ragged = whole.str.contains(r"\n|\\ *$").arg_true().to_list()
        if not ragged:
            self.commands = whole
            return
        texts = whole.to_list()
        swallowed: set[int] = set()
        for row in ragged:
            if row in swallowed:
                continue
            text, last = texts[row], row
            most = min(len(texts), row + _MOST_SWALLOWED)
            while text.endswith("\\") and last + 1 < most and is_open(text[:-1]):
                last += 1  # a quoted or here-document line that looks like a stamp
                swallowed.add(last)
                text = f"{text}\n: {self.starts[last]}:{self.elapsed[last]};{texts[last]}"
            texts[row], rest = _cut(text)
            line = int(self.lines[row]) + texts[row].count("\n") + 1
            self.untimed += _count_untimed(rest, line, remarks)
        kept = [row for row in range(len(texts)) if row not in swallowed]
        self.starts = [self.starts[row] for row in kept]
        self.elapsed = [self.elapsed[row] for row in kept]
        self.lines = self.lines[kept]
        self.commands = pl.Series("command", [texts[row] for row in kept], dtype=pl.String)


def _cut(body: str) -> tuple[str, list[str]]:
    """The command at the beginning of a body, and the lines after it."""
    lines = body.split("\n")
    command = []
    for at, line in enumerate(lines):
        text = re.sub(r"(\\ *) $", r"\1", line.removesuffix("\r"))
        tied = text == line.removesuffix("\r") and text.endswith("\\") and at + 1 < len(lines)
        command.append(text[:-1] if tied else text)
        if not tied:
            return "\n".join(command), lines[at + 1 :]
    return "\n".join(command), []


def _count_untimed(lines: list[str], first: int, remarks: NoteCollector) -> int:
    """How many commands these lines without a stamp are. One that was a stamp is a reject."""
    count = 0
    tied = False
    for number, line in enumerate(lines, first):
        if _DAMAGED.match(line):
            remarks.reject(
                "bad_line", "the stamp of this command is damaged; the command is left out", number
            )
        elif line.strip() and not tied:
            count += 1
        tied = line.endswith("\\")
    return count


def _frame(records: _Records, tz: str, remarks: NoteCollector) -> pl.DataFrame:
    """The records as observations; those with an invalid timestamp or no command are left out with a note."""
    starts = pl.Series(records.starts, dtype=pl.String).cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    elapsed = pl.Series(records.elapsed, dtype=pl.String).cast(pl.Int64, strict=False).fill_null(-1)
    micros, units = to_microseconds(starts)
    note_units(remarks, units)
    for row in np.flatnonzero((units == 0) & (starts != 0)):
        remarks.reject("bad_timestamp", f"the timestamp {starts[row]} is invalid", int(records.lines[row]))
    records.untimed += int((starts == 0).sum())
    good = (units != 0) & ~empty(records.commands, remarks)
    # Before zsh 3.1 the second number was when the command ended, not how long it ran.
    ran = pl.Series(np.where(elapsed.to_numpy() >= starts, elapsed.to_numpy() - starts, elapsed.to_numpy()))
    minutes = pl.select(pl.when(ran.is_between(0, _LONGEST_RUN)).then(ran / 60)).to_series()
    features = {"duration_minutes:number": minutes.filter(good)}
    return command_frame(records.commands.filter(good), micros[good], tz, features)
