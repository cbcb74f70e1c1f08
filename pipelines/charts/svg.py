"""Drawing: a chart as SVG that needs no script, no network and no font, and follows light and dark.

The title of a mark is its tooltip in every browser. For a screen reader the whole chart is one image with a
description.
"""

from __future__ import annotations

import re
from typing import Any

import altair as alt
from lxml import etree

from pipelines.charts.style import CONFIG

RENDERER = "habitus"
_SVG = "{http://www.w3.org/2000/svg}"
_ACCESSIBILITY = ("aria-label", "aria-hidden", "aria-roledescription", "role")

Chart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart


def to_svg(chart: Chart, *, description: str | None = None) -> str:
    """The chart as an SVG element for a page.

    Args:
        chart: any Altair chart.
        description: the text for screen readers; the chart's own description if None.

    """
    return _svg_of(chart.to_dict(validate=False), description)  # validation takes longer than drawing


def enable_renderer() -> None:
    """Let charts draw themselves offline in notebooks, unless another renderer is enabled already."""
    alt.renderers.register(RENDERER, _bundle)
    if alt.renderers.active == "default":
        alt.renderers.enable(RENDERER)


def _bundle(spec: dict[str, Any], **_: Any) -> dict[str, str]:
    """The chart as HTML, and as a line of text for front ends that cannot show HTML."""
    style = "margin:0;max-width:100%;overflow-x:auto;"
    return {
        "text/html": f'<figure style="{style}">{_svg_of(spec)}</figure>',
        "text/plain": str(spec.get("description", "a chart")),
    }


def _svg_of(spec: dict[str, Any], description: str | None = None) -> str:
    import vl_convert  # a megabyte of JavaScript engine: only where something is drawn

    root = etree.fromstring(vl_convert.vegalite_to_svg(spec, config=CONFIG).encode())
    for element in list(root.iter()):
        label = element.get("aria-label")
        marked = element.get("role") == "graphics-symbol" and "mark" in element.get(
            "aria-roledescription", ""
        )
        for name in _ACCESSIBILITY:
            element.attrib.pop(name, None)
        if label and marked:
            title = etree.SubElement(element, f"{_SVG}title")
            title.text = label
    etree.cleanup_namespaces(root)
    root.set("role", "img")
    root.set("aria-label", description or str(spec.get("description", "a chart")))
    root.set("style", f"max-width:100%;height:auto;color:{_INK}")
    return _PLACES.sub(_shortened, etree.tostring(root, encoding="unicode"))


_PLACES = re.compile(r' (?:d|transform|x|y|width|height)="[^"]*"')
_LONG_NUMBER = re.compile(r"\d+\.\d{2,}")


def _shortened(places: re.Match[str]) -> str:
    """The numbers rounded to a tenth of a pixel, which makes the file a third smaller."""
    return _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", places[0])


_INK = "var(--jp-content-font-color1,var(--vscode-editor-foreground,inherit))"
"""The text colour of the page, by its variable in JupyterLab and in VS Code."""
