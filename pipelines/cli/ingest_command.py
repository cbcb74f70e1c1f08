"""``habitus ingest``: converts exports to observations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from observations.errors import SettingError
from pipelines.cli.options import reading_options

if TYPE_CHECKING:
    import polars as pl

    from observations.ingest.read_report import ReadingReport
    from observations.ingest.toolkit.reader import Batch, ReadOptions


@click.command()
@reading_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE, .ndjson or .parquet, instead of standard output.",
)
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="Print the format of each source, and what was left out and why.",
)
def ingest(sources: tuple[str, ...], options: ReadOptions, output: Path | None, explained: bool) -> None:
    """Read exports and write them as observations.

    SOURCE is a file, a folder, a zip or tar that is read in place, or - for standard input.

    \b
    Example:
      habitus ingest Takeout.zip ~/.zsh_history --tz Europe/Berlin -o observations.parquet
      habitus ingest times.csv --map timestamp=Start,category=Label --explain
    """  # noqa: D301  click wants the control character
    from observations.ingest.discovery import find_sources
    from observations.ingest.read import read_sources
    from observations.ingest.read_report import ReadingReport
    from pipelines.cli.output.ingest_progress import reading_progress, report_reading
    from pipelines.cli.output.source_table import explain

    if output is not None and output.suffix not in (".ndjson", ".jsonl", ".parquet"):
        message = f"{output}: the name must end in .ndjson or .parquet"
        raise SettingError(message, argument="output", value=output)
    report = ReadingReport()
    with reading_progress() as progress:
        found = find_sources(sources)
        report.add_all(found.notes)
        batches = progress.watch(read_sources(found.sources, options, report))
        _write(_frames(batches, report, options), output, silent=explained)
    report_reading(report)
    if explained:
        explain(report)


def _frames(batches: Iterable[Batch], report: ReadingReport, options: ReadOptions) -> Iterator[pl.DataFrame]:
    """Yield the observations; raise at the end if a named source has none, or no record has the `user_field`."""
    from pipelines.input_checks import check_reading

    for batch in batches:
        yield batch.observations
    check_reading(report, options)


def _write(frames: Iterator[pl.DataFrame], output: Path | None, *, silent: bool) -> None:
    """Write to the file, which appears when complete; without a file to standard output, unless `silent`."""
    from observations.export import write_ndjson, write_parquet

    if output is None:
        write_ndjson((frame.clear() for frame in frames) if silent else frames, sys.stdout.buffer)
        return
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        if output.suffix == ".parquet":
            write_parquet(frames, unfinished)
        else:
            with unfinished.open("wb") as stream:
                write_ndjson(frames, stream)
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
