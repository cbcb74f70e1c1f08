"""What happened: the observation, its frame, its wall clock, and the readers that get it from exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from observations.errors import HabitusError, SchemaError, SettingError, SourceError

if TYPE_CHECKING:
    from observations.model import Observation

__all__ = ["HabitusError", "Observation", "SchemaError", "SettingError", "SourceError"]


def __getattr__(name: str) -> object:
    """`Observation`, loaded when it is first asked for: pydantic takes longer to import than ``--help`` may."""
    if name == "Observation":
        from observations.model import Observation

        return Observation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
