"""One observation at the edge: what a person or a program hands in or gets, checked by pydantic.

Inside, observations are frames (`observations.schema`); this model is for one of them at a time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from observations.civil_time import zone

FeatureValue = str | bool | float | list[str]
"""What a feature can be. None means "does not have it" and is dropped."""


class Observation(BaseModel):
    """One thing that happened (contract, section 1).

    >>> Observation(type="email", action="sent", timestamp="2026-03-02T09:30:00+01:00").user_id
    'me'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str | None = Field(
        default=None, description="unique within a user; derived from the content where absent"
    )
    user_id: str = Field(default="me", min_length=1)
    type: str = Field(min_length=1)
    action: str = Field(min_length=1)
    timestamp: AwareDatetime
    tz: str | None = None
    actor: Literal["user", "agent"] = "user"
    features: dict[str, FeatureValue] = Field(default_factory=dict)

    @field_validator("tz")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        if name is not None:
            zone(name)
        return name

    @property
    def local(self) -> datetime:
        """What the person's clock showed, without a zone."""
        shown = self.timestamp.astimezone(zone(self.tz)) if self.tz else self.timestamp
        return shown.replace(tzinfo=None)
