"""``habitus report``: writes patterns and their evidence as one HTML page."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.cli.options import instant_option, note_unknown_user, record_options, store_option
from pipelines.store.users import ALL_USERS, Users

if TYPE_CHECKING:
    from observations.ingest.toolkit.reader import ReadOptions
    from pipelines.report import Findings


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE…]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    required=True,
    metavar="FILE.html",
    help="File to write; - for standard output.",
)
@click.option(
    "--redact", is_flag=True, help="Replace names, addresses, titles and places, to share the page."
)
@click.option("--title", default="Habits", show_default=True, help="Title of the page.")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Evaluate at this time. [default: the newest observation; now, from the store]",
)
@click.option("--all-users", is_flag=True, help="With the store: all users instead of --user.")
@store_option
@record_options
def report(
    sources: tuple[str, ...],
    output: Path,
    redact: bool,
    title: str,
    as_of: str | None,
    all_users: bool,
    place: str | None,
    options: ReadOptions,
) -> None:
    """Write what the person habitually does as one HTML page.

    The page is made from these exports, or without SOURCE from the store. It opens in any browser, needs no network and
    can be printed. It shows the week, recent changes, the habits with their evidence, nearly confirmed patterns and
    the data.

    \b
    Example:
      habitus report calendar.ics Mail/ --tz Europe/Berlin --me maya@example.com -o habits.html
      habitus report --redact -o habits.html
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.ingest_progress import working
    from pipelines.report import report_html
    from pipelines.text.counts import plural

    moment = instant_option(as_of, "as_of", options.tz) if as_of else None
    findings = (
        _of_sources(sources, options, moment)
        if sources
        else _of_store(place, ALL_USERS if all_users else options.user, moment)
    )
    with working("rendering"):
        page = report_html(findings, redact=redact, title=title)
    _write(page, output)
    found = findings.explanation.patterns.height
    size = len(page.encode()) / 1e6
    where = "standard output" if output == Path("-") else output
    click.echo(f"{where}: {plural(found, 'pattern')}, {size:.1f} MB", err=True)


def _of_sources(sources: tuple[str, ...], options: ReadOptions, moment: datetime | None) -> Findings:
    from patterns.explain import explain
    from patterns.settings import Settings
    from pipelines.cli.output.ingest_progress import read_watched, working
    from pipelines.report import Findings

    frame, reading = read_watched(sources, options, moment)
    with working("detecting"):
        return Findings(explain(frame, moment), frame, reading, Settings(), moment)


def _of_store(place: str | None, user: Users, moment: datetime | None) -> Findings:
    from observations.ingest.read_report import ReadingReport
    from patterns.explain import explain
    from pipelines.cli.output.ingest_progress import working
    from pipelines.report import Findings
    from pipelines.store import Store

    with Store(place) as store, working("detecting"):
        note_unknown_user(store, user)
        now = moment or store.clock()
        frame = store.observations(user, as_of=now)
        return Findings(explain(frame, now, store.settings), frame, ReadingReport(), store.settings, now)


def _write(page: str, output: Path) -> None:
    """Write to the file, which appears when complete."""
    if output == Path("-"):
        sys.stdout.write(page)
        return
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
