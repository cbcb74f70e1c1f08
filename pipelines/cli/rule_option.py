"""Rules as a person writes them: JSON as in the contract (section 3), looked at before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from observations.errors import SettingError
from patterns.candidates import PatternType
from patterns.rules.recurrence import named

Where = dict[str, str]
Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
EndClock = Annotated[str, Field(pattern=r"^(([01]\d|2[0-3]):[0-5]\d|24:00)$")]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _known(rrule: str) -> str:
    if not named(rrule):
        raise ValueError("is no recurrence that habitus counts, such as FREQ=WEEKLY;BYDAY=MO,TH")
    return rrule


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Temporal(_Rule):
    """At a time, on the dates of a recurrence."""

    where: Where
    rrule: Annotated[str, AfterValidator(_known)]
    time: Clock
    tolerance_minutes: Annotated[int, Field(ge=0, le=720)]
    dtstart: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None


class Preference(_Rule):
    """A value of a feature, or a band of numbers."""

    where: Where
    feature: Annotated[str, Field(min_length=1)]
    value: str | float | bool | None = None
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Preference:
        band = self.min is not None and self.max is not None and self.min <= self.max
        if band == (self.value is not None) or (self.min is None) != (self.max is None):
            raise ValueError("has either a value, or min and max")
        return self


class Relationship(_Rule):
    """A person in a feature that lists people."""

    where: Where
    feature: Literal["participants", "to", "cc", "from", "organizer"]
    value: Annotated[str, Field(min_length=1)]


class Workflow(_Rule):
    """Steps, each within the minutes of the one before."""

    steps: Annotated[list[Where], Field(min_length=2)]
    within_minutes: Annotated[int, Field(gt=0)]


class Avoidance(_Rule):
    """Hours of days in which it does not happen."""

    where: Where
    days: Annotated[list[Weekday], Field(min_length=1)]
    begin: Clock = Field(alias="from")
    end: EndClock = Field(alias="to")


_RULES: Mapping[PatternType, type[_Rule]] = {
    "temporal": Temporal,
    "preference": Preference,
    "relationship": Relationship,
    "workflow": Workflow,
    "avoidance": Avoidance,
}


def read_rule(type: PatternType, text: str) -> dict[str, object]:
    """The rule that this JSON says.

    Raises:
        SettingError: it is none of that type; says what is wrong.

    >>> read_rule("preference", '{"where": {}, "feature": "drink", "value": "tea"}')
    {'where': {}, 'feature': 'drink', 'value': 'tea'}
    """
    try:
        rule = TypeAdapter(_RULES[type]).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise SettingError(f"--rule is no {type} rule: {f'{place}: ' if place else ''}{what}") from error
    return rule.model_dump(by_alias=True, exclude_none=True)
