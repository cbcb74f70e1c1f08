"""The section of each person in the report: text, figures and charts, within the limits of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import polars as pl
from markupsafe import Markup

from patterns.explain import Explanation
from patterns.model import STATUSES, Pattern, read_patterns
from patterns.registry import KINDS
from patterns.settings import Settings
from pipelines.report.cards import Card, ahead_of, cards_of, changes_of
from pipelines.report.summary_facts import (
    Changes,
    Coverage,
    Timetable,
    changes,
    coverage,
    nearly_confirmed,
    timetable,
)
from pipelines.text.sparklines import strip_svg
from pipelines.wall_clock import wall_clock

SPANS_SHOWN = 40
"""Maximum number of patterns in the lifecycle chart."""


@dataclass
class Room:
    """The remaining limits of the page.

    Attributes:
        people: sections of people.
        pictures: people with a week chart and a lifecycle chart.
        cards: patterns with a card.
        calendars: patterns with a calendar.
    """

    people: int
    pictures: int
    cards: int
    calendars: int


@dataclass(frozen=True)
class Detail:
    """A card and its expandable details."""

    card: Card
    calendar: Markup
    changes: tuple[str, ...]
    ahead: str
    lately: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Group:
    """The confirmed patterns of one type."""

    title: str
    subtitle: str
    cards: tuple[Detail, ...]


@dataclass(frozen=True)
class Portrait:
    """The section of one person."""

    number: int
    name: str
    now: datetime
    coverage: Coverage
    counts: dict[str, int]
    week: Timetable
    hours: Markup
    hours_table: tuple[tuple[str, tuple[str, ...]], ...]
    changes: Changes
    groups: tuple[Group, ...]
    nearly: tuple[Detail, ...]
    expired: tuple[Detail, ...]
    spans: Markup
    traces: Markup
    left_out: int


def portraits_of(
    explanation: Explanation,
    observations: pl.DataFrame,
    settings: Settings,
    as_of: datetime | None,
    room: Room,
) -> list[Portrait]:
    """The sections of as many people as fit, those with the most confirmed patterns first.

    Args:
        explanation: the patterns of all people, with their opportunities and history.
        observations: the observations they were found in.
        settings: the settings they were evaluated with.
        as_of: the evaluation time; each person's newest observation if None.
        room: the limits; each section reduces them.

    """
    if as_of is not None:
        observations = observations.filter(pl.col("at") <= as_of)
    counts = explanation.patterns.group_by("user_id").agg(
        confirmed=(pl.col("status") == "confirmed").sum(), patterns=pl.len()
    )
    people = observations.select("user_id").unique().join(counts, on="user_id", how="left").fill_null(0)
    order = people.sort("confirmed", "patterns", "user_id", descending=[True, True, False])
    names = order.get_column("user_id").head(room.people).to_list()
    own = observations.filter(pl.col("user_id").is_in(names)).partition_by("user_id", as_dict=True)
    return [
        _portrait(number, name, _of_person(explanation, name), own[(name,)], settings, as_of, room)
        for number, name in enumerate(names, start=1)
    ]


def _of_person(explanation: Explanation, name: str) -> Explanation:
    mine = pl.col("user_id") == name
    return Explanation(
        explanation.patterns.filter(mine),
        explanation.opportunities.filter(mine),
        explanation.journal.filter(mine),
        explanation.outlook.filter(mine),
    )


def _portrait(
    number: int,
    name: str,
    own: Explanation,
    observations: pl.DataFrame,
    settings: Settings,
    as_of: datetime | None,
    room: Room,
) -> Portrait:
    now = wall_clock(observations, as_of)
    patterns = list(read_patterns(own.patterns))
    shown = patterns[: room.cards]
    room.cards -= len(shown)
    details = {
        detail.card.pattern.id: detail
        for detail in _details(own, shown, observations, now.date(), settings, room)
    }
    drawn = room.pictures > 0
    room.pictures -= 1
    hours, table = _hours(observations, own.patterns) if drawn else (Markup(), ())
    return Portrait(
        number=number,
        name=name,
        now=now,
        coverage=coverage(observations),
        counts={status: sum(p.status == status for p in patterns) for status in STATUSES},
        week=timetable(patterns),
        hours=hours,
        hours_table=table,
        changes=changes(own, patterns, now),
        groups=tuple(_groups(shown, details)),
        nearly=tuple(details[p.id] for p in nearly_confirmed(own, shown)),
        expired=tuple(details[p.id] for p in shown if p.status == "expired"),
        spans=_spans(own, now) if drawn else Markup(),
        traces=_traces(observations, now.date()),
        left_out=len(patterns) - len(shown),
    )


def _groups(patterns: Sequence[Pattern], details: dict[str, Detail]) -> list[Group]:
    groups = []
    for kind in KINDS:
        mine = [p for p in patterns if p.type == kind.type and p.status == "confirmed"]
        # Patterns that only restate the calendar come last.
        mine.sort(key=lambda p: p.source == "declared")
        if mine:
            groups.append(Group(kind.heading, kind.about, tuple(details[p.id] for p in mine)))
    return groups


def _details(
    own: Explanation,
    patterns: Sequence[Pattern],
    observations: pl.DataFrame,
    until: date,
    settings: Settings,
    room: Room,
) -> list[Detail]:
    ids = [pattern.id for pattern in patterns]
    frame = own.patterns.filter(pl.col("id").is_in(ids))
    cards = cards_of(frame, own.opportunities, settings, dict.fromkeys(frame["user_id"], until))
    by_id = {str(key[0]): part for key, part in own.opportunities.group_by("pattern_id", maintain_order=True)}
    titles = _titles(observations, {id for pattern in patterns for id in pattern.evidence[:_LATEST]})
    details = []
    for card in cards:
        pattern, calendar = card.pattern, Markup()
        if pattern.status == "confirmed" and room.calendars > 0 and pattern.id in by_id:
            room.calendars -= 1
            calendar = strip_svg(by_id[pattern.id], until=until)
        lately = tuple(titles[id] for id in pattern.evidence[:_LATEST] if id in titles)
        details.append(
            Detail(card, calendar, tuple(changes_of(own, pattern.id)), ahead_of(own, pattern), lately)
        )
    return details


_LATEST = 5
"""Number of supporting observations that are listed."""


def _titles(observations: pl.DataFrame, ids: set[str]) -> dict[str, tuple[str, str]]:
    """The local time and the title of each of these observations, by id."""
    names = [
        c for c in ("title:text", "subject:text", "command:text", "program:text") if c in observations.columns
    ]
    chosen = observations.filter(pl.col("id").is_in(list(ids))).select(
        "id",
        pl.col("local").dt.strftime("%a %-d %b %Y, %H:%M"),
        pl.coalesce(
            [*(pl.col(c) for c in names), pl.concat_str("type", pl.lit(" "), pl.col("action").fill_null(""))]
        ),
    )
    return {id: (when, title) for id, when, title in chosen.iter_rows()}


# --- charts ---------------------------------------------------------------------------------------------------


def _hours(
    observations: pl.DataFrame, patterns: pl.DataFrame
) -> tuple[Markup, tuple[tuple[str, tuple[str, ...]], ...]]:
    """The week chart, and the same as a table by weekday for screen readers."""
    from pipelines import charts
    from pipelines.charts.week_chart import DAYS, hours_of_the_week

    cells = hours_of_the_week(observations)
    sums = (
        {(p, d): n for p, d, n in cells.group_by("panel", "day").agg(pl.col("a_week").sum()).iter_rows()}
        if cells.height
        else {}
    )
    panels = cells.get_column("panel").unique(maintain_order=True).to_list()
    table = tuple((panel, tuple(f"{sums.get((panel, day), 0.0):.1f}" for day in DAYS)) for panel in panels)
    return _drawn(charts.to_svg(charts.week(observations, patterns))), table


def _spans(own: Explanation, now: datetime) -> Markup:
    """The lifecycle chart: patterns that are or were confirmed first, at most `SPANS_SHOWN`."""
    from pipelines import charts

    ever = own.patterns.filter(pl.col("confirmed_at").is_not_null() | (pl.col("status") != "tracking"))
    chosen = pl.concat([ever, own.patterns.join(ever, on="id", how="anti")]).head(SPANS_SHOWN)
    if chosen.is_empty():
        return Markup()
    return _drawn(charts.to_svg(charts.lifecycle(replace(own, patterns=chosen), now)))


def _traces(observations: pl.DataFrame, until: date) -> Markup:
    """A calendar of the days that have observations."""
    days = observations.select(
        pl.col("local").dt.truncate("1d").unique(), kept=pl.lit(True), observation=pl.lit("")
    )
    return strip_svg(days, until=until)


def _drawn(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704  an element tree, written out by `pipelines.charts.svg`
