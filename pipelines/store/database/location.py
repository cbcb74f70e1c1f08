"""Where a store is: a file, or a URL of a server."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def default_place() -> Path:
    """The default file of the store, in the user's data folder."""
    return platformdirs.user_data_path("habitus") / "habitus.db"


def file_of(place: str | Path | None) -> Path | None:
    """The absolute path of a store in a file (the default one if `place` is `None`); `None` for a URL."""
    if isinstance(place, str) and "://" in place:
        return None
    return Path(place if place is not None else default_place()).expanduser().absolute()
