"""The reliability diagram: do nine of ten patterns with a confidence of 0.9 hold later?"""

from __future__ import annotations

import altair as alt
import polars as pl

from pipelines.charts.style import BUSY, QUIET, layered, nothing, rows

_SIZE = 280


def calibration(bins: pl.DataFrame) -> alt.LayerChart | alt.Chart:
    """Confidence against the share of patterns that held later, with its 95 % interval and the ideal diagonal.

    Args:
        bins: one row for each band of confidence: low, high, confidence (mean), patterns (count), held (count),
            rate, rate_low and rate_high (the share that held, and its interval); all numbers.

    """
    known = bins.filter(pl.col("patterns") > 0)
    if known.is_empty():
        return nothing("no patterns to compare with later data")
    text = pl.format(
        "mean confidence {}; {} of {} held later, {}",
        pl.col("confidence").round(2),
        "held",
        "patterns",
        pl.col("rate").round(2),
    )
    unit = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    base = alt.Chart(rows(known.with_columns(text=text))).encode(
        x=alt.X("confidence:Q", scale=unit, axis=axis, title="confidence"),
        description=alt.Description("text:N"),
        tooltip=[alt.Tooltip("text:N", title="band")],
    )
    rate = alt.Y("rate:Q", scale=unit, axis=axis, title="share that held later")
    interval = base.mark_rule(color=BUSY, opacity=0.5, strokeWidth=2).encode(
        y=alt.Y("rate_low:Q", scale=unit), y2=alt.Y2("rate_high:Q")
    )
    most = max(known.get_column("patterns").to_list())
    points = base.mark_point(filled=True, color=BUSY, opacity=1).encode(
        y=rate,
        size=alt.Size(
            "patterns:Q",
            scale=alt.Scale(type="sqrt", domain=[1, max(most, 2)], range=[30, 300]),
            legend=alt.Legend(title="patterns", symbolType="circle", tickCount=3, format="d"),
        ),
    )
    ideal = (
        alt.Chart(alt.InlineData(values=[{"confidence": 0, "rate": 0}, {"confidence": 1, "rate": 1}]))
        .mark_line(color=QUIET, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="confidence:Q", y=rate, description=alt.value("perfect calibration"))
    )
    total, held = int(known.get_column("patterns").sum()), int(known.get_column("held").sum())
    described = f"Confidence against the share that held later: {held} of {total} patterns held."
    return layered(ideal, interval, points, width=_SIZE, height=_SIZE).properties(description=described)
