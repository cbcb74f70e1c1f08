"""``habitus patterns``, ``show`` and ``history``: the patterns in the store, their evidence and their history."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from observations.errors import SettingError
from pipelines.cli.options import (
    as_of_option,
    form_option,
    listing_options,
    note_unknown_user,
    store_option,
    user_option,
    users_option,
)
from pipelines.store.users import AllUsers, Users

if TYPE_CHECKING:
    import polars as pl

    from pipelines.cli.output.pattern_listing import Format
    from pipelines.detection import Detection
    from pipelines.store.pattern_queries import Shown
    from pipelines.store.store import Store


@click.command()
@store_option
@users_option("The user whose patterns are printed.")
@as_of_option
@listing_options
def patterns(
    place: str | None,
    user: Users,
    as_of: datetime | None,
    status: str,
    types: tuple[str, ...],
    form: Format,
) -> None:
    """Print what people habitually do, from the store.

    The patterns that habitus detect finds in the stored observations, and those that the person added. With --as-of,
    later observations are ignored.

    \b
    Example:
      habitus patterns
      habitus patterns --status tracking --as-of 2026-03-01
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.ingest_progress import working
    from pipelines.cli.output.pattern_listing import counted, print_listing
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store, working("evaluating"):
        note_unknown_user(store, user)
        detection = store.patterns(user)
        check_anything_there(store, user, detection, as_of)
    print_listing(detection, status, types, form, with_ids=True)
    click.echo(counted(detection), err=True)


@click.command()
@click.argument("id")
@store_option
@user_option("The user of the pattern.")
@as_of_option
@form_option("text", "json")
def show(
    id: str, place: str | None, user: str, as_of: datetime | None, form: Literal["text", "json"]
) -> None:
    """Print one pattern with its figures and evidence.

    Its statement, every figure and its derivation, a calendar, the evidence for and against it, and what would
    change it. ID may be the beginning of an id that habitus patterns prints, if only one pattern begins with it.

    \b
    Example:
      habitus show 3f9a1c
      habitus show 3f9a1c --as-of 2026-03-01 --format json
    """  # noqa: D301  click wants the control character
    from rich.console import Console

    from pipelines.cli.output.ingest_progress import working
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store, working("evaluating"):
        shown = store.show(id, user)
    if form == "json":
        click.echo(_as_json(shown))
        return
    from pipelines.cli.output.pattern_text import print_shown

    print_shown(shown, Console())


@click.command()
@click.argument("id")
@store_option
@user_option("The user of the pattern.")
@as_of_option
@form_option("table", "ndjson")
def history(
    id: str, place: str | None, user: str, as_of: datetime | None, form: Literal["table", "ndjson"]
) -> None:
    """Print the history of one pattern: each change of status, when and why.

    Feedback on it (confirmed, dismissed, pinned) is listed as well. ID may be the beginning of an id.

    \b
    Example:
      habitus history 3f9a1c
      habitus history 3f9a1c --format ndjson
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.ingest_progress import working
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store, working("evaluating"):
        journal = store.history(id, user)
    if form == "ndjson":
        import orjson

        for row in journal.drop("local").iter_rows(named=True):
            click.echo(orjson.dumps(row).decode())
    else:
        _print_journal(journal)


def check_anything_there(store: Store, user: Users, detection: Detection, as_of: datetime | None) -> None:
    """Raise if the user has observations, but none up to `as_of`.

    Raises:
        SettingError: all observations are later.
    """
    if detection.observations or detection.frame.height:
        return
    known = store.people()
    if as_of is not None and known and (isinstance(user, AllUsers) or user in known):
        raise SettingError(
            f"there is no observation up to `as_of` {as_of:%Y-%m-%d %H:%M %Z}; choose a later time",
            argument="as_of",
            value=as_of,
        )


def _as_json(shown: Shown) -> str:
    import orjson

    from pipelines.cli.output.pattern_text import changes_of

    record: dict[str, object] = {"pattern": shown.pattern.model_dump(mode="json")}
    if shown.behind is not None:
        for name in ("opportunities", "journal"):
            frame: pl.DataFrame = getattr(shown.behind, name)
            record[name] = frame.drop("pattern_id", "user_id").to_dicts()
        record["outlook"] = shown.behind.outlook.drop("pattern_id", "user_id").row(0, named=True)
        record["would_change"] = list(changes_of(shown))
    return orjson.dumps(record, option=orjson.OPT_INDENT_2).decode()


def _print_journal(journal: pl.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pipelines.cli.output.pattern_table import COLOURS
    from pipelines.text.sanitize import plain

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("when", "from", "to"):
        table.add_column(name, no_wrap=True)
    for name in ("conf.", "kept"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for row in journal.iter_rows(named=True):
        table.add_row(
            f"{row['local']:%Y-%m-%d %H:%M}",
            row["before"] or "–",
            Text(row["after"], style=COLOURS.get(row["after"], "")),
            f"{row['confidence']:.2f}",
            f"{row['support']}/{row['opportunities']}",
            Text(plain(row["reason"])),
        )
    Console().print(table)
