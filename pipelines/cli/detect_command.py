"""``habitus detect``: detects patterns in exports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from pipelines.cli.options import instant_option, listing_options, reading_options

if TYPE_CHECKING:
    from observations.ingest.toolkit.reader import ReadOptions
    from pipelines.cli.output.pattern_listing import Format


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
    from pipelines.cli.output.detecting_progress import detecting_progress
    from pipelines.cli.output.ingest_progress import read_into
    from pipelines.cli.output.pattern_listing import counted, print_listing
    from pipelines.detection import detect_in_buffer
    from pipelines.out_of_core import ObservationBuffer
    from pipelines.text.counts import plural

    moment = instant_option(as_of, "as_of", options.tz) if as_of else None
    with ObservationBuffer() as buffer:
        report = read_into(buffer.add, sources, options, moment)
        with detecting_progress() as progress:
            detection = detect_in_buffer(
                buffer, as_of=moment, report=report, progress=progress, workers=os.cpu_count() or 1
            )
    print_listing(detection, status, types, form)
    click.echo(counted(detection, plural(report.count("reject"), "reject")), err=True)
