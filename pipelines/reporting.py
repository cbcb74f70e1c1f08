"""What is said about the reading of sources: on standard error while and after reading, as a table if asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import click
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from observations.errors import SettingError
from observations.ingest.base import Batch
from observations.ingest.reading import ReadingReport, SourceReport

LINES_A_SOURCE = 20
"""Notes shown for each source; the rest is counted."""

WIDTH_OF_NO_TERMINAL = 200
"""Columns of a table in a file or a pipe, where nobody sees a right margin."""

PATIENCE_SECONDS = 1.0
"""Reading that is over sooner shows no progress."""


def check_anything_read(report: ReadingReport, as_of: datetime | None) -> None:
    """Do nothing if there is something to judge by `as_of`.

    Raises:
        SettingError: there is no observation up to `as_of`.
    """
    if as_of is not None and report.observations == 0:
        raise SettingError(
            f"there is no observation up to --as-of {as_of:%Y-%m-%d %H:%M %Z}; name a later time"
        )


def report_reading(report: ReadingReport) -> None:
    """Say on standard error what could not be read or was assumed, line by line, and the sums."""
    report_notes(report)
    click.echo(summary(report), err=True)


def report_notes(report: ReadingReport) -> None:
    """Say on standard error what could not be read or was assumed, line by line."""
    for source in report.sources.values():
        shown = [note for note in source.notes if note.level != "left_out"][:LINES_A_SOURCE]
        for note in shown:
            click.echo(str(note), err=True)
        more = sum(n for (level, _), n in source.counts.items() if level != "left_out") - sum(
            n.count for n in shown
        )
        if more > 0:
            click.echo(f"{source.label}: … and {more:,} more", err=True)
        for reason, message, count in _left_out(source):
            if reason != "repeated":
                click.echo(f"{source.label}: {count:,} left out: {message}", err=True)


def summary(report: ReadingReport) -> str:
    """One line: how much was read, and how much not."""
    read = sum(1 for source in report.sources.values() if source.recognised)
    parts = [f"{plural(report.observations, 'observation')} from {plural(read, 'source')}"]
    for level, words in (("reject", "could not be read"), ("left_out", "left out")):
        if count := report.count(level):
            parts.append(f"{count:,} {words}")
    return "; ".join(parts)


def explain(report: ReadingReport) -> None:
    """Print what each source was recognised as, what it gave, and what was left out by reason."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "read as", "observations", "not read, left out, assumed"):
        table.add_column(name, justify="right" if name == "observations" else "left", overflow="fold")
    for source in report.sources.values():
        counts = [
            f"{n:,} {level.replace('_', ' ')}: {reason}"
            for (level, reason), n in sorted(source.counts.items())
        ]
        table.add_row(
            Text(source.label), source.recognised or "–", f"{source.observations:,}", "\n".join(counts)
        )
    screen = Console()
    if not screen.is_terminal:
        screen.width = WIDTH_OF_NO_TERMINAL
    screen.print(table)


def _left_out(source: SourceReport) -> Iterator[tuple[str, str, int]]:
    """For each reason for which records were left out: the reason, what is said about it, how many."""
    said = {note.reason: str(note.message) for note in reversed(source.notes) if note.level == "left_out"}
    for (level, reason), count in source.counts.items():
        if level == "left_out":
            yield reason, said.get(reason, reason), count


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "source"), plural(1200, "source")
    ('1 source', '1,200 sources')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


@dataclass
class Progress:
    """A line on standard error that says how far the reading is, if it takes long and a person watches."""

    console: Console
    status: Status | None = None
    began: float = 0.0

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, counted as they pass."""
        self.began, count = time.monotonic(), 0
        for batch in batches:
            count += batch.observations.height
            self._show(f"{count:,} observations read")
            yield batch

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
    progress = Progress(Console(stderr=True))
    try:
        yield progress
    finally:
        if progress.status is not None:
            progress.status.stop()
