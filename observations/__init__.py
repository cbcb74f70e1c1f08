"""What happened: the observation, its frame, its wall clock, and the readers that get it from exports."""

from observations.errors import HabitusError, SchemaError, SettingError, SourceError
from observations.model import Observation

__all__ = ["HabitusError", "Observation", "SchemaError", "SettingError", "SourceError"]
