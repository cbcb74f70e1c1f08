"""How pictures look: colours, type, and the small pieces that all charts share."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

INK = "currentColor"
"""Text takes the colour of the page that it is shown on, so that a chart is at home in light and dark."""

KEPT, MISSED = "#14907f", "#cf6a12"
"""Teal and orange: told apart by everyone, also in grey."""

BUSY = "#2f7fc4"
QUIET = "#7b838e"
STATUS_COLOURS = {"tracking": "#b07d12", "confirmed": "#2f7fc4", "expired": "#7b838e"}
"""Each has a contrast of at least 3 against white (#fff) and against a dark page (#1e2127) (WCAG 2.2, 1.4.11)."""

_MOST_ROWS = 5000

WIDTH = 400
"""Pixels of a plot; with its labels it still fits a telephone without becoming too small to read."""

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
"""Applied when a chart is drawn and never kept in it, so that charts can be layered and put side by side."""


def rows(frame: pl.DataFrame) -> pl.DataFrame | alt.InlineData:
    """The frame as a chart's data: moments as text on the wall clock, rows as many as there are.

    Altair takes frames of up to 5,000 rows; what is longer is handed to it as it stands.
    """
    moments = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
    written = frame.with_columns(pl.col(moments).dt.strftime("%Y-%m-%dT%H:%M:%S")) if moments else frame
    return written if frame.height <= _MOST_ROWS else alt.InlineData(values=written.to_dicts())


def nothing(reason: str) -> alt.Chart:
    """A chart that says why there is none."""
    said = alt.InlineData(values=[{"said": reason}])
    chart: alt.Chart = (
        alt.Chart(said, width=WIDTH, height=40, description=reason)
        .mark_text(opacity=0.75)
        .encode(text=alt.Text("said:N"))
    )
    return chart


def layered(*charts: alt.Chart, **properties: Any) -> alt.LayerChart:
    """The charts over one another."""
    chart = alt.layer(*charts, **properties)
    assert isinstance(chart, alt.LayerChart), "no layer is faceted"
    return chart


def status_scale() -> alt.Scale:
    """Status → colour."""
    return alt.Scale(domain=list(STATUS_COLOURS), range=list(STATUS_COLOURS.values()))
