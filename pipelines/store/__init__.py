"""The store: observations, patterns and everything derived from them, in one database."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.store.status_change import Change
    from pipelines.store.store import Store
    from pipelines.store.users import ALL_USERS

__all__ = ["ALL_USERS", "Change", "Store"]

_HOMES = {
    "ALL_USERS": "pipelines.store.users",
    "Change": "pipelines.store.status_change",
    "Store": "pipelines.store.store",
}


def __getattr__(name: str) -> object:
    """A public name, imported on first use: reading a profile must not import the detectors."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
