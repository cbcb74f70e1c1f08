"""The report: one self-contained HTML page that opens in any browser and can be printed or sent.

Charts are embedded as SVG. A short script adds the filter, the selection of a person and tooltips; without it the page
is complete, only longer. Nothing is loaded from the network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from observations.ingest.read_report import ReadingReport
from patterns.explain import Explanation
from patterns.registry import KINDS
from patterns.settings import Settings
from pipelines.report.person_section import Room, portraits_of
from pipelines.report.redaction import Names, redacted_explanation, redacted_observations, redacted_reading
from pipelines.report.templates import environment, style

if TYPE_CHECKING:
    from pipelines.detection import Detection

LARGEST = 2_900_000
"""Maximum size of a page in bytes, so that it can be mailed and opens quickly on a phone."""

PEOPLE, PEOPLE_WITH_PICTURES, CARDS_WITH_CALENDAR, CARDS = 100, 12, 200, 600
"""Maximum number of people on the page, of people with charts, of patterns with a calendar, and of patterns with a card.
People with the most confirmed patterns come first; the rest are counted. The limits are halved until the page fits
`LARGEST`."""

NOTES_SHOWN = 20
"""Number of notes about unreadable records that are shown for each source."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The input of a report.

    Attributes:
        explanation: the patterns with their opportunities and history.
        observations: the observations they were found in.
        reading: the result of reading the sources.
        settings: the settings the patterns were evaluated with.
        as_of: the evaluation time; each person's newest observation if None.
    """

    explanation: Explanation
    observations: pl.DataFrame
    reading: ReadingReport
    settings: Settings
    as_of: datetime | None

    @classmethod
    def of(cls, detection: Detection) -> Findings:
        """The findings of a detection whose observations are available."""
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


def report_html(findings: Findings | Detection, *, redact: bool = False, title: str = "Habits") -> str:
    """The report as one HTML page.

    Args:
        findings: a detection, or `Findings`.
        redact: replace names, addresses, titles and all other words from the data.
        title: the title of the page.

    Raises:
        SettingError: the observations of the detection are no longer available.

    """
    whole = findings if isinstance(findings, Findings) else Findings.of(findings)
    if redact:
        whole = whole.redacted()
    for part in (1, 2, 4, 8, 16):
        page = _rendered(
            whole,
            Room(PEOPLE // part, PEOPLE_WITH_PICTURES // part, CARDS // part, CARDS_WITH_CALENDAR // part),
            title,
            redact,
        )
        if len(page.encode()) <= LARGEST:
            break
    return page


def _rendered(whole: Findings, room: Room, title: str, redact: bool) -> str:
    portraits = portraits_of(whole.explanation, whole.observations, whole.settings, whole.as_of, room)
    everybody = whole.observations.get_column("user_id").n_unique()
    ends = [portrait.now for portrait in portraits]
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            css=style("page.css", "pictures.css"),
            script=style("page.js"),
            people=portraits,
            everybody=everybody,
            notes_shown=NOTES_SHOWN,
            sources=list(whole.reading.sources.values()),
            as_of=max(ends).date() if ends else None,
            settings=whole.settings,
            types=[(kind.type, kind.heading) for kind in KINDS],
            total=whole.explanation.patterns.height,
            redacted=redact,
        )
    )
