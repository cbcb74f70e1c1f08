"""The report: one page that holds everything, to be opened in any browser, printed, or sent to somebody.

Pictures are drawn here and stand in the page as SVG. A script of a few lines adds the filter, the choice of a person and
labels for what is pointed at; without it the page is complete, only longer. Nothing comes from the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

import polars as pl
from markupsafe import Markup

from observations.ingest.reading_report import ReadingReport
from patterns.candidates import PATTERN_TYPES
from patterns.explain import Explanation
from patterns.model import Pattern, read_patterns
from patterns.settings import Settings
from pipelines.drawing import strip_svg
from pipelines.report.cards import Card, ahead_of, cards_of, changes_of
from pipelines.report.facts import (
    Changes,
    Coverage,
    Timetable,
    changes,
    coverage,
    nearly_confirmed,
    timetable,
)
from pipelines.report.redaction import Names, redacted_explanation, redacted_observations, redacted_reading
from pipelines.report.showing import environment, style

if TYPE_CHECKING:
    from pipelines.batch import Detection

LARGEST = 2_900_000
"""Bytes that a page may have: so that it can be sent by mail, and opens at once on a telephone."""

PEOPLE_WITH_PICTURES, CARDS_WITH_CALENDAR, CARDS = 12, 200, 600
"""How many people have their week and all their patterns drawn, how many patterns have a calendar, and how many a card.
Those with most patterns come first; of the rest it is said how many they are. Less where the page would be too large."""

SPANS_SHOWN = 40
"""Patterns in the picture of all patterns through time."""

_TITLES = {
    "temporal": ("Times", "things that happen at a time"),
    "workflow": ("Workflows", "things that follow one another"),
    "preference": ("Preferences", "how things are done"),
    "relationship": ("People", "who takes part in what"),
    "avoidance": ("Never", "hours and days without something"),
}


@dataclass(frozen=True, eq=False)
class Findings:
    """What a report is made of.

    Attributes:
        explanation: patterns with everything behind them.
        observations: what they rest on.
        reading: what became of the sources.
        settings: by which patterns were judged.
        as_of: the evaluation time; each person's newest observation if null.
    """

    explanation: Explanation
    observations: pl.DataFrame
    reading: ReadingReport
    settings: Settings
    as_of: datetime | None

    @classmethod
    def of(cls, detection: Detection) -> Findings:
        """Of a detection that has its observations at hand."""
        as_of = None if detection.basis is None else detection.basis.as_of
        return cls(detection.explanation, detection.observed, detection.report, detection.settings, as_of)

    def redacted(self) -> Findings:
        """The same with all words from the data replaced (`pipelines.report.redaction`)."""
        names = Names()
        return replace(
            self,
            explanation=redacted_explanation(self.explanation, names),
            observations=redacted_observations(self.observations, names),
            reading=redacted_reading(self.reading, names),
        )


@dataclass(frozen=True)
class Detail:
    """A card, and what unfolds below it."""

    card: Card
    calendar: Markup
    changes: tuple[str, ...]
    ahead: str
    lately: tuple[tuple[str, str], ...]

    def __getattr__(self, name: str) -> object:
        return getattr(self.card, name)


@dataclass(frozen=True)
class Group:
    """The confirmed patterns of one type."""

    title: str
    subtitle: str
    cards: tuple[Detail, ...]


@dataclass(frozen=True)
class Portrait:
    """One person's part of the page."""

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


def report_html(findings: Findings | Detection, *, redact: bool = False, title: str = "Habits") -> str:
    """The report as one HTML page.

    Args:
        findings: a detection, or what a report is made of.
        redact: replace names, addresses, titles and all other words from the data.
        title: the page's title.

    Raises:
        SettingError: the detection does not have its observations at hand.

    """
    whole = findings if isinstance(findings, Findings) else Findings.of(findings)
    if redact:
        whole = whole.redacted()
    for part in (1, 2, 4, 8, 16):
        page = _rendered(
            whole,
            _Room(PEOPLE_WITH_PICTURES // part, CARDS // part, CARDS_WITH_CALENDAR // part),
            title,
            redact,
        )
        if len(page.encode()) <= LARGEST:
            break
    return page


def _rendered(whole: Findings, room: _Room, title: str, redact: bool) -> str:
    portraits = _portraits(whole, room)
    ends = [portrait.now for portrait in portraits]
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            css=style("page.css", "pictures.css"),
            script=style("page.js"),
            people=portraits,
            sources=list(whole.reading.sources.values()),
            as_of=max(ends).date() if ends else None,
            settings=whole.settings,
            types=[(name, _TITLES[name][0]) for name in PATTERN_TYPES],
            total=whole.explanation.patterns.height,
            redacted=redact,
        )
    )


def _portraits(whole: Findings, room: _Room) -> list[Portrait]:
    """Everybody's part, those with most confirmed patterns first."""
    people = whole.observations.partition_by("user_id", as_dict=True)
    counts = whole.explanation.patterns.group_by("user_id").agg(
        confirmed=(pl.col("status") == "confirmed").sum(), patterns=pl.len()
    )
    rank = {name: (-confirmed, -patterns) for name, confirmed, patterns in counts.iter_rows()}
    names = sorted((str(key[0]) for key in people), key=lambda name: (*rank.get(name, (0, 0)), name))
    portraits = []
    for number, name in enumerate(names, start=1):
        own = _of_person(whole.explanation, name)
        portraits.append(_portrait(number, name, own, people[(name,)], whole, room))
    return portraits


@dataclass
class _Room:
    """What the page still has room for: people with pictures, cards, cards with a calendar."""

    people: int
    cards: int
    calendars: int


def _of_person(explanation: Explanation, name: str) -> Explanation:
    mine = pl.col("user_id") == name
    return Explanation(
        explanation.patterns.filter(mine),
        explanation.opportunities.filter(mine),
        explanation.journal.filter(mine),
        explanation.outlook.filter(mine),
    )


def _portrait(
    number: int, name: str, own: Explanation, observations: pl.DataFrame, whole: Findings, room: _Room
) -> Portrait:
    from pipelines.batch import wall_clock

    now = wall_clock(observations, whole.as_of)
    seen = observations.filter(pl.col("local") <= now)
    patterns = list(read_patterns(own.patterns))
    shown = patterns[: room.cards]
    room.cards -= len(shown)
    details = {
        detail.card.pattern.id: detail
        for detail in _details(own, shown, seen, now.date(), whole.settings, room)
    }
    drawn = room.people > 0
    room.people -= 1
    hours, table = _hours(seen, own.patterns) if drawn else (Markup(), ())
    return Portrait(
        number=number,
        name=name,
        now=now,
        coverage=coverage(seen),
        counts={
            status: sum(p.status == status for p in patterns)
            for status in ("confirmed", "tracking", "expired")
        },
        week=timetable(patterns),
        hours=hours,
        hours_table=table,
        changes=changes(own, patterns, now),
        groups=tuple(_groups(shown, details)),
        nearly=tuple(details[p.id] for p in nearly_confirmed(own, shown)),
        expired=tuple(details[p.id] for p in shown if p.status == "expired"),
        spans=_spans(own, now) if drawn else Markup(),
        traces=_traces(seen, now.date()),
        left_out=len(patterns) - len(shown),
    )


def _groups(patterns: Sequence[Pattern], details: dict[str, Detail]) -> list[Group]:
    groups = []
    for kind, (title, subtitle) in _TITLES.items():
        mine = [p for p in patterns if p.type == kind and p.status == "confirmed"]
        # What only restates the calendar comes after what was learned.
        mine.sort(key=lambda p: p.source == "declared")
        if mine:
            groups.append(Group(title, subtitle, tuple(details[p.id] for p in mine)))
    return groups


def _details(
    own: Explanation,
    patterns: Sequence[Pattern],
    observations: pl.DataFrame,
    until: date,
    settings: Settings,
    room: _Room,
) -> list[Detail]:
    ids = [pattern.id for pattern in patterns]
    frame = own.patterns.filter(pl.col("id").is_in(ids))
    cards = cards_of(frame, own.opportunities, settings, dict.fromkeys(frame["user_id"], until))
    by_id = {str(key[0]): part for key, part in own.opportunities.group_by("pattern_id", maintain_order=True)}
    called = _called(observations, {id for pattern in patterns for id in pattern.evidence[:_LATEST]})
    details = []
    for card in cards:
        pattern, calendar = card.pattern, Markup()
        if pattern.status == "confirmed" and room.calendars > 0 and pattern.id in by_id:
            room.calendars -= 1
            calendar = strip_svg(by_id[pattern.id], until=until)
        lately = tuple(called[id] for id in pattern.evidence[:_LATEST] if id in called)
        details.append(
            Detail(card, calendar, tuple(changes_of(own, pattern.id)), ahead_of(own, pattern), lately)
        )
    return details


_LATEST = 5
"""Supporting observations that are named."""


def _called(observations: pl.DataFrame, ids: set[str]) -> dict[str, tuple[str, str]]:
    """For each of these observations when it was and what it is called."""
    names = [
        c for c in ("title:text", "subject:text", "command:text", "program:text") if c in observations.columns
    ]
    asked = observations.filter(pl.col("id").is_in(list(ids))).select(
        "id",
        pl.col("local").dt.strftime("%a %-d %b %Y, %H:%M"),
        pl.coalesce(
            [*(pl.col(c) for c in names), pl.concat_str("type", pl.lit(" "), pl.col("action").fill_null(""))]
        ),
    )
    return {id: (when, called) for id, when, called in asked.iter_rows()}


# --- pictures -------------------------------------------------------------------------------------------------


def _hours(
    observations: pl.DataFrame, patterns: pl.DataFrame
) -> tuple[Markup, tuple[tuple[str, tuple[str, ...]], ...]]:
    """The week by the hour, and for those who do not see it how much there is on each weekday."""
    from pipelines import charts
    from pipelines.charts.weeks import DAYS, hours_of_the_week

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
    """All patterns through time: those that are or were confirmed, then the others, as far as there is room."""
    from pipelines import charts

    ever = own.patterns.filter(pl.col("confirmed_at").is_not_null() | (pl.col("status") != "tracking"))
    chosen = pl.concat([ever, own.patterns.join(ever, on="id", how="anti")]).head(SPANS_SHOWN)
    if chosen.is_empty():
        return Markup()
    return _drawn(charts.to_svg(charts.lifecycle(replace(own, patterns=chosen), now)))


def _traces(observations: pl.DataFrame, until: date) -> Markup:
    """A calendar of the days on which there is any trace."""
    days = observations.select(
        pl.col("local").dt.truncate("1d").unique(), kept=pl.lit(True), observation=pl.lit("")
    )
    return strip_svg(days, until=until)


def _drawn(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704  an element tree, written out by `pipelines.charts.drawn`
