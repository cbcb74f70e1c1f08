"""``habitus profile`` and ``habitus predict``: a profile for an assistant's prompt, and predictions."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from pipelines.cli.options import (
    as_of_option,
    form_option,
    note_unknown_user,
    store_option,
    user_option,
    users_option,
)
from pipelines.memory.profile import DEFAULT_TOKENS, MOST_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pipelines.memory.predict import Prediction
    from pipelines.memory.profile import Profile
    from pipelines.store.users import Users


@click.command()
@store_option
@user_option("The user whose profile is printed.")
@as_of_option
@click.option(
    "--max-tokens",
    type=click.IntRange(1, MOST_TOKENS),
    default=DEFAULT_TOKENS,
    show_default=True,
    help="Maximum length in tokens of four characters each; never more than 4 KB.",
)
@click.option("--topic", default="", metavar="WORDS", help="Only patterns with one of these words.")
@form_option("markdown", "json")
def profile(
    place: str | None,
    user: str,
    as_of: datetime | None,
    max_tokens: int,
    topic: str,
    form: Literal["markdown", "json"],
) -> None:
    """Print what an assistant should know about a person, as a block for its prompt.

    Confirmed patterns only, the most useful first: remembered, pinned, learned from behavior, then those that only
    restate the calendar. The profile is cached, and changes only when the patterns do.

    \b
    Example:
      habitus profile
      habitus profile --topic "mail meetings" --max-tokens 200
    """  # noqa: D301  click wants the control character
    found = _profile(place, user, as_of).about(topic)
    text = found.json(max_tokens) if form == "json" else found.markdown(max_tokens)
    click.echo(text, nl=False)
    if (fit := found.count_in(text)) < len(found.entries):
        click.echo(f"{fit} of {len(found.entries)} patterns fit in {max_tokens:,} tokens", err=True)


def _profile(place: str | None, user: str, as_of: datetime | None) -> Profile:
    from pipelines.store.fast_profile import read_cached_profile

    if (cached := read_cached_profile(place, user, as_of)) is not None:
        return cached
    from pipelines.store.store import Store

    with Store(place) as store:
        note_unknown_user(store, user)
        return store.profile(user, as_of=as_of)  # at another time than now: not cached


@click.command()
@store_option
@users_option("The user to predict for.")
@as_of_option
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    help="Number of days ahead; with --backtest, number of past days. [default: 7; 28]",
)
@click.option("--backtest", is_flag=True, help="Print how often the predictions of past days came true.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ics"]),
    default="table",
    show_default=True,
    help="Output format; ics for calendar apps.",
)
def predict(
    place: str | None,
    user: Users,
    as_of: datetime | None,
    days: int | None,
    backtest: bool,
    form: Literal["table", "json", "ics"],
) -> None:
    """Print what will probably happen in the coming days.

    Predictions come from confirmed habits that have a time, and from started workflows. Probabilities assume a day on
    which the person is active. --backtest predicts past days from the observations before each.

    \b
    Example:
      habitus predict --days 3
      habitus predict --format ics > expected.ics
      habitus predict --backtest
    """  # noqa: D301  click wants the control character
    from pipelines.cli.output.ingest_progress import working
    from pipelines.memory.backtest import BACKTEST_DAYS
    from pipelines.memory.predict import DEFAULT_DAYS
    from pipelines.store.context import clock_at
    from pipelines.store.store import Store

    if backtest and form == "ics":
        raise click.UsageError("--backtest prints a table or JSON; --format ics is for future days")
    with Store(place, clock=clock_at(as_of)) as store, working("predicting"):
        note_unknown_user(store, user)
        if backtest:
            tested = store.backtest(user, days=days or BACKTEST_DAYS)
        else:
            found = store.predict(user, days=days or DEFAULT_DAYS)
            now = store.clock()
    if backtest:
        _print_backtest(tested, form)
    elif form == "ics":
        from pipelines.memory.predict_ics import to_ics

        sys.stdout.buffer.write(to_ics(found, now))
    elif form == "json":
        import orjson

        from pipelines.memory.predict import rows_of

        click.echo(orjson.dumps(rows_of(found), option=orjson.OPT_INDENT_2).decode())
    else:
        _print_predictions(found)


def _print_predictions(found: Sequence[Prediction]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        click.echo("no predictions: no confirmed habit with a time is due", err=True)
        return
    several = len({prediction.user_id for prediction in found}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("when", no_wrap=True)
    table.add_column("prob.", justify="right", no_wrap=True)
    if several:
        table.add_column("who")
    table.add_column("what", overflow="fold")
    table.add_column("because", overflow="fold", style="dim")
    for one in found:
        when = (
            f"{one.at:%a %Y-%m-%d %H:%M}"
            if one.type == "temporal"
            else f"{one.until:%a %Y-%m-%d} by {one.until:%H:%M}"
        )
        who = [Text(one.user_id)] if several else []
        table.add_row(when, f"{one.probability:.0%}", *who, Text(one.what), Text(one.statement))
    Console().print(table)


def _print_backtest(tested: pl.DataFrame, form: str) -> None:
    if form == "json":
        import orjson

        click.echo(orjson.dumps(tested.to_dicts(), option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("probability", "predictions", "came true", "share", "predicted", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in tested.iter_rows(named=True):
        if row["predictions"]:
            table.add_row(
                f"{row['low']:.1f}–{row['high']:.1f}",
                f"{row['predictions']:,}",
                f"{row['came_true']:,}",
                f"{row['rate']:.2f}",
                f"{row['predicted']:.2f}",
                f"{row['rate_low']:.2f}–{row['rate_high']:.2f}",
            )
    if table.row_count:
        Console().print(table)
    asked = int(tested.get_column("predictions").sum())
    click.echo(f"{asked:,} predictions; days without any observation of the person are left out", err=True)
