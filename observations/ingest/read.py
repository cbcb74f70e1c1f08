"""Reads sources as one stream of observations: recognise, read, complete, cut to the window, report.

The same record read twice, from one export or from two that overlap, is one observation: ids are unique within
a user, and a second record with the same id is skipped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from observations.errors import SourceError
from observations.ingest.archives import DAMAGE
from observations.ingest.folder_rules import reason_of
from observations.ingest.format_detection import Part, cannot_read, known_formats, parts_of
from observations.ingest.read_report import ReadingReport, SourceReport
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import Batch, ReadOptions, Source
from observations.schema import (
    concat_observations,
    empty_observations,
    feature_columns,
    split_column,
    unique_observations,
)

__all__ = ["ReadingReport", "Seen", "read_observations", "read_sources"]


def read_observations(
    sources: Iterable[Source], options: ReadOptions, notes: Iterable[Note] = ()
) -> tuple[pl.DataFrame, ReadingReport]:
    """All observations of the sources as one frame in canonical order, and what became of each source.

    Args:
        sources: what to read.
        options: how.
        notes: what is to be said already (`observations.ingest.discovery.find_sources`).

    Raises:
        SourceError: a source that the person named cannot be read.

    """
    report = ReadingReport()
    report.add_all(notes)
    frames = [batch.observations for batch in read_sources(sources, options, report, keep_repeats=True)]
    unique = unique_observations(concat_observations(frames))
    # Again, for a version that was not chosen may have been alone in a feature.
    return concat_observations([unique]), report


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
    found_in, anything = None, False
    for part in parts_of(sources, options):
        if part.note is not None:
            found_in = found_in or part.found_in
            report.of(part.note.source).add(part.note)
            yield Batch(empty_observations(), (part.note,))
            continue
        anything = True
        about = report.of(part.label)
        about.named = part.found_in is None
        for batch in _read_part(part, options, about):
            finished = _finished(batch, options, about, seen, keep_repeats=keep_repeats)
            report.features.update(split_column(c)[0] for c in feature_columns(finished.observations.columns))
            yield finished
    if found_in is not None and not anything:
        raise SourceError(found_in, f"contains no file in a supported format: {known_formats()}")


def _read_part(part: Part, options: ReadOptions, about: SourceReport) -> Iterator[Batch]:
    """The batches of sources that are read together; that one cannot be read is a note if it was found."""
    assert part.reader is not None, "parts without a reader have a note"
    about.recognised = part.reader.name
    current: list[Source] = []
    counted = replace(part, sources=_watched(part.sources, current, about))
    try:
        yield from counted.batches(options)
    except SourceError as error:
        if part.found_in is None:
            raise
        yield _note_only(Note("reject", error.source, "unreadable", error.problem))
    except (OSError, *DAMAGE) as error:
        problem = f"cannot be read to its end ({reason_of(error)})"
        yield _note_only(cannot_read(current[-1], problem, error))


def _watched(sources: Iterator[Source], current: list[Source], about: SourceReport) -> Iterator[Source]:
    """The sources, counted, and the one that is being read noted down.

    One of many that cannot even be opened is left out here: it must not end the reading of the others.
    """
    for source in sources:
        current[:] = [source]
        try:
            source.open().close()
        except (OSError, *DAMAGE) as error:
            about.add(cannot_read(source, f"cannot be read ({reason_of(error)})", error))
            continue
        about.files += 1
        yield source


def _note_only(note: Note) -> Batch:
    return Batch(empty_observations(), (note,))


def _finished(
    batch: Batch, options: ReadOptions, report: SourceReport, seen: Seen, *, keep_repeats: bool
) -> Batch:
    """The batch completed, cut to the window and freed of duplicates; its notes counted."""
    frame, notes = _within(batch.observations, options, report.label)
    frame = complete(frame, options)
    repeated = seen.add(frame)
    count = int(repeated.sum())
    if count:
        notes.append(Note("left_out", report.label, "repeated", "was read before", count=count))
    if count and not keep_repeats:
        frame = frame.filter(~repeated)
    report.observations += len(repeated) - count
    all_notes = (*batch.notes, *notes)
    for note in all_notes:
        report.add(note)
    return Batch(frame, all_notes)


def _within(frame: pl.DataFrame, options: ReadOptions, label: str) -> tuple[pl.DataFrame, list[Note]]:
    """The rows within the window, and a note on how many lie before and after it."""
    notes: list[Note] = []
    if options.since is not None:
        early = frame.get_column("at") < options.since
        frame = _cut(frame, early, notes, Note("left_out", label, "before_since", "is earlier than `since`"))
    if not options.allow_future:
        late = frame.get_column("at") > options.until
        message = "is later than `until` (now, unless given); `allow_future` keeps it"
        frame = _cut(frame, late, notes, Note("left_out", label, "after_until", message))
    return frame, notes


def _cut(frame: pl.DataFrame, where: pl.Series, notes: list[Note], note: Note) -> pl.DataFrame:
    count = int(where.sum())
    if count == 0:
        return frame
    notes.append(replace(note, count=count))
    return frame.filter(~where)


class Seen:
    """Which (user, id) pairs were read, as 64-bit hashes: 8 bytes each, so ten million fit in 80 MB.

    Kept as sorted runs, each at least twice as long as the next: a look-up searches a few of them.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []

    def add(self, frame: pl.DataFrame) -> pl.Series:
        """For each row, True if its user and id were read before (in an earlier frame, or further up)."""
        keys = frame.select(pl.struct("user_id", "id").hash()).to_series()
        met = ~keys.is_first_distinct().to_numpy()
        hashes = keys.to_numpy()
        order = np.argsort(hashes)  # looked up in order, neighbours lie in the cache: five times as fast
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, hashes[order]), len(run) - 1)
            met[order] |= run[places] == hashes[order]
        fresh = np.sort(hashes[~met])
        while self._runs and len(self._runs[-1]) < 2 * len(fresh):
            fresh = np.sort(np.concatenate([self._runs.pop(), fresh]))
        if len(fresh):
            self._runs.append(fresh)
        return pl.Series(met)
