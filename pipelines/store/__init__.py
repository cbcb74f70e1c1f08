"""The store: observations, what is believed, and how that came to be, in one database."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.store.status_change import Change
    from pipelines.store.store import Store

__all__ = ["Change", "Store"]

_HOMES = {"Change": "pipelines.store.status_change", "Store": "pipelines.store.store"}


def __getattr__(name: str) -> object:
    """The public names, loaded when they are first asked for, as in `pipelines`."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
