"""Everything that touches the world: batch, store, stream, command line, settings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.detection import Detection, detect
    from pipelines.store.status_change import Change
    from pipelines.store.store import Store

__all__ = ["Change", "Detection", "Store", "detect"]

_HOMES = {
    "Change": "pipelines.store.status_change",
    "Detection": "pipelines.detection",
    "Store": "pipelines.store.store",
    "detect": "pipelines.detection",
}


def __getattr__(name: str) -> object:
    """The public names, loaded when they are first asked for: reading a profile must not load the detectors."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
