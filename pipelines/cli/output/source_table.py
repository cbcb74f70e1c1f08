"""``--explain``: the format of each source, its observations, and what was left out and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from observations.ingest.read_report import ReadingReport, SourceReport
from pipelines.cli.output.option_names import in_options

WIDTH_OF_NO_TERMINAL = 200
"""Width of a table in a file or a pipe, in columns."""

LEAST_NAME = 20
"""Minimum width of the name of a source, in columns."""

_HEADINGS = ("source", "read as", "observations")
_GAP = "  "
_INDENT = "    "
_WORDS = {"reject": "not read", "left_out": "left out", "warning": "assumed"}


def explain(report: ReadingReport) -> None:
    """Print a line for each source, and below it a line for each reason for rejects, left-out records and assumptions.

    Long names are shortened in the middle.
    """
    screen = Console()
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = WIDTH_OF_NO_TERMINAL
    rows = [(s.label, s.recognised or "–", f"{s.observations:,}") for s in report.sources.values()]
    names, forms, counts = (max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True))
    names = min(names, max(screen.width - forms - counts - 2 * len(_GAP), LEAST_NAME))

    def line(name: str, form: str, count: str) -> Text:
        return Text(_GAP.join((shortened(name, names).ljust(names), form.ljust(forms), count.rjust(counts))))

    screen.print(line(*_HEADINGS), style="bold", no_wrap=True, crop=False)
    for source, row in zip(report.sources.values(), rows, strict=True):
        screen.print(line(*row), no_wrap=True, crop=False)
        for reason in _reasons(source):
            for part in wrap(reason, screen.width, initial_indent=_INDENT, subsequent_indent=2 * _INDENT):
                screen.print(Text(part), style="dim", no_wrap=True, crop=False)


def shortened(text: str, width: int) -> str:
    """The text in at most `width` columns, shortened in the middle because names differ at their ends.

    >>> shortened("Takeout/Calendar/work.ics", 17)
    'Takeout/…work.ics'
    """
    if len(text) <= width:
        return text
    end = (width - 1) * 5 // 9
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _reasons(source: SourceReport) -> Iterator[str]:
    for (level, reason), count in sorted(source.counts.items()):
        message = in_options(source.message(level, reason))
        example = ", such as" if count > 1 and level == "reject" else ""
        yield f"{count:,} {_WORDS[level]}{example}: {message}"
