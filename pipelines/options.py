"""The options that every command which reads sources has, in one decorator."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import tzlocal

from observations.civil import to_instant, zone
from observations.errors import SettingError
from observations.ingest.base import ReadOptions
from observations.ingest.timestamps import parse_timestamp

Command = Callable[..., None]


def reading_options(command: Command) -> Command:
    """Give a command the arguments ``sources`` (tuple of names) and ``options`` (`ReadOptions`)."""

    @functools.wraps(command)
    def with_options(
        *,
        user: str,
        tz: str | None,
        me: tuple[str, ...],
        user_field: str | None,
        map_: tuple[str, ...],
        since: str | None,
        until: str | None,
        day_first: bool | None,
        allow_future: bool,
        **others: Any,
    ) -> None:
        name = tz if tz is not None else _machine_zone()
        zone(name)
        options = ReadOptions(
            until=instant_option(until, "--until", name) if until else datetime.now(UTC),
            user=user,
            tz=name,
            since=instant_option(since, "--since", name) if since else None,
            me=tuple(address.strip().lower() for address in me),
            user_field=user_field,
            mapping=parse_mapping(map_),
            day_first=day_first,
            allow_future=allow_future,
        )
        command(options=options, **others)

    decorated: Command = with_options
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.argument("sources", nargs=-1, required=True, metavar="SOURCE…"),
    click.option(
        "--user", default="me", show_default=True, help="Whose records they are, where they do not say."
    ),
    click.option(
        "--tz",
        metavar="ZONE",
        help="Zone of times that come without one, like Europe/Berlin. [default: this machine's]",
    ),
    click.option(
        "--me",
        multiple=True,
        metavar="ADDRESS",
        help="An address of the person; tells sent mail from received. Repeatable.",
    ),
    click.option("--user-field", metavar="FEATURE", help="The feature that names the user, such as from."),
    click.option(
        "--map",
        "map_",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Foreign column names: timestamp=Start,category=Label. Repeatable; A+B joins two columns.",
    ),
    click.option("--since", metavar="TIME", help="Leave out what is earlier."),
    click.option("--until", metavar="TIME", help="Leave out what is later. [default: now]"),
    click.option(
        "--day-first/--month-first",
        "day_first",
        default=None,
        help="How 03/04/2026 is read where nothing proves it.",
    ),
    click.option("--allow-future", is_flag=True, help="Keep what is later than --until."),
)


def parse_mapping(texts: Sequence[str]) -> dict[str, str]:
    """Field → column, from ``field=Column`` texts, each of which may hold several with commas between.

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
            raise SettingError(f"--map takes FIELD=COLUMN, such as timestamp=Start, not {text!r}")
    return mapping


def instant_option(text: str, option: str, tz: str) -> datetime:
    """The moment that an option names: a time, or the beginning of a day; in `tz` where it has no offset.

    Raises:
        SettingError: it is neither.
    """
    moment = parse_timestamp(text)
    if moment.problem is not None:
        raise SettingError(
            f"{option} takes a date or time such as 2026-03-01 or 2026-03-01T09:00, not {text!r}"
        )
    if moment.at is not None:
        return moment.at
    assert moment.wall is not None, "an instant or a wall clock"
    return to_instant(moment.wall, tz)


def _machine_zone() -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            name = tzlocal.get_localzone_name()
        zone(name)
    except Exception:
        click.echo(
            "warning: the zone of this machine is not known; times are read as UTC (--tz ZONE sets it)",
            err=True,
        )
        return "UTC"
    return name
