"""The HTML templates and style sheets of this folder."""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup


@cache
def environment() -> jinja2.Environment:
    """The templates of this folder; all values are escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def style(*names: str) -> Markup:
    """The named style sheets and scripts of this folder, concatenated."""
    loader = environment().loader
    assert loader is not None
    return Markup("").join(Markup(loader.get_source(environment(), name)[0]) for name in names)  # noqa: S704  ours
