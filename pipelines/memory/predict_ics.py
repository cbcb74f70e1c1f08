"""Predictions as an iCalendar file that calendars import: tentative, and not blocking any time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from icalendar import Calendar, Event

from pipelines.memory.predict import Prediction

_SHORTEST = 15
"""Minutes of an event with unknown duration: calendars do not show an event of zero minutes."""
_A_YEAR = timedelta(days=366)
"""How far before and after the events VTIMEZONE lists clock changes."""


def to_ics(found: Sequence[Prediction], as_of: datetime) -> bytes:
    """The predictions as iCalendar. Equal predictions give equal bytes, and importing them again replaces the events.

    Args:
        found: the predictions.
        as_of: their evaluation time.
    """
    calendar = Calendar()
    calendar.add("prodid", "-//habitus//predictions//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    for prediction in found:
        calendar.add_component(_event(prediction, as_of))
    if found:
        days = [prediction.at.date() for prediction in found]
        calendar.add_missing_timezones(min(days) - _A_YEAR, max(days) + _A_YEAR)
    written: bytes = calendar.to_ical()
    return written


def _event(prediction: Prediction, as_of: datetime) -> Event:
    event = Event()
    named = getattr(prediction.at.tzinfo, "key", "UTC") != "UTC"
    begin = prediction.at if named else prediction.at.astimezone(UTC)
    event.add("uid", f"{prediction.pattern_id}-{prediction.at:%Y%m%dT%H%M}@habitus")
    event.add("dtstamp", as_of.astimezone(UTC).replace(microsecond=0))
    event.add("dtstart", begin)
    event.add("duration", timedelta(minutes=round(prediction.minutes or _SHORTEST)))
    event.add("summary", f"{prediction.what} ({prediction.probability:.0%})")
    event.add(
        "description", f"{prediction.statement}: expected with a probability of {prediction.probability:.0%}."
    )
    event.add("status", "TENTATIVE")
    event.add("transp", "TRANSPARENT")
    event.add("categories", ["habitus"])
    return event
