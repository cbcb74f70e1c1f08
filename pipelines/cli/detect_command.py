"""``habitus detect``: the main job. Exports in, what the person habitually does out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from observations.ingest.toolkit.reader import ReadOptions
from pipelines.cli.ingest_progress import read_into
from pipelines.cli.options import instant_option, reading_options
from pipelines.cli.pattern_listing import Format, counted, listing_options, print_listing
from pipelines.detection import detect_in_crowd
from pipelines.out_of_core import Crowd
from pipelines.text.counts import plural


@click.command()
@reading_options
@click.option(
    "--as-of", metavar="TIME", help="Evaluate at this time. [default: each person's newest observation]"
)
@listing_options
def detect(
    sources: tuple[str, ...],
    options: ReadOptions,
    as_of: str | None,
    status: str,
    types: tuple[str, ...],
    form: Format,
) -> None:
    """Read exports and print what the person habitually does.

    SOURCE is a file, a folder, a zip or tar that is read in place, or - for standard input.

    \b
    Example:
      habitus detect calendar.ics Mail/ ~/.zsh_history --tz Europe/Berlin --me maya@example.com
      habitus detect events.ndjson --status tracking --type avoidance
    """  # noqa: D301  click wants the control character
    moment = instant_option(as_of, "--as-of", options.tz) if as_of else None
    with Crowd() as crowd:
        report = read_into(crowd.add, sources, options, moment)
        with _progress() as progress:
            detection = detect_in_crowd(
                crowd, as_of=moment, report=report, progress=progress, workers=os.cpu_count() or 1
            )
    print_listing(detection, status, types, form)
    click.echo(counted(detection, plural(report.count("reject"), "reject")), err=True)


@contextmanager
def _progress() -> Iterator[_Told]:
    """A bar on standard error, if it takes longer than a second and a person watches."""
    console = Console(stderr=True)
    columns = TextColumn("detecting"), BarColumn(), TaskProgressColumn()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    told = _Told(bar)
    try:
        yield told
    finally:
        bar.stop()


class _Told:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("detecting", total=1.0)

    def __call__(self, share: float) -> None:
        elapsed = self._bar.tasks[0].elapsed or 0.0
        if not self._bar.live.is_started and elapsed > 1.0:
            self._bar.start()
        self._bar.update(self._task, completed=share)
