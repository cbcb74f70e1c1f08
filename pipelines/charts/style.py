"""Shared style of the charts: colours, fonts and small helpers."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

INK = "currentColor"
"""Text inherits the colour of the page, so that a chart works in light and dark themes."""

KEPT, MISSED = "#14907f", "#cf6a12"
"""Teal and orange: distinguishable with any colour vision, and in greyscale."""

BUSY = "#2f7fc4"
QUIET = "#7b838e"
STATUS_COLOURS = {"tracking": "#b07d12", "confirmed": "#2f7fc4", "expired": "#7b838e"}
"""Each has a contrast of at least 3 against white (#fff) and against a dark page (#1e2127) (WCAG 2.2, 1.4.11)."""

_MOST_ROWS = 5000

WIDTH = 400
"""Width of a plot in pixels; with its labels it fits the screen of a phone."""

CONFIG: dict[str, Any] = {
    "background": None,
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domain": False,
        "tickColor": INK,
        "tickOpacity": 0.35,
        "gridColor": INK,
        "gridOpacity": 0.12,
        "labelPadding": 6,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "orient": "top",
        "symbolType": "square",
        "symbolOpacity": 1,
    },
    "title": {
        "color": INK,
        "subtitleColor": INK,
        "anchor": "start",
        "fontSize": 13,
        "fontWeight": 600,
        "subtitleFontSize": 11,
        "offset": 8,
    },
    "text": {"color": INK, "fontSize": 11},
    "concat": {"spacing": 16},
}
"""Applied when a chart is drawn, not stored in it, so that charts can be layered and concatenated."""


def rows(frame: pl.DataFrame) -> pl.DataFrame | alt.InlineData:
    """The frame as chart data: datetimes as wall-clock text, without a row limit.

    Altair takes frames of up to 5,000 rows; longer ones are passed inline.
    """
    moments = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
    written = frame.with_columns(pl.col(moments).dt.strftime("%Y-%m-%dT%H:%M:%S")) if moments else frame
    return written if frame.height <= _MOST_ROWS else alt.InlineData(values=written.to_dicts())


def nothing(reason: str) -> alt.Chart:
    """A chart that shows a message instead of data."""
    data = alt.InlineData(values=[{"text": reason}])
    chart: alt.Chart = (
        alt.Chart(data, width=WIDTH, height=40, description=reason)
        .mark_text(opacity=0.75)
        .encode(text=alt.Text("text:N"))
    )
    return chart


def layered(*charts: alt.Chart, **properties: Any) -> alt.LayerChart:
    """The charts as layers of one chart."""
    chart = alt.layer(*charts, **properties)
    assert isinstance(chart, alt.LayerChart), "no layer is faceted"
    return chart


def status_scale() -> alt.Scale:
    """The colour scale of statuses."""
    return alt.Scale(domain=list(STATUS_COLOURS), range=list(STATUS_COLOURS.values()))
