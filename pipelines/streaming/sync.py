"""Sync: reads the configured sources into the store, skipping unchanged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import orjson

from observations.errors import SourceError
from observations.ingest.discovery import find_sources
from observations.ingest.ical.calendar import CALENDAR
from observations.ingest.read import ReadingReport, read_sources
from observations.ingest.toolkit.reader import ReadOptions
from pipelines.store.database.insert import Position
from pipelines.store.status_change import Change
from pipelines.store.store import Store

READING_VERSION = 1
"""Incremented when the same files would give other observations, so that all of them are read again."""

_ANY = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SyncedSource:
    """The result for one source.

    Attributes:
        name: the name in the configuration.
        read: observations read.
        new: observations that were not in the store.
        forgotten: observations left out, or stored without a person, because of the suppression list.
        rejects: records that could not be read.
        unchanged: True if the source was skipped, because it is the same as last time.
        problem: why it could not be read; None if it could.

    """

    name: str
    read: int = 0
    new: int = 0
    forgotten: int = 0
    rejects: int = 0
    unchanged: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class Synced:
    """The result of a sync.

    Attributes:
        sources: the result for each source.
        changes: the status changes.
        report: notes about records.

    """

    sources: tuple[SyncedSource, ...]
    changes: tuple[Change, ...]
    report: ReadingReport


def sync_sources(
    store: Store,
    names: Sequence[str],
    options: ReadOptions,
    progress: Callable[[int], None] | None = None,
) -> Synced | None:
    """Read the sources into the store and evaluate; None if another sync of the store is running.

    A source that cannot be read does not stop the others.

    Args:
        store: the store to write to.
        names: files, folders and archives.
        options: how records are read.
        progress: called with the number of observations of each batch that was read.

    Raises:
        StoreError: the store cannot be written.
    """
    with store.database.alone("sync") as alone:
        if not alone:
            return None
        report = ReadingReport()
        read = tuple(_synced(store, name, options, report, progress) for name in names)
        return Synced(read, tuple(store.changes()), report)


def _synced(
    store: Store,
    name: str,
    options: ReadOptions,
    report: ReadingReport,
    progress: Callable[[int], None] | None,
) -> SyncedSource:
    try:
        return _sync(store, name, options, report, progress)
    except SourceError as error:
        return SyncedSource(name, problem=str(error))


def _sync(
    store: Store,
    name: str,
    options: ReadOptions,
    report: ReadingReport,
    progress: Callable[[int], None] | None,
) -> SyncedSource:
    label, signature = f"sync:{name}", _signature(name, options)
    last = store.position(label)
    if last is not None and signature is not None and last.json == signature:
        return SyncedSource(name, unchanged=True)
    found = find_sources([name])
    own, new, forgotten, refused = ReadingReport(), 0, 0, 0
    own.add_all(found.notes)
    for batch in read_sources(found.sources, options, own, keep_repeats=True):
        added = store.add(batch.observations)
        new += len(added)
        forgotten += added.forgotten
        refused += added.refused
        if progress is not None:
            progress(batch.observations.height)
    report.sources.update(own.sources)
    settled = signature if _is_settled(own) else None
    store.write_position(Position(label, 0, own.observations, settled or "null"))
    return SyncedSource(name, own.observations, new, forgotten, own.count("reject") + refused)


def _is_settled(report: ReadingReport) -> bool:
    """True if the same files give the same observations at any later time; not so for calendar series and future records."""
    return all(
        source.recognised != CALENDAR.name and not source.counts["left_out", "after_until"]
        for source in report.sources.values()
    )


def _signature(name: str, options: ReadOptions) -> str | None:
    """A digest of the files of the source and the read options, as JSON; None for standard input."""
    if name == "-":
        return None
    digest = blake2b(repr([READING_VERSION, replace(options, until=_ANY)]).encode(), digest_size=16)
    for path in _files(Path(name)):
        found = path.stat()
        digest.update(orjson.dumps([str(path), found.st_size, found.st_mtime_ns, found.st_ino]))
    return orjson.dumps(digest.hexdigest()).decode()


def _files(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from sorted(path for path in place.rglob("*") if path.is_file())
        return
    # SQLite keeps the newest data in a -wal file.
    yield from (path for path in (place, place.with_name(f"{place.name}-wal")) if path.is_file())
