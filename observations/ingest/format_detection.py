"""Chooses the reader for each source, and which sources are read together."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby

from observations.errors import SourceError
from observations.ingest.archives import DAMAGE
from observations.ingest.folder_rules import reason_of
from observations.ingest.json_logs.documents import JSON
from observations.ingest.json_logs.ndjson import NDJSON
from observations.ingest.registry import READERS
from observations.ingest.tabular.csv_table import CSV
from observations.ingest.toolkit.encoding import head_as_utf8
from observations.ingest.toolkit.note import Note
from observations.ingest.toolkit.reader import HEAD_BYTES, Batch, ManyReader, Reader, ReadOptions, Source

ANY_CONTENT: tuple[Reader, ...] = (NDJSON, JSON, CSV)
"""Readers of forms that anything can have. A file of such a form that was only found must have a field for the time:
the thousands of descriptions of pictures in a Takeout are JSON too, and nobody's log."""


@dataclass(frozen=True)
class Recognised:
    """A source and the reader for it, or a note on why there is none."""

    source: Source
    reader: Reader | None
    note: Note | None = None


@dataclass(frozen=True)
class Part:
    """Sources that are read together, as one source would be.

    Attributes:
        label: what to call them: the source, or the folder or archive that a record in each file was found in.
        found_in: as for a source.
        reader: reads them; None for one that no reader recognises, about which there is a `note`.
        sources: to be taken once, in order; each is looked at only when it is taken.

    """

    label: str
    found_in: str | None
    reader: Reader | None
    sources: Iterator[Source]
    note: Note | None = None

    def batches(self, options: ReadOptions) -> Iterator[Batch]:
        """What the reader makes of the sources."""
        assert self.reader is not None, "recognised"
        if isinstance(self.reader, ManyReader):
            yield from self.reader.read_all(self.sources, options)
        else:
            for source in self.sources:
                yield from self.reader.read(source, options)


def parts_of(named_and_found: Iterable[Source], options: ReadOptions) -> Iterator[Part]:
    """The sources in their order, with their readers; files that are one record each, of one folder, together.

    Raises:
        SourceError: no reader recognises a source that the person named, or it cannot be opened.

    """
    numbered = enumerate(_recognised(source, options) for source in named_and_found)
    for _, group in groupby(numbered, key=_goes_with):
        together = (recognised for _, recognised in group)
        first = next(together)
        one = first.source
        if isinstance(first.reader, ManyReader) and (second := next(together, None)) is not None:
            sources = chain([one, second.source], (other.source for other in together))
            yield Part(_common_place(one), one.found_in, first.reader, sources)
        else:
            yield Part(one.label, one.found_in, first.reader, iter([one]), first.note)


def recognise(source: Source) -> Reader | None:
    """The first of `READERS` that recognises the source; None if none does."""
    return _reader_for(source.head(), source.name)


def known_formats() -> str:
    """The names of all formats that are read, for people."""
    return ", ".join(reader.name for reader in READERS)


def cannot_read(source: Source, problem: str, error: Exception) -> Note:
    """A note that a source that was found cannot be read.

    Raises:
        SourceError: the person named it.

    """
    if source.found_in is None:
        raise SourceError(source.label, problem) from error
    return Note("reject", source.label, "unreadable", problem)


def _reader_for(head: bytes, name: str) -> Reader | None:
    return next((reader for reader in READERS if reader.recognises(head, name)), None)


def _recognised(source: Source, options: ReadOptions) -> Recognised:
    try:
        head = source.head()
        reader = _reader_for(head, source.name)
    except (OSError, *DAMAGE) as error:
        return Recognised(source, None, cannot_read(source, f"cannot be read ({reason_of(error)})", error))
    if reader in ANY_CONTENT and source.found_in is not None and not _names_a_time(head, options):
        reader = None
    if reader is not None:
        return Recognised(_held(source, head) if isinstance(reader, ManyReader) else source, reader)
    if source.found_in is None:
        raise SourceError(source.label, f"unrecognized format; supported formats: {known_formats()}")
    message = "unrecognized format, skipped"
    note = Note("left_out", source.found_in, "not_recognised", message, item=source.label)
    return Recognised(source, None, note)


def _names_a_time(head: bytes, options: ReadOptions) -> bool:
    column = options.mapping.get("timestamp", "timestamp").partition("+")[0].strip()
    return column.lower().encode() in head_as_utf8(head).lower()


def _held(source: Source, head: bytes) -> Source:
    """The source, which need not be opened again where its first bytes are all of it."""
    if source.beginning is not None or len(head) == HEAD_BYTES:
        return source
    return replace(source, opener=partial(io.BytesIO, head))


def _goes_with(numbered: tuple[int, Recognised]) -> tuple[object, ...]:
    """Equal for sources that are read together."""
    number, recognised = numbered
    if isinstance(recognised.reader, ManyReader):
        return recognised.reader.name, recognised.source.found_in
    return (number,)


def _common_place(source: Source) -> str:
    return source.found_in or source.label.rpartition("/")[0] or "."
