"""What is said about the reading of sources: on standard error while and after reading, as a table if asked for."""

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
"""Notes shown for each source; the rest is counted."""

SOURCES_A_REASON = 5
"""From this source on, what was said of others for the same reason is only counted."""

PATIENCE_SECONDS = 1.0
"""Reading that is over sooner shows no progress."""


def report_reading(report: ReadingReport) -> None:
    """Say on standard error what could not be read or was assumed, line by line, and the sums."""
    report_notes(report)
    click.echo(summary(report), err=True)


def report_notes(report: ReadingReport) -> None:
    """Say on standard error what could not be read, was assumed or left out.

    Rejects and warnings line by line, up to a limit for each source. What is the same in source after source is
    only counted from the `SOURCES_A_REASON`-th on; an assumption that was said in the same words, from the second on.
    """
    hushed = _Hushed()
    for source in report.sources.values():
        new = {key: count for key, count in source.counts.items() if hushed.is_new(source, *key, count)}
        wanted = [
            note for note in source.notes if note.level != "left_out" and (note.level, note.reason) in new
        ]
        for note in wanted[:LINES_A_SOURCE]:
            click.echo(in_options(str(note)), err=True)
        said = sum(note.count for note in wanted[:LINES_A_SOURCE])
        if (more := sum(count for (level, _), count in new.items() if level != "left_out") - said) > 0:
            click.echo(f"{source.label}: … and {more:,} more", err=True)
        for (level, reason), count in new.items():
            if level == "left_out" and reason != "repeated":
                message = in_options(source.message(level, reason))
                click.echo(f"{source.label}: {count:,} left out: {message}", err=True)
    for line in hushed.lines():
        click.echo(in_options(line), err=True)


@dataclass
class _Hushed:
    """What was said of enough sources not to be said of others."""

    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    assumed: set[str] = field(default_factory=set)
    kept: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # records, sources
    messages: dict[tuple[str, str], str] = field(default_factory=dict)

    def is_new(self, source: SourceReport, level: str, reason: str, count: int) -> bool:
        """Whether to say it of this source; it is counted if not."""
        key = (level, reason)
        self.told[key] += 1
        message = source.message(level, reason)
        if reason == "repeated" or (self.told[key] < SOURCES_A_REASON and message not in self.assumed):
            if level == "warning":  # the same assumption about another file is no news
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
    """One line: how much was read, and how much not."""
    read = sum(1 for source in report.sources.values() if source.recognised)
    parts = [f"{plural(report.observations, 'observation')} from {plural(read, 'source')}"]
    for level, words in (("reject", "could not be read"), ("left_out", "left out")):
        if count := report.count(level):
            parts.append(f"{count:,} {words}")
    return "; ".join(parts)


@dataclass
class Progress:
    """A line on standard error that says how far the reading is, if it takes long and a person watches."""

    console: Console
    status: Status | None = None
    began: float = field(default_factory=time.monotonic)
    count: int = 0

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, counted as they pass."""
        for batch in batches:
            self.add(batch.observations.height)
            yield batch

    def add(self, observations: int) -> None:
        """Count some more observations."""
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
    """A `Progress` that is gone from the screen when the reading is over."""
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
    """Each observation of these sources up to `as_of` once, and what became of the sources.

    A person who watches sees how far it is; what could not be read is said on standard error.

    Raises:
        SourceError: a source cannot be read, or is not what the person can have meant.
        SettingError: there is nothing up to `as_of`.
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
    """The same, the observations handed on frame by frame as they are read, repeats among them."""
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
    """While it lasts, a line on standard error that says what is done, if a person watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
