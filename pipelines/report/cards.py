"""Cards: the text and small charts that a page shows for a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import orjson
import polars as pl
from markupsafe import Markup

from patterns.explain import OPPORTUNITIES, Explanation
from patterns.model import Pattern, read_patterns
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from pipelines.text.sparklines import confidence_svg, sparkline_svg

_SMALL = 1e-4


@dataclass(frozen=True)
class Card:
    """One pattern with the small charts that a page shows for it.

    Attributes:
        pattern: the pattern.
        bar: its confidence, split into the four components.
        spark: its sparkline by week; empty without opportunities.
    """

    pattern: Pattern
    bar: Markup
    spark: Markup

    @property
    def chance(self) -> str:
        """The probability of as much support by chance, as text."""
        value = self.pattern.p_value
        return "chance: less than 1 in 10,000" if value < _SMALL else f"chance: {value:.1g}"

    @property
    def rate(self) -> str:
        """The interval of the rate, as text."""
        low, high = self.pattern.rate_interval
        return f"{low:.0%} to {high:.0%}"

    @property
    def rule_text(self) -> str:
        """The rule as indented JSON."""
        return orjson.dumps(dict(self.pattern.rule), option=orjson.OPT_INDENT_2).decode()


def cards_of(
    patterns: pl.DataFrame,
    opportunities: pl.DataFrame | None = None,
    settings: Settings | None = None,
    until: Mapping[str, date] | None = None,
) -> list[Card]:
    """The patterns as cards, in the same order.

    Args:
        patterns: `patterns.pattern_frame.PATTERNS`.
        opportunities: `patterns.explain.OPPORTUNITIES`; without them there are no sparklines.
        settings: the weights of confidence.
        until: the day up to which weeks are drawn, by person.

    """
    seen = opportunities if opportunities is not None else pl.DataFrame(schema=dict(OPPORTUNITIES))
    by_id = {str(key[0]): part for key, part in seen.group_by("pattern_id", maintain_order=True)}
    days = until or {}
    return [
        Card(
            pattern,
            confidence_svg(pattern.confidence, pattern.components.model_dump(), settings),
            sparkline_svg(by_id[pattern.id], until=days.get(pattern.user_id))
            if pattern.id in by_id
            else Markup(),
        )
        for pattern in read_patterns(patterns.select(list(PATTERNS)))
    ]


def by_person(cards: Sequence[Card]) -> list[tuple[str, list[Card]]]:
    """The cards grouped by person, in the same order."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        groups.setdefault(card.pattern.user_id, []).append(card)
    return list(groups.items())


def last_days(observations: pl.DataFrame) -> dict[str, date]:
    """The newest local day of each person."""
    newest = observations.group_by("user_id").agg(pl.col("local").max().dt.date())
    return dict(newest.iter_rows())


def changes_of(explanation: Explanation, pattern_id: str) -> Iterator[str]:
    """The history of the pattern: one sentence for each change of status."""
    mine = explanation.journal.filter(pl.col("pattern_id") == pattern_id)
    for local, after, reason, support, opportunities in mine.select(
        "local", "after", "reason", "support", "opportunities"
    ).iter_rows():
        figures = f" ({support} of {opportunities})" if opportunities else ""
        yield f"{day(local)}: {after}, {reason}{figures}"


def ahead_of(explanation: Explanation, pattern: Pattern) -> str:
    """The effect of one more hit, one more miss or no activity, as text; empty if there is none."""
    found = explanation.outlook.filter(pl.col("pattern_id") == pattern.id)
    if found.is_empty() or pattern.status == "expired":
        return ""
    outlook = found.row(0, named=True)
    sentences = []
    if outlook["next_due"] is not None:
        sentences.append(f"It is next due by {day(outlook['next_due'])}.")
    if outlook["if_kept"] != pattern.status:
        sentences.append(f"Kept once more, it would be {outlook['if_kept']}.")
    if outlook["if_missed"] != pattern.status:
        sentences.append(f"Missed once more, it would be {outlook['if_missed']}.")
    if outlook["expires"] is not None:
        sentences.append(f"Unless it is seen, it expires on {day(outlook['expires'])}.")
    return " ".join(sentences)


def day(moment: datetime | date) -> str:
    """The day with the name of the month.

    >>> day(date(2026, 3, 2))
    '2 March 2026'
    """
    return f"{moment.day} {moment:%B %Y}"
