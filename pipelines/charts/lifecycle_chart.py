"""The lifecycle: all patterns as spans of time, tracking, confirmed and expired."""

from __future__ import annotations

from datetime import datetime

import altair as alt
import polars as pl

from patterns.explain import Explanation
from pipelines.charts.style import INK, STATUS_COLOURS, WIDTH, layered, nothing, rows, status_scale

_ROW = 30
_BAR = 9
_LETTERS = 66
"""Of a sentence that fit above a bar."""


def lifecycle(explanation: Explanation, as_of: datetime | None = None) -> alt.LayerChart | alt.Chart:
    """Every pattern as a bar through time, coloured by what it was; its sentence stands above it.

    Args:
        explanation: holds patterns and journal. Filter it first where there are more than a few dozen.
        as_of: the wall clock at which the bars end; that of the last opportunity unless given.

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
            description=alt.Description("said:N"),
            tooltip=[alt.Tooltip("said:N", title="span")],
        )
    )
    # Shortened here: letting Vega measure each sentence takes longer than all the rest.
    short = pl.col("statement").str.len_chars() <= _LETTERS
    said = pl.when(short).then("statement").otherwise(pl.col("statement").str.head(_LETTERS - 1) + "…")
    first = spans.unique("pattern_id", keep="first", maintain_order=True)
    names = first.select("pattern_id", "statement", said=said)
    sentences = (
        alt.Chart(rows(names))
        .mark_text(align="left", baseline="bottom", dy=2, color=INK)
        .encode(x=alt.value(0), y=y, text="said:N", description=alt.Description("statement:N"))
    )
    described = f"The life of {len(order)} patterns: " + ", ".join(
        f"{count} {status}" for status, count in _standing(spans)
    )
    return layered(bars, sentences, width=WIDTH, height=alt.Step(_ROW)).properties(
        description=f"{described}."
    )


def status_spans(explanation: Explanation, as_of: datetime | None = None) -> pl.DataFrame:
    """How long each pattern was what: one row for each span between two changes of status.

    Returns:
        pattern_id String, statement String, status String, begin and end Datetime (wall clock; begin included, end
        not), said String. Patterns in the order in which they began, the spans of each in order of time.

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
    said = pl.format(
        "{}: {} from {} to {}",
        "statement",
        "status",
        pl.col("begin").dt.strftime("%-d %B %Y"),
        pl.col("end").dt.strftime("%-d %B %Y"),
    )
    first = pl.col("begin").min().over("pattern_id")
    return (
        spans.with_columns(said=said)
        .sort(first, "pattern_id", "begin", maintain_order=True)
        .select("pattern_id", "statement", "status", "begin", "end", "said")
    )


def _standing(spans: pl.DataFrame) -> list[tuple[str, int]]:
    """How many patterns are what now."""
    now = spans.group_by("pattern_id").agg(pl.col("status").last()).get_column("status").to_list()
    return [(status, now.count(status)) for status in STATUS_COLOURS if status in now]
