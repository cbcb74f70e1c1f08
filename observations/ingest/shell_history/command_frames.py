"""What the readers of shell histories share: pieces of whole records, columns of commands, the notes at the end.

Histories are read in pieces of a few megabytes that end where a record ends, so that memory stays flat, and each
piece becomes columns at once: `RecordBuilder` would take a step of Python for each command.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.civil_columns import with_local
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.privacy.redact_frame import redact_series
from observations.schema import BASE
from observations.shell.lexer import end_of_first
from observations.shell.parse import with_command_features

CHUNK_BYTES = 2 << 20
"""About as many bytes as `BATCH_ROWS` commands take."""

LONGEST_RECORD = 32 << 20
"""A record that does not end is cut here: a file that is no history must not fill the memory."""

_EARLIEST, _LATEST = 315_532_800, 7_258_118_400  # 1980, before any shell that kept times, and 2200
_MAY_GO_ON = re.compile(r"['\"`\\\\({<|&]|^\s*(?:if|for|while|until|case|select)\b", re.MULTILINE)


def record_pieces(stream: BinaryIO, start: re.Pattern[bytes]) -> Iterator[bytes]:
    """The stream in pieces of whole records. `start` matches where a line begins that begins a record."""
    held = stream.read(CHUNK_BYTES).removeprefix(codecs.BOM_UTF8)
    searched = 0  # no record begins before here
    while piece := stream.read(CHUNK_BYTES):
        cut = _last_start(held, start, searched)
        if cut == 0 and len(held) >= LONGEST_RECORD:
            cut = held.rfind(b"\n") + 1 or len(held)
        if cut:
            yield held[:cut]
        searched = max(0, held.rfind(b"\n") - cut)  # the line after it may go on in the next piece
        held = held[cut:] + piece
    if held:
        yield held


def _last_start(held: bytes, start: re.Pattern[bytes], searched: int) -> int:
    """Where the last record in these bytes begins; 0 if that is at their beginning."""
    end = len(held)
    while (line := held.rfind(b"\n", searched, end)) >= 0:
        if start.match(held, line + 1):
            return line + 1
        end = line
    return 0


def to_microseconds(stamps: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Epochs as microseconds, and the unit each was read in, as units a second (1: seconds, 10⁹: nanoseconds).

    The unit is the one by which the stamp falls between 1980 and 2200: seconds, milli-, micro- and nanoseconds lie so
    far apart that it is never in doubt. Where none does, the unit is 0 and the time is nothing.
    """
    micros = np.zeros(len(stamps), np.int64)
    units = np.zeros(len(stamps), np.int64)
    for unit in (1, 1_000, 1_000_000, 1_000_000_000):
        fits = (stamps >= _EARLIEST * unit) & (stamps < min(_LATEST * unit, 2**63 - 1))
        units[fits] = unit
        micros[fits] = stamps[fits] * (1_000_000 // unit) if unit <= 1_000_000 else stamps[fits] // 1_000
    return micros, units


def command_frame(
    commands: pl.Series, micros: npt.NDArray[np.int64], tz: str, features: Mapping[str, pl.Series]
) -> pl.DataFrame:
    """An observation frame of commands, redacted, with programs and sub-commands.

    Args:
        commands: String, as they were typed.
        micros: when each was started, in microseconds since 1970 UTC.
        tz: the zone of the wall clock.
        features: further columns of an observation frame (``cwd:text``, or ``actor``), as long as `commands`.

    """
    # Redacted here already, so that the program is not read off a secret.
    columns: dict[str, pl.Series | pl.Expr] = {
        "at": pl.Series("at", micros, dtype=pl.Int64).cast(BASE["at"]),
        "command:text": redact_series(commands),
        **features,
    }
    constants = {"type": "command", "action": "ran", "actor": "user", "tz": tz, "id": None, "user_id": None}
    frame = pl.DataFrame(columns).with_columns(
        pl.lit(value, pl.String).alias(name) for name, value in constants.items() if name not in columns
    )
    frame = with_command_features(with_local(frame))
    return frame.select(*BASE, *sorted(c for c in frame.columns if c not in BASE))


def is_history(stamps: int, head: bytes, name: str) -> bool:
    """True if a text with so many stamps in its first bytes is a history, not a text that quotes a few lines of one."""
    return stamps > 0 and ("hist" in name or stamps * 10 >= head.count(b"\n"))


def count_commands(lines: str) -> int:
    r"""How many commands these lines without a time are; those that belong together are one.

    >>> count_commands("ls\ncat <<E\nls\nE\n\ncd ..\n")
    3
    """
    if not _MAY_GO_ON.search(lines):
        return sum(1 for line in lines.split("\n") if line.strip())
    count = 0
    for block in _blocks(lines):
        at = 0
        while at < len(block):
            end = at + end_of_first(block[at:])
            count += bool(block[at:end].strip())
            at = end + 1
    return count


def _blocks(lines: str) -> Iterator[str]:
    """The text in blocks of at most 200 lines: a quote that is never closed must not cost more than its block."""
    parts = lines.split("\n")
    for at in range(0, len(parts), 200):
        yield "\n".join(parts[at : at + 200])


def note_untimed(remarks: NoteCollector, count: int, advice: str) -> None:
    """Add a note on how many commands have no time, with advice on how to make the shell keep times."""
    if count:
        have = "command has" if count == 1 else "commands have"
        remarks.leave_out("no_timestamp", f"{count:,} {have} no time and cannot be used ({advice})", count)


def note_units(remarks: NoteCollector, units: npt.NDArray[np.int64]) -> None:
    """Add a note for timestamps that were not read as seconds."""
    for unit, name in ((1_000, "milliseconds"), (1_000_000, "microseconds"), (1_000_000_000, "nanoseconds")):
        if count := int((units == unit).sum()):
            message = f"timestamps too large for seconds were read as {name}"
            remarks.warn("stamp_unit_guess", message, count=count)


def empty(commands: pl.Series, remarks: NoteCollector) -> npt.NDArray[np.bool_]:
    """True for each blank command; adds a note with their number."""
    blank = ~commands.str.contains(r"\S")
    if count := int(blank.sum()):
        remarks.leave_out("empty_command", "the record has no command", count)
    return blank.to_numpy()


def without_nuls(piece: bytes, remarks: NoteCollector) -> bytes:
    """The bytes without NULs: a machine that crashes leaves runs of them."""
    if b"\0" not in piece:
        return piece
    remarks.warn("nul_bytes", "NUL bytes were skipped", count=piece.count(b"\0"))
    return piece.replace(b"\0", b"")


def decoded(piece: bytes, remarks: NoteCollector) -> str:
    """The text of a piece of a history. Bytes that are no UTF-8 become U+FFFD."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        text = piece.decode(errors="replace")
        lines = sum("\ufffd" in line for line in text.splitlines())
        remarks.warn("bad_encoding", "invalid UTF-8, replaced by �", count=lines)
        return text
