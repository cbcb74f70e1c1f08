"""``habitus detect``: the main job. Exports in, what the person habitually does out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import click
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from observations.ingest.base import ReadOptions
from patterns.candidates import PATTERN_TYPES
from patterns.model import STATUSES
from pipelines.batch import Detection, detect_in_frame
from pipelines.options import instant_option, reading_options
from pipelines.rendering import print_table, to_markdown
from pipelines.reporting import plural, read_watched

Format = Literal["table", "json", "ndjson", "markdown"]


@click.command()
@reading_options
@click.option(
    "--as-of", metavar="TIME", help="Evaluate at this time. [default: each person's newest observation]"
)
@click.option(
    "--status",
    type=click.Choice([*STATUSES, "all"]),
    default="confirmed",
    show_default=True,
    help="Which patterns to print; tracking ones say what they lack.",
)
@click.option(
    "--type",
    "types",
    type=click.Choice(PATTERN_TYPES),
    multiple=True,
    help="Only patterns of this type. Repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "markdown"]),
    default="table",
    show_default=True,
    help="How to print them.",
)
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
    frame, report = read_watched(sources, options, moment)
    with _progress() as progress:
        detection = detect_in_frame(frame, as_of=moment, report=report, progress=progress)
    wanted = detection.frame
    if status != "all":
        wanted = wanted.filter(pl.col("status") == status)
    if types:
        wanted = wanted.filter(pl.col("type").is_in(types))
    _print(replace(detection, frame=wanted), form)
    click.echo(_summary(detection), err=True)


def _print(detection: Detection, form: Format) -> None:
    if form == "ndjson":
        click.echo(detection.to_ndjson(), nl=False)
    elif form == "json":
        click.echo(detection.to_json())
    elif form == "markdown":
        click.echo(to_markdown(detection.patterns), nl=False)
    else:
        console = Console()
        print_table(detection.patterns, console)


def _summary(detection: Detection) -> str:
    """The one line at the end: what was read, of whom, and what was found."""
    counts = dict(detection.frame.group_by("status").len().iter_rows())
    found = ", ".join(f"{counts.get(s, 0):,} {s}" for s in STATUSES)
    rejects = plural(detection.report.count("reject"), "reject")
    observations = plural(detection.observations, "observation")
    people = f"{detection.people:,} {'person' if detection.people == 1 else 'people'}"
    return f"{observations}, {rejects}, {people}, {plural(detection.frame.height, 'pattern')}: {found}"


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
