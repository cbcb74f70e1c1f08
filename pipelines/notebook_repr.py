"""Showing results in a notebook: one element with its style, no script, nothing from the network; data is escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from patterns.model import STATUSES
from pipelines.cli.ingest_progress import plural
from pipelines.report.cards import ahead_of, by_person, cards_of, changes_of, last_days

if TYPE_CHECKING:
    from pipelines.detection import Detection
    from pipelines.pattern_detail import Explained

SHOWN, FOLDED = 20, 200
"""Patterns that are shown at once, and those that unfold; the rest is only counted."""

OBSERVATIONS_WITH_WEEKS = 100_000
"""Up to so many observations the weeks of each pattern are drawn, which takes as long as detecting it did."""


@cache
def environment() -> jinja2.Environment:
    """The templates of this folder; everything that they are handed is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def style(*names: str) -> Markup:
    """The style sheets of this folder, one after the other."""
    loader = environment().loader
    assert loader is not None
    return Markup("").join(Markup(loader.get_source(environment(), name)[0]) for name in names)  # noqa: S704  ours


def detection_html(detection: Detection) -> str:
    """What a notebook shows of a detection."""
    wanted = detection.frame.head(SHOWN + FOLDED)
    seen, until = None, None
    if detection.basis is not None and detection.observations <= OBSERVATIONS_WITH_WEEKS:
        seen, until = detection.explanation.opportunities, last_days(detection.observed)
    cards = cards_of(wanted, seen, detection.settings, until)
    return (
        environment()
        .get_template("detection.html")
        .render(
            css=style("pictures.css", "notebook.css"),
            title=title_of(detection),
            subtitle=f"in {plural(detection.observations, 'observation')} of {_people(detection.people)}",
            shown=by_person(cards[:SHOWN]),
            folded=by_person(cards[SHOWN:]),
            folded_count=len(cards[SHOWN:]),
            left_out=detection.frame.height - len(cards),
            several=detection.frame.get_column("user_id").n_unique() > 1,
            with_weeks=seen is not None,
        )
    )


def explained_html(explained: Explained) -> str:
    """What a notebook shows of one pattern with everything behind it."""
    from pipelines import charts
    from pipelines.text.sparklines import strip_svg

    pattern, explanation = explained.pattern, explained.explanation
    (card,) = cards_of(explained.explanation.patterns, explanation.opportunities, explained.settings)
    return (
        environment()
        .get_template("explained.html")
        .render(
            css=style("pictures.css", "notebook.css"),
            card=card,
            pattern=pattern,
            strip=strip_svg(explained.opportunities, until=explained.until.date(), pointable=True),
            course=Markup(charts.to_svg(explained.chart())),  # noqa: S704  an element tree, written out
            changes=list(changes_of(explanation, pattern.id)),
            ahead=ahead_of(explanation, pattern),
            rule=card.rule_text,
        )
    )


def title_of(detection: Detection) -> str:
    """How many patterns of each status there are."""
    counts = dict(detection.frame.group_by("status").len().iter_rows())
    return ", ".join(f"{counts.get(status, 0):,} {status}" for status in STATUSES)


def _people(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"
