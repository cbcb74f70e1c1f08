"""``habitus remember``, ``confirm``, ``dismiss`` and ``pin``: record feedback of the user."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import click

from pipelines.cli.options import as_of_option, instant_in_zone, store_option, user_option
from pipelines.cli.pattern_type import PATTERN_TYPE, TYPE_NAMES

if TYPE_CHECKING:
    from patterns.model import Pattern

undo_option = click.option("--undo", is_flag=True, help="Undo the feedback.")


def about_pattern(command: Callable[..., None]) -> click.Command:
    """Turn a function into a command that records feedback on a pattern, or undoes it."""
    for decorate in (
        undo_option,
        as_of_option,
        user_option("Whose pattern."),
        store_option,
        click.argument("id"),
    ):
        command = decorate(command)
    return click.command()(command)


@click.command()
@click.argument("text")
@click.option(
    "--type",
    "type",
    type=PATTERN_TYPE,
    default="preference",
    show_default=True,
    help=f"The type of the pattern: {TYPE_NAMES}.",
)
@click.option("--rule", metavar="JSON", help="The rule as JSON, to compare with behavior.")
@click.option("--until", metavar="TIME", help="When it expires. [default: never]")
@store_option
@user_option("The user who states it.")
@as_of_option
@undo_option
def remember(
    text: str,
    type: str,
    rule: str | None,
    until: str | None,
    place: str | None,
    user: str,
    as_of: datetime | None,
    undo: bool,
) -> None:
    """Add a pattern in your own words.

    It is confirmed with confidence 1, has the source explicit and comes first in the profile. Behavior never overrides
    it; if behavior contradicts it, habitus patterns and show mark it as doubtful and print the reason.

    \b
    Example:
      habitus remember "prefers tea"
      habitus remember "no meetings before 10:00" --type avoidance --until 2026-12-31
    """  # noqa: D301  click wants the control character
    from patterns.registry import rule_of
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    end = instant_in_zone(until, "until") if until is not None else None
    checked = rule_of(type, rule).to_json() if rule is not None else None
    with Store(place, clock=clock_at(as_of)) as store:
        pattern = store.remember(text, type, user=user, rule=checked, until=end, undo=undo)
    _print_feedback(pattern, "no longer remembered" if undo else "remembered")


@about_pattern
def confirm(id: str, place: str | None, user: str, as_of: datetime | None, undo: bool) -> None:
    """Confirm a pattern, whatever its count, until the habit ends.

    ID may be the beginning of an id that habitus patterns prints, if only one pattern begins with it.

    \b
    Example:
      habitus confirm 3f9a1c
      habitus confirm 3f9a1c --undo
    """  # noqa: D301  click wants the control character
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store:
        pattern = store.confirm(id, user, undo=undo)
    _print_feedback(pattern, "no longer confirmed by you" if undo else "confirmed")


@about_pattern
def dismiss(id: str, place: str | None, user: str, as_of: datetime | None, undo: bool) -> None:
    """Dismiss a pattern: it is not shown again on the same evidence.

    It returns only if new observations alone would confirm it. ID may be the beginning of an id.

    \b
    Example:
      habitus dismiss 3f9a1c
      habitus dismiss 3f9a1c --undo
    """  # noqa: D301  click wants the control character
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store:
        pattern = store.dismiss(id, user, undo=undo)
    _print_feedback(pattern, "no longer dismissed" if undo else "dismissed")


@about_pattern
def pin(id: str, place: str | None, user: str, as_of: datetime | None, undo: bool) -> None:
    """Put a pattern first in the profile.

    ID may be the beginning of an id that habitus patterns prints, if only one pattern begins with it.

    \b
    Example:
      habitus pin 3f9a1c
      habitus pin 3f9a1c --undo
    """  # noqa: D301  click wants the control character
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    with Store(place, clock=clock_at(as_of)) as store:
        pattern = store.pin(id, user, undo=undo)
    _print_feedback(pattern, "no longer pinned" if undo else "pinned")


def _print_feedback(pattern: Pattern, what: str) -> None:
    from pipelines.text.sanitize import plain

    click.echo(f"{pattern.id}  {plain(pattern.statement)}: {what}")
    for doubt in pattern.doubts:
        click.echo(f"doubtful: {plain(doubt)}", err=True)
