"""From sources to one stream of observations: recognise, read, complete, cut to the window, say what was left.

The same record read twice, from one export or from two that overlap, is one observation: ids are unique within
a user, and a second record with the same id and content is passed over without a word, as are both halves of an
overlap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from observations.errors import SourceError
from observations.ingest import READERS
from observations.ingest.archives import DAMAGE
from observations.ingest.base import Batch, Note, Reader, ReadOptions, Source, complete
from observations.ingest.finding import reason_of
from observations.schema import concat_observations, empty_observations, unique_observations

NOTES_KEPT = 1_000
"""Notes kept for each source; what is beyond is counted and forgotten."""


@dataclass
class SourceReport:
    """What became of one source.

    Attributes:
        label: what the person calls it.
        recognised: the format it was read as; null if it is none that is known.
        observations: how many it gave that no source before it had given.
        counts: how many records each (level, reason) speaks for.
        notes: the first `NOTES_KEPT` notes, as they came.

    """

    label: str
    recognised: str | None = None
    observations: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[Note] = field(default_factory=list)

    def add(self, note: Note) -> None:
        """Count the note, and keep it if there is room."""
        self.counts[note.level, note.reason] += note.count
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(note)


@dataclass
class ReadingReport:
    """What became of each source, in the order in which they were read."""

    sources: dict[str, SourceReport] = field(default_factory=dict)

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
        """How many records the notes of this level speak for."""
        return sum(
            n for source in self.sources.values() for (lv, _), n in source.counts.items() if lv == level
        )


def read_observations(
    sources: Iterable[Source], options: ReadOptions, notes: Iterable[Note] = ()
) -> tuple[pl.DataFrame, ReadingReport]:
    """All observations of the sources as one frame in canonical order, and what became of each source.

    Args:
        sources: what to read.
        options: how.
        notes: what is to be said already (`observations.ingest.sources.find_sources`).

    Raises:
        SourceError: a source that the person named cannot be read.

    """
    report = ReadingReport()
    report.add_all(notes)
    frames = [batch.observations for batch in read_sources(sources, options, report, keep_repeats=True)]
    unique = unique_observations(concat_observations(frames))
    return concat_observations(
        [unique]
    ), report  # a version that was not chosen may have been alone in a feature


def read_sources(
    sources: Iterable[Source],
    options: ReadOptions,
    report: ReadingReport | None = None,
    *,
    keep_repeats: bool = False,
) -> Iterator[Batch]:
    """The observations of the sources, batch by batch, with what is to be said about them.

    Every observation has its user and id, lies within the window of `options`, and is new: a user's second
    record of an id is left out, the first stays. With `keep_repeats` it is handed on as well (and counted all
    the same), for a caller who will choose between differing records of one id by a rule of its own.

    Raises:
        SourceError: a source that the person named cannot be read, or nothing that was found is of a known format.

    """
    report = report if report is not None else ReadingReport()
    seen = Seen()
    found_in, recognised = None, False
    for source in sources:
        reader, trouble = _reader_of(source)
        if reader is None:
            found_in = found_in or source.found_in
            report.add_all(trouble)
            yield Batch(empty_observations(), trouble)
            continue
        recognised = True
        about = report.of(source.label)
        about.recognised = reader.name
        for batch in _read_source(source, reader, options):
            yield _finished(batch, options, about, seen, keep_repeats=keep_repeats)
    if found_in is not None and not recognised:
        raise SourceError(found_in, f"has nothing in it of the formats that are read: {_known_formats()}")


def recognise(source: Source) -> Reader | None:
    """The first of `READERS` that recognises the source; null if none does."""
    head = source.head()
    return next((reader for reader in READERS if reader.recognises(head, source.name)), None)


def _reader_of(source: Source) -> tuple[Reader | None, tuple[Note, ...]]:
    """The reader for the source, or a note on why there is none.

    Raises:
        SourceError: there is none, and the person named the source.

    """
    try:
        reader = recognise(source)
    except (OSError, *DAMAGE) as error:
        return None, (_cannot_read(source, f"cannot be read ({reason_of(error)})", error),)
    if reader is not None:
        return reader, ()
    if source.found_in is None:
        raise SourceError(source.label, f"is none of the formats that are read: {_known_formats()}")
    message = "is no export of a kind that is read"
    return None, (Note("left_out", source.found_in, "not_recognised", message, item=source.label),)


def _known_formats() -> str:
    return ", ".join(reader.name for reader in READERS)


def _read_source(source: Source, reader: Reader, options: ReadOptions) -> Iterator[Batch]:
    """The batches of one source; that it cannot be read is an error only if the person named it."""
    try:
        yield from reader.read(source, options)
    except SourceError as error:
        if source.found_in is None:
            raise
        yield _note_only(Note("reject", source.label, "unreadable", error.problem))
    except (OSError, *DAMAGE) as error:
        yield _note_only(_cannot_read(source, f"cannot be read to its end ({reason_of(error)})", error))


def _cannot_read(source: Source, problem: str, error: Exception) -> Note:
    if source.found_in is None:
        raise SourceError(source.label, problem) from error
    return Note("reject", source.label, "unreadable", problem)


def _note_only(note: Note) -> Batch:
    return Batch(empty_observations(), (note,))


def _finished(
    batch: Batch, options: ReadOptions, report: SourceReport, seen: Seen, *, keep_repeats: bool
) -> Batch:
    """The batch completed, cut to the window and rid of repeats; its notes counted."""
    frame, notes = _within(batch.observations, options, report.label)
    frame = complete(frame, options)
    repeated = seen.add(frame)
    count = int(repeated.sum())
    if count:
        notes.append(Note("left_out", report.label, "repeated", "was read before", count=count))
    if count and not keep_repeats:
        frame = frame.filter(~repeated)
    report.observations += len(repeated) - count
    told = (*batch.notes, *notes)
    for note in told:
        report.add(note)
    return Batch(frame, told)


def _within(frame: pl.DataFrame, options: ReadOptions, label: str) -> tuple[pl.DataFrame, list[Note]]:
    """The rows within the window, and a note on how many lie before and after it."""
    notes: list[Note] = []
    if options.since is not None:
        early = frame.get_column("at") < options.since
        frame = _cut(frame, early, notes, Note("left_out", label, "before_since", "is earlier than --since"))
    if not options.allow_future:
        late = frame.get_column("at") > options.until
        message = "is later than --until (now, unless given); --allow-future keeps it"
        frame = _cut(frame, late, notes, Note("left_out", label, "after_until", message))
    return frame, notes


def _cut(frame: pl.DataFrame, where: pl.Series, notes: list[Note], note: Note) -> pl.DataFrame:
    count = int(where.sum())
    if count == 0:
        return frame
    notes.append(replace(note, count=count))
    return frame.filter(~where)


class Seen:
    """Which (user, id) pairs were met, as 64-bit hashes: 8 bytes each, so ten million fit in 80 MB.

    Kept as sorted runs, each at least twice as long as the next: a look-up searches a few of them.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []

    def add(self, frame: pl.DataFrame) -> pl.Series:
        """For each row, whether its user and id were met before (in an earlier frame, or further up)."""
        keys = frame.select(pl.struct("user_id", "id").hash()).to_series()
        met = ~keys.is_first_distinct().to_numpy()
        hashes = keys.to_numpy()
        order = np.argsort(
            hashes
        )  # looked up in their order, neighbours lie in the cache: five times as fast
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, hashes[order]), len(run) - 1)
            met[order] |= run[places] == hashes[order]
        fresh = np.sort(hashes[~met])
        while self._runs and len(self._runs[-1]) < 2 * len(fresh):
            fresh = np.sort(np.concatenate([self._runs.pop(), fresh]))
        if len(fresh):
            self._runs.append(fresh)
        return pl.Series(met)
