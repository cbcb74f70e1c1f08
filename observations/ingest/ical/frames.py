"""From occurrences to observation frames: what an event's features are, and which occurrences took place."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from observations.civil_time import zone
from observations.ingest.ical.attendees import People, people_of
from observations.ingest.ical.event import Event
from observations.ingest.ical.revisions import Family
from observations.ingest.ical.series import Run, Span
from observations.ingest.ical.values import split_texts, unescape, without_queries
from observations.ingest.toolkit.complete import with_times
from observations.ingest.toolkit.note_collector import NoteCollector
from observations.ingest.toolkit.reader import ReadOptions

EARLIEST, LATEST = datetime(1970, 1, 1), datetime(2999, 12, 31)
"""What is dated before is no record of what somebody did (Apple keeps birthdays without a year in 1604); rules are
worked out no further than the second.
"""

FEATURES = {
    "title:text": pl.String(),
    "location:text": pl.String(),
    "organizer:text": pl.String(),
    "participants:list": pl.List(pl.String()),
    "category:text": pl.String(),
    "categories:list": pl.List(pl.String()),
    "duration_minutes:number": pl.Float64(),
    "all_day:flag": pl.Boolean(),
    "status:text": pl.String(),
    "response:text": pl.String(),
    "series:text": pl.String(),
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
    """Gathers runs of occurrences and makes observation frames of them.

    What the occurrences of a run have in common is kept once and spread over its rows at the end.

    Args:
        options: the user's zone, and the window.
        me: the person's addresses, in lower case.
        remarks: collects notes on what was left out.

    Attributes:
        span: the window, as far as calendars have anything in it.

    """

    def __init__(self, options: ReadOptions, me: frozenset[str], remarks: NoteCollector) -> None:
        self._tz = options.tz
        self._me = me
        self._remarks = remarks
        since = _naive(options.since) if options.since else EARLIEST
        self.span = Span(max(since, EARLIEST), min(_naive(options.until), LATEST))
        self._span_here = Span(*(_wall(instant, options.tz) for instant in self.span))
        self._clear()

    def __len__(self) -> int:
        return len(self._which)

    def add(self, family: Family, run: Run) -> None:
        """Take in the occurrences of a run, unless they did not take place for the person.

        Single events and overrides outside the window are taken in (the window is cut, and what is cut is
        counted, for all readers together); what a rule yields there is not.
        """
        event, length, begins, names, by_day = run
        all_day = event.start.is_date
        if event.recurs or event.and_future:
            begins, names = _within(begins, names, self._span_here if all_day else self.span)
        elif begins[0] < EARLIEST:
            self._remarks.leave_out("before_1970", "events dated before 1970")
            return
        if not begins:
            return
        look = self._add_look(family, event, length, by_day)
        if isinstance(look, str):
            self._remarks.leave_out(look, f"events that were {look}", len(begins))
            return
        nothing = [None] * len(begins)
        self._which += [look] * len(begins)
        self._names += nothing if names is None else names
        self._at += nothing if all_day else begins
        self._local += begins if all_day else nothing

    def take(self) -> pl.DataFrame:
        """The gathered events as an observation frame with ``user_id`` null; clears them."""
        height = len(self)
        rows = pl.DataFrame(
            {"name": self._names, "at": self._at, "local": self._local},
            schema=dict.fromkeys(("name", "at", "local"), pl.Datetime("us")),
        ).with_columns(pl.col("at").dt.replace_time_zone("UTC"))
        columns = zip(*self._looks, strict=True) if self._looks else [()] * len(_LOOKS)
        looks = pl.DataFrame(dict(zip(_LOOKS, columns, strict=True)), schema=_LOOKS)
        looks = looks.with_columns(pl.col(*_LISTS).str.split(_SEPARATOR))
        looks = looks[pl.Series(self._which, dtype=pl.UInt32)]
        present = [name for name in FEATURES if looks.get_column(name).null_count() < height]
        self._clear()
        frame = rows.hstack(looks).select(
            _ID,
            pl.lit(None, dtype=pl.String).alias("user_id"),
            pl.lit("calendar").alias("type"),
            pl.lit("created").alias("action"),
            "at",
            "local",
            pl.lit(self._tz).alias("tz"),
            pl.lit("user").alias("actor"),
            *present,
        )
        return with_times(frame)

    def _clear(self) -> None:
        self._which: list[int] = []
        self._names: list[datetime | None] = []
        self._at: list[datetime | None] = []
        self._local: list[datetime | None] = []
        self._looks: list[tuple[object, ...]] = []

    def _add_look(self, family: Family, event: Event, length: timedelta, by_day: bool) -> int | str:
        """Where the features of a run are kept, or why it did not take place."""
        if event.cancelled:
            return "cancelled"
        people = people_of(event.component, self._me)
        if people.response in NOT_ATTENDED:
            return people.response or ""
        series = family.series
        self._looks.append((*_features(event, people, length), series, series or family.uid, by_day))
        return len(self._looks) - 1


_LISTS = [name for name, dtype in FEATURES.items() if isinstance(dtype, pl.List)]
_SEPARATOR = "\x1f"
"""Stands between the elements of a list until they are in a column: polars takes in Python lists at 10 µs each."""

_LOOKS = FEATURES | dict.fromkeys(_LISTS, pl.String()) | {"uid": pl.String(), "by_day": pl.Boolean()}

_ID = (
    pl.when(pl.col("name").is_null())
    .then("uid")
    .when("by_day")
    .then(pl.concat_str("uid", pl.col("name").dt.strftime("/%Y-%m-%d")))
    .otherwise(pl.concat_str("uid", pl.col("name").dt.strftime("/%Y-%m-%dT%H:%M:%SZ")))
    .alias("id")
)
"""The UID, and the name of what is one of several: its original instant, or its day in an all-day series."""


def _within(
    begins: list[datetime], names: list[datetime] | None, span: Span
) -> tuple[list[datetime], list[datetime] | None]:
    """Those of a run that begin within the span."""
    first, last = span
    if names is None or names is begins:
        begins = [begin for begin in begins if first <= begin <= last]
        return begins, None if names is None else begins
    kept = [(b, n) for b, n in zip(begins, names, strict=True) if first <= b <= last]
    return [begin for begin, _ in kept], [name for _, name in kept]


def _features(event: Event, people: People, length: timedelta) -> tuple[object, ...]:
    """The values of all `FEATURES` but the last, in their order; None for what the event does not have."""
    component = event.component
    categories = [
        without_queries(category)
        for written in component.all("CATEGORIES")
        for category in split_texts(written.value)
        if category != GOOGLE_KIND
    ]
    return (
        without_queries(unescape(component.text("SUMMARY"))) or None,
        without_queries(unescape(component.text("LOCATION"))) or None,
        people.organizer,
        _SEPARATOR.join(people.participants) or None,
        categories[0] if categories else None,
        _SEPARATOR.join(categories) if len(categories) > 1 else None,
        length.total_seconds() / 60,
        True if event.start.is_date else None,
        "tentative" if component.text("STATUS").upper() == "TENTATIVE" else None,
        people.response or _outlook_response(event),
    )


def _outlook_response(event: Event) -> str | None:
    """The response of the person by Outlook, which need not list the person among the attendees."""
    busy = event.component.text("X-MICROSOFT-CDO-BUSYSTATUS").upper()
    return "tentative" if busy == "TENTATIVE" else None


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _wall(instant: datetime, tz: str) -> datetime:
    return instant.replace(tzinfo=UTC).astimezone(zone(tz)).replace(tzinfo=None)
