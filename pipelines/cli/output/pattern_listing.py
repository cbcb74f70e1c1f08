"""Lists of patterns, for ``detect`` and ``patterns``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import click
import polars as pl
from rich.console import Console

from patterns.vocabulary import STATUSES
from pipelines.cli.output.pattern_table import print_table
from pipelines.detection import Detection
from pipelines.text.counts import people_counted, plural
from pipelines.text.markdown import to_markdown

Format = Literal["table", "json", "ndjson", "markdown"]


def print_listing(
    detection: Detection, status: str, types: Sequence[str], form: Format, *, with_ids: bool = False
) -> None:
    """Print the patterns with this status and of these types on standard output.

    Args:
        detection: the patterns.
        status: a status, or ``all``.
        types: pattern types; empty for all.
        form: the output format.
        with_ids: show ids in a table.
    """
    chosen_frame = detection.frame
    if status != "all":
        chosen_frame = chosen_frame.filter(pl.col("status") == status)
    if types:
        chosen_frame = chosen_frame.filter(pl.col("type").is_in(list(types)))
    chosen = replace(detection, frame=chosen_frame)
    if form == "ndjson":
        click.echo(chosen.to_ndjson(), nl=False)
    elif form == "json":
        click.echo(chosen.to_json())
    elif form == "markdown":
        click.echo(to_markdown(chosen.patterns), nl=False)
    else:
        print_table(chosen.patterns, Console(), with_ids=with_ids)


def counted(detection: Detection, *between: str) -> str:
    """One line: the numbers of observations, people and patterns by status."""
    counts = dict(detection.frame.group_by("status").len().iter_rows())
    found = ", ".join(f"{counts.get(s, 0):,} {s}" for s in STATUSES)
    patterns = plural(detection.frame.height, "pattern")
    return f"{', '.join([plural(detection.observations, 'observation'), *between, people_counted(detection.people), patterns])}: {found}"
