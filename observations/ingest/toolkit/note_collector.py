"""Notes of one source, gathered while it is read: what is said many times is said once, with how often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from observations.ingest.toolkit.note import Note


@dataclass
class Remarks:
    """Gathers the notes of a source.

    Warnings that say the same are one note with a count, at the line of the first. Rejects stay one by one:
    each is a record that somebody may want to find.
    """

    source: str
    _said: dict[tuple[str, str, str], Note] = field(default_factory=dict)
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
        self._say("warning", reason, message, count, line, item)

    def leave_out(self, reason: str, message: str, count: int = 1) -> None:
        """Records were read and are, by rule, no observations."""
        self._say("left_out", reason, message, count, None, None)

    def take(self) -> list[Note]:
        """Everything said so far; nothing remains."""
        notes = [*self._rejects, *self._said.values()]
        self._rejects, self._said = [], {}
        return notes

    def _say(
        self,
        level: Literal["left_out", "warning"],
        reason: str,
        message: str,
        count: int,
        line: int | None,
        item: str | None,
    ) -> None:
        key = (level, reason, message)
        known = self._said.get(key)
        if known is None:
            self._said[key] = Note(level, self.source, reason, message, line, item or None, count)
        else:
            self._said[key] = replace(known, count=known.count + count)
