"""``habitus forget`` and ``archive``: delete observations, or move them to files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from observations.errors import SettingError
from pipelines.cli.options import form_option, note_unknown_user, store_option, users_option
from pipelines.store.users import AllUsers, Users
from pipelines.text.counts import byte_size, plural

if TYPE_CHECKING:
    from pipelines.store.archive import Archived
    from pipelines.store.forgetting import Forgotten
    from pipelines.store.store import Store

_AGE = re.compile(r"(\d+)\s*(d|w|y|days?|weeks?|years?)", re.IGNORECASE)
_DAYS = {"d": 1, "w": 7, "y": 365}


@click.command()
@store_option
@users_option("Forget this user; with another option, only in the records of this user.")
@click.option(
    "--person",
    "people",
    multiple=True,
    metavar="ADDRESS",
    help="Forget this person in the records of others, by address or name. Repeatable.",
)
@click.option("--from", "since", metavar="DATE", help="Forget records from this day on.")
@click.option("--to", "until", metavar="DATE", help="Forget records up to and including this day.")
@click.option("--pattern", metavar="ID", help="Forget this pattern and all observations that support it.")
@click.option("--dry-run", is_flag=True, help="Only show what would be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--allow-again",
    is_flag=True,
    help="Remove --user, --person or everything from the suppression list, so that it can be read again.",
)
@form_option("table", "json")
@click.pass_context
def forget(
    context: click.Context,
    place: str | None,
    user: Users,
    people: tuple[str, ...],
    since: str | None,
    until: str | None,
    pattern: str | None,
    dry_run: bool,
    yes: bool,
    allow_again: bool,
    form: str,
) -> None:
    """Erase a user, a person, a span of time or a pattern from the store, leaving no bytes in its files.

    Patterns are detected again from the remaining observations, and reading the same export again does not restore
    erased data. Try it with --dry-run first. Without options, an interrupted erasure is completed.

    \b
    Example:
      habitus forget --person lena@example.com --person "Lena Berg" --dry-run
      habitus forget --user maya --from 2026-03-01 --to 2026-03-14
    """  # noqa: D301  click wants the control character
    from pipelines.store.store import Store

    # Forgetting a whole user takes an explicit --user: a default or habitus.toml does not count.
    named = context.get_parameter_source("user") is ParameterSource.COMMANDLINE
    with Store(place) as store:
        if allow_again:
            count = store.allow_again(user=user, people=people)
            click.echo(
                f"{plural(count, 'rule')} removed from the suppression list; read the sources again to restore the data"
            )
            return
        if not (people or since or until or pattern) and (isinstance(user, AllUsers) or not named):
            _finish(store)
            return
        note_unknown_user(store, user)
        if not dry_run and not yes and _is_terminal():
            shown = _forget(store, user, people, since, until, pattern, dry_run=True)
            _print_forgotten(shown, "table")
            if not shown:
                return
            click.confirm("Forget this for good?", abort=True)
        _print_forgotten(_forget(store, user, people, since, until, pattern, dry_run=dry_run), form)


@click.command()
@store_option
@click.option(
    "--older-than",
    metavar="AGE",
    default="180d",
    show_default=True,
    help="Minimum age of an observation, such as 180d, 26w or 1y.",
)
@click.option(
    "--to",
    "to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder to write to. [default: a folder beside the store]",
)
def archive(place: str | None, older_than: str, to: Path | None) -> None:
    """Move old observations out of the database into Parquet files, one a month.

    Archived observations still count, and habitus forget erases them as well. The files belong to the store: do not
    move them, and back them up with it.

    \b
    Example:
      habitus archive --older-than 180d
      habitus archive --older-than 1y --to /mnt/slow/habits
    """  # noqa: D301  click wants the control character
    from pipelines.store.store import Store

    age = _age(older_than)
    with Store(place) as store:
        click.echo(_archived(store.archive(age, to)))


def _forget(
    store: Store,
    user: Users,
    people: Sequence[str],
    since: str | None,
    until: str | None,
    pattern: str | None,
    *,
    dry_run: bool,
) -> Forgotten:
    return store.forget(
        user=user,
        people=people,
        since=_day(since, "since"),
        until=_day(until, "until"),
        pattern=pattern,
        dry_run=dry_run,
    )


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _finish(store: Store) -> None:
    """Complete an interrupted erasure.

    Raises:
        SettingError: no erasure was interrupted.
    """
    left = store.finish_forgetting()
    if left is None:
        raise SettingError(
            "nothing to forget; name it with `user`, `people`, `since` and `until`, or `pattern`"
        )
    click.echo("completed an interrupted forgetting")
    _warn_of_remains(left)


def _print_forgotten(done: Forgotten, form: str) -> None:
    import orjson

    from pipelines.cli.output.store_tables import print_forgotten

    if form == "json":
        click.echo(orjson.dumps(asdict(done), option=orjson.OPT_INDENT_2).decode())
    elif not done:
        click.echo("nothing found")
    else:
        print_forgotten(done)
        if done.kind == "pattern":
            click.echo(
                "the observations that support the pattern are forgotten with it",
                err=True,
            )
    _warn_of_remains(done.left)


def _warn_of_remains(left: Sequence[str]) -> None:
    for place in left:
        click.echo(f"warning: erased data may remain in {place}", err=True)


def _archived(done: Archived) -> str:
    before = f"{done.before:%Y-%m-%d}"
    if not done.observations:
        return f"nothing to archive: no observation in the database is older than {before}"
    folders = ", ".join(sorted({str(path.parent) for path in done.files}))
    return (
        f"{plural(done.observations, 'observation')} from before {before} moved to {plural(len(done.files), 'file')} "
        f"in {folders} ({byte_size(done.size)}); {plural(done.left, 'observation')} left in the database"
    )


def _day(text: str | None, argument: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        message = f"`{argument}` takes a day such as 2026-03-01, not {text!r}"
        raise SettingError(message, argument=argument, value=text) from error


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text.strip())
    if found is None:
        message = f"`older_than` takes an age such as 180d, 26w or 1y, not {text!r}"
        raise SettingError(message, argument="older_than", value=text)
    return timedelta(days=int(found[1]) * _DAYS[found[2][0].lower()])
