"""Collects the notes of one source while it is read; repeated warnings become one note with a count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from observations.ingest.toolkit.note import Note


@dataclass
class NoteCollector:
    """Gathers the notes of a source.

    Warnings with the same message are one note with a count, at the line of the first. Rejects stay one by one:
    the user may want to find each of those records.
    """

    source: str
    _merged: dict[tuple[str, str, str], Note] = field(default_factory=dict)
    _rejects: list[Note] = field(default_factory=list)

    def reject(
        self, reason: str, message: str, line: int | None = None, item: str | None = None, count: int = 1
    ) -> None:
        """A record could not be read."""
        self._rejects.append(Note("reject", self.source, reason, message, line, item or None, count))

    def warn(
        self, reason: str, message: str, line: int | None = None, item: str | None = None, count: int = 1
    ) -> None:
        """Something was read with an assumption."""
        self._add("warning", reason, message, count, line, item)

    def leave_out(self, reason: str, message: str, count: int = 1) -> None:
        """Records were read and are, by rule, no observations."""
        self._add("left_out", reason, message, count, None, None)

    def take(self) -> list[Note]:
        """All notes so far; the collector is empty afterwards."""
        notes = [*self._rejects, *self._merged.values()]
        self._rejects, self._merged = [], {}
        return notes

    def _add(
        self,
        level: Literal["left_out", "warning"],
        reason: str,
        message: str,
        count: int,
        line: int | None,
        item: str | None,
    ) -> None:
        key = (level, reason, message)
        known = self._merged.get(key)
        if known is None:
            self._merged[key] = Note(level, self.source, reason, message, line, item or None, count)
        else:
            self._merged[key] = replace(known, count=known.count + count)
