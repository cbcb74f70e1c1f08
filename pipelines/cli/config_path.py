"""Finds ``habitus.toml``."""

from __future__ import annotations

from pathlib import Path

FILE_NAME = "habitus.toml"


def config_path(folder: Path | None = None) -> Path | None:
    """The nearest ``habitus.toml`` in `folder` (default: the working folder) or above it; `None` if there is none."""
    start = (folder or Path.cwd()).resolve()
    for place in (start, *start.parents):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    return None
