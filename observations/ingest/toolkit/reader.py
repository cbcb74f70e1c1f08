"""What a reader is: `Source` and `ReadOptions` go in, `Batch`es come out.

A reader turns one *source* (a file, or a member of an archive) into *batches*: frames of observations, and
notes on every record that did not become an observation. A bad record is a note, never an exception, and the
records around it are read. A reader raises `SourceError` for a source that is not in its format at all.

Importing this module loads no polars: the command line parses its options without it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

from observations.ingest.toolkit.note import Note

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 50_000
"""Rows per batch: few enough for flat memory, enough to be worth the overhead of a frame."""

HEAD_BYTES = 65_536
"""How many first bytes a format is recognised by."""


@dataclass(frozen=True)
class Batch:
    """Some observations of a source (`observations.schema`), and notes on the records beside them."""

    observations: pl.DataFrame
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Source:
    """Bytes with a name: a file, or a member of an archive.

    Attributes:
        label: its name for the user: the path, or ``archive.zip!folder/member``.
        opener: opens the bytes from their beginning, as often as asked.
        path: the file, where it is one on disk; None for a member of an archive.
        found_in: the folder or archive in which it was found; None if the person named it. That a source
            cannot be read is an error if it was named, and a note if it was found.
        beginning: its first bytes, where opening it is slow (in a compressed tar); else None.

    """

    label: str
    opener: Callable[[], BinaryIO]
    path: Path | None = None
    found_in: str | None = None
    beginning: bytes | None = None

    @classmethod
    def of_path(cls, path: Path, label: str | None = None) -> Source:
        """The source that is this file."""
        return cls(label or str(path), lambda: path.open("rb"), path)

    @classmethod
    def of_bytes(cls, content: bytes, label: str) -> Source:
        """A source made of bytes in memory."""
        return cls(label, lambda: io.BytesIO(content))

    @property
    def name(self) -> str:
        """The last part of the label, in lower case: identifies a format when the bytes do not."""
        return self.label.replace("\\", "/").replace("!", "/").rsplit("/", 1)[-1].lower()

    def open(self) -> BinaryIO:
        """The bytes, from their beginning."""
        return self.opener()

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """The first bytes: what a format is recognised by."""
        if self.beginning is not None:
            return self.beginning[:size]
        with self.open() as stream:
            return stream.read(size)


@dataclass(frozen=True)
class ReadOptions:
    """How sources are read (contract, section 4).

    Attributes:
        user: the user of records that do not name one.
        tz: IANA zone for times that come without one; a calendar's floating times have the clock of its
            X-WR-TIMEZONE, and this one where it names none.
        until: nothing later is read; recurring events are expanded up to here. Aware.
        since: nothing earlier is read. Aware, or None.
        me: addresses of the person, in lower case; they tell sent from received.
        user_field: the feature whose value names the user (``from`` for a list archive), or None.
        mapping: foreign column names: contract field → column.
        day_first: how 03/04/2026 is read where the column cannot prove it; None makes such a date an error.
        allow_future: records after `until` are kept (de-identified logs are often shifted).

    """

    until: datetime
    user: str = "me"
    tz: str = "UTC"
    since: datetime | None = None
    me: tuple[str, ...] = ()
    user_field: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    day_first: bool | None = None
    allow_future: bool = False


class Reader(Protocol):
    """One format. Readers are listed in `observations.ingest.registry.READERS`; the first that recognises a source reads it."""

    @property
    def name(self) -> str:
        """What the format is called, for people: "iCalendar"."""
        ...

    def recognises(self, head: bytes, name: str) -> bool:
        """True if these are the first bytes of this format. `name` may break a tie but never decides alone
        against the bytes.
        """
        ...

    def read(self, source: Source, options: ReadOptions) -> Iterator[Batch]:
        """The source's observations and notes. Neighbours of a bad record are read.

        Observations need not be unique, sorted, or within `since`/`until`: that is done once for all readers.
        """
        ...


@runtime_checkable
class ManyReader(Reader, Protocol):
    """A format of which a file is one record, so that many are read together."""

    def read_all(self, sources: Iterable[Source], options: ReadOptions) -> Iterator[Batch]:
        """The observations and notes of all the sources, in common batches."""
        ...
