"""Predictions as an iCalendar file that calendars import: tentative, and not blocking any time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from icalendar import Calendar, Event

from pipelines.memory.predict import Prediction

_SHORTEST = 15
"""Minutes of something whose length is not known: calendars draw nothing for none."""
_A_YEAR = timedelta(days=366)
"""So long before and after, changes of the clock are described."""


def to_ics(found: Sequence[Prediction], as_of: datetime) -> bytes:
    """The calendar. The same predictions give the same bytes; one that is imported again replaces itself.

    Args:
        found: the predictions.
        as_of: the moment they are of.
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
