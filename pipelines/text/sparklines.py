"""Small charts of one pattern: a sparkline by week, a calendar by day, and its confidence as a bar.

Each is available as SVG for pages and notebooks, the first two also as characters for a terminal. Hits are filled blocks,
misses are small blocks below the line or in the middle, so that they differ without colour as well.

All but the last take rows of `patterns.explain.OPPORTUNITIES` of one pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

import polars as pl
from markupsafe import Markup, escape
from rich.text import Text

from observations.civil_time import WEEKDAYS
from patterns.settings import Settings

SPARK_WEEKS = 26
STRIP_WEEKS = 53
"""Number of weeks shown, the newest ones."""

_WEEK = timedelta(days=7)
_PITCH = 11
_DASHES = {"none": 2, "kept": 10, "missed": 5, "both": 10}
"""Distance between days in a calendar, and width of a day by outcome, in pixels."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_KEPT, _MISSED = "green", "red"
_KEPT_CELL, _MISSED_CELL, _BOTH_CELL, _EMPTY_CELL = "■", "×", "▣", "·"


@dataclass(frozen=True)
class Tally:
    """Hits and misses of one day, or of one week that begins on a Monday."""

    begin: date
    kept: int
    missed: int

    @property
    def due(self) -> int:
        """The number of opportunities."""
        return self.kept + self.missed

    @property
    def text(self) -> str:
        """The tally as text."""
        if not self.due:
            return "no opportunity"
        return f"kept {self.kept} of {self.due}"


# --- counting -------------------------------------------------------------------------------------------------


def by_week(seen: pl.DataFrame, weeks: int = SPARK_WEEKS, until: date | None = None) -> list[Tally]:
    """The last weeks up to the one of `until` (or of the last opportunity), including weeks without opportunities."""
    counted = _counted(seen, pl.col("local").dt.truncate("1w").dt.date())
    return _filled(counted, weeks, until)


def by_day(seen: pl.DataFrame, weeks: int = STRIP_WEEKS, until: date | None = None) -> list[Tally]:
    """The days of the last weeks, starting on a Monday, including days without opportunities."""
    first = by_week(seen, weeks, until)
    if not first:
        return []
    counted = _counted(seen, pl.col("local").dt.date())
    days = range(((first[-1].begin - first[0].begin) + _WEEK).days)
    return [counted.get(day, Tally(day, 0, 0)) for day in (first[0].begin + timedelta(days=n) for n in days)]


def _counted(seen: pl.DataFrame, begin: pl.Expr) -> dict[date, Tally]:
    # A slot without an observation is decided when it ends; if that is midnight, it belongs to the day before.
    ended = pl.when(pl.col("observation").is_null()).then(pl.lit(1)).otherwise(pl.lit(0))
    known = seen.with_columns(pl.col("local") - pl.duration(microseconds=ended))
    counted = known.group_by(begin=begin).agg(kept=pl.col("kept").sum(), missed=(~pl.col("kept")).sum())
    return {day: Tally(day, kept, missed) for day, kept, missed in counted.iter_rows()}


def _filled(counted: Mapping[date, Tally], weeks: int, until: date | None) -> list[Tally]:
    if not counted:
        return []
    last = max(counted)
    if until is not None:
        last = max(last, until - timedelta(days=until.weekday()))
    first = max(min(counted), last - _WEEK * (weeks - 1))
    return [
        counted.get(first + _WEEK * n, Tally(first + _WEEK * n, 0, 0))
        for n in range((last - first) // _WEEK + 1)
    ]


# --- in characters --------------------------------------------------------------------------------------------


def sparkline_text(seen: pl.DataFrame, weeks: int = SPARK_WEEKS, until: date | None = None) -> Text:
    """One character a week: higher blocks for a higher share kept, a dot if nothing was due.

    Colours are rich styles, which a console omits if it has no colours.
    """
    line = Text()
    for week in by_week(seen, weeks, until):
        if not week.due:
            line.append(_EMPTY_CELL, style="dim")
        else:
            share = week.kept / week.due
            line.append(
                _BLOCKS[round(share * (len(_BLOCKS) - 1))],
                style=_KEPT if 2 * week.kept > week.due else _MISSED,
            )
    return line


def strip_text(seen: pl.DataFrame, weeks: int = STRIP_WEEKS, until: date | None = None) -> list[Text]:
    """A calendar: a line of months, a line for each weekday and a legend; one column a week."""
    days = by_day(seen, weeks, until)
    if not days:
        return []
    lines = [Text("     " + _months_text(days[::7]), style="dim")]
    for weekday, name in enumerate(WEEKDAYS):
        line = Text(f"{name[:3].capitalize()}  ", style="dim")
        for day in days[weekday::7]:
            line.append(*_cell(day))
        lines.append(line)
    legend = Text("     ")
    for sign, word, style in (
        (_KEPT_CELL, "kept", _KEPT),
        (_MISSED_CELL, "missed", _MISSED),
        (_EMPTY_CELL, "not due", "dim"),
    ):
        legend.append(sign, style=style).append(f" {word}   ", style="dim")
    return [*lines, legend]


def _cell(day: Tally) -> tuple[str, str]:
    if not day.due:
        return _EMPTY_CELL, "dim"
    if not day.missed:
        return _KEPT_CELL, _KEPT
    return (_BOTH_CELL, _KEPT) if day.kept else (_MISSED_CELL, _MISSED)


def _months_text(mondays: Sequence[Tally]) -> str:
    """The names of the months above their first weeks, where they fit."""
    line = ""
    for column, monday in enumerate(mondays):
        if _begins_month(mondays, column) and len(line) <= column:
            line = line.ljust(column) + f"{monday.begin:%b} "
    return line[: len(mondays) + 3].rstrip()


def _begins_month(mondays: Sequence[Tally], column: int) -> bool:
    return column == 0 or mondays[column].begin.month != mondays[column - 1].begin.month


# --- as SVG ---------------------------------------------------------------------------------------------------


def sparkline_svg(seen: pl.DataFrame, weeks: int = SPARK_WEEKS, until: date | None = None) -> Markup:
    """A sparkline: for each week a bar up for hits and a bar down for misses."""
    tallies = by_week(seen, weeks, until)
    if not tallies:
        return Markup()
    most = max(week.due for week in tallies) or 1
    up, down = 14.0 / most, 8.0 / most
    kept, missed = [], []
    # The newest week is at the right, so that sparklines in a table share one time axis.
    for place, week in enumerate(tallies, start=weeks - len(tallies)):
        if week.kept:
            kept.append(_rect(place * 4, 15 - max(week.kept * up, 1), 3, max(week.kept * up, 1)))
        if week.missed:
            missed.append(_rect(place * 4, 16, 3, max(week.missed * down, 1)))
    width = weeks * 4
    label = f"{_total(tallies).text} in {len(tallies)} weeks"
    body = (
        f'<path class="hb-line" d="M0 15.5H{width}"/><path class="hb-kept" d="{"".join(kept)}"/>'
        f'<path class="hb-missed" d="{"".join(missed)}"/>'
    )
    return _svg("hb-spark", width, 25, label, body)


def strip_svg(
    seen: pl.DataFrame, weeks: int = STRIP_WEEKS, until: date | None = None, *, pointable: bool = False
) -> Markup:
    """A calendar: a column for each week, a row for each weekday, a block for each day with an opportunity.

    Args:
        seen, weeks, until: as for `by_day`.
        pointable: add a tooltip with date and tally to each day, which makes the SVG larger.

    """
    days = by_day(seen, weeks, until)
    if not days:
        return Markup()
    columns, left, top = len(days) // 7, 30, 14
    paths = "".join(_runs(days, left, top))
    points = "".join(_points(days, left, top)) if pointable else ""
    labels = "".join(
        f'<text x="0" y="{top + row * _PITCH + 8.5}">{WEEKDAYS[row][:3].capitalize()}</text>'
        for row in (0, 2, 4, 6)
    )
    body = f"<g>{labels}{_months_svg(days[::7], left)}</g>{paths}{points}"
    label = f"Calendar: {_total(days).text} times from {days[0].begin} to {days[-1].begin}"
    return _svg("hb-strip", left + max(columns * _PITCH, 40), top + 7 * _PITCH, label, body)


def confidence_svg(
    confidence: float, components: Mapping[str, float], settings: Settings | None = None
) -> Markup:
    """Confidence as a bar of its four components, each with a tooltip."""
    settings = settings or Settings()
    weights = {
        "count": settings.weight_count,
        "recency": settings.weight_recency,
        "consistency": settings.weight_consistency,
        "span": settings.weight_span,
    }
    whole = sum(weights[name] * components[name] for name in weights)
    left = confidence / whole if whole else 0.0  # the factor of decay
    x, parts = 0.0, []
    for number, (name, weight) in enumerate(weights.items()):
        width = 100 * weight * components[name] * left
        tooltip = f"{name} {components[name]:.2f} × {weight:g} = {weight * components[name]:.2f}"
        tooltip += f", × {left:.2f} for being past due" if left < 0.995 else ""
        parts.append(
            f'<path class="hb-part hb-part{number}" d="{_rect(x, 0, max(width - 0.5, 0), 8)}"><title>{tooltip}</title></path>'
        )
        x += width
    parts_text = ", ".join(f"{name} {components[name]:.2f}" for name in weights)
    body = f'<path class="hb-track" d="{_rect(0, 0, 100, 8)}"/>{"".join(parts)}'
    body += f'<path class="hb-mark" d="M{100 * settings.confirmation_threshold:g} -1V9"/>'
    return _svg("hb-bar", 100, 8, f"confidence {confidence:.2f}: {parts_text}", body)


def _runs(days: Sequence[Tally], left: int, top: int) -> Iterator[str]:
    """The days as dashed lines, one dash a day, so that a run of weeks takes no more bytes than one day."""
    drawn: dict[str, list[str]] = {name: [] for name in _DASHES}
    for weekday in range(7):
        column = 0
        for state, run in groupby(days[weekday::7], key=_state):
            length, width = len(list(run)), _DASHES[state]
            x, y = left + column * _PITCH + (10 - width) / 2, top + weekday * _PITCH + 5
            drawn[state].append(f"M{x:g} {y}h{(length - 1) * _PITCH + width}")
            column += length
    return (f'<path class="hb-days hb-{name}" d="{"".join(d)}"/>' for name, d in drawn.items() if d)


def _points(days: Sequence[Tally], left: int, top: int) -> Iterator[str]:
    """A transparent rectangle with a tooltip for each day that has opportunities."""
    for place, day in enumerate(days):
        if day.due:
            x, y = left + place // 7 * _PITCH, top + place % 7 * _PITCH
            tooltip = f"{day.begin:%A} {day.begin.day} {day.begin:%B %Y}: {day.text}"
            yield f'<path class="hb-point" d="{_rect(x, y, 10, 10)}"><title>{tooltip}</title></path>'


def _state(day: Tally) -> str:
    if not day.due:
        return "none"
    if not day.missed:
        return "kept"
    return "both" if day.kept else "missed"


def _months_svg(mondays: Sequence[Tally], left: int) -> str:
    words, free = [], 0
    for column, monday in enumerate(mondays):
        if _begins_month(mondays, column) and column >= free:
            words.append(f'<text x="{left + column * _PITCH}" y="9">{monday.begin:%b}</text>')
            free = column + 3
    return "".join(words)


def _rect(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.4g} {y:.4g}h{width:.4g}v{height:.4g}h-{width:.4g}z"


def _svg(name: str, width: float, height: float, label: str, body: str) -> Markup:
    head = f'<svg class="{name}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return Markup(f'{head} role="img" aria-label="{escape(label)}">{body}</svg>')  # noqa: S704  numbers and fixed text


def _total(tallies: Sequence[Tally]) -> Tally:
    return Tally(tallies[0].begin, sum(t.kept for t in tallies), sum(t.missed for t in tallies))
