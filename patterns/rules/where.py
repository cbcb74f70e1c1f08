"""Conditions on one event: what a `where` asks of its fields (contract, section 3).

A `where` maps fields to conditions. A field is `type`, `action`, a feature, or one of two fields that follow from
the local time: `day_of_week` and `time_of_day`. An event matches if it meets every condition:

===================================  ==========================================================================
condition                            met if
===================================  ==========================================================================
``"legal"``, ``30``, ``True``        the field equals it; a list feature contains it
``["legal", "tax"]``                 any of them is met
``{"from": "18:00", "to": "24:00"}``   the time of day lies in ``[from, to)``, past midnight where `to` is earlier;
                                     never met by an all-day event
===================================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from observations.civil_time import parse_clock
from patterns.eventlog.arrays import Flags, Floats

DERIVED = frozenset({"kind", "program", "subcommand"})
"""Features that `observations.features` adds and records need not carry."""

FROM_LOCAL_TIME = ("day_of_week", "time_of_day")
"""Fields that follow from the local time of an event."""

Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
"""A time of day, ``"HH:MM"``."""

EndClock = Annotated[str, Field(pattern=r"^(([01]\d|2[0-3]):[0-5]\d|24:00)$")]
"""A time of day at which a span ends, ``"24:00"`` included."""

Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
"""A local date, ``"YYYY-MM-DD"``."""

Scalar = StrictStr | StrictBool | StrictInt | StrictFloat


class TimeSpan(BaseModel):
    """A span of the day, end excluded; past midnight where it ends before it begins."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    begin: Clock = Field(alias="from")
    end: EndClock = Field(alias="to")

    def contains(self, minute: float) -> bool:
        """True if this minute of the day (0 to 1440) lies in the span.

        >>> TimeSpan.model_validate({"from": "22:00", "to": "02:00"}).contains(60)
        True
        """
        return bool(self.contain(np.array([minute]))[0])

    def contain(self, minute: Floats) -> Flags:
        """(n,) True where the minute of the day lies in the span; nan lies in none."""
        low, high = parse_clock(self.begin), parse_clock(self.end)
        after, before = minute >= low, minute < high
        inside: Flags = after & before if low < high else after | before
        return inside


Condition = Scalar | list[Scalar] | TimeSpan
Where = Mapping[str, Condition]


def alternatives(condition: Condition) -> tuple[Scalar, ...]:
    """The values that a condition allows; none for a span of the day."""
    if isinstance(condition, TimeSpan):
        return ()
    return tuple(condition) if isinstance(condition, list) else (condition,)


def has_value(found: object, wanted: Scalar) -> bool:
    """True if a feature's value is the wanted one, or a list that contains it; a flag is not a number."""
    if isinstance(found, list):
        return wanted in found
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def texts(where: Where) -> Iterator[tuple[str, str]]:
    """Each field and text value of a `where`, in its order."""
    for name, condition in where.items():
        for value in alternatives(condition):
            if isinstance(value, str):
                yield name, value
