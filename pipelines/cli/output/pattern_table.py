"""Patterns as a table for the terminal, the sentence first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from patterns.model import Pattern
from pipelines.text.sanitize import plain

COLOURS = {"confirmed": "green", "tracking": "yellow", "expired": "dim"}


def print_table(patterns: Sequence[Pattern], console: Console, *, with_ids: bool = False) -> None:
    """Print a table for each person; below a tracked pattern stands what it lacks.

    Args:
        patterns: the patterns, sorted by person.
        console: the console to print to.
        with_ids: begin each row with a unique prefix of the id.
    """
    length = _unique_prefix_length([p.id for p in patterns]) if with_ids else 0
    people = list(dict.fromkeys(p.user_id for p in patterns))
    states = {p.status for p in patterns}
    for person in people:
        if len(people) > 1:
            console.print(Text(person, style="bold"))
        table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
        if with_ids:
            table.add_column("id", no_wrap=True, style="dim")
        table.add_column("pattern", overflow="fold", ratio=1)
        table.add_column("type")
        if len(states) > 1:
            table.add_column("status")
        for name in ("conf.", "kept"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("last seen", no_wrap=True)
        for pattern in patterns:
            if pattern.user_id == person:
                first = [Text(pattern.id[:length])] if with_ids else []
                table.add_row(*first, *_cells(pattern, with_status=len(states) > 1))
        console.print(table)
        if person != people[-1]:
            console.print()


def _unique_prefix_length(ids: Sequence[str]) -> int:
    """The number of characters that make a prefix of each id unique, at least six."""
    return next((n for n in range(6, 16) if len({id[:n] for id in ids}) == len(ids)), 16)


def _cells(pattern: Pattern, *, with_status: bool) -> Iterator[Text]:
    sentence = Text(plain(pattern.statement))
    if pattern.source == "declared":
        sentence.append(" (in the calendar)", style="dim")
    if notes := [*(["stated"] if pattern.source == "explicit" else []), *pattern.words]:
        sentence.append(f" ({', '.join(notes)})", style="dim")
    for doubt in pattern.doubts:
        sentence.append(f"\n  doubtful: {doubt}", style="yellow")
    if pattern.lacks:
        sentence.append("\n  lacks: " + "; ".join(pattern.lacks), style="dim")
    yield sentence
    yield Text(pattern.type)
    if with_status:
        yield Text(pattern.status, style=COLOURS[pattern.status])
    yield Text(f"{pattern.confidence:.2f}")
    yield Text(f"{pattern.support}/{pattern.opportunities}" if pattern.opportunities else "–")
    yield Text(f"{pattern.last_seen:%Y-%m-%d}")
