"""Results as HTML for a notebook: one element with its style, no script, nothing from the network, data escaped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl
from markupsafe import Markup

from patterns.explain import Explanation
from patterns.model import STATUSES, read_patterns
from patterns.settings import Settings
from pipelines.report.cards import ahead_of, by_person, cards_of, changes_of, last_days
from pipelines.report.templates import environment, style
from pipelines.text.counts import people_counted, plural
from pipelines.text.sparklines import strip_svg

SHOWN, FOLDED = 20, 200
"""Patterns that are shown at once, and those that unfold; the rest is only counted."""


@dataclass(frozen=True, eq=False)
class Weeks:
    """What the weeks of patterns are drawn from.

    Attributes:
        opportunities: `patterns.explain.OPPORTUNITIES`.
        observed: the observations that the patterns rest on.
    """

    opportunities: pl.DataFrame
    observed: pl.DataFrame


def detection_html(
    patterns: pl.DataFrame, observations: int, people: int, settings: Settings, weeks: Weeks | None
) -> str:
    """A table of patterns.

    Args:
        patterns: `patterns.pattern_frame.PATTERNS`.
        observations, people: how many they rest on.
        settings: by which they were judged.
        weeks: None to leave the sparklines out.
    """
    seen, until = (None, None) if weeks is None else (weeks.opportunities, last_days(weeks.observed))
    cards = cards_of(patterns.head(SHOWN + FOLDED), seen, settings, until)
    return (
        environment()
        .get_template("detection.html")
        .render(
            css=style("pictures.css", "notebook.css"),
            title=title_of(patterns),
            subtitle=f"in {plural(observations, 'observation')} of {people_counted(people)}",
            shown=by_person(cards[:SHOWN]),
            folded=by_person(cards[SHOWN:]),
            folded_count=len(cards[SHOWN:]),
            left_out=patterns.height - len(cards),
            several=patterns.get_column("user_id").n_unique() > 1,
            with_weeks=weeks is not None,
        )
    )


def explained_html(explanation: Explanation, settings: Settings, until: datetime) -> str:
    """One pattern with its calendar, its course through time and what would change it.

    Args:
        explanation: of this pattern alone.
        settings: by which it was judged.
        until: the wall clock at which it was judged.
    """
    from pipelines import charts  # altair takes half a second to import

    pattern = next(read_patterns(explanation.patterns))
    (card,) = cards_of(explanation.patterns, explanation.opportunities, settings)
    course = charts.course(explanation, pattern.id, settings, until)
    return (
        environment()
        .get_template("explained.html")
        .render(
            css=style("pictures.css", "notebook.css"),
            card=card,
            pattern=pattern,
            strip=strip_svg(explanation.opportunities, until=until.date(), pointable=True),
            course=Markup(charts.to_svg(course)),  # noqa: S704  an element tree, written out
            changes=list(changes_of(explanation, pattern.id)),
            ahead=ahead_of(explanation, pattern),
            rule=card.rule_text,
        )
    )


def title_of(patterns: pl.DataFrame) -> str:
    """How many patterns of each status there are."""
    counts = dict(patterns.group_by("status").len().iter_rows())
    return ", ".join(f"{counts.get(status, 0):,} {status}" for status in STATUSES)
