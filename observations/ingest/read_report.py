"""What became of the sources of a run: recognised as what, how many observations, what was left and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from observations.ingest.toolkit.note import Note

NOTES_KEPT = 1_000
"""Notes kept for each source; what is beyond is counted and forgotten."""


@dataclass
class SourceReport:
    """The result of reading one source.

    Attributes:
        label: what the person calls it; a folder, for files that are one record each.
        recognised: the format it was read as; None if it is none that is known.
        named: whether the person named it, and did not only name what it was found in.
        files: how many there are of it.
        observations: how many it gave that no source before it had given.
        counts: how many records each (level, reason) stands for.
        notes: the first `NOTES_KEPT` notes, as they came.

    """

    label: str
    recognised: str | None = None
    named: bool = False
    files: int = 0
    observations: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[Note] = field(default_factory=list)
    _warnings: dict[tuple[str, str], int] = field(default_factory=dict)  # their places in `notes`

    def count(self, level: str) -> int:
        """How many records the notes of this level stand for."""
        return sum(n for (of_level, _), n in self.counts.items() if of_level == level)

    def message(self, level: str, reason: str) -> str:
        """The message of the first record with this level and reason."""
        said = (note.message for note in self.notes if (note.level, note.reason) == (level, reason))
        return next(said, reason.replace("_", " "))

    def add(self, note: Note) -> None:
        """Count the note, and keep it if there is room. A warning in the same words is the same one again: a large
        file makes it in each of its batches.
        """
        self.counts[note.level, note.reason] += note.count
        said = (note.reason, note.message)
        if note.level == "warning" and (place := self._warnings.get(said)) is not None:
            self.notes[place] = replace(self.notes[place], count=self.notes[place].count + note.count)
        elif len(self.notes) < NOTES_KEPT:
            if note.level == "warning":
                self._warnings[said] = len(self.notes)
            self.notes.append(note)


@dataclass
class ReadingReport:
    """The result of reading each source, in the order of reading.

    Attributes:
        sources: by their labels.
        features: the names of all features that an observation has.

    """

    sources: dict[str, SourceReport] = field(default_factory=dict)
    features: set[str] = field(default_factory=set)

    def of(self, label: str) -> SourceReport:
        """The report of the source with this label."""
        return self.sources.setdefault(label, SourceReport(label))

    def add_all(self, notes: Iterable[Note]) -> None:
        """Count notes, each at its source."""
        for note in notes:
            self.of(note.source).add(note)

    @property
    def observations(self) -> int:
        """How many observations there are."""
        return sum(source.observations for source in self.sources.values())

    def count(self, level: str) -> int:
        """How many records the notes of this level stand for."""
        return sum(source.count(level) for source in self.sources.values())
