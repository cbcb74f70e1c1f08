"""Options shared by several commands, one decorator for each group."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from observations.errors import SettingError
from patterns.vocabulary import STATUSES
from pipelines.cli.pattern_type import PATTERN_TYPE, TYPE_NAMES
from pipelines.store.users import ALL_USERS, DEFAULT_USER, AllUsers

if TYPE_CHECKING:
    from observations.ingest.toolkit.reader import ReadOptions
    from pipelines.store.store import Store

Command = Callable[..., None]


def reading_options(command: Command) -> Command:
    """Give a command the arguments ``sources`` (tuple of names) and ``options`` (`ReadOptions`)."""
    decorated: Command = click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")(
        record_options(command)
    )
    return decorated


def store_option(command: Command) -> Command:
    """Give a command the argument ``place``: the address of the store, or `None` for the user's data folder."""
    decorate = click.option(
        "--db",
        "place",
        metavar="PLACE",
        envvar="HABITUS_DB",
        help="The store: a file, or postgresql+psycopg://… [default: in the user's data folder]",
    )
    decorated: Command = decorate(command)
    return decorated


def user_option(text: str) -> Callable[[Command], Command]:
    """Give a command the argument ``user``: the user it acts for."""
    return click.option("--user", metavar="NAME", default=DEFAULT_USER, show_default=True, help=text)


def users_option(text: str) -> Callable[[Command], Command]:
    """Give a command the argument ``user``: the user it acts for, or `ALL_USERS` with ``--all-users``."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_users(*, user: str, all_users: bool, **others: Any) -> None:
            command(user=ALL_USERS if all_users else user, **others)

        option = click.option("--all-users", is_flag=True, help="Act for all users in the store.")
        decorated: Command = user_option(text)(option(with_users))
        return decorated

    return decorate


def note_unknown_user(store: Store, user: str | AllUsers) -> None:
    """Print a note if the store is empty or has no user of that name. Names of other users are never printed."""
    names = store.people()
    if not names:
        click.echo(
            f"{store.database.place}: is empty; fill it with habitus observe or habitus sync", err=True
        )
    elif not isinstance(user, AllUsers) and user not in names:
        click.echo(f"no observations of user {user!r}; name another with --user", err=True)


def form_option(*forms: str) -> Callable[[Command], Command]:
    """Give a command the argument ``form``, one of these; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Output format.",
    )


def as_of_option(command: Command) -> Command:
    """Give a command the argument ``as_of`` (aware, or `None` for now), parsed from text.

    A time without an offset is read in the zone of the command's ``options``, else in this machine's.
    """

    @functools.wraps(command)
    def with_moment(*, as_of: str | None, **others: Any) -> None:
        options: ReadOptions | None = others.get("options")
        if as_of is None:
            moment = None
        elif options is not None:
            moment = instant_option(as_of, "as_of", options.tz)
        else:
            moment = instant_in_zone(as_of, "as_of")
        command(as_of=moment, **others)

    decorate = click.option(
        "--as-of", metavar="TIME", help="Evaluate at this time, without later observations. [default: now]"
    )
    decorated: Command = decorate(with_moment)
    return decorated


def record_options(command: Command) -> Command:
    """Give a command the argument ``options`` (`ReadOptions`): how records are read."""

    @functools.wraps(command)
    def with_options(
        *,
        user: str,
        tz: str | None,
        me: tuple[str, ...],
        user_field: str | None,
        mapping: tuple[str, ...],
        since: str | None,
        until: str | None,
        day_first: bool | None,
        allow_future: bool,
        **others: Any,
    ) -> None:
        from observations.civil_time import zone
        from observations.ingest.toolkit.reader import ReadOptions

        name = tz if tz is not None else _machine_zone()
        zone(name)
        for argument, values in (("user", [user]), ("user_field", [user_field]), ("me", me)):
            if any(value is not None and not value.strip() for value in values):
                raise SettingError(f"`{argument}` is empty; give a value or leave it out", argument=argument)
        options = ReadOptions(
            until=instant_option(until, "until", name) if until is not None else datetime.now(UTC),
            user=user,
            tz=name,
            since=instant_option(since, "since", name) if since is not None else None,
            me=tuple(address.strip().lower() for address in me),
            user_field=user_field,
            mapping=parse_mapping(mapping),
            day_first=day_first,
            allow_future=allow_future,
        )
        _check_window(options)
        command(options=options, **others)

    decorated: Command = with_options
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--user", default="me", show_default=True, help="The user of records that name none."),
    click.option(
        "--tz",
        metavar="ZONE",
        help="Time zone of times without one, such as Europe/Berlin. [default: that of this machine]",
    ),
    click.option(
        "--me",
        multiple=True,
        metavar="ADDRESS",
        help="An email address of the user, to distinguish sent from received mail. Repeatable.",
    ),
    click.option("--user-field", metavar="FEATURE", help="The feature that names the user, such as from."),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Column names of the source, such as timestamp=Start,category=Label. Repeatable; A+B joins two columns.",
    ),
    click.option("--since", metavar="TIME", help="Leave out earlier records."),
    click.option("--until", metavar="TIME", help="Leave out later records. [default: now]"),
    click.option(
        "--day-first/--month-first",
        "day_first",
        default=None,
        help="Order of day and month in dates such as 03/04/2026, if the data do not show it.",
    ),
    click.option("--allow-future", is_flag=True, help="Keep records later than --until."),
)


def _check_window(options: ReadOptions) -> None:
    """Check that ``--since`` is not later than ``--until``.

    Raises:
        SettingError: it is later.
    """
    if options.since is not None and options.since > options.until and not options.allow_future:
        since, until = (f"{moment:%Y-%m-%d %H:%M} UTC" for moment in (options.since, options.until))
        raise SettingError(
            f"`since` {since} is later than `until` {until}; nothing lies between them",
            argument="since",
            value=options.since,
        )


def parse_mapping(texts: Sequence[str]) -> dict[str, str]:
    """A mapping of field to column, from ``field=Column`` texts, each with one or more pairs separated by commas.

    >>> parse_mapping(["timestamp=Start,category=Label, or so", "title=Name"])
    {'timestamp': 'Start', 'category': 'Label, or so', 'title': 'Name'}
    """
    mapping: dict[str, str] = {}
    for text in texts:
        name = ""
        for part in text.split(","):
            left, equals, right = part.partition("=")
            if equals:
                name = left.strip().removeprefix("features.")
                mapping[name] = right.strip()
            elif name:  # a comma within the column's name
                mapping[name] += f",{part}"
        if not name or not all(mapping.values()):
            message = f"`mapping` takes FIELD=COLUMN, such as timestamp=Start, not {text!r}"
            raise SettingError(message, argument="mapping", value=text)
    return mapping


def instant_option(text: str, argument: str, tz: str) -> datetime:
    """The moment that an option names: a time, or the beginning of a day; in `tz` where it has no offset.

    Raises:
        SettingError: the text is neither.
    """
    from observations.civil_time import to_instant
    from observations.ingest.tabular.timestamp_formats import parse_timestamp

    moment = parse_timestamp(text)
    if moment.problem is not None:
        raise SettingError(
            f"`{argument}` takes a date or time such as 2026-03-01 or 2026-03-01T09:00, not {text!r}",
            argument=argument,
            value=text,
        )
    if moment.at is not None:
        return moment.at
    assert moment.wall is not None, "an instant or a wall clock"
    return to_instant(moment.wall, tz)


def instant_in_zone(text: str, argument: str) -> datetime:
    """The moment that an option names, in this machine's zone where it has no offset (`instant_option`)."""
    return instant_option(text, argument, _machine_zone())


def listing_options(command: Command) -> Command:
    """Give a command the arguments ``status``, ``types`` and ``form``: which patterns to print, and how."""
    decorated: Command = command
    for decorate in reversed(_LISTING_OPTIONS):
        decorated = decorate(decorated)
    return decorated


_LISTING_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option(
        "--status",
        type=click.Choice([*STATUSES, "all"]),
        default="confirmed",
        show_default=True,
        help="Which patterns to print; for tracking ones, what they lack is printed too.",
    ),
    click.option(
        "--type",
        "types",
        type=PATTERN_TYPE,
        multiple=True,
        help=f"Only patterns of this type: {TYPE_NAMES}. Repeatable.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "ndjson", "markdown"]),
        default="table",
        show_default=True,
        help="Output format.",
    ),
)


def _machine_zone() -> str:
    import tzlocal

    from observations.civil_time import zone

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            name = tzlocal.get_localzone_name()
        zone(name)
    except Exception:
        click.echo(
            "warning: the time zone of this machine is unknown; times are read as UTC (--tz ZONE sets it)",
            err=True,
        )
        return "UTC"
    return name
