"""Tables of what is stored and what was forgotten, for the terminal."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.cli.output.source_table import WIDTH_OF_NO_TERMINAL
from pipelines.store.audit import Audit
from pipelines.store.forgetting import Forgotten
from pipelines.text.counts import byte_size, plural

_NUMBERS = ("count", "size", "gone", "changed", "would go", "would change")


def print_forgotten(done: Forgotten) -> None:
    """Print how many records were deleted or changed, or would be, by place."""
    table = _table("where", *(("would go", "would change") if done.only_shown else ("gone", "changed")))
    for count in done.counts:
        _add(table, count.place, f"{count.gone:,}", f"{count.altered:,}")
    _show(table)


def print_audit(found: Audit) -> None:
    """Print what is stored by user and place, and what was forgotten."""
    table = _table("user", "type", "action", "count", "from", "to", "where", "kept")
    for one in found.observations:
        span = (f"{one.first:%Y-%m-%d}", f"{one.last:%Y-%m-%d}")
        _add(table, one.user, one.type, one.action, f"{one.count:,}", *span, one.where, one.retention)
    _show(table)
    table = _table("user", "what", "count", "size", "kept")
    for derived in found.derived:
        table.add_row(
            derived.user, derived.what, f"{derived.count:,}", byte_size(derived.size), derived.retention
        )
    _show(table)
    table = _table("place", "size", "holds")
    for place in found.places:
        _add(table, place.place, "unknown" if place.size is None else byte_size(place.size), place.holds)
    _show(table)
    if found.forgotten:
        table = _table("forgotten", "kind", "gone", "changed")
        for done in found.forgotten:
            gone, changed = (sum(pair[side] for pair in done.counts.values()) for side in (0, 1))
            _add(table, f"{done.at:%Y-%m-%d %H:%M} UTC", done.kind, f"{gone:,}", f"{changed:,}")
        _show(table)
    if found.kept_out:
        kinds = ", ".join(plural(count, kind) for kind, count in found.kept_out.items())
        click.echo(f"on the suppression list: {kinds}")


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        numeric = name in _NUMBERS
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))  # stored text is not markup


def _show(table: Table) -> None:
    screen = Console()
    if not screen.is_terminal:
        screen.width = WIDTH_OF_NO_TERMINAL
    screen.print(table)
    screen.print()
