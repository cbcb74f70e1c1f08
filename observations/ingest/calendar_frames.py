"""From occurrences to observation frames: what an event's features are, and which occurrences took place."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from observations.civil import zone
from observations.ingest.base import ReadOptions, with_times
from observations.ingest.ical_event import Event
from observations.ingest.ical_people import People, people_of
from observations.ingest.ical_series import Occurrence, Span
from observations.ingest.ical_values import split_texts, unescape, without_url_secrets
from observations.ingest.ical_versions import Family
from observations.ingest.remarks import Remarks
from observations.schema import BASE

EARLIEST = datetime(1970, 1, 1)
"""What is dated before is no record of what somebody did (Apple keeps birthdays without a year in 1604)."""

FEATURES = {
    "title:text": pl.String(),
    "location:text": pl.String(),
    "organizer:text": pl.String(),
    "participants:list": pl.List(pl.String()),
    "category:text": pl.String(),
    "categories:list": pl.List(pl.String()),
    "duration_minutes:number": pl.Float64(),
    "all_day:flag": pl.Boolean(),
    "series:text": pl.String(),
    "status:text": pl.String(),
    "response:text": pl.String(),
}
"""The features of a calendar observation; a file without a feature has no column for it.

``categories`` is there where an event has more than ``category``; ``status`` only says ``tentative``; ``response`` is
what the person answered to an invitation: accepted, tentative, needs-action.
"""

GOOGLE_KIND = "http://schemas.google.com/g/2005#event"
"""What old Google exports write as the category of every event."""

NOT_ATTENDED = frozenset({"declined", "delegated"})
"""Answers after which an event took place without the person."""


class Observed:
    """Gathers occurrences and makes observation frames of them.

    What the occurrences of an event have in common is kept once and spread over its rows at the end.

    Args:
        options: the user's zone, and the window.
        me: the person's addresses, in lower case.
        remarks: is told what was left out.

    """

    def __init__(self, options: ReadOptions, me: frozenset[str], remarks: Remarks) -> None:
        self._tz = options.tz
        self._me = me
        self._remarks = remarks
        since = _naive(options.since) if options.since else EARLIEST
        self.span = Span(max(since, EARLIEST), _naive(options.until))
        self._span_here = Span(*(_wall(instant, options.tz) for instant in self.span))
        self._clear()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, family: Family, occurrence: Occurrence) -> None:
        """Take in an occurrence, unless it did not take place for the person.

        Single events and overrides outside the window are taken in (the window is cut, and counted, for all
        readers together); what a rule yields there is not.
        """
        event, start, original, length = occurrence
        begins = start.wall if start.is_date else event.clock.instant(start)
        span = self._span_here if start.is_date else self.span
        if (event.recurs or event.and_future) and not span.first <= begins <= span.last:
            return
        if begins < EARLIEST:
            self._remarks.leave_out("before_1970", "events dated before 1970")
            return
        look = self._looks.get((id(event), length))
        if look is None:
            look = self._looks[id(event), length] = self._add_look(family, event, start.is_date, length)
        if isinstance(look, str):
            self._remarks.leave_out(look, f"events that were {look}")
            return
        self._which.append(look)
        self._at.append(None if start.is_date else begins)
        self._local.append(begins if start.is_date else None)
        self._ids.append(_id(family, event, original))

    def take(self) -> pl.DataFrame:
        """Everything gathered so far, as an observation frame with ``user_id`` null; nothing remains."""
        height = len(self)
        base = pl.DataFrame(
            {
                "id": pl.Series(self._ids, dtype=pl.String),
                "user_id": pl.repeat(None, height, dtype=pl.String, eager=True),
                "type": pl.repeat("calendar", height, dtype=pl.String, eager=True),
                "action": pl.repeat("created", height, dtype=pl.String, eager=True),
                "at": pl.Series(self._at, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC"),
                "local": pl.Series(self._local, dtype=pl.Datetime("us")),
                "tz": pl.repeat(self._tz, height, dtype=pl.String, eager=True),
                "actor": pl.repeat("user", height, dtype=pl.String, eager=True),
            },
            schema=dict(BASE),
        )
        looks = pl.DataFrame(self._columns, schema=FEATURES)
        features = looks[pl.Series(self._which, dtype=pl.UInt32)]
        said = [column for column in features.columns if features.get_column(column).null_count() < height]
        self._clear()
        return with_times(base.hstack(features.select(said)))

    def _clear(self) -> None:
        self._ids: list[str] = []
        self._at: list[datetime | None] = []
        self._local: list[datetime | None] = []
        self._which: list[int] = []
        self._columns: dict[str, list[object]] = {name: [] for name in FEATURES}
        self._looks: dict[tuple[int, timedelta], int | str] = {}

    def _add_look(self, family: Family, event: Event, all_day: bool, length: timedelta) -> int | str:
        """Where the features of an event are, or why its occurrences did not take place."""
        if event.cancelled:
            return "cancelled"
        people = people_of(event.component, self._me)
        if people.response in NOT_ATTENDED:
            return people.response or ""
        features = _features(event, people, length)
        features["all_day:flag"] = True if all_day else None
        features["series:text"] = family.series
        for name, column in self._columns.items():
            column.append(features.get(name))
        return len(self._columns["title:text"]) - 1


def _features(event: Event, people: People, length: timedelta) -> dict[str, object]:
    component = event.component
    categories = [
        category
        for written in component.all("CATEGORIES")
        for category in split_texts(written.value)
        if category != GOOGLE_KIND
    ]
    return {
        "title:text": without_url_secrets(unescape(component.text("SUMMARY"))) or None,
        "location:text": without_url_secrets(unescape(component.text("LOCATION"))) or None,
        "organizer:text": people.organizer,
        "participants:list": people.participants or None,
        "category:text": categories[0] if categories else None,
        "categories:list": categories if len(categories) > 1 else None,
        "duration_minutes:number": length.total_seconds() / 60,
        "status:text": "tentative" if component.text("STATUS").upper() == "TENTATIVE" else None,
        "response:text": people.response or _outlook_response(event),
    }


def _outlook_response(event: Event) -> str | None:
    """What Outlook says of the person's own answer; it need not list the person among the attendees."""
    busy = event.component.text("X-MICROSOFT-CDO-BUSYSTATUS").upper()
    return "tentative" if busy == "TENTATIVE" else None


def _id(family: Family, event: Event, original: datetime | None) -> str:
    """The UID, and the original instant (for an all-day series the day) of what is one of several."""
    if original is None:
        return family.uid
    name = event.recurrence_id or event.start
    shown = original.date().isoformat() if name.is_date else f"{original.isoformat()}Z"
    return f"{family.series or family.uid}/{shown}"


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _wall(instant: datetime, tz: str) -> datetime:
    return instant.replace(tzinfo=UTC).astimezone(zone(tz)).replace(tzinfo=None)
