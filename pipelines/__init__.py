"""Batch, store, stream, command line, settings: everything that reads files or the clock. `habitus` is its public name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from observations.errors import HabitusError, SchemaError, SettingError, SourceError, StoreError
    from observations.model import Observation
    from patterns.model import Pattern
    from patterns.settings import Settings
    from pipelines.detection import Detection, detect
    from pipelines.package_version import __version__
    from pipelines.store.status_change import Change
    from pipelines.store.store import Store
    from pipelines.store.users import ALL_USERS

__all__ = [
    "ALL_USERS",
    "Change",
    "Detection",
    "HabitusError",
    "Observation",
    "Pattern",
    "SchemaError",
    "SettingError",
    "Settings",
    "SourceError",
    "Store",
    "StoreError",
    "__version__",
    "detect",
]

_ERRORS = "observations.errors"
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ALL_USERS": "pipelines.store.users",
        "Change": "pipelines.store.status_change",
        "Detection": "pipelines.detection",
        "HabitusError": _ERRORS,
        "Observation": "observations.model",
        "Pattern": "patterns.model",
        "SchemaError": _ERRORS,
        "SettingError": _ERRORS,
        "Settings": "patterns.settings",
        "SourceError": _ERRORS,
        "Store": "pipelines.store.store",
        "StoreError": _ERRORS,
        "__version__": "pipelines.package_version",
        "detect": "pipelines.detection",
    },
)
