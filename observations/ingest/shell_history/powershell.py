"""PowerShell's history (PSReadLine): one command a line without times, so it gives no observations.

It is read all the same: what a person points at must not be passed over without a word. A line end inside a command
is written as backtick, line end; the file does not distinguish it from a command that ends in a backtick
(PSReadLine, History.cs).
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from observations.ingest.shell_history.command_frames import note_untimed
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import empty_observations

_NAMES = re.compile(r"psreadline|host_history\.txt$")
_LONGEST_LINE = 1 << 20  # what is longer counts on: a file without line ends must not fill the memory
_ADVICE = "PSReadLine keeps none; an export of Get-History as CSV has them"


@dataclass(frozen=True)
class PowerShellReader:
    """Reads PSReadLine's history, and reports the number of commands."""

    name: str = "PowerShell history"

    def recognises(self, head: bytes, name: str) -> bool:
        """True if the name is ``ConsoleHost_history.txt``; the content has no signature."""
        is_text = b"\0" not in head or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return is_text and _NAMES.search(name) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:  # noqa: ARG002  nothing depends on them
        """No observations, because there are no times; a note with the number of commands."""
        remarks = NoteCollector(source.label)
        encoding = "utf-16" if source.head(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        count, tied = 0, False
        with source.open() as stream, io.TextIOWrapper(stream, encoding, errors="replace") as text:
            while line := text.readline(_LONGEST_LINE):
                count += not tied and bool(line.strip())
                tied = line.rstrip("\r\n").endswith("`") or not line.endswith("\n")
        note_untimed(remarks, count, _ADVICE)
        yield Batch(empty_observations(), tuple(remarks.take()))


POWERSHELL = PowerShellReader()
