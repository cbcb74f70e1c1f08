"""Progress, notes and summary of reading sources, on standard error."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

import click
import polars as pl
from rich.console import Console
from rich.status import Status

from observations.ingest.discovery import find_sources
from observations.ingest.read import read_sources
from observations.ingest.read_report import ReadingReport, SourceReport
from observations.ingest.toolkit.reader import Batch, ReadOptions
from observations.schema import concat_observations, unique_observations
from pipelines.cli.output.option_names import in_options
from pipelines.input_checks import check_anything_read, check_reading
from pipelines.text.counts import plural

LINES_A_SOURCE = 20
"""Maximum number of notes shown for each source; the rest are counted."""

SOURCES_A_REASON = 5
"""From this source on, notes with the same reason are only counted."""

PATIENCE_SECONDS = 1.0
"""Reading that takes less time shows no progress."""


def report_reading(report: ReadingReport) -> None:
    """Print notes and a summary of the reading on standard error."""
    report_notes(report)
    click.echo(summary(report), err=True)


def report_notes(report: ReadingReport) -> None:
    """Print rejects, warnings and counts of left-out records on standard error.

    Rejects and warnings have a line each, up to a limit for each source. Notes with a reason that many sources share
    are only counted from the `SOURCES_A_REASON`-th source on, identical warnings from the second on.
    """
    repeated = _RepeatedNotes()
    for source in report.sources.values():
        new = {key: count for key, count in source.counts.items() if repeated.is_new(source, *key, count)}
        shown = [
            note for note in source.notes if note.level != "left_out" and (note.level, note.reason) in new
        ]
        for note in shown[:LINES_A_SOURCE]:
            click.echo(in_options(str(note)), err=True)
        printed = sum(note.count for note in shown[:LINES_A_SOURCE])
        if (more := sum(count for (level, _), count in new.items() if level != "left_out") - printed) > 0:
            click.echo(f"{source.label}: … and {more:,} more", err=True)
        for (level, reason), count in new.items():
            if level == "left_out" and reason != "repeated":
                message = in_options(source.message(level, reason))
                click.echo(f"{source.label}: {count:,} left out: {message}", err=True)
    for line in repeated.lines():
        click.echo(in_options(line), err=True)


@dataclass
class _RepeatedNotes:
    """Counts notes that are not printed, because they were printed for enough other sources."""

    printed: Counter[tuple[str, str]] = field(default_factory=Counter)
    assumed: set[str] = field(default_factory=set)
    kept: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # records, sources
    messages: dict[tuple[str, str], str] = field(default_factory=dict)

    def is_new(self, source: SourceReport, level: str, reason: str, count: int) -> bool:
        """True if the note is to be printed for this source; otherwise it is counted."""
        key = (level, reason)
        self.printed[key] += 1
        message = source.message(level, reason)
        if reason == "repeated" or (self.printed[key] < SOURCES_A_REASON and message not in self.assumed):
            if level == "warning":  # the same assumption is printed for one file only
                self.assumed.add(message)
            return True
        kept = self.kept.setdefault(key, [0, 0])
        kept[0] += count
        kept[1] += 1
        self.messages.setdefault(key, message)
        return False

    def lines(self) -> Iterator[str]:
        """One line for each reason."""
        for key, (count, sources) in self.kept.items():
            left_out = " left out" if key[0] == "left_out" else ""
            yield f"… and {count:,} more{left_out} in {plural(sources, 'other source')}: {self.messages[key]}"


def summary(report: ReadingReport) -> str:
    """One line: the number of observations, and of records rejected or left out."""
    read = sum(1 for source in report.sources.values() if source.recognised)
    parts = [f"{plural(report.observations, 'observation')} from {plural(read, 'source')}"]
    for level, words in (("reject", "could not be read"), ("left_out", "left out")):
        if count := report.count(level):
            parts.append(f"{count:,} {words}")
    return "; ".join(parts)


@dataclass
class Progress:
    """A status line on a terminal's standard error, if reading takes longer than `PATIENCE_SECONDS`."""

    console: Console
    status: Status | None = None
    began: float = field(default_factory=time.monotonic)
    count: int = 0

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and count their observations."""
        for batch in batches:
            self.add(batch.observations.height)
            yield batch

    def add(self, observations: int) -> None:
        """Add to the count of observations."""
        self.count += observations
        self._show(f"{self.count:,} observations read")

    def _show(self, text: str) -> None:
        if not self.console.is_terminal or time.monotonic() - self.began < PATIENCE_SECONDS:
            return
        if self.status is None:
            self.status = self.console.status(text)
            self.status.start()
        self.status.update(text)


@contextmanager
def reading_progress() -> Iterator[Progress]:
    """A `Progress` that is cleared from the screen at the end of the ``with`` block."""
    if hasattr(signal, "siginterrupt"):
        # polars takes over SIGINT when imported, and restarts what it interrupts: Ctrl-C would wait for input.
        signal.siginterrupt(signal.SIGINT, True)
    progress = Progress(Console(stderr=True))
    try:
        yield progress
    finally:
        if progress.status is not None:
            progress.status.stop()


def read_watched(
    sources: Sequence[str], options: ReadOptions, as_of: datetime | None
) -> tuple[pl.DataFrame, ReadingReport]:
    """The distinct observations of these sources up to `as_of`, and the report of the sources.

    Progress and notes are printed on standard error.

    Raises:
        SourceError: a source cannot be read, or has no observations.
        SettingError: there are no observations up to `as_of`.
    """
    frames: list[pl.DataFrame] = []
    report = read_into(frames.append, sources, options, as_of)
    return unique_observations(concat_observations(frames)), report


def read_into(
    take: Callable[[pl.DataFrame], None],
    sources: Sequence[str],
    options: ReadOptions,
    as_of: datetime | None,
) -> ReadingReport:
    """As `read_watched`, but pass the observations to `take` frame by frame, including repeats."""
    if as_of is not None:
        options = replace(options, until=min(options.until, as_of))
    report = ReadingReport()
    with reading_progress() as progress:
        found = find_sources(sources)
        report.add_all(found.notes)
        for batch in progress.watch(read_sources(found.sources, options, report, keep_repeats=True)):
            take(batch.observations)
    check_reading(report, options)
    check_anything_read(report, as_of)
    report_notes(report)
    return report


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what` as a status line on a terminal's standard error inside the ``with`` block."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
