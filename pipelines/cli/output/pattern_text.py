"""One pattern with its figures and evidence, for the terminal (``habitus show``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from patterns.inference.confidence import RECENT
from patterns.model import Pattern
from patterns.registry import rule_of
from pipelines.cli.output.pattern_table import COLOURS
from pipelines.pattern_detail import Explained
from pipelines.store.pattern_queries import Shown
from pipelines.text.examples import examples
from pipelines.text.sanitize import plain
from pipelines.text.sparklines import sparkline_text, strip_text

NAMED = 10
"""Maximum number of observations listed as evidence and as counter-examples."""


def print_shown(shown: Shown, console: Console) -> None:
    """Print a pattern: sentence, figures, calendar, evidence, counter-examples and what would change it."""
    pattern, behind = shown.pattern, shown.behind
    console.print(Text(plain(pattern.statement), style="bold"))
    console.print(_standing(pattern))
    for line in _words(pattern):
        console.print(line)
    if behind is None:
        return
    console.print()
    console.print(_figures(shown, behind))
    console.print()
    for line in strip_text(behind.opportunities, until=shown.until.date()):
        console.print(line, no_wrap=True, crop=True)
    weeks = sparkline_text(behind.opportunities, until=shown.until.date())
    console.print(Text("by week ", style="dim").append_text(weeks))
    for heading, lines in (
        (_heading("evidence", behind, kept=True), _named(behind, kept=True)),
        (_heading("counter-examples", behind, kept=False), _named(behind, kept=False)),
        ("what would change it", list(changes_of(shown))),
    ):
        console.print()
        console.print(Text(heading, style="bold"))
        for entry in lines or ["none"]:
            console.print(Text(f"  {entry}"), soft_wrap=True)


def _named(behind: Explained, *, kept: bool) -> list[str]:
    return list(examples(behind.pattern, behind.opportunities, behind.observed, kept=kept, count=NAMED))


def changes_of(shown: Shown) -> Iterator[str]:
    """Possible changes of the pattern, one sentence each."""
    if shown.behind is None or shown.behind.outlook.is_empty():
        return
    pattern, outlook = shown.pattern, shown.behind.outlook.row(0, named=True)
    status = shown.behind.pattern.status  # by the figures alone
    one, _ = rule_of(pattern.type, pattern.rule).unit
    if outlook["next_due"] is not None:
        verb = "was due" if outlook["next_due"] < shown.until else "next due"
        yield f"{verb} by {_day_and_time(outlook['next_due'])}"
    if outlook["if_kept"] != status and status != "expired":
        yield f"one more {one} {_becomes(outlook['if_kept'])}"
    if outlook["if_missed"] != status:
        yield f"one more {one} missed {_becomes(outlook['if_missed'])}"
    if outlook["expires"] is not None:
        yield f"expires on {_day(outlook['expires'], shown.until)} unless seen"
    yield from (f"lacks {lack}" for lack in pattern.lacks)
    if status == "expired":
        yield "if it recurs, counting restarts"
    if pattern.superseded_by:
        yield f"replaced by pattern {pattern.superseded_by}"


def _becomes(status: str) -> str:
    return {"confirmed": "confirms it", "tracking": "demotes it to tracking", "expired": "ends it"}[status]


def _standing(pattern: Pattern) -> Text:
    line = Text(pattern.status, style=COLOURS[pattern.status])
    words = [pattern.type, pattern.source, f"of {plain(pattern.user_id)}", f"id {pattern.id}"]
    return line.append(" · " + " · ".join(words), style="dim")


def _words(pattern: Pattern) -> Iterator[Text]:
    if pattern.source == "explicit":
        counted = "nothing observed to count it by"
        if pattern.opportunities:
            counted = f"the rule was kept {pattern.support} of {pattern.opportunities} times"
        text = f"stated by the person on {pattern.first_seen:%Y-%m-%d}; confidence {pattern.confidence:.2f}; {counted}"
        if pattern.expired_at is not None:
            text += f"; until {pattern.expired_at:%Y-%m-%d %H:%M}"
        yield Text(text)
    if pattern.words:
        yield Text(f"the person's word: {', '.join(pattern.words)}")
    for doubt in pattern.doubts:
        yield Text(f"doubtful: {plain(doubt)}", style="yellow")


def _figures(shown: Shown, behind: Explained) -> Table:
    """The figures of the pattern, each with its derivation."""
    pattern, settings, outlook = shown.pattern, shown.settings, behind.outlook.row(0, named=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    parts = pattern.components
    weighted = {
        "count": (
            parts.count,
            settings.weight_count,
            f"occasions / {settings.confirmation_count}, at most 1",
        ),
        "recency": (
            parts.recency,
            settings.weight_recency,
            f"mean of {settings.decay_rate:g}^days over the last {RECENT} occasions, in days before the last one",
        ),
        "consistency": (
            parts.consistency,
            settings.weight_consistency,
            f"{pattern.support} / {pattern.opportunities}",
        ),
        "span": (
            parts.span,
            settings.weight_span,
            f"{(pattern.last_seen - pattern.first_seen).days} days / {settings.span_days_target:g}, at most 1",
        ),
    }
    whole = sum(value * weight for value, weight, _ in weighted.values())
    decay = pattern.confidence / whole if whole else 0.0
    terms = " + ".join(f"{weight:g} × {value:.2f}" for value, weight, _ in weighted.values())
    table.add_row("confidence", f"{pattern.confidence:.2f}", f"({terms}) × {decay:.2f}")
    for name, (value, weight, origin) in weighted.items():
        table.add_row(f"  {name}", f"{value:.2f}", f"× {weight:g}: {origin}")
    table.add_row("  decay", f"{decay:.2f}", f"{settings.decay_rate:g} for each day past due")
    kept = f"{pattern.support} of {pattern.opportunities}"
    low, high = pattern.rate_interval
    table.add_row(
        "kept", kept, f"will be kept at a rate between {low:.0%} and {high:.0%} next time (95 % interval)"
    )
    table.add_row("chance", f"{pattern.p_value:.1e}", _chance(pattern, outlook))
    table.add_row(
        "missed",
        f"{pattern.contradictions}",
        f"unforgiven; {settings.contradiction_limit} demote a confirmed one",
    )
    seen = f"first {pattern.first_seen:%Y-%m-%d}, last {pattern.last_seen:%Y-%m-%d %H:%M}"
    table.add_row("seen", f"{(pattern.last_seen - pattern.first_seen).days} days", seen)
    for name, moment in (("confirmed", pattern.confirmed_at), ("expired", pattern.expired_at)):
        if moment is not None:
            table.add_row(name, f"{moment:%Y-%m-%d}", f"at {moment:%H:%M}")
    return table


def _chance(pattern: Pattern, outlook: Mapping[str, Any]) -> str:
    enough = "not more than" if pattern.p_value <= outlook["allowed"] else "more than"
    return (
        f"probability of such support by chance, {enough} the {outlook['allowed']:.1e} allowed "
        f"(chance keeps {outlook['null_rate']:.0%} of its opportunities)"
    )


def _heading(name: str, behind: Explained, *, kept: bool) -> str:
    count = behind.opportunities.filter(pl.col("kept") == kept).height
    return f"{name} ({f'the last {NAMED} of ' if count > NAMED else ''}{count:,})"


def _day(moment: datetime, now: datetime) -> str:
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{moment.day} {moment:%B}{year}"


def _day_and_time(moment: datetime) -> str:
    return f"{moment:%A} {moment.day} {moment:%B %Y}, {moment:%H:%M}"
