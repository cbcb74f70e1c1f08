"""``habitus observe`` and ``habitus sync``: read observations into the store, from a stream or from files."""

from __future__ import annotations

import gc
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from observations.errors import SettingError
from pipelines.cli.config_path import FILE_NAME
from pipelines.cli.options import as_of_option, record_options, store_option
from pipelines.cli.output.option_names import in_options
from pipelines.text.counts import plural

if TYPE_CHECKING:
    from observations.ingest.toolkit.note import Note
    from observations.ingest.toolkit.reader import ReadOptions
    from pipelines.store.status_change import Change
    from pipelines.streaming.stream import Streamed
    from pipelines.streaming.sync import Synced


@click.command()
@store_option
@record_options
@as_of_option
@click.option(
    "--follow",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Read this file instead of standard input, and wait for new lines.",
)
def observe(place: str | None, options: ReadOptions, as_of: datetime | None, follow: Path | None) -> None:
    """Read observations from standard input into the store, and print each status change.

    One observation a line, as habitus ingest writes them. Each status change of a pattern is one line of JSON on
    standard output, printed after the observations are stored. Observations that are stored already are skipped,
    so the same input can be sent again.

    \b
    Example:
      habitus ingest calendar.ics Mail/ | habitus observe
      habitus observe --follow /var/log/events.ndjson
    """  # noqa: D301  click wants the control character
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store
    from pipelines.streaming.line_sources import Pipe, Tail, label_of
    from pipelines.streaming.stream import Stream
    from pipelines.streaming.worker import Evaluator

    if click.get_current_context().params["until"] is None:
        options = replace(options, allow_future=True)  # a future observation counts as soon as its time comes
    with Store(place, clock=clock_at(as_of)) as store:
        if as_of is None:
            warn_of_the_clock(store.newest(), store.clock())
        source = (
            Pipe(sys.stdin.fileno())
            if follow is None
            else Tail(follow.absolute(), store.position(label_of(follow)))
        )
        evaluator = Evaluator(store.database.address, store.settings, as_of)
        notes = _Notes()
        stream = Stream(store, source, options, evaluator, _print_changes, notes.show)
        stream.warm_up()
        gc.freeze()  # modules stay loaded; collecting them would delay a status change
        result = stream.run()
    notes.show_rest()
    click.echo(_summary(result), err=True)
    if result.stopped is signal.SIGINT:
        raise SystemExit(130)


@click.command()
@store_option
@record_options
@as_of_option
def sync(place: str | None, options: ReadOptions, as_of: datetime | None) -> None:
    """Read the sources of habitus.toml into the store, and print what changed.

    Sources are files, folders and archives, as for habitus detect; relative names start at the folder of
    habitus.toml. Unchanged sources are not read again. Safe to run from cron: while one sync of a store is
    running, another one does nothing.

    \b
    Example:
      habitus sync
      habitus sync --db ~/habits.db
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.ingest_progress import reading_progress
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store
    from pipelines.streaming.sync import sync_sources

    names = _sources()
    with Store(place, clock=clock_at(as_of)) as store:
        if as_of is None:
            warn_of_the_clock(store.newest(), store.clock())
        with reading_progress() as progress:
            synced = sync_sources(store, names, options, progress.add)
    if synced is None:
        click.echo(f"{store.database.place}: another sync is running; nothing to do", err=True)
        return
    _print_synced(synced)


def _sources() -> list[str]:
    from pipelines.cli.config import find_settings

    names = find_settings().sources
    if not names:
        raise SettingError(
            f'no sources to sync; add sources = ["calendar.ics", "Mail/"] to {FILE_NAME}, here or in a folder above'
        )
    return names


def _print_changes(changes: Sequence[Change]) -> None:
    sys.stdout.write("".join(f"{change.to_json()}\n" for change in changes))
    sys.stdout.flush()


class _Notes:
    """Prints the first notes of each kind, and counts the rest."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._hidden = 0

    def show(self, note: Note) -> None:
        """Print the note on standard error, unless the limit of its kind is reached."""
        from pipelines.cli.output.ingest_progress import LINES_A_SOURCE

        self._counts[note.level, note.reason] += 1
        if self._counts[note.level, note.reason] <= LINES_A_SOURCE:
            click.echo(in_options(str(note)), err=True)
        else:
            self._hidden += note.count

    def show_rest(self) -> None:
        """Print the number of notes that were not shown."""
        if self._hidden:
            click.echo(f"… and {self._hidden:,} more of these", err=True)


def _summary(result: Streamed) -> str:
    parts = [
        plural(result.read, "observation"),
        f"{result.new:,} new",
        plural(result.rejects, "reject"),
        plural(result.changes, "status change"),
    ]
    text = ", ".join(parts)
    if result.forgotten:
        text += f"; {_skipped_as_forgotten(result.forgotten)}"
    if result.stopped is not None:
        text += f"; stopped by {result.stopped.name} after line {result.last_line:,}; everything up to it is stored"
    return text


def _skipped_as_forgotten(count: int) -> str:
    return f"{plural(count, 'observation')} skipped as forgotten (habitus forget --allow-again lifts this)"


def warn_of_the_clock(newest: datetime | None, now: datetime) -> None:
    """Print a warning if the newest observation is in the future, because the clock is or was wrong."""
    if newest is not None and newest > now:
        click.echo(
            f"warning: the newest observation in the store ({newest:%Y-%m-%d %H:%M} UTC) is later than now "
            f"({now:%Y-%m-%d %H:%M} UTC); check the clock. Future observations are stored, and count once their time has come",
            err=True,
        )


def _print_synced(synced: Synced) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pipelines.cli.output.ingest_progress import report_notes
    from pipelines.cli.output.source_table import WIDTH_OF_NO_TERMINAL

    report_notes(synced.report)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "read", "new", "rejects"):
        table.add_column(name, justify="left" if name == "source" else "right", overflow="fold")
    for source in synced.sources:
        read = "unchanged" if source.unchanged else "failed" if source.problem else f"{source.read:,}"
        table.add_row(Text(source.name), read, f"{source.new:,}", f"{source.rejects:,}")
    screen = Console()
    if not screen.is_terminal:
        screen.width = WIDTH_OF_NO_TERMINAL
    screen.print(table)
    shown = [change for change in synced.changes if "confirmed" in (change.before, change.after)]
    for change in shown:
        arrow = f"{change.before or 'new'} → {change.after or 'gone'}"
        click.echo(f"{change.user_id}: {change.statement}: {arrow} ({change.reason})")
    if rest := len(synced.changes) - len(shown):
        click.echo(f"{plural(rest, 'other status change')} of patterns that are not confirmed", err=True)
    if forgotten := sum(source.forgotten for source in synced.sources):
        click.echo(_skipped_as_forgotten(forgotten), err=True)
    problems = [source.problem for source in synced.sources if source.problem]
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    if problems:
        raise SystemExit(1)
