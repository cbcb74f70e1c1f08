"""The lifecycle chart: all patterns as spans of time, by status."""

from __future__ import annotations

from datetime import datetime

import altair as alt
import polars as pl

from patterns.explain import Explanation
from pipelines.charts.style import INK, STATUS_COLOURS, WIDTH, layered, nothing, rows, status_scale

_ROW = 30
_BAR = 9
_LETTERS = 66
"""Characters of a sentence that fit above a bar."""


def lifecycle(explanation: Explanation, as_of: datetime | None = None) -> alt.LayerChart | alt.Chart:
    """Every pattern as a bar through time, coloured by status, with its sentence above.

    Args:
        explanation: patterns and journal. Filter it first if there are more than a few dozen patterns.
        as_of: the wall clock at which the bars end; that of the last opportunity if None.

    """
    spans = status_spans(explanation, as_of)
    if spans.is_empty():
        return nothing("There is no pattern yet.")
    order = spans.get_column("pattern_id").unique(maintain_order=True).to_list()
    y = alt.Y("pattern_id:N", sort=order, axis=None, scale=alt.Scale(paddingInner=0.2))
    bars = (
        alt.Chart(rows(spans))
        .mark_rect(height=_BAR, yOffset=6)
        .encode(
            x=alt.X("begin:T", title=None, axis=alt.Axis(grid=True, tickCount=6)),
            x2=alt.X2("end:T"),
            y=y,
            color=alt.Color("status:N", scale=status_scale(), title=None),
            description=alt.Description("text:N"),
            tooltip=[alt.Tooltip("text:N", title="span")],
        )
    )
    # Shortened here, because measuring each sentence in Vega is slow.
    short = pl.col("statement").str.len_chars() <= _LETTERS
    text = pl.when(short).then("statement").otherwise(pl.col("statement").str.head(_LETTERS - 1) + "…")
    first = spans.unique("pattern_id", keep="first", maintain_order=True)
    names = first.select("pattern_id", "statement", text=text)
    sentences = (
        alt.Chart(rows(names))
        .mark_text(align="left", baseline="bottom", dy=2, color=INK)
        .encode(x=alt.value(0), y=y, text="text:N", description=alt.Description("statement:N"))
    )
    description = f"The lifecycle of {len(order)} patterns: " + ", ".join(
        f"{count} {status}" for status, count in _standing(spans)
    )
    return layered(bars, sentences, width=WIDTH, height=alt.Step(_ROW)).properties(
        description=f"{description}."
    )


def status_spans(explanation: Explanation, as_of: datetime | None = None) -> pl.DataFrame:
    """The status of each pattern through time: one row for each span between two changes.

    Returns:
        pattern_id String, statement String, status String, begin and end Datetime (wall clock; end is
        exclusive), text String. Ordered by the begin of the pattern, then by time.

    """
    ends = explanation.opportunities.group_by("user_id").agg(last=pl.col("local").max())
    named = explanation.patterns.select(pattern_id="id", statement="statement")
    spans = (
        explanation.journal.sort("pattern_id", "local", maintain_order=True)
        .join(ends, on="user_id", how="left", maintain_order="left")
        .join(named, on="pattern_id", how="inner", maintain_order="left")
        .with_columns(
            begin="local",
            status="after",
            end=pl.coalesce(
                pl.col("local").shift(-1).over("pattern_id"), pl.lit(as_of, pl.Datetime("us")), pl.col("last")
            ),
        )
        .filter(pl.col("end") > pl.col("begin"))
    )
    text = pl.format(
        "{}: {} from {} to {}",
        "statement",
        "status",
        pl.col("begin").dt.strftime("%-d %B %Y"),
        pl.col("end").dt.strftime("%-d %B %Y"),
    )
    first = pl.col("begin").min().over("pattern_id")
    return (
        spans.with_columns(text=text)
        .sort(first, "pattern_id", "begin", maintain_order=True)
        .select("pattern_id", "statement", "status", "begin", "end", "text")
    )


def _standing(spans: pl.DataFrame) -> list[tuple[str, int]]:
    """The number of patterns that have each status now."""
    now = spans.group_by("pattern_id").agg(pl.col("status").last()).get_column("status").to_list()
    return [(status, now.count(status)) for status in STATUS_COLOURS if status in now]
