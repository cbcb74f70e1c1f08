"""The sources found under a name, and the rules for what is skipped."""

from __future__ import annotations

from dataclasses import dataclass, field

from observations.errors import SourceError
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Source

FOLDERS_OF_PROGRAMS = frozenset(("__pycache__", "node_modules", "__MACOSX", "Thumbs.db", "desktop.ini"))
COMPANIONS = ("-wal", "-shm", "-journal")
"""Ends of names of files that belong to a SQLite database and are read with it."""


@dataclass
class Found:
    """What there is to read, and notes on what was passed over."""

    sources: list[Source] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def is_empty(self, label: str, found_in: str | None) -> None:
        """A file has no bytes.

        Raises:
            SourceError: the person named it.

        """
        if found_in is None:
            raise SourceError(label, "is empty")
        self.notes.append(Note("left_out", found_in, "empty", "is empty", item=label))

    def cannot_read(self, label: str, problem: str, found_in: str | None, error: Exception) -> None:
        """A file cannot be read.

        Raises:
            SourceError: the person named it.

        """
        if found_in is None:
            raise SourceError(label, problem) from error
        self.notes.append(Note("reject", label, "unreadable", problem))


def is_passed_over(name: str) -> bool:
    """True if a file or folder of this name is to be skipped: hidden, or a program's own."""
    return name.startswith(".") or name in FOLDERS_OF_PROGRAMS or name.endswith(COMPANIONS)


def reason_of(error: Exception) -> str:
    """What went wrong, without the file's name, on one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = said.strip().splitlines()[0] if said.strip() else type(error).__name__
    return first[:1].lower() + first[1:]
