"""The timeline of one pattern: its confidence, changes of status, hits and misses."""

from __future__ import annotations

from datetime import datetime, timedelta

import altair as alt
import polars as pl

from patterns.explain import Explanation
from patterns.settings import Settings
from pipelines.charts.style import (
    KEPT,
    MISSED,
    QUIET,
    STATUS_COLOURS,
    WIDTH,
    layered,
    nothing,
    rows,
    status_scale,
)

_LONG = timedelta(days=3 * 366)
"""Above this span, hits and misses are counted by month."""

Moment = datetime | None


def course(
    explanation: Explanation, pattern_id: str, settings: Settings | None = None, as_of: Moment = None
) -> alt.VConcatChart | alt.Chart:
    """One pattern through time: its confidence and changes of status, above its hits and misses.

    Args:
        explanation: the pattern, its opportunities and its journal.
        pattern_id: the id of the pattern.
        settings: the thresholds to draw; pass those the explanation was computed with.
        as_of: the wall clock up to which the confidence is drawn; that of the last opportunity if None.

    """
    settings = settings or Settings()
    mine = pl.col("pattern_id") == pattern_id
    seen = explanation.opportunities.filter(mine)
    found = explanation.patterns.filter(pl.col("id") == pattern_id)
    if seen.is_empty() or found.is_empty():
        return nothing("no opportunities yet")
    pattern = found.row(0, named=True)
    changes = explanation.journal.filter(mine)
    time = alt.Scale(domain=_domain(seen, as_of))
    top = _confidence(seen, changes, pattern["confidence"], time, settings, as_of)
    below = _outcomes(seen, time)
    described = (
        f"{pattern['statement']}: kept {pattern['support']} of {pattern['opportunities']} times, "
        f"confidence {pattern['confidence']:.2f}, {pattern['status']}."
    )
    both: alt.VConcatChart = (
        alt.vconcat(top, below, spacing=10)
        .resolve_scale(color="independent")
        .properties(description=described)
    )
    return both


def outcomes_by_week(seen: pl.DataFrame) -> pl.DataFrame:
    """Hits and misses by week, beginning on Monday; by month if the span is more than three years.

    Args:
        seen: rows of `patterns.explain.OPPORTUNITIES` of one pattern.

    Returns:
        begin and end Datetime (days), outcome String (kept, missed), count Int64, signed Int64 (misses are negative),
        text String. In order of time.

    """
    span = seen.get_column("local").max() - seen.get_column("local").min()  # type: ignore[operator]
    every, unit = ("1mo", "month") if isinstance(span, timedelta) and span > _LONG else ("1w", "week")
    counted = seen.group_by(
        begin=pl.col("local").dt.truncate(every),
        outcome=pl.when("kept").then(pl.lit("kept")).otherwise(pl.lit("missed")),
    ).agg(count=pl.len().cast(pl.Int64))
    return counted.sort("begin", "outcome").with_columns(
        end=pl.col("begin").dt.offset_by(every),
        signed=pl.when(pl.col("outcome") == "kept").then("count").otherwise(-pl.col("count")),
        text=pl.format(
            "{} of {}: {} {} times",
            pl.lit(unit),
            pl.col("begin").dt.strftime("%-d %B %Y"),
            "outcome",
            "count",
        ),
    )


def _domain(seen: pl.DataFrame, as_of: Moment) -> list[str]:
    """The time axis in whole weeks, so that no bar is cut off."""
    first, last = seen.get_column("local").min(), seen.get_column("local").max()
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    latest = max(last, as_of or last)
    begin, end = first - timedelta(days=first.weekday()), latest + timedelta(days=7 - latest.weekday())
    return [f"{begin:%Y-%m-%dT00:00:00}", f"{end:%Y-%m-%dT00:00:00}"]


def _confidence(
    seen: pl.DataFrame, changes: pl.DataFrame, now: float, time: alt.Scale, settings: Settings, as_of: Moment
) -> alt.LayerChart:
    course = seen.group_by(pl.col("local").dt.date().alias("day"), maintain_order=True).agg(
        pl.col("local").last(), pl.col("confidence").last()
    )
    points = course.select("local", "confidence")
    if as_of is not None:
        ends = pl.DataFrame({"local": [as_of], "confidence": [now]}, schema=points.schema)
        points = pl.concat([points, ends]).unique("local", keep="last", maintain_order=True)
    text = pl.format(
        "{}: confidence {}", pl.col("local").dt.strftime("%-d %B %Y"), pl.col("confidence").round(2)
    )
    x = alt.X(
        "local:T", scale=time, title=None, axis=alt.Axis(labels=False, ticks=False, grid=True, tickCount=6)
    )
    y = alt.Y(
        "confidence:Q", scale=alt.Scale(domain=[0, 1]), title="confidence", axis=alt.Axis(values=[0, 0.5, 1])
    )
    line = (
        alt.Chart(rows(points.with_columns(text=text)))
        .mark_line(color=STATUS_COLOURS["confirmed"], strokeWidth=2, strokeJoin="round")
        .encode(x=x, y=y, description=alt.value("confidence through time"))
    )
    return layered(_thresholds(settings), line, *_transitions(changes, time), width=WIDTH, height=130)


def _thresholds(settings: Settings) -> alt.Chart:
    lines = pl.DataFrame(
        {
            "confidence": [settings.confirmation_threshold, settings.expiry_threshold],
            "text": [
                f"confirmed from {settings.confirmation_threshold:g} on",
                f"expired below {settings.expiry_threshold:g}",
            ],
        }
    )
    chart: alt.Chart = (
        alt.Chart(rows(lines))
        .mark_rule(color=QUIET, strokeDash=[3, 3], strokeWidth=1)
        .encode(
            y="confidence:Q",
            description=alt.Description("text:N"),
            tooltip=alt.Tooltip("text:N", title="line"),
        )
    )
    return chart


def _transitions(changes: pl.DataFrame, time: alt.Scale) -> list[alt.Chart]:
    if changes.is_empty():
        return []
    text = pl.format("{}: {}, {}", pl.col("local").dt.strftime("%-d %B %Y"), "after", "reason")
    shown = changes.select("local", "confidence", "after", "reason", text=text)
    base = alt.Chart(rows(shown)).encode(
        x=alt.X("local:T", scale=time),
        color=alt.Color("after:N", scale=status_scale(), title=None),
        description=alt.Description("text:N"),
        tooltip=[alt.Tooltip("text:N", title="change")],
    )
    points = base.mark_point(filled=True, size=80, opacity=1, shape="diamond").encode(y=alt.value(0))
    return [base.mark_rule(opacity=0.45), points]


def _outcomes(seen: pl.DataFrame, time: alt.Scale) -> alt.Chart:
    counted = outcomes_by_week(seen)
    low, high = min(0, *counted["signed"]), max(0, *counted["signed"])
    chart: alt.Chart = (
        alt.Chart(rows(counted), width=WIDTH, height=60)
        .mark_rect(xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=alt.X("begin:T", scale=time, title=None, axis=alt.Axis(grid=True, tickCount=6)),
            x2=alt.X2("end:T"),
            y=alt.Y(
                "signed:Q",
                title="a week",
                scale=alt.Scale(domain=[low, high], nice=False),
                axis=alt.Axis(values=sorted({low, 0, high}), labelExpr="abs(datum.value)", grid=False),
            ),
            y2=alt.Y2(datum=0),
            color=alt.Color(
                "outcome:N", scale=alt.Scale(domain=["kept", "missed"], range=[KEPT, MISSED]), title=None
            ),
            description=alt.Description("text:N"),
            tooltip=[alt.Tooltip("text:N", title="outcome")],
        )
    )
    return chart
