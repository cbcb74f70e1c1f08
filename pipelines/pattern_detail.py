"""One pattern and everything behind it: what was counted, how it came to be, what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from patterns.explain import Explanation
from patterns.model import Pattern, read_patterns
from patterns.settings import Settings

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False)
class Explained:
    """One pattern and everything behind it.

    Attributes:
        explanation: of this pattern alone (`patterns.explain.Explanation`).
        observed: the person's observations (`observations.schema`).
        settings: by which it was judged.
        until: the wall clock at which it was judged.
    """

    explanation: Explanation
    observed: pl.DataFrame
    settings: Settings
    until: datetime

    @property
    def pattern(self) -> Pattern:
        """The pattern."""
        return next(read_patterns(self.explanation.patterns))

    @property
    def opportunities(self) -> pl.DataFrame:
        """What was counted, kept or not (`patterns.explain.OPPORTUNITIES`)."""
        return self.explanation.opportunities

    @property
    def journal(self) -> pl.DataFrame:
        """Every change of status (`patterns.explain.JOURNAL`)."""
        return self.explanation.journal

    @property
    def outlook(self) -> pl.DataFrame:
        """What one more outcome, or silence, would change (`patterns.explain.OUTLOOK`)."""
        return self.explanation.outlook

    @property
    def evidence(self) -> pl.DataFrame:
        """The observations that were counted, in order of time: their own columns, then `kept`."""
        outcomes = self.opportunities.select("kept", id="observation").drop_nulls("id")
        return self.observed.join(outcomes, on="id", how="inner", maintain_order="left")

    def chart(self) -> alt.VConcatChart | alt.Chart:
        """Its confidence through time, and what was kept and missed (`pipelines.charts.course`)."""
        from pipelines import charts

        return charts.course(self.explanation, self.pattern.id, self.settings, self.until)

    def _repr_html_(self) -> str:
        from pipelines.notebook_repr import explained_html

        return explained_html(self.explanation, self.settings, self.until)

    def _repr_markdown_(self) -> str:
        from pipelines.text.markdown import to_markdown

        return to_markdown([self.pattern])
